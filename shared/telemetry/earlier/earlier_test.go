package earlier

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bbolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
)

const workspace = "0123456789abcdef"

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// directory has a file that an earlier version has written: of two months, with a key
// that is long, another one that is no longer saved, and more types than an hour takes.
func directory(t *testing.T) (dir string, to table.Table) {
	t.Helper()
	packed := must.Get(os.Open("testdata/telemetry.db.gz"))(t)
	defer packed.Close()
	r := must.Get(gzip.NewReader(packed))(t)
	text := must.Get(io.ReadAll(r))(t)
	dir = t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(dir, Name), text, 0o600))
	return dir, bolt.New(database.New(filepath.Join(dir, "svc.db")))
}

// told is all that a store tells, as text.
func told(t *testing.T, s *rows.Store) string {
	t.Helper()
	var b strings.Builder
	for _, month := range []telemetry.Month{"2026-10", "2026-11"} {
		u := must.Get(s.Usage(t.Context(), workspace, month))(t)
		fmt.Fprintln(&b, month, u.Keys, len(u.Types), u.Types[0], u.NotCounted)
	}
	found := must.Get(s.Contexts(t.Context(), workspace, telemetry.Query{Text: "a", Limit: 10}))(t)
	for _, c := range found {
		fmt.Fprintln(&b, c.Environment, c.Type, c.Key, c.LastSeen.Format(time.RFC3339), c.Text("name"))
	}
	all := must.Get(s.Contexts(t.Context(), workspace, telemetry.Query{Limit: 1000}))(t)
	shapes := must.Get(s.Shapes(t.Context(), workspace))(t)
	counts := must.Get(s.Evaluations(t.Context(), workspace, "flag-a", "2026-10-01", "2026-12-31"))(t)
	evaluated := must.Get(s.Evaluated(t.Context(), workspace))(t)
	fmt.Fprintln(&b, len(all), shapes, counts, evaluated.Since, evaluated.Days)
	return b.String()
}

const want = `2026-10 2 2 {team 1} 0
2026-11 53 50 {user 4} 5
production user u-1 2026-11-20T12:00:00Z Ada Lovelace
staging user u-2 2026-11-20T11:59:00Z Grace
production team t-1 2026-10-20T12:00:00Z Staff
52 [{team map[key:[string]]} {user map[age:[int double] key:[string]]}] map[production:[{2026-11-20 {5 1795176000000 map[false:2 true:3]}} {2026-10-20 {7 1792497600000 map[true:7]}}]] 2026-10-20 map[flag-a:2026-11-20 flag-b:2026-11-20]
`

// TestTakeOver: everything that the file told the table tells, whether or not a first try
// was killed before the file was gone, and what was counted is not counted again.
func TestTakeOver(t *testing.T) {
	dir, to := directory(t)
	kept := must.Get(os.ReadFile(filepath.Join(dir, Name)))(t)
	store := rows.New(to, 0)
	for range 2 {
		must.Do(t, TakeOver(t.Context(), dir, workspace, to, 0))
		if got := told(t, store); got != want || Exists(dir) {
			t.Fatalf("got %s\nwant %s", got, want)
		}
		must.Do(t, os.WriteFile(filepath.Join(dir, Name), kept, 0o600))
	}
	must.Do(t, os.Remove(filepath.Join(dir, Name)))
	must.Do(t, TakeOver(t.Context(), dir, workspace, to, 0))
	if info, err := os.Stat(filepath.Join(dir, "svc.db")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	long := strings.Repeat("long-", 12)
	pair := func(key string) telemetry.Pair { return telemetry.Pair{Month: "2026-11", Type: "user", Key: key} }
	b := telemetry.Batch{ID: sha256.Sum256([]byte("2")), Received: now, Pairs: []telemetry.Pair{pair("new")}}
	for _, counted := range []int{0, 1} { // the second one of the file, and another one
		if done, err := store.Record(t.Context(), workspace, b); err != nil || done.Counted != counted {
			t.Errorf("%+v, %v", done, err)
		}
		b.ID, b.Pairs = [32]byte{1}, []telemetry.Pair{pair("u-1"), pair(long), pair("new")}
	}
	// Of a file that was written to afterwards nothing is lost.
	must.Do(t, os.WriteFile(filepath.Join(dir, Name), kept, 0o600))
	must.Get(store.Forget(t.Context(), workspace, nil, "user", "u-1", now))(t)
	if err := TakeOver(t.Context(), dir, workspace, to, 0); !errors.Is(err, rows.ErrDiffers) || !strings.Contains(err.Error(), "move the file away") || !Exists(dir) {
		t.Errorf("%v", err)
	}
}

// TestFilesThatCannotBeTakenOver: the error says which file, nothing is lost, and the table
// has nothing of it.
func TestFilesThatCannotBeTakenOver(t *testing.T) {
	for name, spoil := range map[string]func(path string, text []byte) []byte{
		"not a database": func(string, []byte) []byte { return bytes.Repeat([]byte("no"), 9000) },
		"scribbled on": func(_ string, text []byte) []byte {
			for i := 4 * 4096; i < len(text); i++ {
				text[i] ^= 0x5a
			}
			return text
		},
		"locked": func(path string, text []byte) []byte {
			db := must.Get(bbolt.Open(path, 0o600, nil))(t)
			t.Cleanup(func() { db.Close() })
			return nil
		},
	} {
		dir, to := directory(t)
		path := filepath.Join(dir, Name)
		text := must.Get(os.ReadFile(path))(t)
		if text = spoil(path, text); text != nil {
			must.Do(t, os.WriteFile(path, text, 0o600))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		err := TakeOver(ctx, dir, workspace, to, 0)
		cancel()
		if err == nil || !strings.Contains(err.Error(), path) || !Exists(dir) {
			t.Errorf("%s: %v", name, err)
		}
		if after, _ := os.ReadFile(path); text != nil && !bytes.Equal(after, text) {
			t.Errorf("%s: the file was changed", name)
		}
		if empty, err := rows.New(to, 0).IsEmpty(t.Context(), workspace); err != nil || !empty {
			t.Errorf("%s: the table has something, %v", name, err)
		}
	}
}
