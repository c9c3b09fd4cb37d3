package edit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// MaxShares is how many entries the rollout of a request may have.
const MaxShares = 1000

// SetRollout makes the fallback split contexts over several values. The
// rollout is the request's array of {value, percent}.
//
// A rollout that is ramped again keeps the property it is sticky by, and its
// arms in their stored order when they are the same values: contexts are
// spread over the arms from the first to the last, so that the same users stay
// where they were. Where no rollout stands, it is sticky by the property of the
// default rules' one, else by user.key; a caller who knows the scope's history
// has Edited.StickBy.
func SetRollout(tree *jsontree.Node, place Place, rollout *jsontree.Node) (*Edited, error) {
	shares, issues := readShares(rollout)
	valueType := valueTypeOf(tree)
	return editFallback(tree, place, func(stored *jsontree.Node) (*jsontree.Node, error) {
		s := splitter{valueType, document.SecrecyOf(stored), variantsOf(tree)}
		arms, wrong := s.arms(shares)
		if err := refuse(append(issues, wrong...)...); err != nil {
			return nil, err
		}
		return weightedOver(stored, arms, SplitProperty(tree, document.DefaultScope)), nil
	})
}

// SplitProperty is the property that the rollout in a scope's fallback is sticky
// by; "" when there is no rollout, or it has none.
func SplitProperty(tree *jsontree.Node, scope string) string {
	holder, _, _ := findScope(tree, scope)
	held := document.StoredFallback(document.StoredRules(holder))
	if held == nil {
		held = document.StoredFallback(document.StoredRules(tree.Get("default")))
	}
	if value := held.Get("value"); document.IsRollout(value) {
		return document.HashProperty(value)
	}
	return ""
}

// share is one entry of a rollout as sent.
type share struct {
	pointer string
	content *jsontree.Node // nil when it is not there
	weight  int64
}

func readShares(rollout *jsontree.Node) (shares []share, issues []document.Issue) {
	if rollout == nil || rollout.Kind != jsontree.Array {
		return nil, []document.Issue{{Pointer: "/rollout", Message: "a rollout is an array of at least two objects with value and percent"}}
	}
	if n := len(rollout.Items); n > MaxShares {
		return nil, []document.Issue{{Pointer: "/rollout", Message: fmt.Sprintf("rollout has at most %d entries, not %d", MaxShares, n)}}
	}
	if len(rollout.Items) < 2 {
		issues = append(issues, document.Issue{Pointer: "/rollout", Message: "a rollout has at least two entries; to serve one value, send value"})
	}
	var sum int64
	readable := len(issues) == 0
	for i, entry := range rollout.Items {
		s, wrong := readShare(entry, "/rollout/"+strconv.Itoa(i))
		sum += s.weight
		readable = readable && len(wrong) == 0
		shares, issues = append(shares, s), append(issues, wrong...)
	}
	if readable && sum != document.FullWeight {
		issues = append(issues, document.Issue{Pointer: "/rollout", Message: fmt.Sprintf("the percents sum to %s; they must sum to exactly 100", document.PercentText(sum))})
	}
	return shares, issues
}

func readShare(entry *jsontree.Node, pointer string) (s share, issues []document.Issue) {
	s.pointer = pointer
	if entry.Kind != jsontree.Object {
		return s, []document.Issue{{Pointer: pointer, Message: "an entry of a rollout is an object with value and percent, not " + entry.Kind.String()}}
	}
	for _, m := range entry.Members {
		if m.Name != "value" && m.Name != "percent" {
			issues = append(issues, document.Issue{Pointer: pointer + jsontree.Pointer(m.Name), Message: "unknown field " + document.QuotedWords(m.Name) + "; an entry has value and percent"})
		}
	}
	if s.content = entry.Get("value"); s.content == nil {
		issues = append(issues, document.Issue{Pointer: pointer + "/value", Message: "value is missing"})
	}
	percent := entry.Get("percent")
	if percent == nil || percent.Kind != jsontree.Number {
		return s, append(issues, document.Issue{Pointer: pointer + "/percent", Message: "percent is a number from 0 to 100"})
	}
	weight, problem := parsePercent(percent.Literal())
	if problem != "" {
		issues = append(issues, document.Issue{Pointer: pointer + "/percent", Message: problem})
	}
	s.weight = weight
	return s, issues
}

// parsePercent reads a percentage as a weight. It works on the digits: 33.333
// is no number that a float holds.
func parsePercent(literal string) (weight int64, problem string) {
	whole, fraction, _ := strings.Cut(jsontree.NumberText(literal), ".")
	n, err := strconv.ParseInt(whole, 10, 64)
	if err != nil || n < 0 || n > 100 || strings.HasPrefix(whole, "-") || n == 100 && fraction != "" {
		return 0, "percent is a number from 0 to 100"
	}
	if len(fraction) > 3 {
		return 0, "percent has at most 3 decimals"
	}
	thousandths, _ := strconv.ParseInt((fraction + "000")[:3], 10, 64)
	return n*1000 + thousandths, ""
}

// splitter makes the arms of a document's rollout.
type splitter struct {
	valueType document.ValueType
	secret    document.Secrecy // of what is replaced
	variants  variants
}

func (s splitter) arms(shares []share) (arms []*jsontree.Node, issues []document.Issue) {
	first := map[string]string{} // by meaning, where a value was sent first
	for _, sent := range shares {
		if sent.content == nil {
			continue // reported where it was read
		}
		value, problem := s.value(sent.content)
		if problem != "" {
			issues = append(issues, document.Issue{Pointer: sent.pointer + "/value", Message: problem})
			continue
		}
		if other, taken := first[document.Meaning(value)]; taken {
			issues = append(issues, document.Issue{Pointer: sent.pointer + "/value", Message: "the value is that of " + other + "; send it once, with the sum of the percents"})
			continue
		}
		first[document.Meaning(value)] = sent.pointer
		arms = append(arms, jsontree.NewObject(
			jsontree.Field("value", value),
			jsontree.Field("weight", jsontree.NewInt(sent.weight))))
	}
	return arms, issues
}

func (s splitter) value(content *jsontree.Node) (value *jsontree.Node, problem string) {
	value, problem = typedSecret(s.secret, s.valueType, content)
	if problem != "" {
		return nil, problem
	}
	variant, refused := s.variants.secrecyOf(value)
	if refused {
		return nil, "the value is none of the flag's variants; add it to the document's variants first"
	}
	mark(value, s.secret.Or(variant))
	return value, ""
}

// weightedOver makes of a stored value one that splits over the arms. Where it
// is sticky by nothing it becomes so: by a property, or else by user.key.
func weightedOver(stored *jsontree.Node, arms []*jsontree.Node, by string) *jsontree.Node {
	value := valueObject(document.WeightedValue, jsontree.NewObject())
	if stored != nil && stored.Kind == jsontree.Object {
		value = overStored(stored)
		arms = inStoredOrder(document.StoredArms(stored), arms)
	}
	split := value.Get("value")
	split.Set("weightedValues", jsontree.NewArray(arms...))
	if stands, _ := split.Get("hashByPropertyName").Text(); stands == "" {
		split.Set("hashByPropertyName", jsontree.NewString(cmp.Or(by, "user.key")))
	}
	uneven := slices.ContainsFunc(arms, func(arm *jsontree.Node) bool {
		return !jsontree.Equal(arm.Get("weight"), arms[0].Get("weight"))
	})
	if even, _ := split.Get("splitEvenly").Bool(); even && uneven {
		split.Set("splitEvenly", jsontree.NewBool(false))
	}
	return value
}

// overStored is a copy of the stored value that is weighted, if it was not
// before. The secrecy of a plain value has gone over to the arms.
func overStored(stored *jsontree.Node) *jsontree.Node {
	value := stored.Clone()
	content := value.Get("value")
	if document.IsRollout(stored) && content != nil && content.Kind == jsontree.Object {
		return value
	}
	value.Delete("confidential")
	value.Delete("decryptWith")
	setType(value, valueObject(document.WeightedValue, nil))
	value.Set("value", jsontree.NewObject())
	return value
}

// inStoredOrder takes for each arm the stored one of the same value, with the
// new weight, and the stored order when both have the same values. (A stored
// rollout may have a value twice.)
func inStoredOrder(stored, sent []*jsontree.Node) []*jsontree.Node {
	places := map[string]int{} // by meaning, among those sent
	for i, arm := range sent {
		places[document.Meaning(arm.Get("value"))] = i
	}
	var ordered []*jsontree.Node
	others := false
	for _, arm := range stored {
		key := document.Meaning(arm.Get("value"))
		place, wanted := places[key]
		switch {
		case !wanted:
			others = true
		case place >= 0:
			places[key] = -1 // taken
			arm = arm.Clone()
			mark(arm.Get("value"), document.SecrecyOf(sent[place].Get("value")))
			if weight := sent[place].Get("weight"); !jsontree.Equal(arm.Get("weight"), weight) {
				arm.Set("weight", weight)
			}
			sent[place] = arm
			ordered = append(ordered, arm)
		}
	}
	if others || len(ordered) < len(sent) {
		return sent
	}
	return ordered
}
