package command

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/terminal"
)

// evaluationTree shows an evaluation to a person:
//
//	new-checkout = true (bool, production at 3f786850)
//	  ✗ rule 0 of production
//	    ✗ user.plan is one of "beta", where it is "free"
//	  ✓ rule 1 of production
//	    ✓ always
func evaluationTree(key string, answer *explanation.Evaluations) string {
	e := answer.Evaluations[key]
	value := string(e.Value)
	switch {
	case e.Confidential:
		value = "a value that is confidential, encrypted or provided"
	case e.RuleSource == nil:
		value = "nothing: no rule matches, and applications use their own default"
	}
	where := answer.Environment
	if answer.CommitSHA != nil {
		const short = 8
		where += " at " + (*answer.CommitSHA)[:min(short, len(*answer.CommitSHA))]
	}
	if e.Reason == evaluation.Overridden {
		where += ", overridden on this machine"
	}
	t := tree{names: map[evaluation.RuleSource]string{
		evaluation.DefaultRules: "rule %d of the default rules", evaluation.OverrideRules: "override %d, of this machine",
		evaluation.EnvironmentRules: "rule %d of " + strings.ReplaceAll(answer.Environment, "%", "%%"),
	}}
	t.line(0, "%s = %s (%s, %s)", key, value, e.ValueType, where)
	t.rules(1, "", e.Explanation)
	if e.Truncated {
		t.line(1, "and more than is told")
	}
	return t.text.String()
}

// tree is a tree as it is printed, line by line.
type tree struct {
	names map[evaluation.RuleSource]string // of rules
	text  strings.Builder
}

func (t *tree) line(depth int, format string, args ...any) {
	t.text.WriteString(strings.Repeat("  ", depth) + terminal.Escape(fmt.Sprintf(format, args...)) + "\n")
}

func mark(holds bool) string {
	if holds {
		return "✓"
	}
	return "✗"
}

func (t *tree) rules(depth int, segment string, rules []evaluation.TriedRule) {
	for _, r := range rules {
		name := cmp.Or(segment, t.names[r.RuleSource])
		if r.Member != nil && !*r.Member {
			name += ": no member"
		}
		switch {
		case r.Paused:
			name += ", which pauses it for everybody"
		case r.Scheduled != "":
			name += map[string]string{document.ScheduledChange: ", a scheduled change", document.ScheduledStep: ", a step of a rollout plan", document.ScheduledHold: ", where a rollout plan is held"}[r.Scheduled]
		}
		t.line(depth, "%s "+name, mark(r.Matched), r.Index)
		for _, c := range r.Criteria {
			t.criterion(depth+1, c)
		}
		if r.Split != nil {
			t.split(depth+1, r.Split)
		}
	}
}

func (t *tree) criterion(depth int, c evaluation.TriedCriterion) {
	line := words(c)
	_, asks := evaluation.FlagOf(document.Criterion{Operator: c.Operator})
	if c.PropertyName != "" && c.Operator != document.AlwaysTrue {
		line = c.PropertyName + " " + line
		switch {
		case c.Operator == "IS_PRESENT" || c.Operator == "IS_NOT_PRESENT":
		case asks && !c.Present:
			line += ", and it serves nothing"
		case asks && c.Actual != nil:
			line += ", where it serves " + shown(c.Actual)
		case asks:
			line += ", and what it serves is not shown"
		case !c.Present:
			line += ", and there is none"
		case c.Actual != nil:
			line += ", where it is " + shown(c.Actual)
		}
	}
	t.line(depth, "%s %s", mark(c.Holds), line)
	if c.Segment != nil && len(c.Segment) == 0 {
		t.line(depth+1, "it has no rules")
	}
	t.rules(depth+1, "rule %d of the segment", c.Segment)
	t.rules(depth+1, "", c.Flag)
}

func (t *tree) split(depth int, s *evaluation.TriedSplit) {
	by := "by chance"
	if s.Hash != nil {
		by = fmt.Sprintf("by %s, whose hash is %d", s.Property, *s.Hash)
	} else if s.Property != "" {
		by = "by chance, as there is no " + s.Property
	}
	t.line(depth, "split %s: at %s of 100", by, percent(s.Point))
	for _, arm := range s.Arms {
		value := "confidential"
		if !arm.Confidential {
			value = shown(arm.Value)
		}
		t.line(depth+1, "%s %s to %s: %s", mark(arm.Chosen), percent(arm.From), percent(arm.To), value)
	}
}

func percent(f float64) string { return strconv.FormatFloat(f, 'f', -1, 32) }

// operatorWords are the operators as a sentence has them.
var operatorWords = map[string]string{
	"PROP_IS_ONE_OF": "is one of", "PROP_IS_NOT_ONE_OF": "is not one of",
	"PROP_STARTS_WITH_ONE_OF": "starts with one of", "PROP_DOES_NOT_START_WITH_ONE_OF": "does not start with one of",
	"PROP_ENDS_WITH_ONE_OF": "ends with one of", "PROP_DOES_NOT_END_WITH_ONE_OF": "does not end with one of",
	"PROP_CONTAINS_ONE_OF": "contains one of", "PROP_DOES_NOT_CONTAIN_ONE_OF": "does not contain one of",
	"PROP_MATCHES": "matches", "PROP_DOES_NOT_MATCH": "does not match", "HIERARCHICAL_MATCH": "lies below",
	"IN_INT_RANGE": "is in the range", "PROP_BEFORE": "is before", "PROP_AFTER": "is after",
	"PROP_GREATER_THAN": "is greater than", "PROP_GREATER_THAN_OR_EQUAL": "is at least",
	"PROP_LESS_THAN": "is less than", "PROP_LESS_THAN_OR_EQUAL": "is at most",
	"PROP_SEMVER_LESS_THAN": "is a version below", "PROP_SEMVER_EQUAL": "is the version", "PROP_SEMVER_GREATER_THAN": "is a version above",
	"IS_PRESENT": "is there", "IS_NOT_PRESENT": "is not there",
	evaluation.InSegment: "in the segment", evaluation.NotInSegment: "not in the segment",
	evaluation.FlagIsOneOf: "serves one of", evaluation.FlagIsNotOneOf: "serves none of",
	document.AlwaysTrue: "always",
}

// words are a criterion but for its property.
func words(c evaluation.TriedCriterion) string {
	line := operatorWords[c.Operator]
	if line == "" {
		line = c.Operator + " (which means nothing here)"
	}
	switch {
	case c.Operator == document.AlwaysTrue, c.Operator == "IS_PRESENT", c.Operator == "IS_NOT_PRESENT":
		return line
	case c.Confidential:
		return line + " what is confidential"
	case c.Expected == nil:
		return line
	}
	return line + " " + shown(c.Expected)
}

// shown is a value: a list without its brackets.
func shown(n *jsontree.Node) string {
	if n == nil {
		return "too long to be shown"
	}
	text := string(n.Compact())
	if n.Kind == jsontree.Array && len(n.Items) > 0 {
		var items []string
		for _, item := range n.Items {
			items = append(items, string(item.Compact()))
		}
		text = strings.Join(items, ", ")
	}
	const wide = 200
	return terminal.Cut(text, wide)
}
