package activity

import (
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/jsontree"
)

// rules says what became of every rule list.
func (d *differ) rules(before, after *jsontree.Node) {
	kind, _ := after.Get("type").Text()
	inherited := document.StoredRules(before.Get("default"))
	d.unscoped = kind == string(document.Segment)
	s := scopeDiff{differ: d, kind: document.Type(kind), scope: document.DefaultScope}
	s.diff(inherited, document.StoredRules(after.Get("default")))

	was, is := entriesOf(before), entriesOf(after)
	for _, id := range mergedIDs(is, was) {
		s.scope, s.added = id, false
		old, held := was[id]
		now, holds := is[id]
		switch {
		case !holds && wasInherited(old.rules):
			d.say(id, "%s", resumed)
		case !holds:
			d.say(id, "own rules removed; the default rules hold")
		case !held:
			s.added = true
			s.diff(inherited, now.rules)
		default:
			s.diff(old.rules, now.rules)
		}
	}
}

// scopeDiff compares the rules of one scope.
type scopeDiff struct {
	*differ
	kind  document.Type
	scope string
	added bool // the scope had no entry, and inherited what it is compared with
}

func (s scopeDiff) diff(before, after []*jsontree.Node) {
	if !s.added && equalRules(before, after) {
		return
	}
	count := len(s.messages)
	if len(after) == 0 && wasInherited(before) {
		s.say(s.scope, "%s", resumed)
		return
	}
	s.pause(before, after)
	if len(before) == 0 && wasInherited(after) {
		return // and the rest is what it inherits
	}
	settled := s.scheduled(before, after)
	was, is := document.Targeting(before), document.Targeting(after)
	if s.added && len(s.messages) > count && equalRules(was, is) && jsontree.Equal(document.StoredFallback(before), document.StoredFallback(after)) {
		return // it has what it inherits, beside that
	}
	// Rules that are put before what an environment inherits leave that as it was: only
	// where it is all that the environment now has, it has been pinned.
	if !settled && (!s.added || equalRules(was, is) || !jsontree.Equal(document.StoredFallback(before), document.StoredFallback(after))) {
		s.fallback(before, after)
	}
	if s.kind == document.LogLevel {
		was, is = s.loggers(was, is)
	}
	s.targeting(was, is)
	if len(s.messages) == count {
		if s.added {
			s.say(s.scope, "own rules added")
		} else {
			s.say(s.scope, "rules changed")
		}
	}
}

func equalRules(a, b []*jsontree.Node) bool {
	return slices.EqualFunc(a, b, jsontree.Equal)
}

func (s scopeDiff) fallback(before, after []*jsontree.Node) {
	was, is := document.StoredFallback(before), document.StoredFallback(after)
	had, has := was != nil, is != nil
	switch {
	case !has && had && !s.added:
		s.say(s.scope, "fallback removed")
	case !has || had && !s.added && jsontree.Equal(was, is):
		// As it was.
	default:
		words := servedWords(s.kind, is.Get("value"), document.TargetingCount(after))
		value, secret := is.Get("value"), document.SecrecyOf(is.Get("value"))
		same := had && !s.added && words == servedWords(s.kind, was.Get("value"), document.TargetingCount(after))
		if same && !hidden(value) && !secret.Confidential && secret.DecryptWith == "" {
			words += " (details changed)"
		}
		if had && hidden(was.Get("value")) && !hidden(value) && !secret.Confidential && secret.DecryptWith == "" { // nor all arms
			words = "fallback no longer secret" // these words are kept longer than the document
		}
		s.say(s.scope, "%s", words)
	}
}

// targeting counts what became of the rules before the fallback.
func (s scopeDiff) targeting(before, after []*jsontree.Node) {
	parts := counted(before, after)
	for _, part := range parts {
		words := plural(part.count, s.ruleNoun(), s.ruleNoun()+"s") + " " + part.what
		if len(parts) == 1 && part.what == "added" && part.count == 1 {
			words += ruleWords(s.kind, missing(after, before)[0])
		}
		s.say(s.scope, "%s", words)
	}
	if len(parts) == 0 && !equalRules(before, after) {
		s.say(s.scope, "%ss reordered", s.ruleNoun())
	}
}

// ruleNoun is what a rule before the fallback is called. A segment has no others.
func (s scopeDiff) ruleNoun() string {
	if s.kind == document.Segment {
		return "rule"
	}
	return "targeting rule"
}

// part is how many elements of a list were added, removed or changed.
type part struct {
	count int
	what  string
}

// counted is what became of a list. An element that is there no more and one that was
// not there before are one changed.
func counted(before, after []*jsontree.Node) []part {
	removed, added := len(missing(before, after)), len(missing(after, before))
	changed := min(removed, added)
	parts := []part{{added - changed, "added"}, {removed - changed, "removed"}, {changed, "changed"}}
	return slices.DeleteFunc(parts, func(p part) bool { return p.count == 0 })
}

// ruleWords says what a rule serves and when. It shows no secret.
func ruleWords(kind document.Type, rule *jsontree.Node) string {
	words := ": " + valueWords(rule.Get("value"))
	switch value := rule.Get("value"); {
	case kind == document.Segment:
		words = ": in it"
	case document.IsRollout(value):
		words = ": " + armWords(value)
	}
	for i, criterion := range rule.Get("criteria").Elements() {
		words += []string{" if ", " and "}[min(i, 1)] + criterionWords(criterion)
	}
	return words
}

// criterionWords are a condition in words, its operator as it is called.
func criterionWords(criterion *jsontree.Node) string {
	operator, _ := criterion.Get("operator").Text()
	property, _ := criterion.Get("propertyName").Text()
	if name, asks := strings.CutPrefix(operator, "FLAG_"); asks {
		operator, property = name, "the flag "+property
	}
	operator = strings.TrimSuffix(operator, "_SEG") + strings.Repeat("_SEGMENT", strings.Count(operator, "_SEG"))
	verb := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(operator, "PROP_"), "_", " "))
	words := strings.TrimSpace(document.Words(property) + " " + document.Words(verb))
	if operand := criterion.Get("valueToMatch"); !operand.Absent() {
		words += " " + operandWords(operand)
	}
	return words
}

// operandWords are what a condition compares with, the elements of a list one by one.
func operandWords(operand *jsontree.Node) string {
	list := operand.Get("value")
	if hidden(operand) || list == nil || list.Kind != jsontree.Array || len(list.Items) == 0 {
		return valueWords(operand)
	}
	var words []string
	for _, one := range list.Items {
		words = append(words, valueWords(jsontree.NewObject(jsontree.Field("value", one))))
	}
	return firstWords(words)
}

// missing returns the rules of which there are more than others has.
func missing(rules, others []*jsontree.Node) []*jsontree.Node {
	left := map[string]int{}
	for _, rule := range others {
		left[rule.Canonical()]++
	}
	return slices.DeleteFunc(slices.Clone(rules), func(rule *jsontree.Node) bool {
		left[rule.Canonical()]--
		return left[rule.Canonical()] >= 0
	})
}

// loggers says what became of the levels of single loggers, and returns the
// rules that this leaves unsaid.
func (s scopeDiff) loggers(before, after []*jsontree.Node) (was, is []*jsontree.Node) {
	oldLevels, was := loggerLevels(before)
	newLevels, is := loggerLevels(after)
	held := map[string]string{}
	for _, l := range oldLevels {
		held[l.Target] = l.Level
	}
	holds := map[string]bool{}
	for _, l := range newLevels {
		holds[l.Target] = true
		if held[l.Target] != l.Level {
			s.say(s.scope, "%s set to %s", document.Words(l.Target), document.Words(l.Level))
		}
	}
	for _, l := range oldLevels {
		if !holds[l.Target] {
			s.say(s.scope, "%s removed", document.Words(l.Target))
		}
	}
	return was, is
}

// loggerLevels takes the rules for single loggers out of a list, each target
// once, as the first rule for it is the one that counts. A rule with a secret
// in it is left with the others.
func loggerLevels(rules []*jsontree.Node) (levels []project.LoggerLevel, others []*jsontree.Node) {
	seen := map[string]bool{}
	for _, rule := range rules {
		level, prefixes := document.PlainLevel(rule.Get("value")), document.LoggerTargets(rule)
		if level == "" || prefixes == nil || hidden(rule.Get("value")) || hidden(rule.Get("criteria").Elements()[0].Get("valueToMatch")) {
			others = append(others, rule)
			continue
		}
		for _, prefix := range prefixes {
			if !seen[prefix] {
				levels = append(levels, project.LoggerLevel{Target: prefix, Level: level})
			}
			seen[prefix] = true
		}
	}
	return levels, others
}
