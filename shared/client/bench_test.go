package client

import (
	"testing"

	"svc.example/svc/shared/contexts"
)

// threeRules is a flag with three targeting rules and a fallback.
const threeRules = `{"key":"flag","type":"feature_flag","valueType":"bool","default":{"rules":[
	{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro","team"]}}],"value":{"type":"bool","value":true}},
	{"criteria":[{"operator":"PROP_ENDS_WITH_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["@acme.example"]}}],"value":{"type":"bool","value":true}},
	{"criteria":[{"operator":"PROP_GREATER_THAN","propertyName":"user.orders","valueToMatch":{"type":"int","value":100}}],"value":{"type":"bool","value":true}},
	{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`

var somebody = contexts.Named("user", map[string]any{"key": "u-1", "plan": "free", "email": "u-1@example.com", "orders": 40})

func BenchmarkBool(b *testing.B) {
	c := serving(b, threeRules)
	ctx := contexts.With(b.Context(), somebody)
	b.Run("scoped", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Bool(ctx, "flag", true)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				c.Bool(ctx, "flag", true)
			}
		})
	})
	b.Run("new scope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Bool(contexts.With(b.Context(), somebody.And("team", nil)), "flag", true)
		}
	})
	b.Run("just-in-time", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.Bool(b.Context(), "flag", true, somebody)
		}
	})
}

func TestEvaluationDoesNotAllocate(t *testing.T) {
	c := serving(t, threeRules)
	ctx := contexts.With(t.Context(), somebody)
	if n := testing.AllocsPerRun(1000, func() { c.Bool(ctx, "flag", true) }); n != 0 {
		t.Errorf("%v allocations per call", n)
	}
}
