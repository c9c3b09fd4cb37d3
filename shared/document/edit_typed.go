package document

import (
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// levelNames are the levels a logger can be set to, most talkative first.
var levelNames = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}

// TypedValue makes a Value object of a bare JSON value, or says why the value
// is not one of that type. Numbers stay as they were written.
func TypedValue(valueType ValueType, bare *jsontree.Node) (typed *jsontree.Node, problem string) {
	valueType = canonicalType(valueType)
	if bare == nil {
		return nil, "the value is missing: expected one of type " + plainWords(string(valueType))
	}
	if problem := bareProblem(valueType, bare); problem != "" {
		return nil, problem
	}
	return valueObject(valueType, bare.Clone()), ""
}

func bareProblem(valueType ValueType, bare *jsontree.Node) string {
	switch valueType {
	case BoolValue, StringValue, StringListValue, JSONValue, DurationValue:
		// What new stored content must be is what a sent value must be.
	case IntValue, DoubleValue:
		// Stored numbers may be strings, as old files have them; sent ones not.
		if bare.Kind != jsontree.Number {
			return fmt.Sprintf("a value of type %s is a number, not %s", valueType, bare.Kind)
		}
	case LogLevelValue:
		if text, ok := bare.Text(); !ok || !slices.Contains(levelNames, text) {
			return levelProblem
		}
	default:
		return fmt.Sprintf("a value of type %s cannot be sent by itself; write the whole document", plainWords(string(valueType)))
	}
	value := Value{Type: valueType, Content: bare}
	if problem := value.contentProblem(); problem != "" {
		return problem
	}
	return value.newContentProblem()
}

var levelProblem = "a level is one of " + strings.Join(levelNames, ", ")

func valueObject(valueType ValueType, content *jsontree.Node) *jsontree.Node {
	return jsontree.NewObject(
		jsontree.Field("type", jsontree.NewString(string(valueType))),
		jsontree.Field("value", content))
}

// canonicalType resolves the two other spellings that a type may be asked for.
func canonicalType(t ValueType) ValueType {
	switch t {
	case "boolean":
		return BoolValue
	case "string-list":
		return StringListValue
	}
	return t
}

func valueTypeOf(tree *jsontree.Node) ValueType {
	text, _ := tree.Get("valueType").Text()
	return canonicalType(ValueType(text))
}
