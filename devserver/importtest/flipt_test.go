package importtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// fliptConstraint is one of a segment of Flipt's.
func fliptConstraint(r *rand.Rand) object {
	text := func() string { return pick(r, "a", "ab", "pro", "free", "b") }
	of := func(kind, property, operator, value string) object {
		return object{"type": kind + "_COMPARISON_TYPE", "property": property, "operator": operator, "value": value}
	}
	return pick(r,
		of("STRING", pick(r, "plan", "email"), pick(r, "eq", "neq", "prefix", "suffix", "empty", "notempty"), text()),
		of("STRING", pick(r, "plan", "email"), pick(r, "isoneof", "isnotoneof"), fmt.Sprintf("[%q, %q]", text(), text())),
		of("NUMBER", "age", pick(r, "eq", "neq", "lt", "lte", "gt", "gte", "present", "notpresent"), pick(r, "-2", "0", "18")),
		of("NUMBER", "age", pick(r, "isoneof", "isnotoneof"), "[3, 18]"),
		of("BOOLEAN", "beta", pick(r, "true", "false", "present", "notpresent"), ""),
		of("DATETIME", "since", pick(r, "eq", "neq", "lt", "lte", "gt", "gte", "present"), "2024-05-01T10:00:00Z"),
		of("ENTITY_ID", "", pick(r, "isoneof", "isnotoneof"), `["k-1", "k-2", "k-3"]`))
}

// TestFlipt: what svc makes of random flags serves what Flipt's own SDK does.
func TestFlipt(t *testing.T) {
	testenv.Slow(t)
	r := rand.New(rand.NewPCG(20, 6))
	var segments, flags list
	for _, key := range keys(30) {
		constraints := list{}
		for range r.IntN(4) {
			constraints = append(constraints, fliptConstraint(r))
		}
		segments = append(segments, object{"key": key, "match_type": pick(r, "ANY_MATCH_TYPE", "ALL_MATCH_TYPE"), "constraints": constraints})
	}
	named := func() object {
		return object{"keys": pick(r, list{pick(r, keys(30)...)}, list{"k-1", pick(r, keys(30)[2:]...)}), "operator": pick(r, "OR_SEGMENT_OPERATOR", "AND_SEGMENT_OPERATOR")}
	}
	for i, key := range keys(flagCount) {
		rules := list{}
		if i%2 == 0 {
			for range r.IntN(4) {
				segment := named()
				segment["value"] = r.IntN(2) == 0
				rule := object{"segment": segment}
				if r.IntN(8) == 0 {
					rule = object{"threshold": object{"percentage": pick(r, 0, 30, 100), "value": r.IntN(2) == 0}}
				}
				rules = append(rules, rule)
			}
			flags = append(flags, object{"key": key, "type": "BOOLEAN_FLAG_TYPE", "enabled": r.IntN(2) == 0, "rollouts": rules})
			continue
		}
		for range r.IntN(4) {
			distributions := list{object{"variant": pick(r, "red", "blue"), "rollout": 100}}
			if r.IntN(8) == 0 {
				distributions = list{object{"variant": "red", "rollout": 33.3}, object{"variant": "blue", "rollout": 66.7}}
			}
			rules = append(rules, object{"segment": named(), "distributions": distributions})
		}
		flags = append(flags, object{"key": key, "type": "VARIANT_FLAG_TYPE", "enabled": r.IntN(10) > 0, "rules": rules,
			"variants": list{object{"key": "red"}, object{"key": "blue", "default": r.IntN(2) == 0}}})
	}
	people := contexts(r, contextCount)
	for i := range people {
		if people[i]["age"] == 17.5 {
			people[i]["age"] = 17
		}
		if i%3 > 0 {
			people[i]["since"] = pick(r, "2024-05-01T10:00:00Z", "2024-05-01T09:59:59Z", "2024-05-01T12:00:01+02:00", "2020-01-01T00:00:00Z")
		}
	}
	definition := object{"version": "1.4", "namespace": "default", "flags": flags, "segments": segments}
	compare(t, "flipt", definition, people, "", theirs(t, "flipt", definition, people))
}
