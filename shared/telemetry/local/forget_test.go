package local

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/telemetry"
)

// expire looks for contexts of long ago as on some days from now on.
func expire(t *testing.T, s *Store, days ...int) (gone int) {
	t.Helper()
	for _, day := range days {
		n, err := s.Expire(ctx, "ws", now.AddDate(0, 0, day), 3)
		if err != nil {
			t.Fatal(err)
		}
		gone += n
	}
	return gone
}

func TestContextsExpire(t *testing.T) {
	s := New(t.TempDir())
	if gone := expire(t, s, 0); gone != 0 {
		t.Fatal("something was forgotten where nothing was saved")
	}
	mustRecord(t, s, report(1, now, "old", "kept"))
	if gone := expire(t, s, 0, 0, 1, 2, 3); gone != 0 {
		t.Fatalf("%d were forgotten too early: %v", gone, saved(t, s))
	}
	mustRecord(t, s, report(2, now.AddDate(0, 0, 2), "kept"))
	if gone := expire(t, s, 3); gone != 0 {
		t.Fatalf("%d were forgotten on a day that counts already", gone)
	}
	if gone := expire(t, s, 4); gone != 1 || !slices.Equal(saved(t, s), []string{"kept"}) {
		t.Fatalf("%d were forgotten; left are %v", gone, saved(t, s))
	}
	if usage(t, s, month) != 2 {
		t.Error("who is forgotten counts no longer")
	}
	// A shorter time holds at once.
	if gone, err := s.Expire(ctx, "ws", now.AddDate(0, 0, 4), 1); gone != 1 || err != nil {
		t.Errorf("%d were forgotten, %v", gone, err)
	}
}

// TestNoClockDeletesWhatIsInUse: neither one that was wrong for a day, nor a stop of
// a year.
func TestNoClockDeletesWhatIsInUse(t *testing.T) {
	s := New(t.TempDir())
	mustRecord(t, s, report(1, now, "ada"))
	if gone := expire(t, s, 0, 10_000, 1, 365); gone != 0 {
		t.Errorf("%d were forgotten", gone)
	}
	if gone := expire(t, s, 366, 367); gone != 1 {
		t.Errorf("%d were forgotten", gone)
	}
}

// TestNothingStaysInTheFile: what is forgotten, and what expires, cannot be found in
// the file's bytes; all others can.
func TestNothingStaysInTheFile(t *testing.T) {
	dir := t.TempDir()
	s := New(dir)
	name := func(i int) string { return fmt.Sprintf("person-%04d-%s", i, strings.Repeat("x", 20)) }
	for b := range 20 {
		batch := telemetry.Batch{ID: [32]byte{byte(b)}, Received: now}
		for i := range 100 {
			seen := now
			if i%2 == 1 {
				seen = now.AddDate(0, 0, -20)
			}
			key := fmt.Sprintf("key-%d-%d.", b, i)
			batch.Pairs = append(batch.Pairs, telemetry.Pair{Month: month, Type: "user", Key: key})
			batch.Contexts = append(batch.Contexts, telemetry.Saved{Environment: "production", Type: "user", Key: key, LastSeen: seen,
				Properties: []telemetry.Property{{Name: "name", Kind: telemetry.String, Text: name(100*b + i)}}})
		}
		mustRecord(t, s, batch)
	}
	for b := range 20 {
		if found, err := s.Forget(ctx, "ws", nil, "user", fmt.Sprintf("key-%d-4.", b), now); err != nil || !found {
			t.Fatal(found, err)
		}
	}
	if gone := expire(t, s, -4, -3, -2, -1, 0); gone != 1000 {
		t.Errorf("%d expired", gone)
	}
	text, err := os.ReadFile(dir + "/" + Name)
	if err != nil {
		t.Fatal(err)
	}
	for b := range 20 {
		for i := range 100 {
			gone := i%2 == 1 || i == 4
			if there := bytes.Contains(text, []byte(name(100*b+i))); there == gone {
				t.Errorf("person %d of batch %d: %v", i, b, there)
			}
			if there := bytes.Contains(text, fmt.Appendf(nil, "key-%d-%d.", b, i)); i == 4 && there {
				t.Errorf("the key of person %d of batch %d is still there", i, b)
			}
		}
	}
	if n := usage(t, s, month); n != 2000 {
		t.Errorf("%d count", n)
	}
	found, err := s.Contexts(ctx, "ws", telemetry.Query{Limit: 10_000})
	if err != nil || len(found) != 980 {
		t.Errorf("%d are left, %v", len(found), err)
	}
}

// TestCountsExpire by the days on which it was looked for them, and not before.
func TestCountsExpire(t *testing.T) {
	s := New(t.TempDir())
	count := func(id byte, at time.Time) {
		mustRecord(t, s, telemetry.Batch{ID: [32]byte{id}, Received: at, Evaluations: []telemetry.Evaluation{{Environment: "production", Key: "a", At: at, Count: 1}}})
	}
	days := func() int {
		found, err := s.Evaluations(ctx, "ws", "a", "2000-01-01", "2100-01-01")
		if err != nil {
			t.Fatal(err)
		}
		return len(found["production"])
	}
	count(1, now.AddDate(0, 0, -70))
	count(2, now)
	expire(t, s, 0, 400) // a clock that was wrong for a day
	if n := days(); n != 2 {
		t.Errorf("after a wrong clock there are %d days", n)
	}
	for day := range telemetry.EvaluationDays {
		expire(t, s, day)
	}
	if n := days(); n != 1 {
		t.Errorf("in the end there are %d days", n)
	}
	if e, err := s.Evaluated(ctx, "ws"); err != nil || e.Days["a"] != telemetry.DayOf(now) || e.Since != telemetry.DayOf(now.AddDate(0, 0, -70)) {
		t.Errorf("%v %v", e, err)
	}
}
