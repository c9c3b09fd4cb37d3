package rows

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/table"
	tabledynamo "svc.example/svc/shared/table/dynamo"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

// newTable is a store in a table of a test's own.
func newStore(t *testing.T) *Store {
	t.Helper()
	client := standin.DynamoDBClient(t)
	name := standin.Table(t, client)
	must.Do(t, dynamo.New(client, name, telemetry.ErrBusy).Create(t.Context()))
	return New(tabledynamo.New(client, name), 0)
}

// rowsOf are all rows of a workspace, in no order.
func rowsOf(t *testing.T, s *Store, workspace string) map[table.Key]string {
	t.Helper()
	found := map[table.Key]string{}
	must.Do(t, s.table.Scan(t.Context(), keys(workspace).pk(""), func(row table.Row) error {
		found[keyOf(strings.TrimPrefix(row.Partition, keys(workspace).pk("")), row.Sort)] = string(table.Encode(row.Attributes))
		return nil
	}))
	return found
}

// TestAnArchiveHasAllRows of one workspace, and of no other.
func TestAnArchiveHasAllRows(t *testing.T) {
	s := newStore(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	for _, workspace := range []string{"one", "other", "on"} {
		for i := range 3 {
			b := telemetry.Batch{ID: [32]byte{byte(i)}, Received: now.AddDate(0, -i, 0)}
			for n := range 30 {
				b.Contexts = append(b.Contexts, telemetry.Saved{Environment: "production", Type: fmt.Sprint("t", n%3), Key: fmt.Sprint("k", n), LastSeen: now.Add(time.Duration(i) * time.Second)})
				b.Pairs = append(b.Pairs, telemetry.Pair{Month: telemetry.MonthOf(b.Received), Type: "t", Key: fmt.Sprint("k", n)})
			}
			b.Shapes = []telemetry.KnownShape{{Type: "t", Fields: map[string][]telemetry.Kind{"x": {telemetry.String}}}}
			b.Evaluations = []telemetry.Evaluation{{Environment: "production", Key: "a", Value: "1", At: now, Count: 2}}
			must.Get(s.Record(t.Context(), workspace, b))(t)
		}
	}
	var archive bytes.Buffer
	must.Do(t, s.Archive(t.Context(), "one", now, &archive))
	if text := archive.String(); strings.Contains(text, `"pk":"context/`) || strings.Contains(text, "other") {
		t.Errorf("the archive has too much: %.2000s", text)
	}
	to := newStore(t)
	must.Do(t, to.Restore(t.Context(), "one", bytes.NewReader(archive.Bytes())))
	want := rowsOf(t, s, "one")
	if got := rowsOf(t, to, "one"); !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows are restored, want %d", len(got), len(want))
	}
	if err := to.Remove(t.Context(), "one"); err != nil || len(rowsOf(t, to, "one")) > 0 {
		t.Errorf("rows stay behind, %v", err)
	}
	if err := s.Remove(t.Context(), "on"); err != nil || !reflect.DeepEqual(rowsOf(t, s, "one"), want) {
		t.Errorf("another workspace's rows went, %v", err)
	}
}

// TestAContextThatWasSeenMeanwhile comes twice in an archive, in whatever order, and is
// restored once, as it was seen last.
func TestAContextThatWasSeenMeanwhile(t *testing.T) {
	s := newStore(t)
	now := time.Now().UTC().Truncate(time.Millisecond)
	line := func(key string, seen time.Time) string {
		c := telemetry.Saved{Environment: "production", Type: "user", Key: key, LastSeen: seen}
		doc, _ := json.Marshal(c)
		row := table.Encode(table.Attributes{attrDoc: table.Text(string(doc)), attrExpires: table.Number(seen.Unix() + 1000)})
		at := keys("w").position(c, seen)
		text := must.Get(json.Marshal(archivedRow{strings.TrimPrefix(at.Partition, "telemetry/w/"), at.Sort, row}))(t)
		return string(text) + "\n"
	}
	var text strings.Builder
	for i := range restoredAtOnce { // so that the first ones are written before they come again
		text.WriteString(line(fmt.Sprint("k", i), now.Add(time.Duration(i)*time.Millisecond)))
	}
	later := now.Add(time.Hour)
	text.WriteString(line("k0", later) + line("k999", later) + line("k999", later.Add(time.Second)) + line("k1", now.Add(-time.Hour)))
	must.Do(t, s.Restore(t.Context(), "w", strings.NewReader(text.String())))
	seen, versions := 0, 0
	for at := range rowsOf(t, s, "w") {
		if strings.HasPrefix(at.Partition, seenFolder) {
			seen++
		}
		if strings.HasPrefix(at.Partition, contextFolder) {
			versions++
		}
	}
	if seen != restoredAtOnce || versions != restoredAtOnce {
		t.Errorf("%d places and %d versions of %d contexts", seen, versions, restoredAtOnce)
	}
	want := telemetry.Saved{Environment: "production", Type: "user"}
	for key, at := range map[string]time.Time{"k0": later, "k999": later.Add(time.Second), "k1": now.Add(time.Millisecond), "k2": now.Add(2 * time.Millisecond)} {
		want.Key = key
		rows, err := s.rows(t.Context(), []table.Key{keys("w").context(want)})
		if err != nil || !versionOf(rows[keys("w").context(want)]).Seen.Equal(at) {
			t.Errorf("%s was seen %v, want %v, %v", key, versionOf(rows[keys("w").context(want)]).Seen, at, err)
		}
	}
}

// TestWhatIsNoTelemetry is found before anything is restored.
func TestWhatIsNoTelemetry(t *testing.T) {
	for _, line := range []string{"x", `{"pk":"context/x","sk":"context","row":{}}`, `{"pk":"seen/x","sk":"1/y","row":{"doc":{"S":"{}"}}}`, `{"pk":"a","sk":"b","row":{"x":{"Z":{}}}}`} {
		if err := CheckArchive(strings.NewReader(`{"pk":"usage/2026-11","sk":"0/user","row":{"n":{"N":"3"}}}` + "\n" + line)); err == nil || !strings.Contains(err.Error(), "line 2 of the telemetry: ") {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// FuzzRestore: no line of an archive makes a row outside of the workspace's telemetry, or
// one that nobody could find.
func FuzzRestore(f *testing.F) {
	for _, line := range []string{
		`{"pk":"usage/2026-11","sk":"0/user","row":{"n":{"N":"3"}}}`, `{"pk":"context/x","sk":"context","row":{}}`, `{"pk":"","sk":"","row":{}}`,
		`{"pk":"../head/w","sk":"head","row":{"commit":{"S":"x"}}}`, `{"pk":"seen/x","sk":"1/y","row":{"doc":{"S":"{}"}}}`, `{"pk":"a","sk":"b","row":{"pk":{"S":"head/w"}}}`, `{}`, `null`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		k := keys("w")
		at, row, err := k.decodeArchived(line)
		if err != nil {
			return
		}
		if !strings.HasPrefix(at.Partition, "telemetry/w/") || row["pk"] != nil || row["sk"] != nil || at.Sort == "" || strings.HasPrefix(at.Partition, k.pk(contextFolder)) {
			t.Fatalf("%q makes %v: %v", line, at, row)
		}
		_ = CheckArchive(bytes.NewReader(line))
		r := &restoring{Store: &Store{}, keys: k}
		if err := r.take(context.Background(), at, row); err != nil {
			return
		}
		for a := range r.rows {
			if !strings.HasPrefix(a.Partition, "telemetry/w/") {
				t.Fatalf("%q makes %v", line, a)
			}
		}
	})
}
