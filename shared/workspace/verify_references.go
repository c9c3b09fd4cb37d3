package workspace

import (
	"cmp"
	"fmt"
	"iter"
	"regexp/syntax"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// index is what the checks of one document look up in the workspace.
type index struct {
	ws           *Workspace
	environments map[string]bool
	flagTypes    map[string]document.ValueType // as far as they were looked up
}

func newIndex(ws *Workspace) *index {
	x := &index{ws: ws, environments: map[string]bool{}, flagTypes: map[string]document.ValueType{}}
	for _, e := range ws.Environments {
		x.environments[e.Name] = true
	}
	return x
}

// referenceIssues finds references of a document to what is not there, and
// operands that cannot be used.
func (x *index) referenceIssues(item *Item) []document.Issue {
	issues := x.environmentIssues(item.View)
	if key := item.View.SchemaKey; key != "" && item.View.Type == document.Config {
		if _, ok := x.ws.Schema(key); !ok {
			issues = append(issues, noSchema(key))
		}
	}
	for pointer, key := range encrypted(item.View) {
		if !x.has(item, document.Config, key) {
			issues = append(issues, document.Issue{Code: problem.UnknownDecryptionKey, Pointer: pointer,
				Message: fmt.Sprintf("there is no config %s to decrypt the value with", terminal.Quote(key))})
		}
	}
	issues = append(issues, x.prerequisiteIssues(item)...)
	var expressions expression.Set
	for spot, criterion := range item.View.Criteria() {
		if message, code := x.operandProblem(item, criterion, &expressions); message != "" {
			issues = append(issues, document.Issue{Code: code, Pointer: spot.Pointer() + "/valueToMatch", Message: message})
		}
	}
	return issues
}

// environmentIssues holds the entries of environments against those that the
// workspace declares; where nothing is declared, only their names count.
func (x *index) environmentIssues(doc *document.Document) []document.Issue {
	var issues []document.Issue
	seen := map[string]bool{}
	for i, e := range doc.Environments {
		message, code := "", problem.UnknownEnvironment
		switch {
		case e.ID == "":
			continue // said by Validate
		case seen[e.ID]:
			message, code = fmt.Sprintf("the environment %s has an entry already; keep one", terminal.Quote(e.ID)), problem.DuplicateEnvironment
		case !x.ws.Declared:
			message, code = SlugProblem(e.ID), problem.InvalidEnvironmentName
		case !x.environments[e.ID]:
			message = fmt.Sprintf("the environment %s is not declared in %s; declared are: %s%s", terminal.Quote(e.ID), File, cmp.Or(strings.Join(x.declared(), ", "), "none"), DidYouMean(e.ID, x.declared()))
		}
		seen[e.ID] = true
		if message != "" {
			issues = append(issues, document.Issue{Code: code, Pointer: "/environments/" + strconv.Itoa(i) + "/id", Message: message})
		}
	}
	return issues
}

const maxNamed = 20

// declared lists the environments, the first of them if there are many.
func (x *index) declared() []string {
	var names []string
	for _, e := range x.ws.Environments {
		if len(names) == maxNamed {
			return append(names, "…")
		}
		names = append(names, terminal.Cut(e.Name, maxEnvironmentName))
	}
	return names
}

// encrypted visits the decryptWith of every value that has one, wherever a
// value can stand, and its pointer.
func encrypted(doc *document.Document) iter.Seq2[string, string] {
	return func(yield func(pointer, key string) bool) {
		for spot, value := range doc.Values() {
			if value.DecryptWith != "" && !yield(spot.Pointer()+"/decryptWith", value.DecryptWith) {
				return
			}
		}
		for spot, rule := range doc.Rules() {
			if rule.Value.Weighted != nil && rule.Value.DecryptWith != "" && !yield(spot.Pointer()+"/decryptWith", rule.Value.DecryptWith) {
				return
			}
		}
		for spot, criterion := range doc.Criteria() {
			if v := criterion.ValueToMatch; v != nil && v.DecryptWith != "" && !yield(spot.Pointer()+"/valueToMatch/decryptWith", v.DecryptWith) {
				return
			}
		}
	}
}

// has reports whether there is a document of a type and key, or would be with the
// item.
func (x *index) has(item *Item, t document.Type, key string) bool {
	if item.Path == Path(t, key) {
		return true
	}
	_, found := x.ws.Item(t, key)
	return found
}

func (x *index) operandProblem(item *Item, criterion document.Criterion, expressions *expression.Set) (string, problem.Code) {
	if v := criterion.ValueToMatch; v != nil && document.Masked(v.Content) {
		return "", ""
	}
	switch criterion.Operator {
	case evaluation.InSegment, evaluation.NotInSegment:
		key, ok := operand(criterion.ValueToMatch)
		if !ok {
			return criterion.Operator + ` needs the key of a segment, as {"type": "string", "value": "<key>"}`, problem.UnknownSegment
		}
		if x.has(item, document.Segment, key) {
			return "", ""
		}
		if criterion.ValueToMatch.Secret() {
			return "there is no such segment", problem.UnknownSegment
		}
		return fmt.Sprintf("there is no segment %s", terminal.Quote(key)), problem.UnknownSegment
	}
	return expressionProblem(criterion, expressions), problem.InvalidExpression
}

// expressionProblem says why a regular expression cannot be used. An operand
// that is no readable text never matches and is no error.
func expressionProblem(criterion document.Criterion, expressions *expression.Set) string {
	v := criterion.ValueToMatch
	text, ok := operand(v)
	if !ok || criterion.Operator != evaluation.Matches && criterion.Operator != evaluation.DoesNotMatch {
		return ""
	}
	err := expressions.Check(text)
	if err == nil {
		return ""
	}
	e, ok := err.(*syntax.Error)
	if !ok {
		return err.Error()
	}
	message := "the regular expression (RE2) does not compile: " + string(e.Code)
	if !v.Secret() && len(e.Expr) < 100 {
		message += fmt.Sprintf(": %q", e.Expr)
	}
	return message
}

// operand is the text of a value to match, when it can be read here.
func operand(v *document.Value) (string, bool) {
	if v == nil || v.DecryptWith != "" || v.Type == document.ProvidedValue {
		return "", false
	}
	return v.Content.Text()
}
