package edit

import (
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// SetLevel sets the level of a scope: of the loggers whose path begins with
// the target, or, with the target "", of those that no other rule matches.
//
// Targets match as text: com.acme.cart covers com.acme.cartoon too. The longest
// prefix wins, so a target is put before the first one that is a prefix of it;
// one that stands behind such a target, where it has no effect, is moved there
// when its level is set. A rule for several prefixes is split when the level of
// one of them changes. What else is said of the same target further down has
// no effect and goes away.
//
// As in every edit, a scope without rules of its own is given a copy of the
// default rules first.
func SetLevel(tree *jsontree.Node, scope, target, level string) (*Edited, error) {
	typed, problem := TypedValue(document.LogLevelValue, jsontree.NewString(level))
	if problem != "" {
		return nil, refuse(document.Issue{Pointer: "/level", Message: problem})
	}
	if target == "" {
		return editFallback(tree, Place{Scope: scope}, func(stored *jsontree.Node) (*jsontree.Node, error) {
			return plaintext(stored, typed), nil
		})
	}
	s, err := openScope(tree, scope)
	if err != nil {
		return nil, err
	}
	return s.close(setTarget(s.rules, target, typed), false)
}

// extends reports whether path lies below prefix.
func extends(path, prefix string) bool {
	return path != prefix && strings.HasPrefix(path, prefix)
}

func setTarget(rules []*jsontree.Node, target string, level *jsontree.Node) []*jsontree.Node {
	first := slices.IndexFunc(rules, func(rule *jsontree.Node) bool {
		return slices.Contains(document.LoggerTargets(rule), target)
	})
	shadow := slices.IndexFunc(rules, func(rule *jsontree.Node) bool {
		return slices.ContainsFunc(document.LoggerTargets(rule), func(prefix string) bool { return extends(target, prefix) })
	})
	switch {
	case first < 0:
		return slices.Insert(rules, newTargetPlace(rules, shadow), targetRule(target, level))
	case shadow >= 0 && shadow < first:
		moved := narrowed(rules[first], func(prefix string) bool { return prefix == target })
		serveLevel(moved, level)
		rest := withoutTarget(rules[shadow:], target)
		return slices.Concat(rules[:shadow], []*jsontree.Node{moved}, rest)
	}
	return slices.Concat(rules[:first], split(rules[first], target, level), withoutTarget(rules[first+1:], target))
}

// newTargetPlace is where a target's rule goes that was not there before.
// shadow is the first rule for a prefix of it, or -1.
func newTargetPlace(rules []*jsontree.Node, shadow int) int {
	if shadow >= 0 {
		return shadow
	}
	for i := len(rules) - 1; i >= 0; i-- {
		if document.LoggerPrefixes(rules[i]) != nil {
			return i + 1
		}
	}
	if document.StoredFallback(rules) != nil {
		return len(rules) - 1
	}
	return len(rules)
}

func targetRule(target string, level *jsontree.Node) *jsontree.Node {
	match := valueObject(document.StringListValue, jsontree.NewArray(jsontree.NewString(target)))
	criterion := jsontree.NewObject(
		jsontree.Field("operator", jsontree.NewString(document.LoggerOperator)),
		jsontree.Field("propertyName", jsontree.NewString(document.LoggerProperty)),
		jsontree.Field("valueToMatch", match))
	return jsontree.NewObject(
		jsontree.Field("criteria", jsontree.NewArray(criterion)),
		jsontree.Field("value", level))
}

// split sets the level of one of a rule's prefixes. Those that extend it stay
// before it, as the longest prefix wins, the others come behind it.
func split(rule *jsontree.Node, target string, level *jsontree.Node) []*jsontree.Node {
	if document.Meaning(rule.Get("value")) == document.Meaning(level) {
		return []*jsontree.Node{rule}
	}
	edited := narrowed(rule, func(prefix string) bool { return prefix == target })
	serveLevel(edited, level)
	pieces := []*jsontree.Node{
		narrowed(rule, func(prefix string) bool { return extends(prefix, target) }),
		edited,
		narrowed(rule, func(prefix string) bool { return prefix != target && !extends(prefix, target) }),
	}
	return slices.DeleteFunc(pieces, func(piece *jsontree.Node) bool { return piece == nil })
}

// narrowed is a copy of a rule for those of its prefixes that are kept, nil
// when none is.
func narrowed(rule *jsontree.Node, keep func(prefix string) bool) *jsontree.Node {
	rule = rule.Clone()
	list := document.LoggerPrefixes(rule)
	list.Items = slices.DeleteFunc(list.Items, func(item *jsontree.Node) bool {
		prefix, _ := item.Text()
		return !keep(prefix)
	})
	if len(list.Items) == 0 {
		return nil
	}
	return rule
}

// withoutTarget takes a target out of rules for loggers.
func withoutTarget(rules []*jsontree.Node, target string) []*jsontree.Node {
	var rest []*jsontree.Node
	for _, rule := range rules {
		if slices.Contains(document.LoggerTargets(rule), target) {
			rule = narrowed(rule, func(prefix string) bool { return prefix != target })
		}
		if rule != nil {
			rest = append(rest, rule)
		}
	}
	return rest
}

func serveLevel(rule, level *jsontree.Node) {
	rule.Set("value", plaintext(rule.Get("value"), level))
}
