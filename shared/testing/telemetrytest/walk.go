package telemetrytest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// walk visits what is left of a walk, a page at a time.
func (w *world) walk(of telemetry.Walk) (found []string) {
	w.Helper()
	for {
		var page []telemetry.Saved
		must.Do(w, w.another().Walk(context.Background(), here, of, func(c telemetry.Saved) bool {
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
	err := w.store.Walk(context.Background(), here, telemetry.Walk{Environment: "staging"}, func(c telemetry.Saved) bool {
		visited = append(visited, c)
		return false
	})
	w.same("what is visited", visited, []telemetry.Saved{staging})
	n := 0
	err2 := w.store.Walk(context.Background(), here, telemetry.Walk{Environment: "production"}, func(telemetry.Saved) bool {
		n++
		return n < 3
	})
	if err != nil || err2 != nil || n != 3 {
		w.Errorf("%v %v; %d were visited", err, err2, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.store.Walk(ctx, here, telemetry.Walk{Environment: "production"}, func(telemetry.Saved) bool { return true }); err == nil {
		w.Error("a walk that was given up says that it is complete")
	}
}

func testForget(w *world) {
	forget := func(contextType, key string) bool {
		w.Helper()
		found := must.Get(w.another().Forget(context.Background(), here, []string{"production", "staging"}, contextType, key, Now))(w)
		return found
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
