package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
)

// Validate holds a document against what new content must be: the stored
// document's JSON Schema, and what a schema cannot say. It reports every
// problem once, each where it stands, in the order of its pointers; of one that
// is nothing but problems, no more than the decoder found are sought. A document
// without issues is one that Decode reads without issues.
//
// The messages say what would be right. They hold names and types out of the
// document, never the content of a value.
func Validate(tree *jsontree.Node) []Issue {
	doc, issues := Decode(tree)
	return ValidateDecoded(tree, doc, issues)
}

// ValidateDecoded is Validate for a caller that has what Decode returned.
func ValidateDecoded(tree *jsontree.Node, doc *Document, issues []Issue) []Issue {
	issues = slices.Concat(issues, doc.ruleIssues(tree))
	if len(issues) == 0 && doc.recognised(tree) {
		return nil
	}
	if len(issues) > maxViolations { // the schema would find as many again, at a hundred times the cost
		return append(distinct(issues[:maxViolations]), issues[maxViolations:]...)
	}
	masked := func(v violation) bool { return Masked(tree.At(v.Pointer)) } // which no type allows
	return merge(issues, slices.DeleteFunc(storedSchema().violations(tree), masked))
}

// merge joins what the code found with what the schema found. Where both speak
// of one place it is one problem: the code's words are the more exact, but for
// a missing member, where the schema also says what it should be.
func merge(own []Issue, found []violation) []Issue {
	if len(own) == 0 && len(found) == 0 {
		return nil
	}
	explained := map[string]bool{}
	for _, v := range found {
		if v.explained {
			explained[v.Pointer] = true
		}
	}
	said := map[string]bool{}
	var all []Issue
	for _, issue := range own {
		if !explained[issue.Pointer] {
			said[issue.Pointer] = true
			all = append(all, issue)
		}
	}
	for _, v := range found {
		if !said[v.Pointer] {
			all = append(all, v.Issue)
		}
	}
	return distinct(all)
}

// ruleIssues finds what a JSON Schema cannot say.
func (d *Document) ruleIssues(tree *jsontree.Node) []Issue {
	issues := tagIssues(tree)
	expected := d.expectedType()
	for spot, value := range d.Values() {
		if value.Type != expected && value.mustBe(expected) {
			issues = append(issues, Issue{Code: problem.ValueType, Pointer: spot.Pointer() + "/type",
				Message: fmt.Sprintf("the type of this value is %s, but the valueType of the document is %s", brief(string(value.Type)), expected)})
		}
		if message := value.NewContentProblem(); message != "" {
			issues = append(issues, Issue{Code: problem.InvalidValue, Pointer: spot.Pointer() + "/value", Message: message})
		}
	}
	for spot, rule := range d.Rules() {
		if w := rule.Value.Weighted; w != nil && len(w.Arms) > 0 && !slices.ContainsFunc(w.Arms, func(arm Arm) bool { return arm.Weight > 0 }) {
			issues = append(issues, Issue{Code: problem.InvalidValue, Pointer: spot.Pointer() + "/value/weightedValues",
				Message: "no arm of this split has a weight, so the rule serves nothing; give one of them a weight"})
		}
	}
	for spot, criterion := range d.Criteria() {
		if criterion.ValueToMatch == nil {
			continue
		}
		message := criterion.ValueToMatch.ContentProblem()
		if message == "" {
			message = criterion.ValueToMatch.NewContentProblem()
		}
		if message != "" {
			issues = append(issues, Issue{Code: problem.InvalidValue, Pointer: spot.Pointer() + "/valueToMatch/value", Message: message})
		}
	}
	return issues
}

func tagIssues(tree *jsontree.Node) []Issue {
	var issues []Issue
	for i, tag := range tree.Get("tags").Elements() {
		text, ok := tag.Text()
		if ok && (strings.TrimSpace(text) == "" || strings.ContainsFunc(text, unicode.IsControl)) {
			issues = append(issues, Issue{Code: problem.InvalidField, Pointer: at("/tags", i), Message: "a tag is a word or more, without line breaks and other control characters"})
		}
	}
	return issues
}

// expectedType is the type that every value of the document must have, and ""
// when the document does not say one that is known.
func (d *Document) expectedType() ValueType {
	switch d.Type {
	case LogLevel:
		return LogLevelValue
	case Segment:
		return BoolValue
	}
	switch d.ValueType {
	case BoolValue, StringValue, IntValue, DoubleValue, JSONValue, StringListValue, DurationValue, LogLevelValue, SchemaValue:
		return d.ValueType
	}
	return ""
}

// mustBe reports whether a value's type is bound to that of its document at all.
// A type that is missing, and weighted values where none may stand, have been
// reported by Decode.
func (v Value) mustBe(expected ValueType) bool {
	return expected != "" && v.Type != "" && v.Type != ProvidedValue && v.Type != WeightedValue
}

// NewContentProblem says what is wrong with content that Decode still reads.
func (v Value) NewContentProblem() string {
	if v.DecryptWith != "" || Masked(v.Content) {
		return ""
	}
	if v.Type == JSONValue && holdsHugeNumber(v.Content) {
		return "a number in this value is beyond the range of a 64-bit float: many programs could read nothing of an answer with it"
	}
	text, ok := v.Content.Text()
	if !ok {
		return ""
	}
	switch v.Type {
	case DurationValue:
		if _, err := parseDuration(text); err != nil {
			return err.Error()
		}
	case JSONValue:
		if holdsJSON(text) {
			return "a json value is native JSON: write the object or array itself, not a string that holds it"
		}
	}
	return ""
}

func holdsHugeNumber(n *jsontree.Node) bool {
	if n == nil {
		return false
	}
	if n.Kind == jsontree.Number {
		_, err := strconv.ParseFloat(n.Literal(), 64)
		return err != nil
	}
	return slices.ContainsFunc(n.Items, holdsHugeNumber) ||
		slices.ContainsFunc(n.Members, func(m jsontree.Member) bool { return holdsHugeNumber(m.Value) })
}

// holdsJSON reports whether a string is an object or an array in JSON. One that
// reads as a number or a word may well be meant as a string.
func holdsJSON(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text[0] != '{' && text[0] != '[' {
		return false
	}
	return jsontext.Value(text).IsValid()
}
