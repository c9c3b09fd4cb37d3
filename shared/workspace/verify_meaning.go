package workspace

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
)

// jsLiteral is a regular expression as JavaScript has it.
var jsLiteral = regexp.MustCompile(`^/.+/[dgimsuvy]*$`)

// operandWarnings finds criteria that are valid and can hardly do what they say. Nothing is
// told of what is confidential.
func operandWarnings(doc *document.Document) []document.Issue {
	var issues []document.Issue
	for spot, c := range doc.Criteria() {
		if evaluation.OlderCurrentTime(c.PropertyName) {
			issues = append(issues, document.Issue{Code: problem.OlderTimeName, Pointer: spot.Pointer() + "/propertyName",
				Message: "this is an older name of " + evaluation.CurrentTime + " and is read as that"})
		}
		if message := operandWarning(c); message != "" {
			issues = append(issues, document.Issue{Code: problem.DoubtfulOperand, Pointer: spot.Pointer() + "/valueToMatch", Message: message})
		}
	}
	return issues
}

func operandWarning(c document.Criterion) string {
	if c.ValueToMatch == nil || c.ValueToMatch.Secret() {
		return ""
	}
	if evaluation.Seconds(c) {
		return "this is a time in milliseconds since 1970, and seems to be in seconds: add three zeros, or write RFC 3339"
	}
	text, _ := c.ValueToMatch.Content.Text()
	if (c.Operator == evaluation.Matches || c.Operator == evaluation.DoesNotMatch) && jsLiteral.MatchString(text) {
		return "the slashes are a part of this expression: write what is between them, and (?i) at its beginning for the flag i"
	}
	if !strings.Contains(c.Operator, "_WITH_ONE_OF") && !strings.Contains(c.Operator, "_CONTAIN") && !strings.Contains(c.Operator, "_START_") && !strings.Contains(c.Operator, "_END_") {
		return ""
	}
	for _, part := range slices.Concat(c.ValueToMatch.Content.Elements(), []*jsontree.Node{c.ValueToMatch.Content}) {
		switch text, ok := part.Text(); {
		case !ok:
		case text == "":
			return "the empty text is in every text"
		case strings.HasPrefix(text, "^") || strings.Contains(text, ".*"):
			return "this operator compares texts as they are, and one looks like a regular expression: PROP_MATCHES takes these"
		}
	}
	return ""
}

// ruleWarnings finds rules that no context reaches, and such as none fits.
func ruleWarnings(doc *document.Document) []document.Issue {
	var issues []document.Issue
	list, before := -2, map[string]document.Spot{} // by what they ask for
	beginning := map[string]document.Spot{}        // by the property and the beginning that is enough
	for spot, rule := range doc.Rules() {
		if spot.Environment != list {
			list = spot.Environment
			clear(before)
			clear(beginning)
		}
		asked, open := askedBy(rule)
		if !open || len(rule.Criteria) == 0 { // which is an error
			continue
		}
		earlier, unreachable := before[""]
		if !unreachable {
			earlier, unreachable = before[asked]
		}
		if !unreachable {
			earlier, unreachable = begun(rule, beginning)
		}
		pointer := strings.TrimSuffix(spot.Pointer(), "/value")
		if unreachable {
			issues = append(issues, document.Issue{Code: problem.UnreachableRule, Pointer: pointer,
				Message: "no context comes to this rule: all that it is for are served by " + strings.TrimSuffix(earlier.Pointer(), "/value")})
		} else if weighted := rule.Value.Weighted; weighted == nil || slices.ContainsFunc(weighted.Arms, func(a document.Arm) bool { return a.Weight > 0 }) {
			before[asked] = spot
			if len(rule.Criteria) == 1 {
				for _, text := range beginningsOf(rule.Criteria[0]) {
					beginning[rule.Criteria[0].PropertyName+"\x00"+text] = spot
				}
			}
		}
		for i, c := range rule.Criteria {
			if slices.ContainsFunc(rule.Criteria[:i], func(other document.Criterion) bool { return evaluation.Exclude(other, c) }) {
				spot.Criterion = i
				issues = append(issues, document.Issue{Code: problem.Contradiction, Pointer: spot.Pointer(),
					Message: "this criterion and one before it never hold together, so the rule never matches"})
				break
			}
		}
	}
	return issues
}

// longestBeginning is how long a text may be that is looked at.
const longestBeginning = 256

// beginningsOf are the texts that a criterion takes as the beginning of a property; none
// where it is another criterion, or tells them to nobody.
func beginningsOf(c document.Criterion) (texts []string) {
	if c.Operator != "PROP_STARTS_WITH_ONE_OF" || c.ValueToMatch == nil || c.ValueToMatch.Secret() {
		return nil
	}
	for _, item := range c.ValueToMatch.Content.Elements() {
		text, ok := item.Text()
		if !ok || text == "" || len(text) > longestBeginning {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

// begun reports whether all that a rule is for begins as an earlier rule asks, such as
// com.acme.cart.items as com.acme.cart.
func begun(rule document.Rule, beginning map[string]document.Spot) (earlier document.Spot, is bool) {
	for _, c := range rule.Criteria {
		found, at := map[document.Spot]bool{}, document.Spot{}
		texts := beginningsOf(c)
		covered := !slices.ContainsFunc(texts, func(text string) bool {
			for n := 1; n <= len(text); n++ {
				if spot, known := beginning[c.PropertyName+"\x00"+text[:n]]; known {
					found[spot], at = true, spot
					return false
				}
			}
			return true
		})
		if covered && len(found) == 1 {
			return at, true
		}
	}
	return document.Spot{}, false
}

// askedBy is a text that is the same for rules that ask for the same, "" for one that
// takes everybody. It is not open where an operand must not be told.
func askedBy(rule document.Rule) (text string, open bool) {
	var all []string
	for _, c := range rule.Criteria {
		if c.Operator == document.AlwaysTrue {
			continue
		}
		one := c.Operator + " " + c.PropertyName
		if v := c.ValueToMatch; v != nil {
			if v.Secret() {
				return "", false
			}
			one += " " + identity(*v)
		}
		all = append(all, one)
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), "\n"), true
}

// clientWarnings finds what clients in some languages read as something else.
func clientWarnings(doc *document.Document) []document.Issue {
	var issues []document.Issue
	if doc.Type != document.Flag && !doc.SendToClientSDK {
		return nil
	}
	add := func(pointer, message string) {
		issues = append(issues, document.Issue{Code: problem.ClientDependent, Pointer: pointer, Message: message})
	}
	if doc.Key == "__proto__" {
		add("/key", "in JavaScript an object keeps something else under this name; choose another key")
	}
	for spot, value := range doc.Values() {
		if value.Secret() {
			continue
		}
		switch content := value.Served(); {
		case value.Type == document.JSONValue && content != nil && content.Kind == jsontree.Null:
			add(spot.Pointer()+"/value", "many clients take null for no value, and serve the default of their code; an empty object is one")
		case (value.Type == document.IntValue || value.Type == document.JSONValue) && holdsUnsafeInteger(content):
			add(spot.Pointer()+"/value", "JavaScript has no integer beyond 2^53 and rounds this one; send it as a string")
		}
	}
	return issues
}

func holdsUnsafeInteger(content *jsontree.Node) bool {
	for n := range content.All() {
		if f, _ := strconv.ParseFloat(n.Literal(), 64); math.Abs(f) >= 1<<53 && !strings.ContainsAny(n.Literal(), ".eE") {
			return true
		}
	}
	return false
}
