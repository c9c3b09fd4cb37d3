package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// launchdarkly reads flags of LaunchDarkly: as its REST API lists them, with all
// environments, or as SDKs get them, of one.
var launchdarkly = system{
	name: "launchdarkly", title: "LaunchDarkly",
	recognises: func(root map[string]json.RawMessage) bool {
		for _, raw := range launchdarklyRaw(root) {
			var members map[string]json.RawMessage
			if decode(raw.text, &members) != nil || !strings.HasPrefix(string(members["variations"]), "[") {
				return false
			}
			return members["environments"] != nil || members["fallthrough"] != nil
		}
		return false
	},
	flags: launchdarklyFlags,
	notes: []string{
		"Kinds of contexts are contexts of svc, and attributes keep their names: the key of a user is user.key.",
		"LaunchDarkly hashes in a way of its own: shares are kept, and people are in other arms.",
		"in compares by kind there, and by text in svc: a text 5 and a number 5 are equal.",
	},
}

type placed struct {
	key, pointer string
	text         json.RawMessage
}

// launchdarklyRaw are the flags of either form, in order.
func launchdarklyRaw(root map[string]json.RawMessage) (all []placed) {
	var items []json.RawMessage
	if decode(root["items"], &items) == nil {
		for i, text := range items {
			var named struct {
				Key string `json:"key"`
			}
			_ = decode(text, &named) // without a key it is refused as a flag
			all = append(all, placed{named.Key, fmt.Sprintf("/items/%d", i), text})
		}
		return all
	}
	var flags map[string]json.RawMessage
	_ = decode(root["flags"], &flags) // of another kind there are none
	for _, key := range sortedKeys(flags) {
		all = append(all, placed{key, under("", "flags", key), flags[key]})
	}
	return all
}

type launchdarklyFlag struct {
	Name         string                           `json:"name"`
	Description  string                           `json:"description"`
	Tags         []string                         `json:"tags"`
	Archived     bool                             `json:"archived"`
	Variations   []json.RawMessage                `json:"variations"`
	Environments map[string]launchdarklyTargeting `json:"environments"`
	launchdarklyTargeting
}

type launchdarklyTargeting struct {
	On             bool                 `json:"on"`
	Archived       bool                 `json:"archived"`
	OffVariation   *int                 `json:"offVariation"`
	Fallthrough    launchdarklyServe    `json:"fallthrough"`
	Prerequisites  []any                `json:"prerequisites"`
	Targets        []launchdarklyTarget `json:"targets"`
	ContextTargets []launchdarklyTarget `json:"contextTargets"`
	Rules          []struct {
		launchdarklyServe
		Clauses []launchdarklyClause `json:"clauses"`
	} `json:"rules"`
}

type launchdarklyTarget struct {
	Values      []string `json:"values"`
	Variation   int      `json:"variation"`
	ContextKind string   `json:"contextKind"`
}

type launchdarklyServe struct {
	Variation *int `json:"variation"`
	Rollout   *struct {
		Variations []struct {
			Variation int   `json:"variation"`
			Weight    int64 `json:"weight"`
		} `json:"variations"`
		BucketBy    string `json:"bucketBy"`
		ContextKind string `json:"contextKind"`
	} `json:"rollout"`
}

type launchdarklyClause struct {
	Attribute   string `json:"attribute"`
	Op          string `json:"op"`
	Values      []any  `json:"values"`
	Negate      bool   `json:"negate"`
	ContextKind string `json:"contextKind"`
}

func launchdarklyFlags(root map[string]json.RawMessage) (flags []*flag, err error) {
	raw := launchdarklyRaw(root)
	if len(raw) == 0 {
		return nil, errors.New(`there are no flags: LaunchDarkly's API lists them in "items", its SDKs get them in "flags"`)
	}
	for _, p := range raw {
		f := &flag{Item: Item{Key: p.key, Pointer: p.pointer}, environments: map[string][]rule{}}
		flags = append(flags, f)
		var def launchdarklyFlag
		if decode(p.text, &def) != nil {
			f.refuse(f.Pointer, "this is no flag as LaunchDarkly's API or SDKs have it")
			continue
		}
		f.name, f.description, f.tags = def.Name, def.Description, def.Tags
		for i, value := range def.Variations {
			f.variants = append(f.variants, launchdarklyVariant(i, value, def.Environments != nil))
		}
		if def.Archived {
			f.refuse(f.Pointer, "it is archived there: --skip-refused leaves it out")
			continue
		}
		if def.Environments == nil {
			f.rules = launchdarklyRules(f, def.launchdarklyTargeting, f.Pointer)
		}
		for _, name := range sortedKeys(def.Environments) {
			f.environments[name] = launchdarklyRules(f, def.Environments[name], under(f.Pointer, "environments", name))
		}
	}
	return flags, nil
}

// launchdarklyVariant is a variation, which the API wraps in an object.
func launchdarklyVariant(i int, value json.RawMessage, wrapped bool) variant {
	name := fmt.Sprintf("variation-%d", i)
	var object struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	}
	if wrapped && decode(value, &object) == nil && object.Value != nil {
		if object.Name != "" {
			name = object.Name
		}
		value = object.Value
	}
	return variant{name, value}
}

// launchdarklyRules are the rules of one environment.
func launchdarklyRules(f *flag, def launchdarklyTargeting, at string) (rules []rule) {
	known := func(number int, at string) bool {
		if number < 0 || number >= len(f.variants) {
			f.refuse(at, "there is no variation %d", number)
			return false
		}
		return true
	}
	add := func(when condition, s launchdarklyServe, at string) {
		switch {
		case s.Variation != nil:
			if known(*s.Variation, at) {
				rules = append(rules, serve(when, *s.Variation))
			}
			return
		case s.Rollout == nil || len(s.Rollout.Variations) == 0:
			f.refuse(at, "it serves neither a variation nor a rollout")
			return
		}
		by := launchdarklyProperty(s.Rollout.ContextKind, s.Rollout.BucketBy)
		split := rule{when: all(when, present(by)), by: by}
		for _, v := range s.Rollout.Variations {
			if !known(v.Variation, at) {
				return
			}
			split.arms = append(split.arms, arm{v.Variation, v.Weight})
		}
		f.approximate(at, "the shares are the same, and people are in other arms")
		rules = append(rules, split, serve(when, split.arms[0].variant))
	}
	switch {
	case def.Archived:
		f.refuse(at, "it is archived there: --skip-refused leaves it out")
		return nil
	case !def.On:
		if def.OffVariation != nil {
			add(always, launchdarklyServe{Variation: def.OffVariation}, at)
		}
		return rules
	case len(def.Prerequisites) > 0:
		f.refuse(under(at, "prerequisites"), "prerequisites are not imported: write them as a criterion FLAG_IS_ONE_OF")
	}
	for _, t := range append(def.ContextTargets, def.Targets...) {
		if len(t.Values) > 0 && known(t.Variation, at) {
			rules = append(rules, serve(among("PROP_IS_ONE_OF", launchdarklyProperty(t.ContextKind, "key"), t.Values...), t.Variation))
		}
	}
	for i, r := range def.Rules {
		when, place := condition{kind: allOf}, element(under(at, "rules"), i)
		for j, c := range r.Clauses {
			part, err := launchdarklyCondition(f, c, element(under(place, "clauses"), j))
			if err != nil {
				f.refuse(err.pointer, "%s", err.message)
				continue
			}
			when.parts = append(when.parts, part)
		}
		add(when, r.launchdarklyServe, place)
	}
	add(always, def.Fallthrough, under(at, "fallthrough"))
	return rules
}

// launchdarklyProperty is an attribute of a kind of context in the words of svc.
func launchdarklyProperty(kind, attribute string) string {
	if kind == "" {
		kind = "user"
	}
	if attribute == "" {
		attribute = "key"
	}
	return kind + "." + strings.TrimPrefix(attribute, "/")
}

// launchdarklyTexts are the operators that compare a text with any of a list, and
// launchdarklyNumbers those that compare a number with one.
var (
	launchdarklyTexts = map[string]string{"in": "PROP_IS_ONE_OF", "startsWith": "PROP_STARTS_WITH_ONE_OF",
		"endsWith": "PROP_ENDS_WITH_ONE_OF", "contains": "PROP_CONTAINS_ONE_OF"}
	launchdarklyNumbers = map[string]string{"lessThan": "PROP_LESS_THAN", "lessThanOrEqual": "PROP_LESS_THAN_OR_EQUAL",
		"greaterThan": "PROP_GREATER_THAN", "greaterThanOrEqual": "PROP_GREATER_THAN_OR_EQUAL"}
	launchdarklyOthers = map[string]string{"before": "PROP_BEFORE", "after": "PROP_AFTER", "matches": "PROP_MATCHES",
		"semVerEqual": "PROP_SEMVER_EQUAL", "semVerLessThan": "PROP_SEMVER_LESS_THAN", "semVerGreaterThan": "PROP_SEMVER_GREATER_THAN"}
)

// launchdarklyCondition is a clause, which never holds where its attribute is absent, be it
// negated or not.
func launchdarklyCondition(f *flag, c launchdarklyClause, at string) (condition, *logicError) {
	property := launchdarklyProperty(c.ContextKind, c.Attribute)
	if c.Attribute == "kind" || strings.Count(property, ".") != 1 || strings.Contains(property, "/") {
		return never, wrong(at, "svc has no property for the attribute %q", c.Attribute)
	}
	holds := never
	var texts []string
	for _, value := range c.Values {
		text, isText := value.(string)
		literal, isNumber := value.(json.Number)
		switch {
		case launchdarklyTexts[c.Op] != "":
			var ok bool
			if text, ok = literalText(value); !ok {
				return never, wrong(at, "svc compares with texts, numbers and booleans alone")
			}
			texts = append(texts, text)
		case launchdarklyNumbers[c.Op] != "" && isNumber:
			holds.parts = append(holds.parts, number(launchdarklyNumbers[c.Op], property, literal))
		case launchdarklyOthers[c.Op] != "" && isText:
			if strings.HasPrefix(c.Op, "semVer") {
				if !fullVersion.MatchString(text) {
					return never, wrong(at, "svc compares with versions in full, such as 1.2.0, and this is %q", text)
				}
				f.approximate(at, "LaunchDarkly takes short versions of %s, such as 1.2; svc takes 1.2.0 alone", property)
			}
			if _, err := regexp.Compile(text); c.Op == "matches" && err != nil {
				return never, wrong(at, "the regular expression is none of RE2")
			}
			holds.parts = append(holds.parts, compare(launchdarklyOthers[c.Op], property, &typedOperand{"string", text}))
		case (c.Op == "before" || c.Op == "after") && isNumber:
			holds.parts = append(holds.parts, number(launchdarklyOthers[c.Op], property, literal))
		default:
			return never, wrong(at, "svc has no counterpart of the operator %q with %v", c.Op, value)
		}
	}
	if len(texts) > 0 {
		holds = among(launchdarklyTexts[c.Op], property, texts...)
	}
	if !c.Negate {
		return holds, nil
	}
	turned, err := not(holds)
	if err != nil {
		return never, wrong(at, "%v", err)
	}
	return all(present(property), turned), nil
}
