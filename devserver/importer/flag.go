package importer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// flag is one on its way from another system.
type flag struct {
	Item
	name, description string
	tags              []string
	variants          []variant
	rules             []rule
	environments      map[string][]rule
}

type variant struct {
	name  string
	value json.RawMessage
}

// rule serves one value, or splits by a property over several, where its condition holds.
type rule struct {
	when condition
	arms []arm
	by   string // the property of a split
}

type arm struct {
	variant int
	weight  int64
}

// serve is the rule that serves a variant.
func serve(when condition, variant int) rule { return rule{when: when, arms: []arm{{variant, 1}}} }

// variant is the number of the variant of that name, or -1.
func (f *flag) variant(name string) int {
	return slices.IndexFunc(f.variants, func(v variant) bool { return v.name == name })
}

// valued is the number of the variant of a value.
func (f *flag) valued(value json.RawMessage) int {
	for i, v := range f.variants {
		if string(v.value) == string(value) {
			return i
		}
	}
	name := strings.Trim(string(value), `"`)
	if len(name) > 40 || strings.ContainsAny(name, "{}[]\\\"") {
		name = fmt.Sprintf("value-%d", len(f.variants)+1)
	}
	f.variants = append(f.variants, variant{name, value})
	return len(f.variants) - 1
}

// refuse says why a flag cannot be imported.
func (f *flag) refuse(pointer, format string, args ...any) { f.say(Refused, pointer, format, args...) }

// approximate says what is served otherwise than it was.
func (f *flag) approximate(pointer, format string, args ...any) {
	f.say(Approximated, pointer, format, args...)
}

func (f *flag) say(outcome Outcome, pointer, format string, args ...any) {
	reason := Reason{pointer, fmt.Sprintf(format, args...)}
	if !slices.Contains(f.Reasons, reason) && len(f.Reasons) < maxReasons {
		f.Reasons = append(f.Reasons, reason)
	}
	f.Outcome = max(f.Outcome, outcome)
}

// maxReasons is how many reasons one flag is told.
const maxReasons = 20

// valueType is the type that all variants have.
func (f *flag) valueType() (document.ValueType, error) {
	var found document.ValueType
	for _, v := range f.variants {
		kind := document.JSONValue
		switch first := string(v.value[:1]); {
		case first == "n":
			return "", fmt.Errorf("the variant %q is null, which no value of svc is", v.name)
		case first == "t" || first == "f":
			kind = document.BoolValue
		case first == `"`:
			kind = document.StringValue
		case strings.Contains("-0123456789", first):
			kind = document.IntValue
			if _, err := json.Number(v.value).Int64(); err != nil {
				kind = document.DoubleValue
			}
		}
		switch numbers := []document.ValueType{document.IntValue, document.DoubleValue}; {
		case found == "" || found == kind:
			found = kind
		case slices.Contains(numbers, found) && slices.Contains(numbers, kind):
			found = document.DoubleValue
		default:
			found = document.JSONValue
		}
	}
	return found, nil
}

type storedValue struct {
	Type  document.ValueType `json:"type"`
	Value any                `json:"value"`
}

type storedRule struct {
	Criteria []criterion `json:"criteria"`
	Value    storedValue `json:"value"`
}

type storedRules struct {
	ID    string       `json:"id,omitempty"`
	Rules []storedRule `json:"rules"`
}

// document is the flag as it is stored, or nil where it is refused.
func (f *flag) document() []byte {
	kind, err := f.valueType()
	switch problem := document.KeyProblem(f.Key); {
	case problem != "":
		f.refuse(f.Pointer, "the key %q: %s; rename it there, or in a copy of the file", f.Key, problem)
	case err != nil:
		f.refuse(f.Pointer, "%v", err)
	case len(f.variants) == 0:
		f.refuse(f.Pointer, "it has no values")
	}
	type named struct {
		Name  string      `json:"name"`
		Value storedValue `json:"value"`
	}
	stored := struct {
		Key          string             `json:"key"`
		Type         document.Type      `json:"type"`
		ValueType    document.ValueType `json:"valueType"`
		Name         string             `json:"name,omitempty"`
		Description  string             `json:"description,omitempty"`
		Tags         []string           `json:"tags,omitempty"`
		Variants     []named            `json:"variants"`
		Default      storedRules        `json:"default"`
		Environments []storedRules      `json:"environments"`
	}{Key: f.Key, Type: document.Flag, ValueType: kind, Name: f.name, Description: f.description, Tags: f.tags, Environments: []storedRules{}}
	for _, v := range f.variants {
		stored.Variants = append(stored.Variants, named{v.name, storedValue{kind, v.value}})
	}
	stored.Default = f.stored("", kind, f.rules)
	for _, environment := range sortedKeys(f.environments) {
		stored.Environments = append(stored.Environments, f.stored(environment, kind, f.environments[environment]))
	}
	if f.Outcome == Refused {
		return nil
	}
	text, err := json.Marshal(stored)
	if err != nil {
		f.refuse(f.Pointer, "a value of it is no JSON that svc stores")
		return nil
	}
	tree, err := jsontree.Parse(text)
	if err != nil {
		f.refuse(f.Pointer, "it is no JSON that svc stores: %v", err)
		return nil
	}
	return tree.Encode()
}

// stored are rules as they are stored, up to the first one that always holds.
func (f *flag) stored(environment string, kind document.ValueType, rules []rule) storedRules {
	made := storedRules{environment, []storedRule{}}
	for _, r := range rules {
		lists, err := r.when.alternatives()
		if err != nil {
			f.refuse(f.Pointer, "%v", err)
			return made
		}
		for _, criteria := range lists {
			if len(made.Rules) == maxRules {
				f.refuse(f.Pointer, "it takes more than %d rules of svc", maxRules)
				return made
			}
			ends := len(criteria) == 0
			if ends {
				criteria = []criterion{{Operator: "ALWAYS_TRUE"}}
			}
			made.Rules = append(made.Rules, storedRule{criteria, f.served(kind, r)})
			if ends {
				return made
			}
		}
	}
	return made
}

const maxRules = 2000

// served is what a rule serves.
func (f *flag) served(kind document.ValueType, r rule) storedValue {
	if len(r.arms) == 1 {
		return storedValue{kind, f.variants[r.arms[0].variant].value}
	}
	type weighted struct {
		Value  storedValue `json:"value"`
		Weight int64       `json:"weight"`
	}
	var total int64
	for _, a := range r.arms {
		total += a.weight
	}
	scale := int64(1)
	if total > 0 && document.FullWeight%total == 0 {
		scale = document.FullWeight / total
	}
	var arms []weighted
	for _, a := range r.arms {
		arms = append(arms, weighted{storedValue{kind, f.variants[a.variant].value}, a.weight * scale})
	}
	return storedValue{document.WeightedValue, map[string]any{"hashByPropertyName": r.by, "weightedValues": arms}}
}

// split serves shares of values, and what is over as the rules after it do.
func (f *flag) split(values []json.RawMessage, weights []float64, coverage float64, when condition, by, at string) *logicError {
	made, left := rule{when: when, by: by}, int64(fullShare)
	for i, value := range values {
		share := int64(math.Round(weights[i] * coverage * fullShare))
		if share < 0 || share > left+int64(len(values)) {
			return wrong(at, "the weights are more than 1 together, or below 0")
		}
		share = min(share, left)
		left -= share
		made.arms = append(made.arms, arm{f.valued(value), share})
	}
	if left <= int64(len(values)) { // what rounding has left
		made.arms[len(made.arms)-1].weight += left
		f.rules = append([]rule{made}, f.rules...)
		return nil
	}
	if len(f.rules) == 0 || !f.rules[len(f.rules)-1].when.isAlways() {
		return wrong(at, "what this rule leaves over is served nothing, which no split of svc says: give the flag a default value")
	}
	var splits []rule
	for _, after := range f.rules {
		if len(after.arms) > 1 {
			return wrong(at, "what this rule leaves over goes to another rule with shares: svc has one split for a context; merge the two")
		}
		splits = append(splits, rule{all(when, after.when), append(made.arms[:len(made.arms):len(made.arms)], arm{after.arms[0].variant, left}), by})
	}
	f.rules = append(splits, f.rules...)
	return nil
}

const fullShare = 100_000

// decode reads one value of an export into a struct. The error says where it is of
// another kind.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(into)
}
