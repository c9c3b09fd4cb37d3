// Package template reads a SAM template as far as the routes of its HTTP API
// and the functions behind them go.
//
// What must stay true: intrinsic functions are kept as what they are written
// as ({"Ref": ...}, {"Fn::Sub": ...}), and a route that does not lead to a
// function is an error. What is not understood is never guessed.
package template

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Template is a template.
type Template struct {
	Parameters map[string]any
	Conditions map[string]any
	Globals    map[string]any
	Resources  map[string]Resource
}

// Resource is one resource.
type Resource struct {
	Type       string
	Condition  string
	DependsOn  any // a name, or several
	Properties map[string]any
}

// Function is a Lambda function of the template.
type Function struct {
	ID      string // in the template
	CodeURI string
	Timeout int // seconds
	Memory  int // megabytes
	// Variables are its own, beside those of Globals: texts and intrinsic
	// functions.
	Variables map[string]any
	// Policies are the statements of its policies.
	Policies []Statement
}

// Group is the last element of where the function's code lies.
func (f Function) Group() string { return filepath.Base(f.CodeURI) }

// Statement is a statement of a policy.
type Statement struct {
	Sid       string
	Effect    string
	Actions   []string
	Resources []any
	Condition map[string]any
}

// Route is a route of the HTTP API.
type Route struct {
	ID       string // in the template
	Key      string // "ANY /v1/flags/{key}", "$default"
	Function string // the function's ID
}

// Read reads a template.
func Read(path string) (*Template, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(root.Content) == 0 {
		return nil, fmt.Errorf("%s is empty", path)
	}
	value, err := decode(root.Content[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	t := &Template{Resources: map[string]Resource{}}
	t.Parameters, _ = At(value, "Parameters").(map[string]any)
	t.Conditions, _ = At(value, "Conditions").(map[string]any)
	t.Globals, _ = At(value, "Globals").(map[string]any)
	resources, _ := At(value, "Resources").(map[string]any)
	for id, r := range resources {
		resource := Resource{}
		resource.Type, _ = At(r, "Type").(string)
		resource.Condition, _ = At(r, "Condition").(string)
		resource.DependsOn = At(r, "DependsOn")
		resource.Properties, _ = At(r, "Properties").(map[string]any)
		t.Resources[id] = resource
	}
	return t, nil
}

// decode takes a YAML node for what CloudFormation takes it for.
func decode(n *yaml.Node) (any, error) {
	if tag := n.ShortTag(); strings.HasPrefix(tag, "!") && !strings.HasPrefix(tag, "!!") {
		return intrinsic(tag[1:], n)
	}
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		for i := 0; i < len(n.Content); i += 2 {
			value, err := decode(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			name := n.Content[i].Value
			if _, twice := out[name]; twice {
				return nil, fmt.Errorf("line %d: %s stands twice", n.Content[i].Line, name)
			}
			out[name] = value
		}
		return out, nil
	case yaml.SequenceNode:
		out := []any{}
		for _, c := range n.Content {
			value, err := decode(c)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	case yaml.ScalarNode:
		var value any
		err := n.Decode(&value)
		return value, err
	}
	return nil, fmt.Errorf("line %d: aliases are not understood", n.Line)
}

// intrinsic writes !Ref x and the like in their long form.
func intrinsic(name string, n *yaml.Node) (any, error) {
	plain := *n
	plain.Tag = ""
	if n.Kind == yaml.ScalarNode {
		plain.Tag = "!!str"
	}
	value, err := decode(&plain)
	switch {
	case err != nil:
		return nil, err
	case name == "GetAtt":
		if text, isText := value.(string); isText {
			before, after, _ := strings.Cut(text, ".")
			value = []any{before, after}
		}
	case name == "Ref" || name == "Condition":
		return map[string]any{name: value}, nil
	}
	return map[string]any{"Fn::" + name: value}, nil
}

// At walks down a value; nil when there is nothing.
func At(value any, path ...string) any {
	for _, name := range path {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	return value
}

// Functions are the functions, by their ID.
func (t *Template) Functions() (map[string]Function, error) {
	out := map[string]Function{}
	var problems []error
	for id, r := range t.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}
		f := Function{ID: id, Timeout: t.number(r, "Timeout"), Memory: t.number(r, "MemorySize")}
		f.CodeURI, _ = r.Properties["CodeUri"].(string)
		f.Variables, _ = At(r.Properties, "Environment", "Variables").(map[string]any)
		var err error
		f.Policies, err = t.statements(r.Properties["Policies"])
		if f.CodeURI == "" {
			err = errors.Join(err, errors.New("no CodeUri"))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
		}
		out[id] = f
	}
	return out, errors.Join(problems...)
}

// number is a property of a function, or the one of Globals, or the default of
// the parameter that stands there.
func (t *Template) number(r Resource, name string) int {
	value, own := r.Properties[name]
	if !own {
		value = At(t.Globals, "Function", name)
	}
	if parameter, isRef := At(value, "Ref").(string); isRef {
		value = At(t.Parameters, parameter, "Default")
	}
	n, _ := value.(int)
	return n
}

// statements are those of policies that are written out, and of managed ones of
// the template.
func (t *Template) statements(policies any) ([]Statement, error) {
	if policies == nil {
		return nil, nil
	}
	list, isList := policies.([]any)
	if !isList {
		return nil, errors.New("Policies is no list")
	}
	var out []Statement
	for _, p := range list {
		if managed := t.Resources[fmt.Sprint(At(p, "Ref"))]; managed.Type == "AWS::IAM::ManagedPolicy" {
			p = managed.Properties["PolicyDocument"]
		}
		inline, isList := At(p, "Statement").([]any)
		if !isList {
			return nil, fmt.Errorf("a policy is not written out: %v", p)
		}
		for _, s := range inline {
			st := Statement{Actions: Texts(At(s, "Action"))}
			st.Sid, _ = At(s, "Sid").(string)
			st.Effect, _ = At(s, "Effect").(string)
			st.Condition, _ = At(s, "Condition").(map[string]any)
			if st.Resources, isList = At(s, "Resource").([]any); !isList {
				st.Resources = []any{At(s, "Resource")}
			}
			out = append(out, st)
		}
	}
	return out, nil
}

// Texts is one value or a list of them, as texts.
func Texts(value any) []string {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

// Routes are the routes, in the order of their keys.
func (t *Template) Routes() ([]Route, error) {
	var out []Route
	var problems []error
	for id, r := range t.Resources {
		if r.Type != "AWS::ApiGatewayV2::Route" {
			continue
		}
		function, err := t.behind(r)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
		}
		out = append(out, Route{ID: id, Key: fmt.Sprint(r.Properties["RouteKey"]), Function: function})
	}
	slices.SortFunc(out, func(a, b Route) int { return strings.Compare(a.Key, b.Key) })
	return out, errors.Join(problems...)
}

// behind finds the function that a route's integration invokes.
func (t *Template) behind(route Resource) (string, error) {
	target, _ := At(route.Properties["Target"], "Fn::Sub").(string)
	name, found := strings.CutPrefix(target, "integrations/${")
	integration := t.Resources[strings.TrimSuffix(name, "}")]
	if !found || integration.Type != "AWS::ApiGatewayV2::Integration" {
		return "", fmt.Errorf("its target %q names no integration", target)
	}
	if integration.Properties["PayloadFormatVersion"] != "2.0" {
		return "", errors.New("its integration has another payload format than 2.0")
	}
	uri, _ := At(integration.Properties["IntegrationUri"], "Fn::Sub").(string)
	id, alias, invokes := strings.Cut(strings.TrimPrefix(uri, "${"), ".Arn}:")
	if f := t.Resources[id]; !invokes || f.Type != "AWS::Serverless::Function" || f.Properties["AutoPublishAlias"] != alias {
		return "", fmt.Errorf("its integration invokes no alias of a function: %v", integration.Properties["IntegrationUri"])
	}
	return id, nil
}

// With is the template with parameters that have other values than their defaults.
func (t *Template) With(values map[string]string) *Template {
	other := *t
	other.Parameters = maps.Clone(t.Parameters)
	for name, value := range values {
		other.Parameters[name] = map[string]any{"Default": value}
	}
	return &other
}

// Parameter is the value of a parameter.
func (t *Template) Parameter(name string) (value any, known bool) {
	p, known := t.Parameters[name].(map[string]any)
	return p["Default"], known
}

// Resolve follows Fn::If to the value that the parameters choose.
func (t *Template) Resolve(value any) (any, error) {
	for {
		choice, isChoice := At(value, "Fn::If").([]any)
		if !isChoice {
			return value, nil
		}
		if len(choice) != 3 {
			return nil, fmt.Errorf("Fn::If has %d parts", len(choice))
		}
		holds, err := t.Holds(fmt.Sprint(choice[0]))
		if err != nil {
			return nil, err
		}
		if value = choice[2]; holds {
			value = choice[1]
		}
	}
}

// Holds reports whether a condition of the template holds, with the parameters' values.
func (t *Template) Holds(condition string) (bool, error) {
	c, known := t.Conditions[condition]
	if !known {
		return false, fmt.Errorf("there is no condition %s", condition)
	}
	return t.holds(c)
}

func (t *Template) holds(c any) (bool, error) {
	if name, named := At(c, "Condition").(string); named {
		return t.Holds(name)
	}
	if parts, is := At(c, "Fn::Not").([]any); is && len(parts) == 1 {
		holds, err := t.holds(parts[0])
		return !holds, err
	}
	if parts, is := At(c, "Fn::And").([]any); is {
		for _, part := range parts {
			if holds, err := t.holds(part); err != nil || !holds {
				return false, err
			}
		}
		return true, nil
	}
	if parts, is := At(c, "Fn::Equals").([]any); is && len(parts) == 2 {
		a, err := t.text(parts[0])
		if err != nil {
			return false, err
		}
		b, err := t.text(parts[1])
		return a == b, err
	}
	return false, fmt.Errorf("the condition %v is not understood", c)
}

// text is a text, or the value of the parameter that stands there.
func (t *Template) text(value any) (string, error) {
	if name, isRef := At(value, "Ref").(string); isRef {
		parameter, known := t.Parameter(name)
		if !known {
			return "", fmt.Errorf("there is no parameter %s", name)
		}
		return fmt.Sprint(parameter), nil
	}
	if text, isText := value.(string); isText {
		return text, nil
	}
	return "", fmt.Errorf("%v is no text and no parameter", value)
}
