package document

import (
	"slices"
	"strings"

	"svc.example/svc/shared/jsontree"
)

// recognised says that a document in which Decode and ruleIssues found nothing
// plainly fits the stored document's schema, so that the schema need not be
// asked. It is there for speed: a server holds every document against the
// schema when it starts, and asking costs ten times all the rest together.
//
// It may be wrong in one direction only. What is not recognised goes to the
// schema, which decides; what is recognised must fit (a fuzz test compares).
// So it passes over the rare: a null anywhere, a number stored as a string.
func (d *Document) recognised(tree *jsontree.Node) bool {
	if holdsOddity(tree) || !isString(tree.Get("$schema")) || !d.plainTop(tree) || !d.plainType(tree) {
		return false
	}
	for _, e := range d.Environments {
		if e.ID == "" {
			return false
		}
	}
	for _, variant := range tree.Get("variants").Elements() {
		if short(text(variant.Get("name"))) != text(variant.Get("name")) {
			return false
		}
	}
	for _, rule := range d.Rules() {
		if !rule.plain() {
			return false
		}
	}
	for _, value := range d.Values() {
		if !value.plain() {
			return false
		}
	}
	return true
}

var (
	levels = []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
	tiers  = []string{"support", "standard", "protected-env", "protected-all-envs"}
)

func (d *Document) plainTop(tree *jsontree.Node) bool {
	return newKey.MatchString(d.Key) && d.ID == text(tree.Get("id")) && d.expectedType() != "" &&
		(tree.Get("access") == nil || slices.Contains(tiers, d.Access)) &&
		(tree.Get("schemaKey") == nil || d.SchemaKey != "")
}

func (d *Document) plainType(tree *jsontree.Node) bool {
	switch d.Type {
	case Flag:
		return tree.Get("sendToClientSdk") == nil
	case Config:
		return true
	case LogLevel:
		return d.ValueType == LogLevelValue && strings.HasPrefix(d.Key, LogLevelPrefix) && d.Key != LogLevelPrefix
	case Segment:
		return d.ValueType == BoolValue && len(d.Environments) == 0 && len(d.Variants) == 0
	}
	return false
}

func (r Rule) plain() bool {
	for _, c := range r.Criteria {
		if c.Operator == "" || c.ValueToMatch != nil && (c.ValueToMatch.Type == WeightedValue || !c.ValueToMatch.plain()) {
			return false
		}
	}
	return len(r.Criteria) > 0
}

// plain reports whether content that fits its type for Decode is also such that
// the schema takes it.
func (v Value) plain() bool {
	switch {
	case v.Type == "":
		return false
	case v.DecryptWith != "":
		return true
	}
	switch v.Type {
	case IntValue, DoubleValue:
		return v.Content.Kind == jsontree.Number
	case LogLevelValue:
		return slices.Contains(levels, text(v.Content))
	case ProvidedValue:
		return text(v.Content.Get("source")) != "" && text(v.Content.Get("lookup")) != ""
	}
	return true
}

// isString also takes a member that is not there.
func isString(n *jsontree.Node) bool {
	return n == nil || n.Kind == jsontree.String
}

// holdsOddity reports whether there is something that Decode reads as a member
// left out and the schema does not: a null, or an empty decryptWith.
func holdsOddity(n *jsontree.Node) bool {
	if n.Kind == jsontree.Null {
		return true
	}
	for _, m := range n.Members {
		if holdsOddity(m.Value) || m.Name == "decryptWith" && text(m.Value) == "" {
			return true
		}
	}
	return slices.ContainsFunc(n.Items, holdsOddity)
}

// text is a string's text, and "" for anything else.
func text(n *jsontree.Node) string {
	s, _ := n.Text()
	return s
}
