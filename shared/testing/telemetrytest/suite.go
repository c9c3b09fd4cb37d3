// Package telemetrytest is what every telemetry.Store has to pass: tests of what the
// interface promises, written against it alone. Only tests import it.
//
// It also has a store in a file, for tests of what uses one.
package telemetrytest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
)

// Run holds an implementation to the contract. Open makes new, empty storage
// for each test, puts what has to be closed into t.Cleanup, and returns what
// makes a store over it; each store stands for a process.
func Run(t *testing.T, open func(t *testing.T) func() telemetry.Store) {
	for _, test := range []struct {
		name string
		run  func(w *world)
	}{
		{"nothing is known at first", testEmpty},
		{"a pair counts once", testCountsOnce},
		{"a pair counts in each month and workspace", testCountsApart},
		{"counted and saved once by many at once", testCountsConcurrently},
		{"a batch with many pairs", testManyPairs},
		{"a replay changes nothing", testReplay},
		{"the latest version is kept", testLatest},
		{"of one moment the same one is kept", testTie},
		{"a walk", testWalk},
		{"a person is forgotten", testForget},
		{"search", testSearch},
		{"search is newest first", testNewest},
		{"names may hold anything", testNames},
		{"shapes are joined", testShapes},
		{"the type that was longest not seen makes room", testTypes},
		{"new keys are bounded by the hour", testNewKeys},
		{"new types are bounded by the hour", testNewTypes},
		{"new types of many at once", testNewTypesConcurrently},
		{"evaluations are counted", testEvaluations},
		{"evaluations that come again", testEvaluationsOnce},
		{"reports that a relay passes on", testReports},
		{"evaluations of many at once", testEvaluationsConcurrently},
		{"counts of evaluations are bounded", testEvaluationBounds},
		{"cancelled", testCancelled},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newWorld(t, open(t))) })
	}
	t.Run("the order of batches and their repetition change nothing", func(t *testing.T) { testOrder(t, open) })
}

// Now is the time in the tests, and Month its month.
var Now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Month is the month of Now.
const Month telemetry.Month = "2026-11"

type world struct {
	*testing.T
	another func() telemetry.Store
	store   telemetry.Store
	here    string // the workspace
	batches int
}

func newWorld(t *testing.T, another func() telemetry.Store) *world {
	return &world{T: t, another: another, store: another(), here: "0123456789abcdef"}
}

// batch completes a batch: an identity of its own, unless it has one.
func (w *world) batch(b telemetry.Batch) telemetry.Batch {
	if w.batches++; b.ID == [32]byte{} {
		b.ID = sha256.Sum256(fmt.Appendf(nil, "%s %d", w.Name(), w.batches))
	}
	if b.Received.IsZero() {
		b.Received = Now
	}
	return b
}

func (w *world) record(b telemetry.Batch) int {
	w.Helper()
	return w.recorded(b).Counted
}

func (w *world) recorded(b telemetry.Batch) telemetry.Recorded {
	w.Helper()
	return must.Get(w.store.Record(context.Background(), w.here, w.batch(b)))(w)
}

func (w *world) usage(month telemetry.Month) telemetry.Usage {
	w.Helper()
	return must.Get(w.another().Usage(context.Background(), w.here, month))(w)
}

func (w *world) find(q telemetry.Query) []telemetry.Saved {
	w.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	return must.Get(w.another().Contexts(context.Background(), w.here, q))(w)
}

// same compares by JSON, which shows what differs.
func (w *world) same(what string, got, want any) {
	w.Helper()
	if g, s := text(got), text(want); g != s {
		w.Errorf("%s:\n got %s\nwant %s", what, g, s)
	}
}

func text(v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func pair(key string) telemetry.Pair { return telemetry.Pair{Month: Month, Type: "user", Key: key} }

// person is a saved context that was seen some minutes ago.
func person(key string, minutes int, properties ...telemetry.Property) telemetry.Saved {
	properties = append([]telemetry.Property{{Name: "key", Kind: telemetry.String, Text: key}}, properties...)
	return telemetry.Saved{Environment: "production", Type: "user", Key: key,
		LastSeen: Now.Add(-time.Duration(minutes) * time.Minute), Properties: properties}
}

func named(name string) telemetry.Property {
	return telemetry.Property{Name: "name", Kind: telemetry.String, Text: name}
}

func keys(found []telemetry.Saved) []string {
	list := []string{}
	for _, c := range found {
		list = append(list, c.Key)
	}
	return list
}

func testEmpty(w *world) {
	w.same("usage", w.usage(Month), telemetry.Usage{Month: Month, Types: []telemetry.TypeUsage{}})
	w.same("contexts", keys(w.find(telemetry.Query{})), []string{})
	if shapes, err := w.store.Shapes(context.Background(), w.here); err != nil || len(shapes) > 0 {
		w.Errorf("%v %v", shapes, err)
	}
}

func testCountsOnce(w *world) {
	if n := w.record(telemetry.Batch{Pairs: []telemetry.Pair{pair("a"), pair("b")}}); n != 2 {
		w.Errorf("%d were counted", n)
	}
	if n := w.record(telemetry.Batch{Pairs: []telemetry.Pair{{Month: Month, Type: "team", Key: "a"}, pair("a"), pair("c")}}); n != 2 {
		w.Errorf("%d were counted", n)
	}
	if n := w.record(telemetry.Batch{Pairs: []telemetry.Pair{pair("a"), pair("b"), pair("c")}}); n != 0 {
		w.Errorf("%d were counted", n)
	}
	w.same("usage", w.usage(Month), telemetry.Usage{Month: Month, Keys: 4, Types: []telemetry.TypeUsage{{Type: "user", Keys: 3}, {Type: "team", Keys: 1}}})
}

func testCountsApart(w *world) {
	before := telemetry.Pair{Month: "2026-10", Type: "user", Key: "a"}
	w.record(telemetry.Batch{Received: time.Date(2026, 11, 1, 1, 0, 0, 0, time.UTC), Pairs: []telemetry.Pair{before, pair("a")}})
	must.Get(w.store.Record(context.Background(), "another", w.batch(telemetry.Batch{Pairs: []telemetry.Pair{pair("a"), pair("z")}})))(w)
	for _, month := range []telemetry.Month{"2026-10", Month} {
		if u := w.usage(month); u.Keys != 1 {
			w.Errorf("%s has %d", month, u.Keys)
		}
	}
	if u := w.usage("2026-09"); u.Keys != 0 {
		w.Errorf("2026-09 has %d", u.Keys)
	}
}

// testCountsConcurrently lets several processes report overlapping pairs and contexts at
// once: each pair is counted by exactly one of them, and of each context the last version is
// left.
func testCountsConcurrently(w *world) {
	const processes, each, distinct = 4, 6, 60
	var mu sync.Mutex
	total := 0
	var group sync.WaitGroup
	for p := range processes {
		store := w.another()
		group.Go(func() {
			for i := range each {
				var pairs []telemetry.Pair
				for k := range distinct / 2 {
					pairs = append(pairs, pair(fmt.Sprintf("u-%02d", (k+p*7+i*11)%distinct)))
				}
				minutes := (i*7 + p*3) % (processes * each)
				b := telemetry.Batch{ID: sha256.Sum256([]byte{byte(p), byte(i)}), Received: Now, Pairs: pairs,
					Contexts: []telemetry.Saved{person("a", minutes), person("b", minutes)},
					Shapes:   []telemetry.KnownShape{{Type: "user", Fields: map[string][]telemetry.Kind{fmt.Sprint(p, i): {telemetry.Int}}}}}
				n, err := persist(func() (telemetry.Recorded, error) { return store.Record(context.Background(), w.here, b) })
				if err != nil {
					w.Error(err)
					return
				}
				mu.Lock()
				total += n.Counted
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if u := w.usage(Month); u.Keys != distinct || total > distinct {
		w.Errorf("%d are counted, and %d were said to be; there are %d", u.Keys, total, distinct)
	}
	w.same("contexts", w.find(telemetry.Query{}), []telemetry.Saved{person("a", 0), person("b", 0)})
	if shapes, err := w.store.Shapes(context.Background(), w.here); err != nil || len(shapes) != 1 || len(shapes[0].Fields) != processes*each {
		w.Errorf("%v %v", shapes, err)
	}
}

// persist repeats what a busy store refused, as clients do.
func persist(try func() (telemetry.Recorded, error)) (done telemetry.Recorded, err error) {
	for range 50 {
		if done, err = try(); !errors.Is(err, telemetry.ErrBusy) {
			return done, err
		}
	}
	return done, err
}

func testManyPairs(w *world) {
	var b telemetry.Batch
	for i := range 350 {
		b.Pairs = append(b.Pairs, telemetry.Pair{Month: Month, Type: fmt.Sprintf("type-%d", i%7), Key: fmt.Sprint(i)})
		c := person(fmt.Sprint(i), i)
		c.Type = fmt.Sprintf("type-%d", i%7)
		b.Contexts = append(b.Contexts, c)
	}
	if n := w.record(b); n != 350 {
		w.Errorf("%d were counted", n)
	}
	if u := w.usage(Month); u.Keys != 350 || len(u.Types) != 7 || u.Types[0] != (telemetry.TypeUsage{Type: "type-0", Keys: 50}) {
		w.Errorf("%+v", u)
	}
	if found := w.find(telemetry.Query{Type: "type-3"}); len(found) != 50 {
		w.Errorf("%d were found", len(found))
	}
}

func testReplay(w *world) {
	b := w.batch(telemetry.Batch{Pairs: []telemetry.Pair{pair("a")}, Contexts: []telemetry.Saved{person("a", 5)},
		Shapes: []telemetry.KnownShape{{Type: "user", Fields: map[string][]telemetry.Kind{"key": {telemetry.String}}}}})
	w.record(b)
	before := w.state()
	b.Received = Now.Add(time.Hour)
	b.Contexts = []telemetry.Saved{person("a", 0)} // as a sender without a clock has it
	b.Pairs = append(b.Pairs, pair("b"))
	w.store = w.another()
	if n := w.record(b); n != 0 {
		w.Errorf("a replay counted %d", n)
	}
	w.same("state", w.state(), before)
}

// state is all that can be known.
func (w *world) state() []any {
	shapes := must.Get(w.another().Shapes(context.Background(), w.here))(w)
	return []any{w.usage(Month), w.usage("2026-10"), w.find(telemetry.Query{}), shapes, w.counts("flag-a"), w.counts("flag-b"), w.lastEvaluated()}
}

func testLatest(w *world) {
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{person("a", 5, named("Ada"))}})
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{person("a", 9, named("Older"))}})
	w.same("an older one", w.find(telemetry.Query{}), []telemetry.Saved{person("a", 5, named("Ada"))})
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{person("a", 1)}})
	w.same("a newer one takes its place, whole", w.find(telemetry.Query{}), []telemetry.Saved{person("a", 1)})
	other := person("a", 3)
	other.Environment = "staging"
	w.record(telemetry.Batch{Contexts: []telemetry.Saved{other}})
	w.same("environments are apart", w.find(telemetry.Query{}), []telemetry.Saved{person("a", 1), other})
}

func testTie(w *world) {
	a, b := person("a", 5, named("A")), person("a", 5, named("B"))
	winner := a
	if b.Supersedes(a.Version()) {
		winner = b
	}
	for _, order := range [][]telemetry.Saved{{a, b}, {b, a}} {
		w := newWorld(w.T, w.another)
		for _, c := range order {
			w.record(telemetry.Batch{ID: sha256.Sum256([]byte(text(order) + text(c))), Contexts: []telemetry.Saved{c}})
		}
		w.same("the winner", w.find(telemetry.Query{}), []telemetry.Saved{winner})
	}
}

func testCancelled(w *world) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := w.batch(telemetry.Batch{Pairs: []telemetry.Pair{pair("a")}})
	if _, err := w.store.Record(ctx, w.here, b); err == nil {
		w.Error("a cancelled record succeeded")
	}
	if n := w.record(b); n != 1 {
		w.Errorf("the repetition counted %d", n)
	}
}

// testOrder applies batches in any order, again and again, through several
// processes, and compares with a store that had each of them once.
func testOrder(t *testing.T, open func(t *testing.T) func() telemetry.Store) {
	another, workspaces := open(t), 0 // one storage for all draws, which are of workspaces of their own
	in := func() *world {
		w := newWorld(t, another)
		workspaces++
		w.here = fmt.Sprintf("%016x", workspaces)
		return w
	}
	rapid.Check(t, func(rt *rapid.T) {
		w, once := in(), in()
		batches := rapid.SliceOfN(batch(), 1, 6).Draw(rt, "batches")
		for i := range batches {
			batches[i].ID = sha256.Sum256([]byte{byte(i)})
		}
		order := rapid.Permutation(append(batches, batches...)).Draw(rt, "order")
		stores := []telemetry.Store{another(), another()}
		for i, b := range order {
			must.Get(stores[i%2].Record(context.Background(), w.here, b))(rt)
		}
		for _, b := range batches {
			once.record(b)
		}
		for i, store := range stores { // what waits is counted with a later batch
			b := telemetry.Batch{ID: sha256.Sum256([]byte{byte(i), 1}), Received: batches[0].Received.Add(2 * time.Minute)}
			b.Evaluations = []telemetry.Evaluation{{Environment: "production", Key: "end", At: b.Received, Count: 1}}
			for here, by := range map[string]telemetry.Store{w.here: store, once.here: once.store} {
				if done, err := by.Record(context.Background(), here, b); err != nil || done.Behind != nil {
					rt.Fatal(err, done.Behind)
				}
			}
		}
		if got, want := text(w.state()), text(once.state()); got != want {
			rt.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

// batch draws small ones that have much in common.
func batch() *rapid.Generator[telemetry.Batch] {
	return rapid.Custom(func(t *rapid.T) telemetry.Batch {
		b := telemetry.Batch{Received: time.Date(2026, 11, 1, 1, 0, 0, 0, time.UTC)} // both months are open
		for _, p := range rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) telemetry.Pair {
			return telemetry.Pair{Month: rapid.SampledFrom([]telemetry.Month{"2026-10", Month}).Draw(t, "month"),
				Type: rapid.SampledFrom([]string{"user", "team", ""}).Draw(t, "type"), Key: rapid.StringMatching(`[a-c]`).Draw(t, "key")}
		}), 0, 6, rapid.ID).Draw(t, "pairs") {
			b.Pairs = append(b.Pairs, p)
		}
		for _, key := range rapid.SliceOfDistinct(rapid.StringMatching(`[a-d]`), rapid.ID).Draw(t, "keys") {
			b.Contexts = append(b.Contexts, person(key, rapid.IntRange(0, 3).Draw(t, "minutes"), named(rapid.StringMatching(`[A-C]`).Draw(t, "name"))))
		}
		for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 6, 7}), 0, 4, rapid.ID).Draw(t, "evaluations") {
			b.Evaluations = append(b.Evaluations, telemetry.Evaluation{Environment: []string{"production", "staging"}[id%2], Key: []string{"flag-a", "flag-b"}[id/2%2],
				Value: []string{"", "true"}[id/4], At: b.Received.Add(time.Duration(-rapid.IntRange(0, 2).Draw(t, "hours")) * time.Hour), Count: rapid.Int64Range(1, 3).Draw(t, "count")})
		}
		for _, id := range rapid.SliceOfNDistinct(rapid.ByteRange(0, 8), 0, 3, rapid.ID).Draw(t, "reports") {
			same := telemetry.Evaluation{Environment: "production", Key: "flag-a", Value: "true", At: b.Received, Count: int64(id) + 1}
			b.Reports = append(b.Reports, telemetry.Reported{ID: sha256.Sum256([]byte{id, 2}), Evaluations: []telemetry.Evaluation{same}})
		}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"user", "team"}), 0, 2, rapid.ID).Draw(t, "shapes") {
			kind := rapid.SampledFrom([]telemetry.Kind{telemetry.Int, telemetry.String, telemetry.Double}).Draw(t, "kind")
			b.Shapes = append(b.Shapes, telemetry.KnownShape{Type: name, Fields: map[string][]telemetry.Kind{
				rapid.StringMatching(`[x-z]`).Draw(t, "field"): {kind}}})
		}
		return b
	})
}

// Store is one in a file, for tests of what uses one. It counts what it records.
type Store struct {
	*rows.Store
	records atomic.Int64
}

// NewStore makes one of the test's own.
func NewStore(t testing.TB) *Store {
	return &Store{Store: rows.New(bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), 0)}
}

// Records is how often Record was called.
func (s *Store) Records() int { return int(s.records.Load()) }

// Record implements telemetry.Store.
func (s *Store) Record(ctx context.Context, workspace string, b telemetry.Batch) (telemetry.Recorded, error) {
	s.records.Add(1)
	return s.Store.Record(ctx, workspace, b)
}
