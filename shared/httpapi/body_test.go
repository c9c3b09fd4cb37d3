package httpapi

import (
	"strings"
	"testing"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

// TestALongRolloutIsLookedAtNoFurther: its entries cost nothing.
func TestALongRolloutIsLookedAtNoFurther(t *testing.T) {
	patch := described().operations["updateFlagEnvironment"].body
	check := func(entries int) (allocations float64, problem error) {
		tree := must.Get(jsontree.Parse([]byte(`{"rollout":[{"value":1,"percent":0.001}` + strings.Repeat(`,{"value":1,"percent":0.001}`, entries-1) + `]}`)))(t)
		allocations = testing.AllocsPerRun(1, func() { _, problem = patch.check(tree) })
		return allocations, problem
	}
	if _, err := check(1000); err != nil {
		t.Errorf("1000 entries: %v", err)
	}
	allocations, problem := check(30_000)
	if f := fault.Of(problem); problem == nil || f.Kind != fault.BadRequest || !strings.Contains(f.Message, "rollout has at most 1000 entries, not 30000") || allocations > 100 {
		t.Errorf("30000 entries: %v allocations, %v", allocations, problem)
	}
}
