package telemetrytest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// ofTypes is a batch that is received some hours on, with a context of each
// type. Its contexts claim to have been seen in the reverse order: the clocks
// of clients decide nothing.
func ofTypes(environment string, hours int, types ...string) telemetry.Batch {
	b := telemetry.Batch{Received: Now.Add(time.Duration(hours) * time.Hour)}
	for _, contextType := range types {
		c := person("k", hours)
		c.Environment, c.Type = environment, contextType
		b.Contexts = append(b.Contexts, c)
		b.Pairs = append(b.Pairs, telemetry.Pair{Month: Month, Type: contextType, Key: "k"})
		b.Shapes = append(b.Shapes, telemetry.KnownShape{Type: contextType, Fields: map[string][]telemetry.Kind{"key": {telemetry.String}}})
	}
	return b
}

func made(from, to int) []string {
	var types []string
	for i := from; i < to; i++ {
		types = append(types, fmt.Sprintf("made-%03d", i))
	}
	return types
}

// testTypes: made-up types do not shut real ones out, and do not drive out
// those that are in use.
func testTypes(w *world) {
	w.record(ofTypes("production", 0, "old"))
	w.record(ofTypes("staging", 0, "elsewhere"))
	w.record(ofTypes("production", 1, "used"))
	for begin := 0; begin < telemetry.MaxGroups; begin += 50 {
		w.record(ofTypes("production", 2+begin/50, made(begin, min(begin+50, telemetry.MaxGroups-2))...))
	}
	types := func() map[string]bool {
		found := map[string]bool{}
		for _, c := range w.find(telemetry.Query{Limit: 1000}) {
			found[c.Type] = true
		}
		return found
	}
	if all := types(); len(all) != telemetry.MaxGroups+1 || !all["old"] {
		w.Errorf("%d types of %d are saved", len(all), telemetry.MaxGroups+1)
	}
	w.record(ofTypes("production", 8, "used"))
	w.record(ofTypes("production", 9, "real"))
	if all := types(); !all["real"] || !all["used"] || !all["elsewhere"] || all["old"] || len(all) != telemetry.MaxGroups+1 {
		w.Errorf("one more type: real %v, used %v, elsewhere %v, old %v, %d in all", all["real"], all["used"], all["elsewhere"], all["old"], len(all))
	}
	w.record(ofTypes("production", 10, made(200, 230)...))
	if all := types(); !all["real"] || !all["used"] || !all["elsewhere"] || !all["made-229"] || all["made-000"] || len(all) != telemetry.MaxGroups+1 {
		w.Errorf("30 more types: real %v, used %v, elsewhere %v, %d in all", all["real"], all["used"], all["elsewhere"], len(all))
	}
	shapes, err := w.another().Shapes(context.Background(), w.here)
	known := func(contextType string) bool {
		return slices.ContainsFunc(shapes, func(s telemetry.KnownShape) bool { return s.Type == contextType })
	}
	if err != nil || len(shapes) != telemetry.MaxShapeTypes || !known("real") || !known("used") || !known("made-229") || known("old") {
		w.Errorf("%d shapes, real %v, used %v, old %v, %v", len(shapes), known("real"), known("used"), known("old"), err)
	}
	if u := w.usage(Month); u.Keys != 4+(telemetry.MaxGroups-2)+30 {
		w.Errorf("%d are counted", u.Keys)
	}
	w.record(ofTypes("production", 11, "old"))
	if !types()["old"] {
		w.Error("a type that made room does not come back")
	}
}

// testNewKeys: what comes on top in an hour is neither saved nor counted, and
// it is known how often it came; what is saved already is kept up and counted,
// and so is what was counted before.
func testNewKeys(w *world) {
	const each = 2600
	const over = 4*each - telemetry.MaxNewKeys
	of := func(c telemetry.Saved, month telemetry.Month) telemetry.Pair {
		return telemetry.Pair{Month: month, Type: c.Type, Key: c.Key}
	}
	counted := func(keys, notCounted int) {
		w.Helper()
		if u := w.usage(Month); u.Keys != keys || u.NotCounted != notCounted {
			w.Errorf("%d are counted and %d are not, want %d and %d", u.Keys, u.NotCounted, keys, notCounted)
		}
	}
	before := telemetry.Pair{Month: Month, Type: "type-3", Key: fmt.Sprint(4*each - 1)}
	w.record(telemetry.Batch{Pairs: []telemetry.Pair{before}})
	unsaved, last := 0, telemetry.Batch{}
	for batch := range 4 {
		b := telemetry.Batch{Received: Now}
		for i := range each {
			c := telemetry.Saved{Environment: "production", Type: fmt.Sprint("type-", batch), Key: fmt.Sprint(batch*each + i), LastSeen: Now}
			b.Contexts, b.Pairs = append(b.Contexts, c), append(b.Pairs, of(c, Month))
		}
		done := w.recorded(b)
		if unsaved += done.Unsaved; done.Counted != each-done.Unsaved {
			w.Errorf("%d are counted, and %d of %d not saved", done.Counted, done.Unsaved, each)
		}
		last = b
	}
	if unsaved != over {
		w.Errorf("%d contexts were not saved, want %d", unsaved, over)
	}
	counted(telemetry.MaxNewKeys+1, over-1)
	last.ID = [32]byte{1}
	if done := w.recorded(last); done.Counted != 0 || done.Unsaved != over {
		w.Errorf("the same again: %+v", done)
	}
	counted(telemetry.MaxNewKeys+1, 2*(over-1))
	again := telemetry.Saved{Environment: "production", Type: "type-0", Key: "0", LastSeen: Now.Add(time.Second)}
	beyond := telemetry.Saved{Environment: "production", Type: "another", Key: "new", LastSeen: Now}
	b := telemetry.Batch{Received: Now.Add(time.Minute), Contexts: []telemetry.Saved{beyond, again},
		Pairs: []telemetry.Pair{of(again, "2026-12"), of(beyond, "2026-12")}}
	if done := w.recorded(b); done.Unsaved != 1 || done.Counted != 1 {
		w.Errorf("one of an hour that is full, one that is saved, in a new month: %+v", done)
	}
	w.same("one that is saved already", w.find(telemetry.Query{Type: "type-0", Limit: 1}), []telemetry.Saved{again})
	w.same("one more", keys(w.find(telemetry.Query{Type: "another"})), []string{})
	server := telemetry.Saved{Environment: "production", Type: "servers", Key: "s-1", LastSeen: Now}
	if done := w.recorded(telemetry.Batch{Received: Now, Secret: true, Contexts: []telemetry.Saved{server}}); done.Unsaved != 0 || len(w.find(telemetry.Query{Type: "servers"})) != 1 {
		w.Errorf("with a secret key: %+v", done)
	}
	b = telemetry.Batch{Received: Now.Add(time.Hour), Contexts: []telemetry.Saved{beyond}, Pairs: []telemetry.Pair{of(beyond, Month)}}
	if done := w.recorded(b); done.Unsaved != 0 || done.Counted != 1 {
		w.Errorf("an hour later: %+v", done)
	}
	w.same("an hour later", keys(w.find(telemetry.Query{Type: "another"})), []string{"new"})
	counted(telemetry.MaxNewKeys+2, 2*(over-1))
}

// testNewTypes: types that come on top in an hour drive nothing out, and are
// neither saved nor counted nor given a shape, whether or not there is room; it is
// known how often their pairs came. What is known goes on.
func testNewTypes(w *world) {
	real := ofTypes("production", 0, "user")
	for i := range 99 {
		c := person(fmt.Sprint("u-", i), 0)
		real.Contexts, real.Pairs = append(real.Contexts, c), append(real.Pairs, telemetry.Pair{Month: Month, Type: c.Type, Key: c.Key})
	}
	w.record(real)
	const taken, many = telemetry.MaxNewTypes, telemetry.MaxGroups + 50
	holds := func(keys, types, notCounted, users int) {
		w.Helper()
		u := w.usage(Month)
		shapes, err := w.another().Shapes(context.Background(), w.here)
		if u.Keys != keys || len(u.Types) != types || u.NotCounted != notCounted || len(shapes) != types || err != nil {
			w.Errorf("%d keys of %d types are counted, %d not, and there are %d shapes (%v); want %d, %d, %d and %d",
				u.Keys, len(u.Types), u.NotCounted, len(shapes), err, keys, types, notCounted, types)
		}
		if n := len(w.find(telemetry.Query{Type: "user", Limit: 1000})); n != users {
			w.Errorf("%d users are left of %d", n, users)
		}
	}
	for _, test := range []struct {
		batch telemetry.Batch
		want  telemetry.Recorded
	}{
		{ofTypes("production", 0, made(0, many)...), telemetry.Recorded{Counted: taken - 1, Types: many - (taken - 1)}},
		{ofTypes("production", 0, made(many, 2*many)...), telemetry.Recorded{Types: many}},
		{ofTypes("staging", 0, "other"), telemetry.Recorded{Types: 1}},
		{telemetry.Batch{Shapes: ofTypes("production", 0, made(0, many)...).Shapes}, telemetry.Recorded{Types: many - (taken - 1)}},
	} {
		if done := w.recorded(test.batch); done != test.want {
			w.Errorf("%+v, want %+v", done, test.want)
		}
	}
	notCounted := many - (taken - 1) + many + 1
	holds(100+taken-1, taken, notCounted, 100)
	w.same("another environment", keys(w.find(telemetry.Query{Environment: "staging"})), []string{})
	servers := ofTypes("production", 0, "servers")
	servers.Secret = true
	if done := w.recorded(servers); done != (telemetry.Recorded{Counted: 1}) {
		w.Errorf("with a secret key: %+v", done)
	}
	more := person("one more", 0)
	if done := w.recorded(telemetry.Batch{Contexts: []telemetry.Saved{more}, Pairs: []telemetry.Pair{pair(more.Key)}}); done != (telemetry.Recorded{Counted: 1}) {
		w.Errorf("a key of a type that is known: %+v", done)
	}
	if done := w.recorded(ofTypes("staging", 1, "other")); done != (telemetry.Recorded{Counted: 1}) {
		w.Errorf("an hour later: %+v", done)
	}
	holds(100+taken+2, taken+2, notCounted, 101)
}

// testNewTypesConcurrently lets several processes bring types of their own at
// once: together they bring what the hour takes.
func testNewTypesConcurrently(w *world) {
	const processes, each = 4, telemetry.MaxNewTypes / 2
	var group sync.WaitGroup
	for p := range processes {
		store, b := w.another(), w.batch(ofTypes("production", 0, made(p*each, (p+1)*each)...))
		group.Go(func() {
			if _, err := persist(func() (telemetry.Recorded, error) { return store.Record(context.Background(), w.here, b) }); err != nil {
				w.Error(err)
			}
		})
	}
	group.Wait()
	u, found := w.usage(Month), w.find(telemetry.Query{Limit: 1000})
	if len(u.Types) > telemetry.MaxNewTypes || len(u.Types) == 0 || len(found) != u.Keys {
		w.Errorf("%d types are counted and %d contexts saved, %d are taken in an hour", len(u.Types), len(found), telemetry.MaxNewTypes)
	}
}

func testSearch(w *world) {
	ada := person("u-1", 4, named("Ada Lovelace"), telemetry.Property{Name: "email", Kind: telemetry.String, Text: "ada@acme.example"})
	grace := person("u-2", 3, named("Grace Hopper"), telemetry.Property{Name: "tags", Kind: telemetry.StringList, List: []string{"Navy", "Staff"}})
	uwe := person("Ü-3", 2, telemetry.Property{Name: "age", Kind: telemetry.Int, Text: "4711"})
	team := telemetry.Saved{Environment: "staging", Type: "team", Key: "ada-fans", LastSeen: Now}
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{team, ada, grace, uwe}})
	for _, test := range []struct {
		query telemetry.Query
		want  []string
	}{
		{telemetry.Query{}, []string{"ada-fans", "Ü-3", "u-2", "u-1"}},
		{telemetry.Query{Type: "user"}, []string{"Ü-3", "u-2", "u-1"}},
		{telemetry.Query{Type: "User"}, []string{}},
		{telemetry.Query{Environment: "staging"}, []string{"ada-fans"}},
		{telemetry.Query{Environment: "staging", Type: "user"}, []string{}},
		{telemetry.Query{Text: "ADA"}, []string{"ada-fans", "u-1"}},
		{telemetry.Query{Text: "lovelace", Type: "user"}, []string{"u-1"}},
		{telemetry.Query{Text: "@ACME."}, []string{"u-1"}},
		{telemetry.Query{Text: "navy"}, []string{"u-2"}},
		{telemetry.Query{Text: "ü-"}, []string{"Ü-3"}},
		{telemetry.Query{Text: "4711"}, []string{}}, // a number is no text
		{telemetry.Query{Text: "u-", Limit: 1}, []string{"u-2"}},
		{telemetry.Query{Limit: 2}, []string{"ada-fans", "Ü-3"}},
		{telemetry.Query{Text: "nobody"}, []string{}},
		{telemetry.Query{Key: "u-1"}, []string{"u-1"}},
		{telemetry.Query{Key: "U-1"}, []string{}},
		{telemetry.Query{Key: "u-"}, []string{}},
		{telemetry.Query{Key: "u-1", Type: "user", Environment: "production"}, []string{"u-1"}},
		{telemetry.Query{Key: "u-1", Environment: "staging"}, []string{}},
		{telemetry.Query{Key: "u-1", Type: "team"}, []string{}},
		{telemetry.Query{Key: "u-1", Text: "ada"}, []string{"u-1"}},
		{telemetry.Query{Key: "u-1", Text: "grace"}, []string{}},
	} {
		w.same(fmt.Sprintf("%+v", test.query), keys(w.find(test.query)), test.want)
	}
	w.same("what was saved comes back", w.find(telemetry.Query{Text: "navy"}), []telemetry.Saved{grace})
	w.same("and by its key", w.find(telemetry.Query{Key: "u-2"}), []telemetry.Saved{grace})
	again := person("u-2", 1, named("Grace Brewster Hopper"))
	elsewhereToo := again
	elsewhereToo.Environment = "staging"
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{again, elsewhereToo}})
	w.same("as it was seen last, in each environment", w.find(telemetry.Query{Key: "u-2", Type: "user"}), []telemetry.Saved{again, elsewhereToo})
	w.same("one of them", len(w.find(telemetry.Query{Key: "u-2", Limit: 1})), 1)
	if elsewhere, err := w.store.Contexts(context.Background(), "another", telemetry.Query{Limit: 10}); err != nil || len(elsewhere) > 0 {
		w.Errorf("another workspace has %v %v", elsewhere, err)
	}
}

func testNewest(w *world) {
	var b telemetry.Batch
	var want []string
	for i := range 60 {
		b.Contexts = append(b.Contexts, person(fmt.Sprintf("u-%02d", (i*37)%60), (i*37)%60/3))
		want = append(want, fmt.Sprintf("u-%02d", i))
	}
	w.record(b)
	w.same("all", keys(w.find(telemetry.Query{})), want)
	w.same("the first seven", keys(w.find(telemetry.Query{Limit: 7})), want[:7])
	b = telemetry.Batch{Contexts: []telemetry.Saved{person("u-59", -1)}}
	w.record(b)
	w.same("after another version", keys(w.find(telemetry.Query{Limit: 2})), []string{"u-59", "u-00"})
}

func testNames(w *world) {
	odd := []string{"", "a\x00b", "a/b", "../x", "ключ", "#", "a b\n", "\U0001F600"}
	var b telemetry.Batch
	for i, contextType := range odd {
		for j, key := range odd[1:] {
			b.Pairs = append(b.Pairs, telemetry.Pair{Month: Month, Type: contextType, Key: key})
			c := person(key, i*10+j)
			c.Type = contextType
			b.Contexts = append(b.Contexts, c)
		}
		b.Shapes = append(b.Shapes, telemetry.KnownShape{Type: contextType, Fields: map[string][]telemetry.Kind{contextType: {telemetry.Bool}}})
	}
	w.record(b)
	if u := w.usage(Month); u.Keys != len(odd)*(len(odd)-1) || len(u.Types) != len(odd) {
		w.Errorf("%+v", u)
	}
	if found := w.find(telemetry.Query{}); len(found) != len(b.Contexts) {
		w.Errorf("%d of %d were found", len(found), len(b.Contexts))
	}
	w.same("one of them", w.find(telemetry.Query{Type: "a\x00b", Text: "КЛЮЧ"})[0].Key, "ключ")
	if shapes, err := w.store.Shapes(context.Background(), w.here); err != nil || len(shapes) != len(odd) {
		w.Errorf("%v %v", shapes, err)
	}
}

func testShapes(w *world) {
	join := func(contextType, field string, kinds ...telemetry.Kind) {
		w.record(telemetry.Batch{Shapes: []telemetry.KnownShape{{Type: contextType, Fields: map[string][]telemetry.Kind{field: kinds}}}})
	}
	join("user", "plan", telemetry.String)
	join("user", "age", telemetry.Double)
	join("user", "age", telemetry.Int)
	join("user", "age", telemetry.Double)
	join("device", "ip", telemetry.String)
	shapes := must.Get(w.another().Shapes(context.Background(), w.here))(w)
	w.same("shapes", shapes, []telemetry.KnownShape{
		{Type: "device", Fields: map[string][]telemetry.Kind{"ip": {telemetry.String}}},
		{Type: "user", Fields: map[string][]telemetry.Kind{"plan": {telemetry.String}, "age": {telemetry.Int, telemetry.Double}}},
	})
	if found := w.find(telemetry.Query{}); len(found) > 0 {
		w.Errorf("a shape saved %v", found)
	}
}

// walk visits what is left of a walk, a page at a time.
func (w *world) walk(of telemetry.Walk) (found []string) {
	w.Helper()
	for {
		var page []telemetry.Saved
		must.Do(w, w.another().Walk(context.Background(), w.here, of, func(c telemetry.Saved) bool {
			page = append(page, c)
			return true
		}))
		for _, c := range page {
			found = append(found, c.Type+" "+c.Key)
		}
		if of.Limit == 0 || len(page) < of.Limit {
			return found
		}
		of.After = &page[len(page)-1]
	}
}

func testWalk(w *world) {
	w.same("nothing", w.walk(telemetry.Walk{Environment: "production"}), []string(nil))
	var b telemetry.Batch
	var want []string
	for i := range 5 {
		team := person(fmt.Sprint("t-", i), i)
		team.Type = "team"
		b.Contexts = append(b.Contexts, team)
		want = append(want, "team t-"+fmt.Sprint(i))
	}
	for i := range 1100 {
		key := fmt.Sprintf("u-%04d", i)
		b.Contexts = append(b.Contexts, person(key, i))
		want = append(want, "user "+key)
	}
	staging := person("u-0001", 7, named("Ada"))
	staging.Environment = "staging"
	for contexts := range slices.Chunk(append(b.Contexts, staging), 300) {
		w.record(telemetry.Batch{Contexts: contexts})
	}
	w.same("all", w.walk(telemetry.Walk{Environment: "production"}), want)
	for _, limit := range []int{200, 1105, 1106} {
		w.same(fmt.Sprint(limit, " at a time"), w.walk(telemetry.Walk{Environment: "production", Limit: limit}), want)
	}
	w.same("after one that is no longer there", w.walk(telemetry.Walk{Environment: "production", After: &telemetry.Saved{Type: "team", Key: "x", LastSeen: Now.Add(-90 * time.Second)}}), want[2:])
	w.same("another environment", w.walk(telemetry.Walk{Environment: "staging"}), []string{"user u-0001"})
	var visited []telemetry.Saved
	err := w.store.Walk(context.Background(), w.here, telemetry.Walk{Environment: "staging"}, func(c telemetry.Saved) bool {
		visited = append(visited, c)
		return false
	})
	w.same("what is visited", visited, []telemetry.Saved{staging})
	n := 0
	err2 := w.store.Walk(context.Background(), w.here, telemetry.Walk{Environment: "production"}, func(telemetry.Saved) bool {
		n++
		return n < 3
	})
	if err != nil || err2 != nil || n != 3 {
		w.Errorf("%v %v; %d were visited", err, err2, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.store.Walk(ctx, w.here, telemetry.Walk{Environment: "production"}, func(telemetry.Saved) bool { return true }); err == nil {
		w.Error("a walk that was given up says that it is complete")
	}
}

func testForget(w *world) {
	forget := func(contextType, key string) bool {
		w.Helper()
		return must.Get(w.another().Forget(context.Background(), w.here, []string{"production", "staging"}, contextType, key, Now))(w)
	}
	if forget("user", "u-1") {
		w.Error("somebody was forgotten whom nobody has seen")
	}
	ada := person("u-1", 4, named("Ada Lovelace"))
	staging, team := ada, ada
	staging.Environment, team.Type = "staging", "team"
	pairs := []telemetry.Pair{pair("u-1"), pair("u-2"), {Month: Month, Type: "team", Key: "u-1"}}
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{ada, person("u-2", 2), team, staging}, Pairs: pairs})
	if !forget("user", "u-1") || forget("user", "u-1") || forget("user", "u") {
		w.Error("found what is not there, or not what is")
	}
	w.same("the others", keys(w.find(telemetry.Query{})), []string{"u-2", "u-1"})
	w.same("the others of staging", w.walk(telemetry.Walk{Environment: "staging"}), []string(nil))
	w.same("the others of production", w.walk(telemetry.Walk{Environment: "production"}), []string{"team u-1", "user u-2"})
	w.same("the count stays", w.usage(Month).Keys, 3)
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{ada}, Pairs: pairs[:1]})
	w.same("who comes back", keys(w.find(telemetry.Query{Type: "user", Text: "lovelace"})), []string{"u-1"})
	w.same("is counted again", w.usage(Month).Keys, 4)
}
