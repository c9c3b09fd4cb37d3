package bolt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/tabletest"
)

func TestTable(t *testing.T) {
	tabletest.Run(t, func(t *testing.T) func() table.Table {
		path := filepath.Join(t.TempDir(), "svc.db")
		return func() table.Table { return bolt.New(database.New(path)) }
	})
}

// TestExpiry: a clock that is wrong for a while, and a long stop, remove nothing that is
// in use; what is over leaves nothing in the file.
func TestExpiry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	db := bolt.New(database.New(path))
	begin := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	put := func(name string, until time.Time) {
		t.Helper()
		must.Do(t, db.Transact(t.Context(), table.Write{Key: table.Key{Partition: "p", Sort: name}, Put: table.Attributes{"v": table.Text("value-of-" + name), table.Expires: table.Until(until)}}))
	}
	tidy := func(now time.Time, want ...string) {
		t.Helper()
		must.Get(db.Tidy(t.Context(), now))(t)
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
	if text, err := os.ReadFile(path); err != nil || bytes.Contains(text, []byte("value-of-short")) || !bytes.Contains(text, []byte("value-of-ten")) {
		t.Errorf("the file holds what is gone, or lacks what is not: %v", err)
	}
	for d := 2; d <= 100; d++ {
		must.Get(db.Tidy(t.Context(), begin.AddDate(0, 0, d)))(t)
	}
	tidy(begin.AddDate(0, 0, 101))
}

func begun(t *testing.T, path string) *bolt.Table {
	t.Helper()
	db := bolt.New(database.New(path))
	for i := range 20 {
		must.Do(t, db.Transact(t.Context(), put(fmt.Sprint(i))))
	}
	return db
}

func put(sort string) table.Write {
	return table.Write{Key: table.Key{Partition: "p", Sort: sort}, Put: table.Attributes{"v": table.Text(strings.Repeat(sort, 200))}}
}

func get(t *testing.T, db *bolt.Table) ([]table.Row, error) {
	return db.Get(t.Context(), []table.Key{put("7").Key})
}

// TestADamagedFile is an error for readers and writers, and nothing else.
func TestADamagedFile(t *testing.T) {
	for name, spoil := range map[string]func([]byte) []byte{
		"not a database": func([]byte) []byte { return []byte(strings.Repeat("no", 9000)) },
		"cut short":      func(b []byte) []byte { return b[:len(b)/3] },
		"newer":          func(b []byte) []byte { b[16+4], b[4096+16+4] = 9, 9; return b },
		"scribbled on": func(b []byte) []byte {
			for i := 2 * 4096; i < len(b); i++ {
				b[i] ^= 0x5a
			}
			return b
		},
	} {
		path := filepath.Join(t.TempDir(), "svc.db")
		db := begun(t, path)
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, spoil(text), 0o600)
		}
		must.Do(t, err)
		if err := db.Transact(t.Context(), put("new")); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: written to: %v", name, err)
		}
		if _, err := get(t, db); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: read: %v", name, err)
		}
	}
}

// TestTheLockIsWaitedFor, and not for ever.
func TestTheLockIsWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	db := begun(t, path)
	other := must.Get(bbolt.Open(path, 0o600, nil))(t)
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := db.Transact(short, put("a")); !errors.Is(err, table.ErrBusy) {
		t.Errorf("a locked file: %v", err)
	}
	written := make(chan error)
	go func() { written <- db.Transact(t.Context(), put("7")) }()
	must.Report(t, errors.Join(other.Close(), <-written))
}

// TestWhatFailsTogether leaves everything as it was; reading makes no file, and one is
// for its owner alone.
func TestWhatFailsTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "svc.db")
	db := bolt.New(database.New(path))
	if rows, err := get(t, db); err != nil || len(rows) > 0 || !database.New(path).IsEmpty() {
		t.Errorf("%v, %v", rows, err)
	}
	failed := errors.New("failed")
	err := db.Together(t.Context(), func(in table.Table) error { return errors.Join(in.Transact(t.Context(), put("7")), failed) })
	if rows, read := get(t, db); !errors.Is(err, failed) || read != nil || len(rows) > 0 {
		t.Errorf("%v; %v, %v", err, rows, read)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	// bbolt returns the words of the system's error alone.
	for cause, full := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		words := fmt.Errorf("file resize error: %s", &fs.PathError{Op: "truncate", Path: path, Err: cause})
		if err := db.Together(t.Context(), func(table.Table) error { return words }); fault.IsFullDisk(err) != full {
			t.Errorf("%v: %v", cause, err)
		}
	}
}
