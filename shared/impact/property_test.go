package impact_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/explanation"
	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/gen"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

const now = 1_700_000_000_000

var environments = []workspace.Environment{{Name: "production"}, {Name: "staging"}, {Name: "test"}, {Name: "old", Archived: true}}

// state is a workspace as brute force looks at it.
type state struct {
	t       *testing.T
	served  *explanation.State
	all     *evaluation.Snapshot
	content evaluation.Content
}

func stateOf(t *testing.T, ws *workspace.Workspace, environment string) state {
	t.Helper()
	served := must.Get(explanation.Compile(ws, environment, nil, 0))(t)
	s := state{t: t, served: served}
	var sources []evaluation.Source
	for i := range ws.Items {
		sources = append(sources, evaluation.Source{Key: ws.Items[i].Key, Document: ws.Items[i].Read().View})
	}
	s.all, s.content = evaluation.Compile(sources, environment)
	return s
}

// answer is what a context is served: bare, and what tells secrets apart.
type answer struct{ bare, identity string }

func (s state) answers(c *impact.Context, tree *jsontree.Node) map[string]answer {
	s.t.Helper()
	told := must.Get(s.served.Evaluate(context.Background(), explanation.Question{Context: tree, All: true, Now: now, Random: c.Point}))(s.t)
	frame := s.all.NewFrame(now, c.Point)
	for _, p := range c.Properties {
		if slot := frame.Slot([]byte(p.Context), []byte(p.Name)); slot >= 0 {
			frame.Put(slot, p.Value)
		}
	}
	defer frame.Release()
	found := map[string]answer{}
	for key, e := range told.Evaluations {
		if s.isChance(c, key) {
			found[key] = answer{identity: chance}
			continue
		}
		a := answer{bare: string(e.Value)}
		if e.Value != nil {
			a.identity = documents.Tree(s.t, string(e.Value)).Canonical()
		} else {
			item, _ := s.all.Find(key)
			v := s.content.Answers[s.all.Evaluate(item, frame)].Value
			a.identity = "secret " + string(v.Type) + " " + v.DecryptWith + " " + v.Content.Canonical()
		}
		found[key] = a
	}
	return found
}

// chance stands for what a context is served by chance.
const chance = "chance"

func (s state) isChance(c *impact.Context, key string) (is bool) {
	item, found := s.all.Find(key)
	if !found {
		return false
	}
	frame := s.all.NewFrame(now, func() float64 { is = true; return c.Point() })
	defer frame.Release()
	for _, p := range c.Properties {
		if slot := frame.Slot([]byte(p.Context), []byte(p.Name)); slot >= 0 {
			frame.Put(slot, p.Value)
		}
	}
	s.all.Evaluate(item, frame)
	return is
}

// TestImpactIsWhatBruteForceFinds over random documents, changes of them, and
// contexts.
func TestImpactIsWhatBruteForceFinds(t *testing.T) {
	runs := 60
	if os.Getenv("SVC_TEST_FULL") != "" {
		runs = 20_000
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := gen.New(seed)
	changed, throughSegments := 0, 0
	for range runs {
		before, other := d.Workspace(t, "production"), d.Workspace(t, "production")
		before.Environments = environments
		texts := map[string][]byte{}
		for range 1 + d.IntN(3) {
			stored := before.Items[d.IntN(len(before.Items))]
			switch d.IntN(5) {
			case 0:
				if stored.Read().View.Type != document.Segment {
					texts[stored.Path] = nil
				}
			case 1:
				created := other.Items[d.IntN(len(other.Items))].Read()
				created.Tree.Set("key", jsontree.NewString("new"))
				texts[workspace.Path(created.View.Type, "new")] = created.Tree.Encode()
			default:
				replacement, _ := other.Item(stored.Read().View.Type, stored.Key)
				texts[stored.Path] = replacement.Text
			}
		}
		if _, doubled := texts["configs/new.json"]; doubled {
			delete(texts, "feature-flags/new.json")
		}
		if _, doubled := texts["segments/new.json"]; doubled {
			delete(texts, "feature-flags/new.json")
			delete(texts, "configs/new.json")
		}
		after := impact.With(before, texts)
		change := compared(t, before, after)
		var contexts []impact.Context
		var trees []*jsontree.Node
		for range 20 {
			trees = append(trees, documents.Tree(t, d.Context()))
			contexts = append(contexts, impact.ContextOf(trees[len(trees)-1]))
		}
		for _, e := range environments {
			want := bruteForce(t, before, after, e.Name, change.Reached(e.Name), contexts, trees)
			if !slices.Contains(change.Environments, e.Name) {
				if want.Changed > 0 && !e.Archived {
					t.Fatalf("seed %d: %s is not reached, where %d change: %s", seed, e.Name, want.Changed, texts)
				}
				continue
			}
			count := must.Get(change.In(context.Background(), e.Name, now, 0))(t)
			for i := range contexts {
				count.Add(&contexts[i])
			}
			got := count.Result(true)
			compare(t, seed, got, want)
			changed += got.Changed
			for _, v := range got.Values {
				if texts["feature-flags/"+v.Key+".json"] == nil && texts["configs/"+v.Key+".json"] == nil {
					throughSegments++
				}
			}
		}
	}
	t.Logf("%d contexts were served something else; %d values through segments", changed, throughSegments)
	if changed < runs || throughSegments < runs/20 {
		t.Error("hardly anything changed")
	}
}

// brute is what brute force finds.
type brute struct {
	impact.Environment
	rows     map[string]int
	examples map[string]bool
}

func row(key, before, after string) string { return key + " " + before + " " + after }

func bruteForce(t *testing.T, before, after *workspace.Workspace, environment string, reached []string, contexts []impact.Context, trees []*jsontree.Node) brute {
	t.Helper()
	was, is := stateOf(t, before, environment), stateOf(t, after, environment)
	b := brute{rows: map[string]int{}, examples: map[string]bool{}}
	for i := range contexts {
		b.Contexts++
		earlier, later := was.answers(&contexts[i], trees[i]), is.answers(&contexts[i], trees[i])
		keys := maps.Clone(earlier)
		maps.Copy(keys, later)
		changed, byChance := false, false
		for key := range keys {
			x, there := earlier[key]
			if !there {
				x = answer{"null", "null"}
			}
			y, there := later[key]
			if !there {
				y = answer{"null", "null"}
			}
			if x.identity == chance || y.identity == chance {
				if slices.Contains(reached, key) {
					byChance = true
				}
				continue
			}
			if x.identity != y.identity {
				changed = true
				b.rows[row(key, x.bare, y.bare)]++
				b.examples[contexts[i].Type+" "+contexts[i].Key+" "+row(key, x.bare, y.bare)] = true
			}
		}
		if changed {
			b.Changed++
		}
		if byChance {
			b.Chance++
		}
	}
	return b
}

func compare(t *testing.T, seed uint64, got *impact.Environment, want brute) {
	t.Helper()
	rows := map[string]int{}
	for _, v := range got.Values {
		rows[row(v.Key, string(v.Before), string(v.After))] += v.Count
		if v.Confidential != (v.Before == nil || v.After == nil) {
			t.Errorf("%+v", v)
		}
	}
	if got.Contexts != want.Contexts || got.Chance != want.Chance || got.Changed != want.Changed || !got.Complete || !maps.Equal(rows, want.rows) {
		text, _ := json.Marshal(got)
		t.Fatalf("seed %d: got %s\nwant %d changed, %d by chance, %v", seed, text, want.Changed, want.Chance, want.rows)
	}
	if len(got.Examples) != min(got.Changed, impact.MaxExamples) {
		t.Fatalf("seed %d: %d examples of %d", seed, len(got.Examples), got.Changed)
	}
	for _, e := range got.Examples {
		if !want.examples[e.Type+" "+e.ContextKey+" "+row(e.Key, string(e.Before), string(e.After))] {
			t.Fatalf("seed %d: no context is an example such as %+v", seed, e)
		}
	}
}

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
	return must.Get(impact.Compare(context.Background(), before, after))(t)
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

// TestChanceIsNoChange: devices have no user.key that a split could go by.
func TestChanceIsNoChange(t *testing.T) {
	split := func(on int) string {
		return fmt.Sprintf(`{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"bool","value":true},"weight":%d},{"value":{"type":"bool","value":false},"weight":%d}]}}`, on, 100000-on)
	}
	flag := func(value string) map[string][]byte {
		return map[string][]byte{"svc.json": []byte(`{"environments": ["production"]}`), "feature-flags/f.json": fmt.Appendf(nil,
			`{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":%s}]}}`, value)}
	}
	const off = `{"type":"bool","value":false}`
	for name, test := range map[string]struct {
		before, after string
		devices       [2]int // changed, by chance
	}{
		"rolled out":     {off, split(50_000), [2]int{0, 40}},
		"switched off":   {split(50_000), off, [2]int{0, 40}},
		"on for all":     {off, split(100_000), [2]int{40, 0}},
		"nobody at once": {off, split(0), [2]int{0, 0}},
	} {
		before, _ := workspace.Read(flag(test.before))
		after, _ := workspace.Read(flag(test.after))
		count := must.Get(compared(t, before, after).In(context.Background(), "production", now, 0))(t)
		for i := range 40 {
			key := fmt.Sprint("d-", i)
			count.Add(&impact.Context{Type: "device", Key: key, Properties: []impact.Property{{Context: "device", Name: "key", Value: evaluation.Text(key)}}})
		}
		got := count.Result(true)
		if got.Contexts != 40 || [2]int{got.Changed, got.Chance} != test.devices || len(got.Values) != min(1, got.Changed) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
