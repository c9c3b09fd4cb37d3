package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// growthbook reads the features of GrowthBook as its API gives them to SDKs.
var growthbook = system{
	name: "growthbook", title: "GrowthBook",
	recognises: func(root map[string]json.RawMessage) bool {
		var features map[string]map[string]json.RawMessage
		if decode(root["features"], &features) != nil {
			return false
		}
		for _, f := range features {
			if f["defaultValue"] == nil && f["rules"] == nil {
				return false
			}
		}
		return true
	},
	flags: growthbookFeatures,
	notes: []string{
		"Attributes keep their names, and id is user.key, for which OpenFeature's targeting key stands.",
		"GrowthBook hashes in a way of its own: shares are kept, and people are in other arms.",
		"Conditions compare by kind there, and by text in svc: a text 5 and a number 5 are equal.",
	},
}

type growthbookRule struct {
	Condition        map[string]any    `json:"condition"`
	ParentConditions []any             `json:"parentConditions"`
	Filters          []any             `json:"filters"`
	Namespace        []any             `json:"namespace"`
	Range            []any             `json:"range"`
	Ranges           []any             `json:"ranges"`
	Force            json.RawMessage   `json:"force"`
	Variations       []json.RawMessage `json:"variations"`
	Weights          []float64         `json:"weights"`
	Coverage         *float64          `json:"coverage"`
	HashAttribute    string            `json:"hashAttribute"`
}

func growthbookFeatures(root map[string]json.RawMessage) (flags []*flag, err error) {
	if root["encryptedFeatures"] != nil {
		return nil, errors.New("its features are encrypted: export them without encryption")
	}
	var features map[string]json.RawMessage
	if err := decode(root["features"], &features); err != nil {
		return nil, errors.New(`"features" is an object of features by their keys`)
	}
	var groups map[string]any
	if root["savedGroups"] != nil && decode(root["savedGroups"], &groups) != nil {
		return nil, errors.New(`"savedGroups" is an object of groups by their ids`)
	}
	for _, key := range sortedKeys(features) {
		f := &flag{Item: Item{Key: key, Pointer: under("", "features", key)}}
		flags = append(flags, f)
		var def struct {
			DefaultValue json.RawMessage  `json:"defaultValue"`
			Rules        []growthbookRule `json:"rules"`
		}
		if decode(features[key], &def) != nil {
			f.refuse(f.Pointer, `a feature is an object such as {"defaultValue": false, "rules": [{"condition": {"plan": "pro"}, "force": true}]}`)
			continue
		}
		if def.DefaultValue != nil && string(def.DefaultValue) != "null" {
			f.rules = []rule{serve(always, f.valued(def.DefaultValue))}
		}
		m := mongo{f, groups}
		for i := len(def.Rules) - 1; i >= 0; i-- { // what a rule leaves over is for those after it
			at := under(f.Pointer, "rules", fmt.Sprint(i))
			if err := m.rule(def.Rules[i], at); err != nil {
				f.refuse(err.pointer, "%s", err.message)
			}
		}
	}
	return flags, nil
}

// mongo turns the rules of one feature, whose conditions are like MongoDB's.
type mongo struct {
	*flag
	groups map[string]any
}

// rule puts a rule before those that the flag has.
func (m mongo) rule(r growthbookRule, at string) *logicError {
	switch {
	case len(r.ParentConditions) > 0:
		return wrong(under(at, "parentConditions"), "prerequisites are not imported: write them as a criterion FLAG_IS_ONE_OF")
	case len(r.Range) > 0 || len(r.Ranges) > 0:
		return wrong(at, "svc has shares, and no ranges of hashes: export weights and coverage")
	case len(r.Filters) > 0 || len(r.Namespace) > 0:
		return wrong(at, "svc has no namespaces, which keep people out of several experiments")
	}
	when, err := m.object(r.Condition, under(at, "condition"), 0)
	if err != nil {
		return err
	}
	by := m.attribute(r.HashAttribute)
	if r.HashAttribute == "" {
		by = targetingKey
	}
	coverage := 1.0
	if r.Coverage != nil {
		coverage = min(max(*r.Coverage, 0), 1)
	}
	values, weights := r.Variations, r.Weights
	switch {
	case r.Force != nil && r.Coverage == nil:
		m.rules = append([]rule{serve(when, m.valued(r.Force))}, m.rules...)
		return nil
	case r.Force != nil:
		values, weights = []json.RawMessage{r.Force}, []float64{1}
	case len(values) == 0:
		return wrong(at, "the rule neither forces a value nor has variations")
	case len(weights) != len(values):
		weights = nil
		for range values {
			weights = append(weights, 1/float64(len(values)))
		}
	}
	m.approximate(at, "the shares are the same, and people are in other arms")
	return m.split(values, weights, coverage, all(when, present(by)), by, at)
}

// attribute is a property in the words of svc.
func (m mongo) attribute(name string) string {
	if name == "id" {
		return targetingKey
	}
	return name
}

// object is a condition whose members all hold.
func (m mongo) object(members map[string]any, at string, depth int) (condition, *logicError) {
	if depth > maxLogic {
		return never, wrong(at, "the condition nests deeper than %d", maxLogic)
	}
	holds := condition{kind: allOf}
	for _, name := range sortedKeys(members) {
		part, err := m.member(name, members[name], under(at, name), depth+1)
		if err != nil {
			return never, err
		}
		holds.parts = append(holds.parts, part)
	}
	return holds, nil
}

func (m mongo) member(name string, value any, at string, depth int) (condition, *logicError) {
	switch name {
	case "$and", "$or", "$nor":
		list, _ := value.([]any)
		c := condition{kind: allOf}
		if name != "$and" {
			c.kind = anyOf
		}
		for i, v := range list {
			members, _ := v.(map[string]any)
			part, err := m.object(members, element(at, i), depth)
			if err != nil {
				return never, err
			}
			c.parts = append(c.parts, part)
		}
		if len(list) == 0 && name == "$or" { // as GrowthBook has it
			return always, nil
		}
		if name == "$nor" && len(list) > 0 {
			return m.not(c, at)
		}
		return c, nil
	case "$not":
		members, _ := value.(map[string]any)
		c, err := m.object(members, at, depth)
		if err != nil {
			return never, err
		}
		return m.not(c, at)
	}
	if strings.HasPrefix(name, "$") || strings.Count(name, ".") > 1 {
		return never, wrong(at, "svc has no counterpart of %q here", name)
	}
	return m.compare(m.attribute(name), value, at, depth)
}

func (m mongo) not(c condition, at string) (condition, *logicError) {
	turned, err := not(c)
	if err != nil {
		return never, wrong(at, "%v", err)
	}
	return turned, nil
}

// compare is what a value, or an object of operators, says of a property.
func (m mongo) compare(property string, value any, at string, depth int) (condition, *logicError) {
	operators, isObject := value.(map[string]any)
	if literal, isNumber := value.(json.Number); isNumber {
		if f, _ := literal.Float64(); f == 0 { // a bare 0 stands for what is absent, too
			return either(compare("IS_NOT_PRESENT", property, nil), among("PROP_IS_ONE_OF", property, "0")), nil
		}
	}
	if !isObject {
		return m.operator(property, "$eq", value, at, depth)
	}
	holds := condition{kind: allOf}
	for _, name := range sortedKeys(operators) {
		if !strings.HasPrefix(name, "$") {
			return never, wrong(at, "svc compares properties with texts, numbers and lists, and this is an object")
		}
		part, err := m.operator(property, name, operators[name], under(at, name), depth)
		if err != nil {
			return never, err
		}
		holds.parts = append(holds.parts, part)
	}
	return holds, nil
}

// mongoOrders are the comparisons of numbers, by the names that flagd has for them.
var mongoOrders = map[string]string{"$lt": "<", "$lte": "<=", "$gt": ">", "$gte": ">="}

// mongoNegated are operators that hold where another one does not.
var mongoNegated = map[string]string{"$ne": "$eq", "$nin": "$in", "$notInGroup": "$inGroup"}

func (m mongo) operator(property, name string, value any, at string, depth int) (condition, *logicError) {
	if depth > maxLogic {
		return never, wrong(at, "the condition nests deeper than %d", maxLogic)
	}
	if other := mongoNegated[name]; other != "" {
		c, err := m.operator(property, other, value, at, depth+1)
		if err != nil {
			return never, err
		}
		return m.not(c, at)
	}
	switch name {
	case "$not":
		c, err := m.compare(property, value, at, depth+1)
		if err != nil {
			return never, err
		}
		return m.not(c, at)
	case "$eq":
		if value == nil {
			return compare("IS_NOT_PRESENT", property, nil), nil
		}
		if text, ok := literalText(value); ok {
			return among("PROP_IS_ONE_OF", property, text), nil
		}
	case "$exists":
		if is, ok := value.(bool); ok && !is {
			return compare("IS_NOT_PRESENT", property, nil), nil
		}
		return present(property), nil
	case "$inGroup":
		id, _ := value.(string)
		if value = m.groups[id]; value == nil {
			return never, wrong(at, "there is no saved group %q in the file", id)
		}
		if group, isObject := value.(map[string]any); isObject {
			value = group["values"]
		}
		fallthrough
	case "$in":
		list, isList := value.([]any)
		texts := []string{}
		for _, v := range list {
			text, ok := literalText(v)
			isList = isList && ok
			texts = append(texts, text)
		}
		if isList {
			return among("PROP_IS_ONE_OF", property, texts...), nil
		}
	case "$regex":
		if text, ok := value.(string); ok {
			m.approximate(at, "regular expressions are JavaScript's there and RE2 here; where %s is absent, GrowthBook matches the text null", property)
			return compare("PROP_MATCHES", property, &typedOperand{"string", text}), nil
		}
	case "$lt", "$lte", "$gt", "$gte":
		if literal, ok := value.(json.Number); ok {
			return numberOrAbsent(mongoOrders[name], property, literal), nil
		}
	}
	return never, wrong(at, "svc has no counterpart of %s with this value", name)
}
