// Package manifest shows a workspace's flags as the OpenFeature CLI has them: each
// with one of few types and a default value, for the code that it generates
// (https://github.com/open-feature/cli, api/v0/sync.yaml).
//
// A flag's default value is what its default rules serve to the empty context: no
// environment's own rules have a say. Where no rule matches, and where the value is
// confidential, encrypted or provided, it is the zero value of the flag's type. A
// percentage split that would be drawn by lot serves the arm at its middle, so that a
// manifest is the same each time.
//
// What must stay true:
//
//   - There is one evaluator: the values are what package explanation answers.
//   - Every default value is one of its type: a program that is generated from a
//     manifest compiles, whatever the documents hold. A list stands for itself where
//     the type is Object.
package manifest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/workspace"
)

// Type is the type of a flag in a manifest.
type Type string

// The types. Float stands in files of the CLI alone: its API does not know it.
const (
	Boolean Type = "boolean"
	String  Type = "string"
	Integer Type = "integer"
	Float   Type = "float"
	Object  Type = "object"
)

// kinds are the types of values, what they are in a manifest, and their zero values.
var kinds = map[document.ValueType]struct {
	manifest Type
	zero     string
}{
	document.BoolValue:       {Boolean, `false`},
	document.StringValue:     {String, `""`},
	document.DurationValue:   {String, `"PT0S"`},
	document.IntValue:        {Integer, `0`},
	document.DoubleValue:     {Float, `0`},
	document.JSONValue:       {Object, `{}`},
	document.StringListValue: {Object, `[]`},
}

// TypeOf is what a type of values is in a manifest; "" for one that no manifest has.
func TypeOf(v document.ValueType) Type { return kinds[v.Canonical()].manifest }

// ValueType is the type of the values of a new flag of a type; "" for one that cannot
// be created.
func (t Type) ValueType() document.ValueType {
	return map[Type]document.ValueType{Boolean: document.BoolValue, String: document.StringValue,
		Integer: document.IntValue, Object: document.JSONValue}[t]
}

// Flag is a flag in the CLI's API.
type Flag struct {
	Key          string          `json:"key"`
	Name         string          `json:"name,omitempty"`
	Type         Type            `json:"type"`
	Description  string          `json:"description,omitempty"`
	DefaultValue json.RawMessage `json:"defaultValue"`
}

// Outline is what a manifest tells of a flag beside its default value.
type Outline struct {
	Key, Name, Description string
	ValueType              document.ValueType
}

// DefaultRules is the environment to compile for a manifest: no environment has this
// name, so it has no rules of its own.
const DefaultRules = ""

// Make makes the manifest of flags, in their order. What serves them was compiled for
// DefaultRules. Those are left out, and counted, whose type no manifest has. Its error
// is explanation.ErrTooMuch or the context's.
func Make(ctx context.Context, served *explanation.State, outlines []Outline, now time.Time) (flags []Flag, omitted int, err error) {
	question := explanation.Question{Now: now.UnixMilli(), Random: func() float64 { return 0.5 }}
	for _, o := range outlines {
		question.Keys = append(question.Keys, o.Key)
	}
	answer, err := served.Evaluate(ctx, question)
	if err != nil {
		return nil, 0, err
	}
	flags = []Flag{}
	for _, o := range outlines {
		kind, known := kinds[o.ValueType.Canonical()]
		if !known {
			omitted++
			continue
		}
		value := json.RawMessage(kind.zero)
		if made := answer.Evaluations[o.Key]; made != nil {
			if told := typed(o.ValueType.Canonical(), made.Value); told != nil {
				value = told
			}
		}
		flags = append(flags, Flag{o.Key, o.Name, kind.manifest, o.Description, value})
	}
	return flags, omitted, nil
}

// typed is a value that a program takes for one of its type; nil where it would not, or
// where it is not told. Documents that were not verified hold others too.
func typed(t document.ValueType, value json.RawMessage) json.RawMessage {
	content, err := jsontree.Parse(value)
	if err != nil || content.Kind == jsontree.Null { // which the CLI takes for missing
		return nil
	}
	if (document.Value{Type: t, Content: content}).ContentProblem() != "" {
		return nil
	}
	if t == document.IntValue {
		return json.RawMessage(jsontree.NumberText(content.Literal())) // 1.0 is no int in Go
	}
	return value
}

// One is the manifest's flag of a document, whatever else has its key. Its segments, and
// the flags that it asks for, are those of a workspace.
func One(ctx context.Context, o Outline, text []byte, ws *workspace.Workspace, now time.Time) (*Flag, error) {
	part := &workspace.Workspace{Items: []workspace.Stored{{Path: workspace.Path(document.Flag, o.Key), Key: o.Key, Text: text}}}
	for i := 0; i < len(part.Items); i++ {
		for _, path := range workspace.Shares(part.Items[i].Read().View) {
			at, found := slices.BinarySearchFunc(ws.Items, path, func(item workspace.Stored, path string) int { return strings.Compare(item.Path, path) })
			if found && !slices.ContainsFunc(part.Items, func(item workspace.Stored) bool { return item.Path == path }) {
				part.Items = append(part.Items, ws.Items[at])
			}
		}
	}
	served, err := explanation.Compile(part, DefaultRules, nil, 0)
	if err != nil {
		return nil, err
	}
	flags, _, err := Make(ctx, served, []Outline{o}, now)
	if err != nil || len(flags) == 0 {
		return nil, err
	}
	return &flags[0], nil
}
