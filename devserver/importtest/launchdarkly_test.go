package importtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/launchdarkly/go-sdk-common/v3/ldcontext"
	"github.com/launchdarkly/go-sdk-common/v3/ldvalue"
	evaluation "github.com/launchdarkly/go-server-sdk-evaluation/v3"
	"github.com/launchdarkly/go-server-sdk-evaluation/v3/ldmodel"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

type nothingElse struct{}

func (nothingElse) GetFeatureFlag(string) *ldmodel.FeatureFlag { return nil }
func (nothingElse) GetSegment(string) *ldmodel.Segment         { return nil }

// launchdarkly is what LaunchDarkly's own evaluator serves.
func launchdarkly(t *testing.T, flags object, contexts []object) (served []map[string]json.RawMessage) {
	evaluator, models := evaluation.NewEvaluator(nothingElse{}), map[string]ldmodel.FeatureFlag{}
	for key, def := range flags {
		text := must.Get(json.Marshal(def))(t)
		models[key] = must.Get(ldmodel.NewJSONDataModelSerialization().UnmarshalFeatureFlag(text))(t)
	}
	for _, c := range contexts {
		b := ldcontext.NewBuilder(c["targetingKey"].(string))
		for name, value := range c {
			if name != "targetingKey" {
				b.SetValue(name, ldvalue.CopyArbitraryValue(value))
			}
		}
		values := map[string]json.RawMessage{}
		for key, model := range models {
			values[key] = json.RawMessage(evaluator.Evaluate(&model, b.Build(), nil).Detail.Value.JSONString())
		}
		served = append(served, values)
	}
	return served
}

// TestLaunchDarkly: what svc makes of random flags serves what LaunchDarkly's own
// evaluator does.
func TestLaunchDarkly(t *testing.T) {
	testenv.Slow(t)
	r := rand.New(rand.NewPCG(20, 3))
	clause := func() any {
		text := func() string { return pick(r, "a", "ab", "pro", "free") }
		c := pick(r,
			object{"attribute": pick(r, "plan", "email"), "op": pick(r, "in", "startsWith", "endsWith", "contains"), "values": list{text(), text()}},
			object{"attribute": "age", "op": pick(r, "lessThan", "lessThanOrEqual", "greaterThan", "greaterThanOrEqual"), "values": list{pick[any](r, -1, 0, 17.5, 18)}},
			object{"attribute": "age", "op": "in", "values": list{0, 18}}, object{"attribute": "beta", "op": "in", "values": list{true}},
			object{"attribute": "email", "op": "matches", "values": list{pick(r, "^a", "b$", "r.b")}},
			object{"attribute": "version", "op": pick(r, "semVerEqual", "semVerLessThan", "semVerGreaterThan"), "values": list{pick(r, "1.2.3", "2.0.0")}},
			object{"attribute": "plan", "op": "in", "values": list{}}, object{"attribute": "plan", "op": "segmentMatch", "values": list{"x"}},
			object{"attribute": "key", "op": "in", "values": keys(30)}, object{"attribute": "plan", "op": "in", "values": list{"pro"}, "contextKind": "org"})
		c["negate"] = r.IntN(3) == 0
		return c
	}
	serve := func() object {
		if r.IntN(12) == 0 {
			return object{"rollout": object{"variations": list{object{"variation": 0, "weight": 30000}, object{"variation": 2, "weight": 70000}}}}
		}
		return object{"variation": r.IntN(3)}
	}
	flags := object{}
	for _, key := range keys(flagCount) {
		var rules list
		for range r.IntN(4) {
			rule := serve()
			rule["clauses"] = list{clause()}
			if r.IntN(2) == 0 {
				rule["clauses"] = list{clause(), clause()}
			}
			rules = append(rules, rule)
		}
		flags[key] = object{"key": key, "on": r.IntN(8) > 0, "variations": list{"red", "blue", "green"}, "offVariation": pick[any](r, 0, 1, nil), "salt": "s",
			"fallthrough": serve(), "rules": rules, "targets": list{object{"values": list{fmt.Sprintf("k-%d", r.IntN(100))}, "variation": r.IntN(3)}}}
	}
	people := contexts(r, contextCount)
	compare(t, "launchdarkly", object{"flags": flags}, people, "user", launchdarkly(t, flags, people))
}
