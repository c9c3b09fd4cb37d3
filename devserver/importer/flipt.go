package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// flipt reads the flags and segments of one of Flipt's namespaces.
var flipt = system{
	name: "flipt", title: "Flipt",
	recognises: func(root map[string]json.RawMessage) bool {
		var flags []struct {
			Key     string `json:"key"`
			Enabled *bool  `json:"enabled"`
			Type    string `json:"type"`
		}
		if decode(root["flags"], &flags) != nil {
			return false
		}
		for _, f := range flags {
			if f.Key != "" && (f.Enabled != nil || f.Type != "" || root["namespace"] != nil) {
				return true
			}
		}
		return false
	},
	flags: fliptFlags,
	notes: []string{
		"Properties keep their names, and the entity id is user.key, for which OpenFeature's targeting key stands.",
		"Flipt takes all properties for texts and converts where a number is compared with: send numbers as numbers, and times as RFC 3339 has them.",
		"It hashes in a way of its own: shares are kept, and people are in other arms.",
		"Some versions of Flipt leave out the spaces around a text before they compare its start or end; svc does not.",
	},
}

type fliptFlag struct {
	Key         string `json:"key"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	Variants    []struct {
		Key        string          `json:"key"`
		Default    bool            `json:"default"`
		Attachment json.RawMessage `json:"attachment"`
	} `json:"variants"`
	Rules []struct {
		fliptSegments
		Distributions []struct {
			Variant string  `json:"variant"`
			Rollout float64 `json:"rollout"`
		} `json:"distributions"`
	} `json:"rules"`
	Rollouts []struct {
		Segment *struct {
			fliptKeys
			Value bool `json:"value"`
		} `json:"segment"`
		Threshold *struct {
			Percentage float64 `json:"percentage"`
			Value      bool    `json:"value"`
		} `json:"threshold"`
	} `json:"rollouts"`
}

// fliptSegments are those of a rule, in the forms that Flipt has had for them.
type fliptSegments struct {
	Segment  json.RawMessage `json:"segment"`
	Segments []string        `json:"segments"`
	Operator string          `json:"operator"`
}

type fliptKeys struct {
	Key             string   `json:"key"`
	Keys            []string `json:"keys"`
	Operator        string   `json:"operator"`
	SegmentOperator string   `json:"segment_operator"`
}

func (s fliptSegments) keys() fliptKeys {
	k := fliptKeys{Keys: s.Segments, Operator: s.Operator}
	if decode(s.Segment, &k.Key) != nil {
		_ = decode(s.Segment, &k) // of another kind there are none, which is refused
	}
	return k
}

type fliptConstraint struct {
	Type     string `json:"type"`
	Property string `json:"property"`
	Operator string `json:"operator"`
	Value    any    `json:"value"`
}

type fliptSegment struct {
	Key         string            `json:"key"`
	MatchType   string            `json:"match_type"`
	Constraints []fliptConstraint `json:"constraints"`
}

func fliptFlags(root map[string]json.RawMessage) (flags []*flag, err error) {
	var raw []json.RawMessage
	if err := decode(root["flags"], &raw); err != nil {
		return nil, errors.New(`"flags" is a list of flags`)
	}
	var listed []fliptSegment
	if root["segments"] != nil && decode(root["segments"], &listed) != nil {
		return nil, errors.New(`"segments" is a list of segments with their constraints`)
	}
	segments := map[string]fliptSegment{}
	for _, s := range listed {
		segments[s.Key] = s
	}
	for i, text := range raw {
		f := &flag{Item: Item{Pointer: element("/flags", i)}}
		flags = append(flags, f)
		var def fliptFlag
		if decode(text, &def) != nil {
			f.refuse(f.Pointer, `a flag is an object such as {"key": "dark-mode", "type": "BOOLEAN_FLAG_TYPE", "enabled": true}`)
			continue
		}
		f.Key, f.name, f.description = def.Key, def.Name, def.Description
		r := fliptRules{f, segments}
		if def.Type == "BOOLEAN_FLAG_TYPE" {
			err := r.rollouts(def)
			if err != nil {
				f.refuse(err.pointer, "%s", err.message)
			}
			continue
		}
		if err := r.distributions(def); err != nil {
			f.refuse(err.pointer, "%s", err.message)
		}
	}
	return flags, nil
}

type fliptRules struct {
	*flag
	segments map[string]fliptSegment
}

// rollouts are the rules of a flag of true and false, from the last one: what one leaves
// over is for those after it.
func (r fliptRules) rollouts(def fliptFlag) *logicError {
	boolean := func(is bool) int { return r.valued(json.RawMessage(fmt.Sprint(is))) }
	r.rules = []rule{serve(always, boolean(def.Enabled))}
	for i := len(def.Rollouts) - 1; i >= 0; i-- {
		at := under(r.Pointer, "rollouts", fmt.Sprint(i))
		switch rollout := def.Rollouts[i]; {
		case rollout.Threshold != nil:
			share := min(max(rollout.Threshold.Percentage, 0), 100) / 100
			value := json.RawMessage(fmt.Sprint(rollout.Threshold.Value))
			switch share {
			case 0:
			case 1:
				r.rules = append([]rule{serve(always, r.valued(value))}, r.rules...)
			default:
				r.approximate(at, "the shares are the same, and people are in other arms")
				if err := r.split([]json.RawMessage{value}, []float64{1}, share, present(targetingKey), targetingKey, at); err != nil {
					return err
				}
			}
		case rollout.Segment != nil:
			when, err := r.among(rollout.Segment.fliptKeys, at)
			if err != nil {
				return err
			}
			r.rules = append([]rule{serve(when, boolean(rollout.Segment.Value))}, r.rules...)
		default:
			return wrong(at, "it has neither a segment nor a threshold")
		}
	}
	return nil
}

// distributions are the rules of a flag with variants.
func (r fliptRules) distributions(def fliptFlag) *logicError {
	fallback, attached := -1, false
	for i, v := range def.Variants {
		value, _ := json.Marshal(v.Key)
		if len(v.Attachment) > 0 && string(v.Attachment) != "null" {
			value, attached = v.Attachment, true
		}
		r.variants = append(r.variants, variant{v.Key, value})
		if v.Default {
			fallback = i
		}
	}
	if attached {
		r.approximate(under(r.Pointer, "variants"), "Flipt answers with the key of the variant and what is attached to it; this flag serves what is attached, and the key names the variant")
	}
	for i := 0; def.Enabled && i < len(def.Rules); i++ {
		at := under(r.Pointer, "rules", fmt.Sprint(i))
		when, err := r.among(def.Rules[i].keys(), at)
		if err != nil {
			return err
		}
		split, total := rule{by: targetingKey}, 0.0
		for _, d := range def.Rules[i].Distributions {
			number := r.variant(d.Variant)
			if number < 0 {
				return wrong(under(at, "distributions"), "there is no variant %q", d.Variant)
			}
			if d.Rollout > 0 {
				split.arms = append(split.arms, arm{number, int64(math.Round(d.Rollout * 1000))})
				total += d.Rollout
			}
		}
		if total < 99.9 || total > 100.1 {
			return wrong(under(at, "distributions"), "they are not 100%% together: svc has no rule that serves nothing")
		}
		if split.when = when; len(split.arms) > 1 {
			split.when = all(when, present(targetingKey))
			r.approximate(at, "the shares are the same, and people are in other arms")
		}
		r.rules = append(r.rules, split)
	}
	if fallback >= 0 {
		r.rules = append(r.rules, serve(always, fallback))
	}
	return nil
}

// among is whether a context is in segments.
func (r fliptRules) among(keys fliptKeys, at string) (condition, *logicError) {
	of := keys.Keys
	if keys.Key != "" {
		of = append([]string{keys.Key}, of...)
	}
	if len(of) == 0 {
		return never, wrong(at, "it names no segment")
	}
	holds := condition{kind: anyOf}
	if keys.Operator == "AND_SEGMENT_OPERATOR" || keys.SegmentOperator == "AND_SEGMENT_OPERATOR" {
		holds.kind = allOf
	}
	for _, key := range of {
		s, known := r.segments[key]
		if !known {
			return never, wrong(at, "there is no segment %q in the file", key)
		}
		in := condition{kind: allOf}
		if strings.HasPrefix(s.MatchType, "ANY") && len(s.Constraints) > 0 {
			in.kind = anyOf
		}
		for _, c := range s.Constraints {
			part, err := c.condition(at)
			if err != nil {
				return never, err
			}
			in.parts = append(in.parts, part)
		}
		holds.parts = append(holds.parts, in)
	}
	return holds, nil
}

// fliptOrders are the operators of numbers, by those of GO Feature Flag.
var fliptOrders = map[string]string{"eq": "eq", "lt": "lt", "lte": "le", "gt": "gt", "gte": "ge"}

// condition is a constraint. To Flipt, a property that is the empty text is absent.
func (c fliptConstraint) condition(at string) (condition, *logicError) {
	property, value := c.Property, ""
	if c.Value != nil {
		value = fmt.Sprint(c.Value)
	}
	kind, _, _ := strings.Cut(c.Type, "_")
	if kind == "ENTITY" {
		kind, property = "STRING", targetingKey
	}
	there := all(present(property), among("PROP_IS_NOT_ONE_OF", property, ""))
	if strings.Count(property, ".") > 1 || property == "" {
		return never, wrong(at, "svc has no property of the name %q, which a segment compares", property)
	}
	switch c.Operator {
	case "present", "notempty":
		return there, nil
	case "notpresent", "empty":
		return either(compare("IS_NOT_PRESENT", property, nil), among("PROP_IS_ONE_OF", property, "")), nil
	}
	var list []json.RawMessage
	if c.Operator == "isoneof" || c.Operator == "isnotoneof" {
		if decode([]byte(value), &list) != nil {
			return never, wrong(at, "a segment compares %s with %.40q, which is no list in JSON", property, value)
		}
	}
	switch {
	case kind == "STRING":
		texts := []string{value}
		if list != nil {
			texts = nil
		}
		for _, raw := range list {
			var text string
			if decode(raw, &text) != nil {
				return never, wrong(at, "a segment compares %s with a list that has something else than texts", property)
			}
			texts = append(texts, text)
		}
		switch c.Operator {
		case "eq", "isoneof":
			return all(there, among("PROP_IS_ONE_OF", property, texts...)), nil
		case "neq", "isnotoneof":
			return all(there, among("PROP_IS_NOT_ONE_OF", property, texts...)), nil
		case "prefix":
			return all(there, among("PROP_STARTS_WITH_ONE_OF", property, texts...)), nil
		case "suffix":
			return all(there, among("PROP_ENDS_WITH_ONE_OF", property, texts...)), nil
		}
	case kind == "BOOLEAN" && (c.Operator == "true" || c.Operator == "false"):
		return among("PROP_IS_ONE_OF", property, c.Operator), nil
	case kind == "NUMBER":
		literals, operator := []string{value}, c.Operator
		if list != nil {
			literals = nil
		}
		for _, raw := range list {
			literals = append(literals, string(raw))
		}
		for _, literal := range literals {
			if !jsonNumber.MatchString(literal) {
				return never, wrong(at, "a segment compares %s with %.40q, which is no number", property, literal)
			}
		}
		if operator == "eq" || operator == "isoneof" {
			return anyNumber(property, literals), nil
		}
		if operator == "neq" || operator == "isnotoneof" {
			turned, err := not(anyNumber(property, literals))
			if err != nil {
				return never, wrong(at, "%v", err)
			}
			return all(present(property), turned), nil
		}
		if holds, ok := queryNumbers(property, fliptOrders[operator], json.Number(value)); ok {
			return holds, nil
		}
	case kind == "DATETIME":
		if t, err := time.Parse(time.RFC3339, value); err == nil {
			return fliptTime(property, c.Operator, t.UnixMilli(), at)
		} else if t, err := time.Parse(time.DateOnly, value); err == nil {
			return fliptTime(property, c.Operator, t.UnixMilli(), at)
		}
	}
	return never, wrong(at, "svc has no counterpart of the operator %q of the type %q with %.40q", c.Operator, c.Type, value)
}

func fliptTime(property, operator string, t int64, at string) (condition, *logicError) {
	before := func(t int64) condition { return number("PROP_BEFORE", property, json.Number(fmt.Sprint(t))) }
	after := func(t int64) condition { return number("PROP_AFTER", property, json.Number(fmt.Sprint(t))) }
	switch operator {
	case "eq":
		return all(after(t-1), before(t+1)), nil
	case "neq":
		return either(before(t), after(t)), nil
	case "lt":
		return before(t), nil
	case "lte":
		return before(t + 1), nil
	case "gt":
		return after(t), nil
	case "gte":
		return after(t - 1), nil
	}
	return never, wrong(at, "svc has no counterpart of the operator %q of times", operator)
}
