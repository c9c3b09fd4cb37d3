package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// unleash reads the features of one environment as Unleash gives them to SDKs.
var unleash = system{
	name: "unleash", title: "Unleash",
	recognises: func(root map[string]json.RawMessage) bool {
		var features []map[string]json.RawMessage
		if decode(root["features"], &features) != nil {
			return false
		}
		for _, f := range features {
			if f["name"] != nil && (f["strategies"] != nil || root["featureStrategies"] != nil) {
				return true
			}
		}
		return false
	},
	flags: unleashFeatures,
	notes: []string{
		"Properties keep their names, and userId is user.key, for which OpenFeature's targeting key stands.",
		"Unleash takes all properties for texts and converts where a number is compared with: send numbers as numbers.",
		"It hashes in a way of its own: shares are kept, and people are in other arms.",
		"Where case is ignored, rules have PROP_MATCHES with (?i), to which the letters ſ and s are one, and the Kelvin sign and k.",
	},
}

type unleashFeature struct {
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Enabled      bool              `json:"enabled"`
	Dependencies []any             `json:"dependencies"`
	Strategies   []unleashStrategy `json:"strategies"`
	Variants     []unleashVariant  `json:"variants"`
}

type unleashStrategy struct {
	Name        string              `json:"name"`
	Parameters  map[string]any      `json:"parameters"`
	Constraints []unleashConstraint `json:"constraints"`
	Segments    []json.Number       `json:"segments"`
	Variants    []unleashVariant    `json:"variants"`
}

type unleashConstraint struct {
	ContextName     string   `json:"contextName"`
	Operator        string   `json:"operator"`
	Values          []string `json:"values"`
	Value           string   `json:"value"`
	Inverted        bool     `json:"inverted"`
	CaseInsensitive bool     `json:"caseInsensitive"`
}

type unleashVariant struct {
	Name       string  `json:"name"`
	Weight     float64 `json:"weight"`
	Stickiness string  `json:"stickiness"`
	Payload    *struct {
		Type  string `json:"type"`
		Value string `json:"value"`
	} `json:"payload"`
	Overrides []any `json:"overrides"`
}

func unleashFeatures(root map[string]json.RawMessage) (flags []*flag, err error) {
	if root["featureStrategies"] != nil {
		return nil, errors.New("this is an export between instances of Unleash; import what its SDKs get, GET /api/client/features with a token of one environment")
	}
	var features []json.RawMessage
	if err := decode(root["features"], &features); err != nil {
		return nil, errors.New(`"features" is a list of features`)
	}
	var listed []struct {
		ID          json.Number         `json:"id"`
		Constraints []unleashConstraint `json:"constraints"`
	}
	if root["segments"] != nil && decode(root["segments"], &listed) != nil {
		return nil, errors.New(`"segments" is a list of segments with their constraints`)
	}
	segments := map[json.Number][]unleashConstraint{}
	for _, s := range listed {
		segments[s.ID] = s.Constraints
	}
	for i, text := range features {
		f := &flag{Item: Item{Pointer: element("/features", i)}}
		flags = append(flags, f)
		var def unleashFeature
		if decode(text, &def) != nil {
			f.refuse(f.Pointer, `a feature is an object such as {"name": "dark-mode", "enabled": true, "strategies": [{"name": "default"}]}`)
			continue
		}
		f.Key, f.description = def.Name, def.Description
		u := unleashRules{f, segments, def.Variants, false}
		if len(def.Dependencies) > 0 {
			f.refuse(under(f.Pointer, "dependencies"), "prerequisites are not imported: write them as a criterion FLAG_IS_ONE_OF")
		}
		u.feature(def)
	}
	return flags, nil
}

// unleashRules turns the strategies of one feature into rules.
type unleashRules struct {
	*flag
	segments map[json.Number][]unleashConstraint
	variants []unleashVariant // of the feature
	varied   bool             // whether variants are served, and no booleans
}

func (u *unleashRules) feature(def unleashFeature) {
	off := json.RawMessage("false")
	served := def.Variants
	for _, s := range def.Strategies {
		served = append(served[:len(served):len(served)], s.Variants...)
	}
	if u.varied = len(served) > 0; u.varied {
		off = json.RawMessage(`"disabled"`)
		u.approximate(u.Pointer, "Unleash answers isEnabled and getVariant of one feature; this flag serves the payload of the variant, or its name where it has none")
	}
	for _, v := range served {
		if value := v.value(); u.varied && value[0] != '"' {
			off = nil
		}
		if len(v.Overrides) > 0 {
			u.refuse(u.Pointer, "overrides of the variant %q are not imported: write them as constraints", v.Name)
		}
	}
	if off != nil {
		u.rules = []rule{serve(always, u.valued(off))}
	}
	if len(def.Strategies) == 0 {
		def.Strategies = []unleashStrategy{{Name: "default"}}
	}
	if !def.Enabled {
		return
	}
	for i := len(def.Strategies) - 1; i >= 0; i-- { // what one leaves over is for those after it
		at := under(u.Pointer, "strategies", fmt.Sprint(i))
		if err := u.strategy(def.Strategies[i], at); err != nil {
			u.refuse(err.pointer, "%s", err.message)
		}
	}
}

// value is what a flag serves for a variant.
func (v unleashVariant) value() json.RawMessage {
	text := v.Name
	if v.Payload != nil {
		text = v.Payload.Value
		if kind := v.Payload.Type; (kind == "json" || kind == "number") && json.Valid([]byte(text)) {
			return json.RawMessage(strings.TrimSpace(text))
		}
	}
	quoted, _ := json.Marshal(text)
	return quoted
}

func unleashProperty(name string) string {
	if name == "userId" {
		return targetingKey
	}
	return name
}

var unleashComma = regexp.MustCompile(`\s*,\s*`)

// strategy puts the rules of a strategy before those that the flag has.
func (u *unleashRules) strategy(s unleashStrategy, at string) *logicError {
	when := condition{kind: allOf}
	for i, c := range s.Constraints {
		part, err := unleashCondition(c, element(under(at, "constraints"), i))
		if err != nil {
			return err
		}
		when.parts = append(when.parts, part)
	}
	for _, id := range s.Segments {
		constraints, known := u.segments[id]
		if !known {
			return wrong(under(at, "segments"), "there is no segment %s in the file", id)
		}
		for _, c := range constraints {
			part, err := unleashCondition(c, under(at, "segments"))
			if err != nil {
				return err
			}
			when.parts = append(when.parts, part)
		}
	}
	parameter := func(name string) string {
		if s.Parameters[name] == nil {
			return ""
		}
		return fmt.Sprint(s.Parameters[name])
	}
	share, by := 1.0, targetingKey
	percentage := func(name string) *logicError {
		percent, err := json.Number(parameter(name)).Float64()
		if err != nil {
			return wrong(under(at, "parameters", name), "the percentage is no number")
		}
		share = min(max(percent, 0), 100) / 100
		return nil
	}
	bound := func(property string) {
		by = unleashProperty(property)
		when = all(when, present(by), among("PROP_IS_NOT_ONE_OF", by, ""))
	}
	var err *logicError
	switch s.Name {
	case "default":
	case "userWithId":
		if ids := parameter("userIds"); ids != "" {
			when = all(when, among("PROP_IS_ONE_OF", targetingKey, unleashComma.Split(ids, -1)...))
		} else {
			when = never
		}
	case "gradualRolloutUserId":
		bound("userId")
		err = percentage("percentage")
	case "gradualRolloutSessionId":
		bound("sessionId")
		err = percentage("percentage")
	case "gradualRolloutRandom":
		err = percentage("percentage")
	case "flexibleRollout":
		stickiness := parameter("stickiness")
		if err = percentage("rollout"); stickiness != "" && stickiness != "default" && stickiness != "random" {
			bound(stickiness)
		}
	default:
		err = wrong(at, "svc has no counterpart of the strategy %q: write it as constraints", s.Name)
	}
	switch {
	case err != nil:
		return err
	case share == 0:
		return nil
	case share < 1:
		u.approximate(at, "the shares are the same, and people are in other arms; who has no %s gets what the rules after say", by)
		when = all(when, present(by))
	}
	return u.serve(s.Variants, share, when, by, at)
}

// serve serves a share of true, or of variants.
func (u *unleashRules) serve(variants []unleashVariant, share float64, when condition, by, at string) *logicError {
	values, weights, total := []json.RawMessage{json.RawMessage("true")}, []float64{1}, 0.0
	if u.varied {
		values, weights = nil, nil
		if len(variants) == 0 {
			variants = u.variants
		}
		for _, v := range variants {
			if v.Weight > 0 {
				values, weights = append(values, v.value()), append(weights, v.Weight)
				total += v.Weight
			}
		}
		if len(values) == 0 {
			return wrong(at, "the feature has variants, and this strategy serves none")
		}
		for i := range weights {
			weights[i] /= total
		}
		if stickiness := variants[0].Stickiness; stickiness != "" && stickiness != "default" && stickiness != "random" {
			by = unleashProperty(stickiness)
		}
	}
	if len(values) == 1 && share == 1 {
		u.rules = append([]rule{serve(when, u.valued(values[0]))}, u.rules...)
		return nil
	}
	return u.split(values, weights, share, all(when, present(by)), by, at)
}

// unleashTexts are the operators that compare a text with any of a list: svc's, and what
// an expression has before and after such a text.
var unleashTexts = map[string]struct{ operator, before, after string }{
	"STR_STARTS_WITH": {"PROP_STARTS_WITH_ONE_OF", "^", ""},
	"STR_ENDS_WITH":   {"PROP_ENDS_WITH_ONE_OF", "", "$"},
	"STR_CONTAINS":    {"PROP_CONTAINS_ONE_OF", "", ""},
}

// unleashOrders are the operators of numbers and of versions, by those of GO Feature Flag.
var unleashOrders = map[string]string{"EQ": "eq", "GT": "gt", "GTE": "ge", "LT": "lt", "LTE": "le"}

func unleashCondition(c unleashConstraint, at string) (condition, *logicError) {
	property := unleashProperty(c.ContextName)
	if strings.Count(property, ".") > 1 {
		return never, wrong(at, "svc has no property for the field %q", c.ContextName)
	}
	holds, err := c.condition(property, at)
	if err != nil || !c.Inverted {
		return holds, err
	}
	turned, failed := not(holds)
	if failed != nil {
		return never, wrong(at, "%v", failed)
	}
	return turned, nil
}

func (c unleashConstraint) condition(property, at string) (condition, *logicError) {
	var texts []string
	for _, v := range c.Values {
		if v != "" {
			texts = append(texts, strings.TrimSpace(v))
		}
	}
	kind, order, _ := strings.Cut(c.Operator, "_")
	switch {
	case c.Operator == "IN":
		return among("PROP_IS_ONE_OF", property, texts...), nil
	case c.Operator == "NOT_IN":
		return among("PROP_IS_NOT_ONE_OF", property, texts...), nil
	case kind == "STR" && unleashTexts[c.Operator].operator != "":
		form := unleashTexts[c.Operator]
		if !c.CaseInsensitive {
			return among(form.operator, property, texts...), nil
		}
		any := either()
		for _, text := range texts {
			any.parts = append(any.parts, compare("PROP_MATCHES", property, &typedOperand{"string", "(?i)" + form.before + regexp.QuoteMeta(text) + form.after}))
		}
		return any, nil
	case c.Operator == "REGEX":
		expression := c.Value
		if c.CaseInsensitive {
			expression = "(?i)" + expression
		}
		if _, err := regexp.Compile(expression); err != nil {
			return never, wrong(at, "the regular expression is none of RE2")
		}
		return compare("PROP_MATCHES", property, &typedOperand{"string", expression}), nil
	case kind == "NUM" && jsonNumber.MatchString(c.Value):
		if holds, ok := queryNumbers(property, unleashOrders[order], json.Number(c.Value)); ok {
			return holds, nil
		}
	case kind == "SEMVER" && fullVersion.MatchString(c.Value) && c.Value[0] != 'v' && c.Value[0] != 'V':
		if holds, ok := queryVersions(property, unleashOrders[order], c.Value); ok {
			return holds, nil
		}
	case kind == "DATE":
		t, err := time.Parse(time.RFC3339, c.Value)
		operator := map[string]string{"AFTER": "PROP_AFTER", "BEFORE": "PROP_BEFORE"}[order]
		if err == nil && operator != "" {
			return number(operator, currentTime, json.Number(fmt.Sprint(t.UnixMilli()))), nil
		}
	}
	return never, wrong(at, "svc has no counterpart of the operator %s with %q", c.Operator, c.Value)
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
