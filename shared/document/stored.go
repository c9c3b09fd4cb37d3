package document

import (
	"slices"
	"strconv"

	"svc.example/svc/shared/jsontree"
)

// What an edit, a projection and the words of a change read of a document as it
// is stored. Nothing here minds what else is wrong with the document.

// StoredRules are the rules of an object that holds some: a document's default,
// or one of its environments.
func StoredRules(holder *jsontree.Node) []*jsontree.Node { return holder.Get("rules").Elements() }

// StoredScope finds what holds the rules of a scope, and where it stands as a JSON Pointer;
// nil and "" for nowhere.
func StoredScope(tree *jsontree.Node, scope string) (holder *jsontree.Node, pointer string) {
	if scope == DefaultScope {
		return tree.Get("default"), "/default"
	}
	for i, entry := range tree.Get("environments").Elements() {
		if id, ok := entry.Get("id").Text(); ok && id == scope {
			return entry, "/environments/" + strconv.Itoa(i)
		}
	}
	return nil, ""
}

// ReadRules decodes stored rules.
func ReadRules(rules []*jsontree.Node) []Rule {
	var d decoder
	read := make([]Rule, 0, len(rules))
	for i, rule := range rules {
		read = append(read, d.rule(rule, ""))
		d.marks(rule, &read[i], "", i)
	}
	return read
}

// StoredFallback is the last of some rules when it has no criterion but
// ALWAYS_TRUE, else nil.
func StoredFallback(rules []*jsontree.Node) *jsontree.Node {
	if len(rules) > 0 && StoredCatchAll(rules[len(rules)-1]) {
		return rules[len(rules)-1]
	}
	return nil
}

// StoredCatchAll reports whether a rule's only criterion is ALWAYS_TRUE. The rule of a
// pause is none: it goes again.
func StoredCatchAll(rule *jsontree.Node) bool { return unconditional(rule) && !isPause(rule) }

func unconditional(rule *jsontree.Node) bool {
	criteria := rule.Get("criteria").Elements()
	if len(criteria) != 1 {
		return false
	}
	operator, _ := criteria[0].Get("operator").Text()
	return operator == AlwaysTrue
}

// Targeting are the rules before the fallback. What was made for a time is none, nor is
// a pause.
func Targeting(rules []*jsontree.Node) []*jsontree.Node {
	if StoredFallback(rules) != nil {
		rules = rules[:len(rules)-1]
	}
	if StoredPause(rules) != nil {
		rules = rules[1:]
	}
	return slices.DeleteFunc(slices.Clone(rules), func(rule *jsontree.Node) bool { return StoredSchedule(rule).Kind != "" })
}

// TargetingCount counts them.
func TargetingCount(rules []*jsontree.Node) int { return len(Targeting(rules)) }

// IsRollout reports whether a Value object splits its users among several values.
func IsRollout(value *jsontree.Node) bool {
	name, _ := value.Get("type").Text()
	return name == string(WeightedValue)
}

// StoredArms are the arms of a rollout, and none of any other value.
func StoredArms(value *jsontree.Node) []*jsontree.Node {
	if !IsRollout(value) {
		return nil
	}
	return value.Get("value").Get("weightedValues").Elements()
}

// Secrecy is what a Value object says of its content being secret.
type Secrecy struct {
	Confidential bool
	DecryptWith  string
}

// SecrecyOf reads what a stored value makes of all that it serves: for a
// rollout, what all of its arms have in common.
func SecrecyOf(value *jsontree.Node) Secrecy {
	arms := StoredArms(value)
	if len(arms) == 0 {
		return OwnSecrecy(value)
	}
	common := OwnSecrecy(arms[0].Get("value"))
	for _, arm := range arms[1:] {
		of := OwnSecrecy(arm.Get("value"))
		common.Confidential = common.Confidential && of.Confidential
		if of.DecryptWith != common.DecryptWith {
			common.DecryptWith = ""
		}
	}
	return OwnSecrecy(value).Or(common)
}

// OwnSecrecy is SecrecyOf without regard to arms. It takes every confidential
// but false to mean true: a marker that is misspelt must not publish what it
// was meant to hide.
func OwnSecrecy(value *jsontree.Node) Secrecy {
	marker := value.Get("confidential")
	boolean, isBool := marker.Bool()
	key, _ := value.Get("decryptWith").Text()
	return Secrecy{!marker.Absent() && (boolean || !isBool), key}
}

// KeptElsewhere reports whether what a Value object comes to does not stand in the document.
func KeptElsewhere(value *jsontree.Node) bool {
	name, _ := value.Get("type").Text()
	return name == string(ProvidedValue) || OwnSecrecy(value).DecryptWith != ""
}

// Or fills what s does not say from another's.
func (s Secrecy) Or(other Secrecy) Secrecy {
	s.Confidential = s.Confidential || other.Confidential
	if s.DecryptWith == "" {
		s.DecryptWith = other.DecryptWith
	}
	return s
}

// PlainLevel is the one level that a value serves, and "" for a rollout and for
// ciphertext.
func PlainLevel(value *jsontree.Node) string {
	if name, _ := value.Get("type").Text(); name != string(LogLevelValue) || OwnSecrecy(value).DecryptWith != "" {
		return ""
	}
	level, _ := value.Get("value").Text()
	return level
}

// LoggerOperator is the operator of the rules that set single loggers.
const LoggerOperator = "PROP_STARTS_WITH_ONE_OF"

// LoggerPrefixes lists the prefixes of a rule that sets the level of loggers:
// the array of strings that it matches with. Of any other rule it is nil.
func LoggerPrefixes(rule *jsontree.Node) *jsontree.Node {
	criteria := rule.Get("criteria").Elements()
	if len(criteria) != 1 {
		return nil
	}
	operator, _ := criteria[0].Get("operator").Text()
	property, _ := criteria[0].Get("propertyName").Text()
	list := criteria[0].Get("valueToMatch").Get("value")
	if operator != LoggerOperator || property != LoggerProperty || stringListProblem(list) != "" || len(list.Items) == 0 {
		return nil
	}
	return list
}

// LoggerTargets are LoggerPrefixes as text.
func LoggerTargets(rule *jsontree.Node) []string {
	var targets []string
	for _, item := range LoggerPrefixes(rule).Elements() {
		target, _ := item.Text()
		targets = append(targets, target)
	}
	return targets
}

// SameDocument reports whether two documents say the same: the order of members,
// the spelling of numbers and $schema do not count.
func SameDocument(a, b *jsontree.Node) bool {
	return jsontree.Equal(a.Without("$schema"), b.Without("$schema"))
}
