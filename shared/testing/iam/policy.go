// Package iam decides what AWS's IAM decides: whether a function's policies
// allow a request to DynamoDB, S3 or SQS. A Client of it stands before the
// stand-ins, which know no permissions, so that a request that AWS would deny is
// denied on this machine too.
//
// What must stay true:
//
//   - What is not allowed is denied. There are no Deny statements here; a
//     template that has one is an error.
//   - A condition that is not understood is an error when the template is read,
//     never a guess. So is a resource.
//   - What a policy allows and no request has used can be told, so that a test
//     which sends everything finds what is allowed in vain.
//   - The keys of a request are those that AWS documents for its action. Where
//     its documents leave open what a key holds, the key is missing, and
//     ForAllValues, which is true of nothing, is not enough: such a statement
//     needs a Null beside it.
package iam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"svc.example/svc/shared/testing/template"
)

// Policy is what a function may do, and which of it was used.
type Policy struct {
	statements []statement
	lock       sync.Mutex
	used       map[string]bool
}

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
func New(t *template.Template, f template.Function, names Names) (*Policy, error) {
	policy := &Policy{used: map[string]bool{}}
	var problems []error
	for _, s := range f.Policies {
		one, err := newStatement(t, s, names)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: the statement %s: %w", f.ID, s.Sid, err))
		}
		policy.statements = append(policy.statements, one)
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

// arnOf resolves !GetAtt X.Arn, and !Sub of an ARN in which ${Name} is a table or a bucket
// that the template or a parameter names.
func arnOf(t *template.Template, resource any, names Names) (string, error) {
	if parts, isList := template.At(resource, "Fn::Sub").([]any); isList && len(parts) == 2 {
		return arnOfName(t, fmt.Sprint(parts[0]), template.At(parts[1], "Name"), names)
	}
	list, isList := template.At(resource, "Fn::GetAtt").([]any)
	if !isList || len(list) != 2 || list[1] != "Arn" {
		return "", fmt.Errorf("the resource %v is not understood", resource)
	}
	id := fmt.Sprint(list[0])
	name, known := names[id]
	if !known || t.Resources[id].Type != "AWS::SQS::Queue" {
		return "", fmt.Errorf("%s is no queue whose name is known", id)
	}
	return queueARN(name), nil
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

// Allows reports whether some statement allows a request.
func (p *Policy) Allows(r Request) bool {
	return slices.ContainsFunc(p.statements, func(s statement) bool { return s.allows(r) })
}

func (s statement) allows(r Request) bool {
	return slices.Contains(s.actions, r.Action) &&
		slices.ContainsFunc(s.resources, func(pattern string) bool { return like(pattern, r.Resource) }) &&
		!slices.ContainsFunc(s.conditions, func(c condition) bool { return !c.holds(r.Keys) })
}

// use reports whether a request is allowed, and notes the rights that it uses.
func (p *Policy) use(r Request) bool {
	p.lock.Lock()
	defer p.lock.Unlock()
	allowed := false
	for _, s := range p.statements {
		if s.allows(r) {
			allowed = true
			for _, right := range s.rights(func(action string) bool { return action == r.Action },
				func(pattern string) bool { return like(pattern, r.Resource) },
				func(c condition, value string) bool {
					return slices.ContainsFunc(r.Keys[c.key], func(has string) bool { return c.accepts(value, has) })
				}) {
				p.used[right] = true
			}
		}
	}
	return allowed
}

// Rights are what the policy allows: an action on a resource, an action on a
// partition, an action on an attribute.
func (p *Policy) Rights() []string {
	var all []string
	for _, s := range p.statements {
		any := func(string) bool { return true }
		all = append(all, s.rights(any, any, func(condition, string) bool { return true })...)
	}
	slices.Sort(all) // conditions come in any order
	return all
}

// Unused are the rights that no request has used which was judged so far.
func (p *Policy) Unused() []string {
	p.lock.Lock()
	defer p.lock.Unlock()
	return slices.DeleteFunc(p.Rights(), func(right string) bool { return p.used[right] })
}

// rights names what a statement allows, as far as it is asked for.
func (s statement) rights(action, resource func(string) bool, value func(condition, string) bool) []string {
	var all []string
	for _, a := range s.actions {
		if !action(a) {
			continue
		}
		for _, r := range s.resources {
			if resource(r) {
				all = append(all, fmt.Sprintf("%s: %s on %s", s.sid, a, r))
			}
		}
		for _, c := range s.conditions {
			if c.key != "dynamodb:LeadingKeys" && c.key != "dynamodb:Attributes" || c.operator == "Null" {
				continue
			}
			for _, v := range c.values {
				if value(c, v) {
					all = append(all, fmt.Sprintf("%s: %s with %s %s", s.sid, a, c.key, v))
				}
			}
		}
	}
	return all
}

// operators are those that are understood.
var operators = []string{"ForAllValues:StringLike", "ForAllValues:StringEquals", "ForAnyValue:StringEquals", "StringEquals", "StringEqualsIfExists", "StringLike", "Null"}

func (c condition) holds(keys map[string][]string) bool {
	present := len(keys[c.key]) > 0
	matches := func(value string) bool {
		return slices.ContainsFunc(c.values, func(want string) bool { return c.accepts(want, value) })
	}
	switch {
	case c.operator == "Null":
		return matches(fmt.Sprint(!present))
	case strings.HasPrefix(c.operator, "ForAllValues:") || c.operator == "StringEqualsIfExists":
		return !slices.ContainsFunc(keys[c.key], func(value string) bool { return !matches(value) })
	}
	return present && slices.ContainsFunc(keys[c.key], matches)
}

// accepts reports whether one of the condition's values matches a request's.
func (c condition) accepts(want, value string) bool {
	return want == value || strings.HasSuffix(c.operator, "StringLike") && like(want, value)
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

// Policies are the policies of a template's functions, by the folders of the
// functions.
func Policies(path string, names Names) (map[string]*Policy, error) {
	read, err := template.Read(path)
	if err != nil {
		return nil, err
	}
	functions, err := read.Functions()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	all := map[string]*Policy{}
	for _, f := range functions {
		if all[f.Group()], err = New(read, f, names); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return all, nil
}

// Check returns what is denied of an HTTP request; nil when all of it is allowed.
// It notes which rights the request uses.
func (p *Policy) Check(r *http.Request, body []byte) error {
	all, err := Requests(r, body)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !p.use(one) {
			return fmt.Errorf("not authorized to perform %s on %s with %v", one.Action, one.Resource, one.Keys)
		}
	}
	return nil
}

// Client sends what a policy allows. Denied hears of everything else, with the
// request's context.
type Client struct {
	Policy *Policy
	Next   aws.HTTPClient
	Denied func(context.Context, error)
}

// Do sends a request, or returns why it is denied.
func (c Client) Do(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := c.Policy.Check(r, body); err != nil {
		c.Denied(r.Context(), err)
		return nil, err
	}
	return c.Next.Do(r)
}
