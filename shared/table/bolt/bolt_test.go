package bolt_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/tabletest"
)

func TestTable(t *testing.T) {
	tabletest.Run(t, func(t *testing.T) func() table.Table {
		path := filepath.Join(t.TempDir(), "svc.db")
		return func() table.Table { return bolt.New(path) }
	})
}

// TestExpiry: a clock that is wrong for a while, and a long stop, remove nothing that is
// in use; what is over leaves nothing in the file.
func TestExpiry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	db := bolt.New(path)
	begin := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	put := func(name string, until time.Time) {
		t.Helper()
		if err := db.Transact(t.Context(), table.Write{Key: table.Key{Partition: "p", Sort: name}, Put: table.Attributes{"v": table.Text("value-of-" + name), table.Expires: table.Until(until)}}); err != nil {
			t.Fatal(err)
		}
	}
	tidy := func(now time.Time, want ...string) {
		t.Helper()
		if _, err := db.Tidy(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		var left []string
		err := db.Query(t.Context(), table.Query{Partition: "p"}, func(row table.Row) (bool, error) { left = append(left, row.Sort); return true, nil })
		if err != nil || len(left) != len(want) {
			t.Errorf("on %v %q are left, want %q; %v", now, left, want, err)
		}
	}
	put("short", begin.Add(time.Hour))
	put("ten", begin.AddDate(0, 0, 10))
	put("ninety", begin.AddDate(0, 0, 90))
	tidy(begin, "short", "ten", "ninety")
	tidy(begin.Add(2*time.Hour), "short", "ten", "ninety") // once a day is enough
	tidy(begin.AddDate(1, 0, 0), "ten", "ninety")          // the clock is wrong
	tidy(begin.AddDate(0, 0, 1), "ten", "ninety")
	text, err := os.ReadFile(path)
	if err != nil || bytes.Contains(text, []byte("value-of-short")) || !bytes.Contains(text, []byte("value-of-ten")) {
		t.Errorf("the file holds what is gone, or lacks what is not: %v", err)
	}
	for d := 2; d <= 100; d++ {
		if _, err := db.Tidy(t.Context(), begin.AddDate(0, 0, d)); err != nil {
			t.Fatal(err)
		}
	}
	tidy(begin.AddDate(0, 0, 101))
}
