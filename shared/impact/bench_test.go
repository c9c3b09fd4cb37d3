package impact_test

import (
	"context"
	"fmt"
	"testing"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// scale is a workspace in which so many flags ask for one segment, with a write to
// the segment, and contexts of which one in ten comes into the segment by it.
func scale(flags, contexts int) (before, after *workspace.Workspace, people []impact.Context) {
	files := map[string][]byte{
		"svc.json":             []byte(`{"environments": ["production"]}`),
		"segments/staff.json":  []byte(`{"key":"staff","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.team","valueToMatch":{"type":"string_list","value":["core"]}}],"value":{"type":"bool","value":true}}]}}`),
		"segments/inside.json": []byte(`{"key":"inside","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"staff"}}],"value":{"type":"bool","value":true}}]}}`),
	}
	for i := range flags {
		key := fmt.Sprintf("flag-%03d", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[`+
			`{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"inside"}},{"operator":"PROP_STARTS_WITH_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["u"]}}],"value":{"type":"bool","value":true}},`+
			`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"bool","value":false},"weight":100000}]}}}]}}`, key)
	}
	for i := range 2000 {
		key := fmt.Sprintf("other-%04d", i)
		files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{"key":%q,"type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["u-%d"]}}],"value":{"type":"bool","value":true}}]}}`, key, i)
	}
	before, _ = workspace.Read(files)
	after = impact.With(before, map[string][]byte{"segments/staff.json": []byte(`{"key":"staff","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.team","valueToMatch":{"type":"string_list","value":["core","team-7"]}}],"value":{"type":"bool","value":true}}]}}`)})
	for i := range contexts {
		property := func(name, text string) impact.Property {
			return impact.Property{Context: "user", Name: name, Value: evaluation.Text(text)}
		}
		key := fmt.Sprint("u-", i)
		people = append(people, impact.Context{Type: "user", Key: key, Properties: []impact.Property{
			property("key", key), property("name", "Somebody"), property("email", key+"@example.com"), property("team", fmt.Sprint("team-", i%10))}})
	}
	return before, after, people
}

// TestOnlyWhatIsReachedIsEvaluated: whatever else there is costs nothing.
func TestOnlyWhatIsReachedIsEvaluated(t *testing.T) {
	before, after, people := scale(50, 100)
	change := compared(t, before, after)
	if reached := change.Reached("production"); len(reached) != 50 || reached[0] != "flag-000" || len(change.Environments) != 1 {
		t.Fatalf("%v in %v", reached, change.Environments)
	}
	count := must.Get(change.In(context.Background(), "production", now, 0))(t)
	for i := range people {
		count.Add(&people[i])
	}
	got := count.Result(true)
	if got.Contexts != 100 || got.Changed != 10 || len(got.Values) != 50 || got.Values[49].Count != 10 {
		t.Errorf("%+v", got)
	}
	shown := map[string]bool{}
	for _, e := range got.Examples {
		shown[e.Key] = true
	}
	if len(got.Examples) != 10 || len(shown) != 10 {
		t.Errorf("the examples are of %d flags: %+v", len(shown), got.Examples)
	}
	flag := impact.With(before, map[string][]byte{"feature-flags/other-0007.json": nil})
	change = compared(t, before, flag)
	if reached := change.Reached("production"); len(reached) != 1 {
		t.Errorf("%v", reached)
	}
	if _, err := compared(t, before, after).In(context.Background(), "production", now, 1000); err != impact.ErrTooLarge {
		t.Error(err)
	}
}

func benchmark(b *testing.B, flags int) {
	before, after, people := scale(flags, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		count := must.Get(compared(b, before, after).In(context.Background(), "production", now, 0))(b)
		for i := range people {
			count.Add(&people[i])
		}
		if got := count.Result(true); got.Changed != 1000 {
			b.Fatal(got.Changed)
		}
	}
}

// BenchmarkFlag is 10,000 contexts and one flag.
func BenchmarkFlag(b *testing.B) { benchmark(b, 1) }

// BenchmarkSegment is 10,000 contexts and a segment that 50 flags use.
func BenchmarkSegment(b *testing.B) { benchmark(b, 50) }

func compared(t testing.TB, before, after *workspace.Workspace) *impact.Change {
	t.Helper()
	change := must.Get(impact.Compare(context.Background(), before, after))(t)
	return change
}

// TestWhatIsGivenUp: nobody waits for a comparison that nobody wants any more.
func TestWhatIsGivenUp(t *testing.T) {
	before, after, _ := scale(50, 0)
	change := compared(t, before, after)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := impact.Compare(ctx, before, after); err != context.Canceled {
		t.Error(err)
	}
	if _, err := change.In(ctx, "production", now, 0); err != context.Canceled {
		t.Error(err)
	}
}
