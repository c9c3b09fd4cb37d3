package tabletest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/testing/must"
)

func testAllOrNone(w world) {
	must.Do(w, w.Transact(w.Context(), table.Write{Key: key("p", "taken"), Put: table.Attributes{}}))
	var writes []table.Write
	for i := range table.MaxWrites - 1 {
		writes = append(writes, table.Write{Key: key("q", fmt.Sprint(i)), Put: table.Attributes{"n": table.Number(int64(i))}})
	}
	writes = append(writes, table.Write{Key: key("p", "taken"), Put: table.Attributes{}, If: []table.Condition{table.NoRow()}})
	err := w.Transact(w.Context(), writes...)
	var refused *table.Refused
	if !errors.Is(err, table.ErrRefused) || !errors.As(err, &refused) || !slices.Equal(refused.Writes, []int{table.MaxWrites - 1}) {
		w.Errorf("%v", err)
	}
	if got := w.sorts(table.Query{Partition: "q"}); len(got) > 0 {
		w.Errorf("%q were written", got)
	}
	if len(refused.Found) > 0 {
		w.Errorf("%v is told, which nobody asked for", refused.Found)
	}
	writes[len(writes)-1].If = nil
	must.Do(w, w.Transact(w.Context(), writes...))
	if got := w.sorts(table.Query{Partition: "q"}); len(got) != table.MaxWrites-1 {
		w.Errorf("%d were written", len(got))
	}
}

// testChecks: a check changes nothing, and a refusal tells the row that it has found.
func testChecks(w world) {
	there, none := key("p", "there"), key("p", "none")
	row := table.Attributes{"a": table.Text("x"), "yes": table.Truth(true)}
	must.Do(w, w.Transact(w.Context(), table.Write{Key: there, Put: row}))
	check := func(k table.Key, c table.Condition) table.Write {
		return table.Write{Key: k, Check: true, Tell: true, If: []table.Condition{c}}
	}
	put := table.Write{Key: key("q", "s"), Put: table.Attributes{}}
	must.Do(w, w.Transact(w.Context(), put, check(there, table.ARow()), check(none, table.NoRow())))
	w.want(there, row)
	w.want(none, nil)
	err := w.Transact(w.Context(), table.Write{Key: put.Key, Delete: true}, check(there, table.Is("a", table.Text("y"))), check(none, table.Has("a")))
	var refused *table.Refused
	if want := (&table.Refused{Writes: []int{1, 2}, Found: map[int]table.Attributes{1: row}}); !errors.As(err, &refused) || !reflect.DeepEqual(refused, want) {
		w.Errorf("%v: %+v, want %+v", err, refused, want)
	}
	w.want(put.Key, table.Attributes{})
	must.Do(w, w.Transact(w.Context(), table.Write{Key: there, Set: table.Attributes{"b": table.Truth(false)}, Unset: []string{"a", "c"}}))
	w.want(there, table.Attributes{"yes": table.Truth(true), "b": table.Truth(false)})
}

// testTogether: what runs together sees what it has written, also by many at once, and a
// refusal changes nothing of it.
func testTogether(w world) {
	count := table.Write{Key: key("p", "n"), Add: map[string]int64{"n": 1}}
	must.Do(w, w.Together(w.Context(), func(t table.Table) error {
		var group errgroup.Group
		for i := range 8 {
			group.Go(func() error {
				return t.Transact(w.Context(), count, table.Write{Key: key("q", fmt.Sprint(i)), Put: table.Attributes{}})
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if err := t.Transact(w.Context(), count, table.Write{Key: key("q", "0"), Delete: true, If: []table.Condition{table.NoRow()}}); !errors.Is(err, table.ErrRefused) {
			w.Errorf("%v", err)
		}
		rows := 0
		err := t.Query(w.Context(), table.Query{Partition: "q"}, func(row table.Row) (bool, error) {
			rows++
			return true, t.Batch(w.Context(), []table.Write{{Key: row.Key, Delete: true}})
		})
		if rows != 8 {
			w.Errorf("%d rows are seen", rows)
		}
		return err
	}))
	w.want(key("p", "n"), table.Attributes{"n": table.Number(8)})
	if got := w.sorts(table.Query{Partition: "q"}); len(got) > 0 {
		w.Errorf("%q are left", got)
	}
	must.Do(w, w.Wipe(w.Context()))
	failed := errors.New("failed")
	if err := w.Together(w.Context(), func(table.Table) error { return failed }); !errors.Is(err, failed) {
		w.Errorf("%v", err)
	}
}

func (w world) together(n int, do func(i int, t table.Table)) {
	var group sync.WaitGroup
	for i := range n {
		t := w.another()
		group.Go(func() { do(i, t) })
	}
	group.Wait()
}

func testOneWins(w world) {
	const rounds, writers = 5, 8
	for round := range rounds {
		var mu sync.Mutex
		var won []int
		w.together(writers, func(i int, t table.Table) {
			err := again(w, func() error {
				return t.Transact(w.Context(),
					table.Write{Key: key("p", fmt.Sprint(round)), Put: table.Attributes{"by": table.Number(int64(i))}, If: []table.Condition{table.NoRow()}},
					table.Write{Key: key("log", fmt.Sprint(round, i)), Put: table.Attributes{}})
			})
			if err != nil && !errors.Is(err, table.ErrRefused) {
				w.Errorf("%v", err)
			}
			if err == nil {
				mu.Lock()
				won = append(won, i)
				mu.Unlock()
			}
		})
		if len(won) != 1 {
			w.Fatalf("%v have won", won)
		}
		w.want(key("p", fmt.Sprint(round)), table.Attributes{"by": table.Number(int64(won[0]))})
	}
	if got := w.sorts(table.Query{Partition: "log"}); len(got) != rounds {
		w.Errorf("%d rows of %d rounds", len(got), rounds)
	}
}

// testCrossed: of transactions each of which checks that there is no row of the other's,
// one wins, though none of them writes what another one does.
func testCrossed(w world) {
	for round := range 10 {
		rows := []table.Key{key("p", fmt.Sprint(round, "a")), key("p", fmt.Sprint(round, "b")), key("p", fmt.Sprint(round, "c"))}
		w.together(len(rows), func(i int, t table.Table) {
			err := again(w, func() error {
				return t.Transact(w.Context(),
					table.Write{Key: rows[i], Put: table.Attributes{}},
					table.Write{Key: rows[(i+1)%3], Check: true, If: []table.Condition{table.NoRow()}},
					table.Write{Key: rows[(i+2)%3], Check: true, If: []table.Condition{table.NoRow()}})
			})
			if err != nil && !errors.Is(err, table.ErrRefused) {
				w.Errorf("%v", err)
			}
		})
		if won := must.Get(w.Get(w.Context(), rows))(w); len(won) != 1 {
			w.Errorf("%d have won", len(won))
		}
	}
}

// again does something until the table is not busy.
func again(w world, do func() error) error {
	for {
		if err := do(); !errors.Is(err, table.ErrBusy) || w.Context().Err() != nil {
			return err
		}
	}
}
