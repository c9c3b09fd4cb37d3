package telemetrytest

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// evaluated is a count of an item in production, some minutes after Now.
func evaluated(key, value string, minutes int, count int64) telemetry.Evaluation {
	return telemetry.Evaluation{Environment: "production", Key: key, Value: value, At: Now.Add(time.Duration(minutes) * time.Minute), Count: count}
}

// evaluate records counts by a store some minutes after Now.
func (w *world) evaluate(by telemetry.Store, minutes int, all ...telemetry.Evaluation) {
	w.Helper()
	b := w.batch(telemetry.Batch{Received: Now.Add(time.Duration(minutes) * time.Minute), Evaluations: all})
	if done, err := by.Record(context.Background(), w.here, b); err != nil || done.Behind != nil {
		w.Fatal(err, done.Behind)
	}
}

// counts are an item's of all days, as another process reads them.
func (w *world) counts(key string) map[string][]telemetry.EvaluatedDay {
	w.Helper()
	return must.Get(w.another().Evaluations(context.Background(), w.here, key, "2026-01-01", "2027-12-31"))(w)
}

func (w *world) lastEvaluated() telemetry.Evaluated {
	w.Helper()
	e := must.Get(w.another().Evaluated(context.Background(), w.here))(w)
	return telemetry.Evaluated{Since: e.Since, Days: e.Days}
}

type days = map[string][]telemetry.EvaluatedDay

func day(name string, total int64, at time.Time, values map[string]int64) telemetry.EvaluatedDay {
	return telemetry.EvaluatedDay{Day: telemetry.Day(name), Tally: telemetry.Tally{Total: total, Last: at.UnixMilli(), Values: values}}
}

func testEvaluations(w *world) {
	w.same("at first", w.counts("a"), days{})
	if e := w.lastEvaluated(); len(e.Days) != 0 || e.Since != "" {
		w.Errorf("at first: %v", e)
	}
	elsewhere := evaluated("a", "true", 0, 7)
	elsewhere.Environment = "staging"
	w.evaluate(w.store, 0, evaluated("a", "true", 0, 3), evaluated("a", "false", 0, 2), evaluated("b", "", 0, 1))
	w.evaluate(w.store, 0, elsewhere)
	const tomorrow = 24 * 60
	first := days{
		"production": {day("2026-11-20", 5, Now, map[string]int64{"true": 3, "false": 2})},
		"staging":    {day("2026-11-20", 7, Now, map[string]int64{"true": 7})},
	}
	w.same("a, which is new", w.counts("a"), first)
	w.same("b, without a value", w.counts("b"), days{"production": {day("2026-11-20", 1, Now, nil)}})
	w.same("one that was not evaluated", w.counts("c"), days{})
	// Within a minute it may be late.
	for range 3 {
		w.evaluate(w.store, 0, evaluated("a", "true", 0, 1))
	}
	w.evaluate(w.store, 2, evaluated("a", "true", 1, 1))
	w.evaluate(w.store, tomorrow, evaluated("a", `"x"`, tomorrow, 4), evaluated("a", "true", 2, 1))
	first["production"] = []telemetry.EvaluatedDay{
		day("2026-11-21", 4, Now.Add(24*time.Hour), map[string]int64{`"x"`: 4}),
		day("2026-11-20", 10, Now.Add(2*time.Minute), map[string]int64{"true": 8, "false": 2}),
	}
	w.same("a, a day later", w.counts("a"), first)
	found, err := w.another().Evaluations(context.Background(), w.here, "a", "2026-11-21", "2026-11-21")
	w.same("one day", found, days{"production": first["production"][:1]})
	must.Report(w, err)
	w.same("when they were evaluated last", w.lastEvaluated(),
		telemetry.Evaluated{Since: "2026-11-20", Days: map[string]telemetry.Day{"a": "2026-11-21", "b": "2026-11-20"}})
	other, err := w.another().Evaluations(context.Background(), "another", "a", "2026-01-01", "2027-12-31")
	if err != nil || len(other) != 0 {
		w.Errorf("another workspace has %v, %v", other, err)
	}
	// What is read once stands until something changes.
	before, err1 := w.store.Evaluated(context.Background(), w.here)
	if again, err2 := w.store.Evaluated(context.Background(), w.here); err1 != nil || err2 != nil || before.Version != again.Version {
		w.Errorf("the version moves: %v %v, %v %v", before, again, err1, err2)
	}
}

func testEvaluationsOnce(w *world) {
	b := w.batch(telemetry.Batch{Evaluations: []telemetry.Evaluation{evaluated("a", "true", 0, 3)}})
	for range 3 {
		w.record(b)
	}
	must.Get(w.another().Record(context.Background(), w.here, b))(w)
	w.evaluate(w.store, 2, evaluated("b", "true", 0, 1))
	w.same("a batch that came four times", w.counts("a"), days{"production": {day("2026-11-20", 3, Now, map[string]int64{"true": 3})}})
}

// testReports: each counts once, whether it comes by itself or with others, and in
// whichever batches.
func testReports(w *world) {
	report := func(id byte, key string) telemetry.Reported {
		return telemetry.Reported{ID: [32]byte{id}, Evaluations: []telemetry.Evaluation{evaluated(key, "true", 0, 1)}}
	}
	alone := func(id byte, key string) telemetry.Batch {
		return telemetry.Batch{ID: [32]byte{id}, Evaluations: report(id, key).Evaluations}
	}
	first := w.batch(telemetry.Batch{Reports: []telemetry.Reported{report(1, "a"), report(2, "b"), report(3, "a")}, Evaluations: []telemetry.Evaluation{evaluated("b", "", 0, 5)}})
	for _, b := range []telemetry.Batch{
		alone(1, "a"), first, first, alone(2, "b"), alone(3, "a"),
		{Reports: []telemetry.Reported{report(3, "a"), report(4, "a")}}, {Reports: []telemetry.Reported{report(4, "a")}},
	} {
		b = w.batch(b)
		must.Get(w.another().Record(context.Background(), w.here, b))(w)
	}
	w.evaluate(w.store, 2, evaluated("c", "true", 0, 1))
	w.same("a, in three reports", w.counts("a"), days{"production": {day("2026-11-20", 3, Now, map[string]int64{"true": 3})}})
	w.same("b, in one and in the batch", w.counts("b"), days{"production": {day("2026-11-20", 6, Now, map[string]int64{"true": 1})}})
	if done, err := w.store.Record(context.Background(), "another", w.batch(telemetry.Batch{Reports: []telemetry.Reported{report(1, "a")}})); err != nil || done.Behind != nil {
		w.Error(err, done.Behind)
	}
	if found, err := w.another().Evaluations(context.Background(), "another", "a", "2026-01-01", "2027-12-31"); err != nil || len(found["production"]) != 1 {
		w.Errorf("another workspace has %v, %v", found, err)
	}
}

// testEvaluationsConcurrently: many processes add to the same counts.
func testEvaluationsConcurrently(w *world) {
	const processes, batches = 6, 4
	var group sync.WaitGroup
	for p := range processes {
		by := w.another()
		var all []telemetry.Batch
		for i := range batches {
			var list []telemetry.Evaluation
			for k := range 30 {
				list = append(list, evaluated(fmt.Sprint("k", k), "true", 0, 1))
			}
			all = append(all, w.batch(telemetry.Batch{Received: Now.Add(time.Duration(2*i) * time.Minute), Evaluations: list}))
		}
		group.Go(func() {
			for _, b := range all {
				if done, err := by.Record(context.Background(), w.here, b); err != nil || done.Behind != nil {
					w.Errorf("process %d: %v %v", p, err, done.Behind)
				}
			}
		})
	}
	group.Wait()
	for k := range 30 {
		found := w.counts(fmt.Sprint("k", k))["production"]
		if len(found) != 1 || found[0].Total != processes*batches || found[0].Values["true"] != processes*batches {
			w.Errorf("k%d: %v, want %d", k, found, processes*batches)
		}
	}
	if e := w.lastEvaluated(); len(e.Days) != 30 {
		w.Errorf("%d items were evaluated", len(e.Days))
	}
}

func testEvaluationBounds(w *world) {
	var list []telemetry.Evaluation
	for i := range telemetry.MaxValues + 5 {
		list = append(list, evaluated("a", fmt.Sprintf("%q", strings.Repeat("v", i)), 0, 1))
	}
	w.evaluate(w.store, 0, list...)
	w.evaluate(w.store, 0, evaluated("a", `"late"`, 0, 1), evaluated("b", "1", 0, math.MaxInt64))
	w.evaluate(w.store, 2, evaluated("b", "1", 0, math.MaxInt64))
	w.evaluate(w.store, 4, evaluated("b", "1", 0, 1))
	// Of more items than there may be it is known of the newest when they were evaluated.
	var more []telemetry.Evaluation
	for i := range telemetry.MaxEvaluated {
		more = append(more, evaluated(fmt.Sprint("many-", i), "", 24*60, 1))
	}
	w.evaluate(w.store, 24*60, more...)
	if e := w.lastEvaluated(); len(e.Days) != telemetry.MaxEvaluated || e.Days["a"] != "" || e.Days["many-7"] != "2026-11-21" || e.Since != "2026-11-20" {
		w.Errorf("of %d items it is known when they were evaluated, a %q, many-7 %q, since %s", len(e.Days), e.Days["a"], e.Days["many-7"], e.Since)
	}
	a := w.counts("a")["production"]
	if len(a) != 1 || a[0].Total != telemetry.MaxValues+6 || len(a[0].Values) != telemetry.MaxValues || a[0].Values[`"late"`] != 0 {
		w.Errorf("too many values: %v", a)
	}
	w.same("counts that are too large", w.counts("b"), days{"production": {day("2026-11-20", telemetry.MaxTotal, Now, map[string]int64{"1": telemetry.MaxTotal})}})
}
