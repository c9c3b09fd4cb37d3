package edit

import (
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// TypedValue makes a Value object of a bare JSON value, or says why the value
// is not one of that type. Numbers stay as they were written; the object holds
// the value itself, no copy.
func TypedValue(valueType document.ValueType, bare *jsontree.Node) (typed *jsontree.Node, problem string) {
	valueType = valueType.Canonical()
	if bare == nil {
		return nil, "the value is missing: expected one of type " + document.Words(string(valueType))
	}
	if problem := bareProblem(valueType, bare); problem != "" {
		return nil, problem
	}
	return valueObject(valueType, bare), ""
}

func bareProblem(valueType document.ValueType, bare *jsontree.Node) string {
	switch valueType {
	case document.BoolValue, document.StringValue, document.StringListValue, document.JSONValue, document.DurationValue:
		// What new stored content must be is what a sent value must be.
	case document.IntValue, document.DoubleValue:
		// Stored numbers may be strings, as old files have them; sent ones not.
		if bare.Kind != jsontree.Number {
			return fmt.Sprintf("a value of type %s is a number, not %s", valueType, bare.Kind)
		}
	case document.LogLevelValue:
		if text, ok := bare.Text(); !ok || !slices.Contains(document.Levels, text) {
			return levelProblem
		}
	default:
		return fmt.Sprintf("a value of type %s cannot be sent by itself; write the whole document", document.Words(string(valueType)))
	}
	value := document.Value{Type: valueType, Content: bare}
	if problem := value.ContentProblem(); problem != "" {
		return problem
	}
	return value.NewContentProblem()
}

var levelProblem = "a level is one of " + strings.Join(document.Levels, ", ")

func valueObject(valueType document.ValueType, content *jsontree.Node) *jsontree.Node {
	return jsontree.NewObject(
		jsontree.Field("type", jsontree.NewString(string(valueType))),
		jsontree.Field("value", content))
}

func valueTypeOf(tree *jsontree.Node) document.ValueType {
	text, _ := tree.Get("valueType").Text()
	return document.ValueType(text).Canonical()
}
