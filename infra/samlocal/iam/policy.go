package iam

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/infra/samlocal/template"
)

// Policy is what a function may do.
type Policy []statement

type statement struct {
	sid        string
	actions    []string
	resources  []string // with * for any text
	conditions []condition
}

type condition struct {
	operator, key string
	values        []string
}

// Names are the names of tables, buckets and queues by their IDs in the
// template.
type Names map[string]string

// New makes the policy of a function.
func New(t *template.Template, f template.Function, names Names) (Policy, error) {
	var policy Policy
	var problems []error
	for _, s := range f.Policies {
		one, err := newStatement(t, s, names)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: the statement %s: %w", f.ID, s.Sid, err))
		}
		policy = append(policy, one)
	}
	return policy, errors.Join(problems...)
}

func newStatement(t *template.Template, s template.Statement, names Names) (statement, error) {
	one := statement{sid: s.Sid, actions: s.Actions}
	if s.Effect != "Allow" {
		return one, fmt.Errorf("its effect is %q: only Allow is understood", s.Effect)
	}
	for _, action := range s.Actions {
		if strings.Contains(action, "*") {
			return one, fmt.Errorf("the action %s is no single one", action)
		}
	}
	for _, r := range s.Resources {
		arn, err := arnOf(t, r, names)
		if err != nil {
			return one, err
		}
		one.resources = append(one.resources, arn)
	}
	for operator, keys := range s.Condition {
		if !slices.Contains(operators, operator) {
			return one, fmt.Errorf("the condition %s is not understood", operator)
		}
		byKey, isMap := keys.(map[string]any)
		if !isMap {
			return one, fmt.Errorf("the condition %s has no keys", operator)
		}
		for key, value := range byKey {
			one.conditions = append(one.conditions, condition{operator, key, template.Texts(value)})
		}
	}
	return one, nil
}

// arnOf resolves !GetAtt X.Arn, !Sub ${X.Arn} with a path, and !Sub of an ARN in which
// ${Name} is a table or a bucket that the template or a parameter names.
func arnOf(t *template.Template, resource any, names Names) (string, error) {
	if parts, isList := template.At(resource, "Fn::Sub").([]any); isList && len(parts) == 2 {
		return arnOfName(t, fmt.Sprint(parts[0]), template.At(parts[1], "Name"), names)
	}
	var id, path string
	if list, isList := template.At(resource, "Fn::GetAtt").([]any); isList && len(list) == 2 && list[1] == "Arn" {
		id = fmt.Sprint(list[0])
	} else if text, isText := template.At(resource, "Fn::Sub").(string); isText && strings.HasPrefix(text, "${") {
		inner, rest, closed := strings.Cut(text[len("${"):], "}")
		name, isARN := strings.CutSuffix(inner, ".Arn")
		if closed && isARN && !strings.Contains(rest, "${") {
			id, path = name, rest
		}
	}
	name, known := names[id]
	if !known {
		return "", fmt.Errorf("the resource %v is not understood", resource)
	}
	arn := map[string]func(string) string{"AWS::DynamoDB::Table": tableARN, "AWS::S3::Bucket": bucketARN, "AWS::SQS::Queue": queueARN}[t.Resources[id].Type]
	if arn == nil {
		return "", fmt.Errorf("%s is no table, bucket or queue", id)
	}
	return arn(name) + path, nil
}

// beginnings are how the ARNs of tables and buckets begin in a template.
var beginnings = map[string]func(string) string{
	"arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/": tableARN,
	"arn:${AWS::Partition}:s3:::":                                            bucketARN,
}

func arnOfName(t *template.Template, text string, named any, names Names) (string, error) {
	before, path, found := strings.Cut(text, "${Name}")
	arn := beginnings[before]
	if !found || arn == nil || strings.Contains(path, "${") {
		return "", fmt.Errorf("the resource %s is not understood", text)
	}
	name, err := nameOf(t, named, names)
	return arn(name) + path, err
}

// nameOf is the name of a table or a bucket: one of the template, or one that a parameter
// names.
func nameOf(t *template.Template, value any, names Names) (string, error) {
	value, err := t.Resolve(value)
	if err != nil {
		return "", err
	}
	id, _ := template.At(value, "Ref").(string)
	if name, known := names[id]; known {
		return name, nil
	}
	if parameter, known := t.Parameter(id); known && parameter != "" {
		return fmt.Sprint(parameter), nil
	}
	return "", fmt.Errorf("what %v names is not known", value)
}

// The ARNs, with the region and the account that everything here has.
func tableARN(name string) string  { return "arn:aws:dynamodb:local:000000000000:table/" + name }
func bucketARN(name string) string { return "arn:aws:s3:::" + name }
func queueARN(name string) string  { return "arn:aws:sqs:local:000000000000:" + name }

// Request is a request as IAM judges it. One request to a service can be
// several of them: a transaction is one for each of its items.
type Request struct {
	Action   string              // "dynamodb:GetItem"
	Resource string              // an ARN
	Keys     map[string][]string // "dynamodb:LeadingKeys" and the like
}

// Allows says whether some statement allows a request.
func (p Policy) Allows(r Request) bool {
	return slices.ContainsFunc(p, func(s statement) bool {
		if !slices.Contains(s.actions, r.Action) {
			return false
		}
		if !slices.ContainsFunc(s.resources, func(pattern string) bool { return like(pattern, r.Resource) }) {
			return false
		}
		return !slices.ContainsFunc(s.conditions, func(c condition) bool { return !c.holds(r.Keys) })
	})
}

// operators are those that are understood.
var operators = []string{"ForAllValues:StringLike", "ForAllValues:StringEquals", "ForAnyValue:StringEquals", "StringEquals", "StringEqualsIfExists", "StringLike", "Null"}

func (c condition) holds(keys map[string][]string) bool {
	present := len(keys[c.key]) > 0
	matches := func(value string) bool {
		return slices.ContainsFunc(c.values, func(want string) bool {
			return want == value || strings.HasSuffix(c.operator, "StringLike") && like(want, value)
		})
	}
	switch {
	case c.operator == "Null":
		return matches(fmt.Sprint(!present))
	case strings.HasPrefix(c.operator, "ForAllValues:") || c.operator == "StringEqualsIfExists":
		return !slices.ContainsFunc(keys[c.key], func(value string) bool { return !matches(value) })
	}
	return present && slices.ContainsFunc(keys[c.key], matches)
}

// like matches a pattern in which * is any text.
func like(pattern, text string) bool {
	first, rest, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	if !strings.HasPrefix(text, first) {
		return false
	}
	parts := strings.Split(rest, "*")
	text = text[len(first):]
	for _, part := range parts[:len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
