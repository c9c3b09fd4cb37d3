package telemetrytest

import (
	"context"
	"fmt"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

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
	if shapes, err := w.store.Shapes(context.Background(), here); err != nil || len(shapes) != len(odd) {
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
	shapes := must.Get(w.another().Shapes(context.Background(), here))(w)
	w.same("shapes", shapes, []telemetry.KnownShape{
		{Type: "device", Fields: map[string][]telemetry.Kind{"ip": {telemetry.String}}},
		{Type: "user", Fields: map[string][]telemetry.Kind{"plan": {telemetry.String}, "age": {telemetry.Int, telemetry.Double}}},
	})
	if found := w.find(telemetry.Query{}); len(found) > 0 {
		w.Errorf("a shape saved %v", found)
	}
}
