// Package tabletest is what every table.Table has to pass: tests of what the interface
// promises, written against it alone. Only tests import it.
package tabletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/testing/must"
)

// Run holds an implementation to the contract. Open makes a new, empty table for each
// test and returns what opens it once more, as another process would.
func Run(t *testing.T, open func(t *testing.T) func() table.Table) {
	for _, test := range []struct {
		name string
		run  func(w world)
	}{
		{"nothing is there at first", testEmpty},
		{"rows are what they were", testValues},
		{"some attributes", testOnly},
		{"a partition in order", testQuery},
		{"many rows", testMany},
		{"partitions that begin so", testScan},
		{"changes", testChanges},
		{"all or none", testAllOrNone},
		{"checks", testChecks},
		{"together", testTogether},
		{"one of many wins", testOneWins},
		{"crossed checks", testCrossed},
		{"counted by many at once", testCount},
		{"mistakes", testMistakes},
		{"cancelled", testCancelled},
	} {
		t.Run(test.name, func(t *testing.T) {
			another := open(t)
			test.run(world{t, another(), another})
		})
	}
	t.Run("agrees with the one in memory", func(t *testing.T) { testAgrees(t, open) })
}

type world struct {
	*testing.T
	table.Table
	another func() table.Table
}

// row is what another process reads.
func (w world) row(k table.Key) table.Attributes {
	w.Helper()
	rows := must.Get(w.another().Get(w.Context(), []table.Key{k}))(w)
	if len(rows) == 0 {
		return nil
	}
	return rows[0].Attributes
}

func (w world) want(k table.Key, want table.Attributes) {
	w.Helper()
	if got := w.row(k); !reflect.DeepEqual(got, want) {
		w.Errorf("%v is %v, want %v", k, got, want)
	}
}

func key(partition, sort string) table.Key { return table.Key{Partition: partition, Sort: sort} }

func testEmpty(w world) {
	w.want(key("a", "b"), nil)
	count := 0
	must.Do(w, w.Query(w.Context(), table.Query{Partition: "a"}, func(table.Row) (bool, error) { count++; return true, nil }))
	must.Do(w, w.Scan(w.Context(), "", func(table.Row) error { count++; return nil }))
	if count > 0 {
		w.Errorf("%d rows", count)
	}
	must.Do(w, w.Batch(w.Context(), nil))
	must.Do(w, w.Transact(w.Context(), table.Write{Key: key("a", "b"), Delete: true}))
}

func testValues(w world) {
	all := table.Attributes{
		"text": table.Text("x\u2028\x00ü"), "empty": table.Text(""), "n": table.Number(-1 << 62), "zero": table.Number(0),
		"bytes": table.Bytes{0, 255}, "nothing": table.Bytes{}, "yes": table.Truth(true), "no": table.Truth(false),
		"large": table.Text(strings.Repeat("x", 300<<10)),
	}
	must.Do(w, w.Transact(w.Context(), table.Write{Key: key("p", "s"), Put: all}))
	w.want(key("p", "s"), all)
	must.Do(w, w.Transact(w.Context(), table.Write{Key: key("p", "s"), Put: table.Attributes{}}))
	w.want(key("p", "s"), table.Attributes{})
	must.Do(w, w.Transact(w.Context(), table.Write{Key: key("p", "s"), Delete: true}))
	w.want(key("p", "s"), nil)
}

func testOnly(w world) {
	must.Do(w, w.Transact(w.Context(), table.Write{Key: key("p", "s"), Put: table.Attributes{"a": table.Number(1), "b": table.Number(2)}}))
	must.Do(w, w.Query(w.Context(), table.Query{Partition: "p", Only: []string{"a"}}, func(row table.Row) (bool, error) {
		if want := (table.Row{Key: key("p", "s"), Attributes: table.Attributes{"a": table.Number(1)}}); !reflect.DeepEqual(row, want) {
			w.Errorf("%v, want %v", row, want)
		}
		return true, nil
	}))
	before := time.Now().Add(-time.Minute)
	rows, now, err := w.GetAt(w.Context(), []table.Key{key("p", "s"), key("p", "none")}, "b", "c")
	if want := []table.Row{{Key: key("p", "s"), Attributes: table.Attributes{"b": table.Number(2)}}}; err != nil || !reflect.DeepEqual(rows, want) {
		w.Errorf("%v, %v, want %v", rows, err, want)
	}
	one, _, err := w.GetOne(w.Context(), key("p", "s"), "a")
	none, _, missing := w.GetOne(w.Context(), key("p", "none"))
	if want := (table.Attributes{"a": table.Number(1)}); err != nil || missing != nil || none != nil || !reflect.DeepEqual(one, want) {
		w.Errorf("%v, %v; %v, %v", one, err, none, missing)
	}
	if now.Before(before) || now.After(before.Add(2*time.Minute)) {
		w.Errorf("by the table's clock it is %v", now)
	}
}

func (w world) sorts(q table.Query) (found []string) {
	w.Helper()
	must.Do(w, w.another().Query(w.Context(), q, func(row table.Row) (bool, error) {
		found = append(found, row.Sort)
		return true, nil
	}))
	return found
}

func testQuery(w world) {
	order := []string{"\x01", "0", "00", "1", "A", "a", "a\x00b", "ab", "z", "é", "\U0001f600"}
	var writes []table.Write
	for _, p := range []string{"p", "p/", "o", "q"} {
		for _, s := range order {
			writes = append(writes, table.Write{Key: key(p, s), Put: table.Attributes{"s": table.Text(s)}})
		}
	}
	must.Do(w, w.Batch(w.Context(), writes))
	backwards := slices.Clone(order)
	slices.Reverse(backwards)
	for _, test := range []struct {
		q    table.Query
		want []string
	}{
		{table.Query{Partition: "p"}, order},
		{table.Query{Partition: "p", Newest: true}, backwards},
		{table.Query{Partition: "p", Page: 2}, order},
		{table.Query{Partition: "p", Page: 3, Newest: true}, backwards},
		{table.Query{Partition: "p", Low: "0", High: "a"}, order[1:6]},
		{table.Query{Partition: "p", Low: "000", High: "a"}, order[3:6]},
		{table.Query{Partition: "p", Low: "0", High: "aa", Newest: true}, backwards[4:10]},
		{table.Query{Partition: "r"}, nil},
	} {
		if got := w.sorts(test.q); !slices.Equal(got, test.want) {
			w.Errorf("%+v: %q, want %q", test.q, got, test.want)
		}
	}
	var first []string
	must.Do(w, w.Query(w.Context(), table.Query{Partition: "p"}, func(row table.Row) (bool, error) {
		first = append(first, row.Sort)
		return len(first) < 2, nil
	}))
	if !slices.Equal(first, order[:2]) {
		w.Errorf("it went on to %q", first)
	}
	broken := errors.New("broken")
	if err := w.Query(w.Context(), table.Query{Partition: "p"}, func(table.Row) (bool, error) { return true, broken }); !errors.Is(err, broken) {
		w.Errorf("%v", err)
	}
}

func testMany(w world) {
	const rows = 2300
	var writes []table.Write
	var keys []table.Key
	for i := range rows {
		k := key("p", fmt.Sprintf("%05d", i))
		keys = append(keys, k)
		writes = append(writes, table.Write{Key: k, Put: table.Attributes{"n": table.Number(int64(i))}})
	}
	must.Do(w, w.Batch(w.Context(), writes))
	for _, newest := range []bool{false, true} {
		n := 0
		must.Do(w, w.Query(w.Context(), table.Query{Partition: "p", Newest: newest}, func(row table.Row) (bool, error) {
			want := n
			if newest {
				want = rows - 1 - n
			}
			if row.Number("n") != int64(want) {
				return false, fmt.Errorf("%v comes at %d", row, n)
			}
			if n == 1200 { // whoever is called may ask the table
				w.want(keys[3], table.Attributes{"n": table.Number(3)})
			}
			n++
			return true, nil
		}))
		if n != rows {
			w.Errorf("%d rows, want %d", n, rows)
		}
	}
	if found, err := w.Get(w.Context(), keys[:250]); err != nil || len(found) != 250 {
		w.Errorf("%d rows, %v", len(found), err)
	}
	for i := range writes {
		writes[i] = table.Write{Key: keys[i], Delete: true}
	}
	must.Do(w, w.Batch(w.Context(), writes[1:]))
	if got := w.sorts(table.Query{Partition: "p"}); !slices.Equal(got, []string{"00000"}) {
		w.Errorf("%q are left", got)
	}
}

func testScan(w world) {
	for _, k := range []table.Key{key("a/1", "x"), key("a/2", "x"), key("a/2", "y"), key("b", "x"), key("a", "x")} {
		must.Do(w, w.Transact(w.Context(), table.Write{Key: k, Put: table.Attributes{"p": table.Text(k.Partition)}}))
	}
	var found []string
	must.Do(w, w.Scan(w.Context(), "a/", func(row table.Row) error {
		found = append(found, row.Partition+" "+row.Sort)
		return nil
	}))
	slices.Sort(found)
	if want := []string{"a/1 x", "a/2 x", "a/2 y"}; !slices.Equal(found, want) {
		w.Errorf("%q, want %q", found, want)
	}
}

func testChanges(w world) {
	k := key("p", "s")
	must.Do(w, w.Transact(w.Context(), table.Write{Key: k, Set: table.Attributes{"a": table.Number(1)}, Add: map[string]int64{"n": 2}}))
	w.want(k, table.Attributes{"a": table.Number(1), "n": table.Number(2)})
	touched, err := w.Update(w.Context(), table.Write{Key: k, Set: table.Attributes{"b": table.Text("y")}, Add: map[string]int64{"n": -3}})
	if want := (table.Attributes{"b": table.Text("y"), "n": table.Number(-1)}); err != nil || !reflect.DeepEqual(touched, want) {
		w.Errorf("%v, %v, want %v", touched, err, want)
	}
	w.want(k, table.Attributes{"a": table.Number(1), "b": table.Text("y"), "n": table.Number(-1)})
	if _, err := w.Update(w.Context(), table.Write{Key: k, Add: map[string]int64{"n": 1}, If: []table.Condition{table.NoRow()}}); !errors.Is(err, table.ErrRefused) {
		w.Errorf("%v", err)
	}
	must.Do(w, w.Transact(w.Context(), table.Write{Key: k, Put: table.Attributes{"c": table.Number(1)}}))
	w.want(k, table.Attributes{"c": table.Number(1)})
}

func testCount(w world) {
	const writers, each = 6, 10
	w.together(writers, func(_ int, t table.Table) {
		for range each {
			if err := again(w, func() error {
				return t.Transact(w.Context(), table.Write{Key: key("p", "n"), Add: map[string]int64{"n": 1}})
			}); err != nil {
				w.Error(err)
			}
		}
	})
	w.want(key("p", "n"), table.Attributes{"n": table.Number(writers * each)})
}

func testMistakes(w world) {
	var many []table.Write
	for i := range table.MaxWrites + 1 {
		many = append(many, table.Write{Key: key("p", fmt.Sprint(i)), Put: table.Attributes{}})
	}
	for name, writes := range map[string][]table.Write{
		"too many":           many,
		"two of a row":       {many[0], many[0]},
		"no partition":       {{Key: key("", "a"), Put: table.Attributes{}}},
		"a check of nothing": {{Key: key("a", "b"), Check: true}},
		"no sort key":        {{Key: key("a", ""), Put: table.Attributes{}}},
		"too large":          {{Key: key("a", "b"), Put: table.Attributes{"b": table.Bytes(bytes.Repeat([]byte{1}, table.MaxRow))}}},
	} {
		if err := w.Transact(w.Context(), writes...); err == nil || errors.Is(err, table.ErrRefused) || errors.Is(err, table.ErrBusy) {
			w.Errorf("%s: %v", name, err)
		}
	}
	if got := w.sorts(table.Query{Partition: "p"}); len(got) > 0 {
		w.Errorf("%q were written", got)
	}
}

func testCancelled(w world) {
	ctx, cancel := context.WithCancel(w.Context())
	cancel()
	if err := w.Transact(ctx, table.Write{Key: key("p", "s"), Put: table.Attributes{}}); !errors.Is(err, context.Canceled) {
		w.Errorf("%v", err)
	}
	w.want(key("p", "s"), nil)
}

// testAgrees holds random transactions against table.Write.Apply.
func testAgrees(t *testing.T, open func(t *testing.T) func() table.Table) {
	rapid.Check(t, func(r *rapid.T) {
		subject := open(t)()
		model := map[table.Key]table.Attributes{}
		for range rapid.IntRange(1, 8).Draw(r, "transactions") {
			writes := drawWrites(r)
			after, want := maps.Clone(model), &table.Refused{}
			for i, w := range writes {
				row, holds := w.Apply(model[w.Key])
				if !holds {
					want.Add(i, w, model[w.Key])
				}
				if after[w.Key] = row; row == nil {
					delete(after, w.Key)
				}
			}
			err := subject.Transact(t.Context(), writes...)
			var refused *table.Refused
			switch {
			case len(want.Writes) == 0 && err == nil:
				model = after
			case len(want.Writes) > 0 && errors.As(err, &refused) && reflect.DeepEqual(refused, want):
			default:
				r.Fatalf("%+v: %v, want the refusals %v", writes, err, want)
			}
		}
		found := map[table.Key]table.Attributes{}
		if err := subject.Scan(t.Context(), "", func(row table.Row) error { found[row.Key] = row.Attributes; return nil }); err != nil || !reflect.DeepEqual(found, model) {
			r.Fatalf("%v, %v, want %v", found, err, model)
		}
	})
}

func drawWrites(r *rapid.T) (writes []table.Write) {
	value := rapid.Custom(func(r *rapid.T) table.Value {
		n := rapid.IntRange(0, 2).Draw(r, "value")
		return []table.Value{table.Number(n), table.Text(fmt.Sprint(n)), table.Bytes(fmt.Sprint(n)), table.Truth(n > 0)}[rapid.IntRange(0, 3).Draw(r, "type")]
	})
	attributes := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", table.Expires}), value, 0, 3)
	for _, sort := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"1", "2", "3"}), 1, 3, rapid.ID).Draw(r, "rows") {
		w := table.Write{Key: key("p", sort)}
		switch rapid.IntRange(0, 4).Draw(r, "kind") {
		case 0:
			w.Put = attributes.Draw(r, "put")
		case 1:
			w.Delete = true
		case 2:
			w.Set, w.Add = table.Attributes{"a": table.Number(1)}, map[string]int64{"n": 1}
		case 3:
			w.Set, w.Unset = attributes.Draw(r, "set"), []string{"c"}
		case 4:
			w.Unset = []string{"a", "c"}
		}
		is := func(name string) table.Condition { return table.Is(name, value.Draw(r, "compared")) }
		less := func(name string) table.Condition {
			than := rapid.SampledFrom([]table.Value{table.Number(1), table.Number(2), table.Text("1"), table.Text("2")}).Draw(r, "than")
			return table.Less(name, than)
		}
		w.Tell = rapid.Bool().Draw(r, "tell")
		w.If = []table.Condition{rapid.SampledFrom([]table.Condition{
			table.NoRow(), is("a"), table.All(), table.All(is("a"), is("b")), table.Any(table.NoRow(), is("a")), table.Any(is("a"), table.All(is("b"), table.NoRow())),
			table.ARow(), table.Has("a"), table.Lacks("a"), less("a"), table.Any(table.Lacks("b"), less("b")), table.All(table.ARow(), table.Lacks("b")),
		}).Draw(r, "condition")}
		writes = append(writes, w)
	}
	return writes
}
