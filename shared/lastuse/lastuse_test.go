package lastuse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

type store struct {
	mu   sync.Mutex
	told []string
	fail error
	hang chan struct{}
}

func (s *store) MarkUsed(ctx context.Context, workspace, key access.ID, day string) error {
	if s.hang != nil {
		select {
		case <-s.hang:
		case <-ctx.Done():
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprint(workspace, " ", key, " ", day))
	return s.fail
}

func key(n int) access.KeyRecord {
	return access.KeyRecord{WorkspaceID: "ws", ID: access.ID(fmt.Sprint("key", n))}
}

func TestAKeyIsToldOnceADay(t *testing.T) {
	s := &store{}
	tracker := &Tracker{Mark: s.MarkUsed}
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { tracker.Used(key(1), noon) })
	}
	all.Wait()
	tracker.writing.Wait()
	tracker.Used(key(2), noon.Add(time.Hour))
	tracker.writing.Wait()
	tracker.Used(key(1), noon.Add(11*time.Hour))
	tracker.Used(key(1), noon.Add(12*time.Hour))
	tracker.writing.Wait()
	tracker.Used(key(1), noon.Add(13*time.Hour))
	tracker.writing.Wait()
	if want := []string{"ws key1 2026-11-22", "ws key2 2026-11-22", "ws key1 2026-11-23"}; !slices.Equal(s.told, want) {
		t.Errorf("%q, want %q", s.told, want)
	}
}

func TestWhatFailedIsTriedAgainAfterAWhile(t *testing.T) {
	heard := 0
	s := &store{fail: errors.New("busy")}
	tracker := &Tracker{Mark: s.MarkUsed, Failed: func(error) { heard++ }}
	for range 5 {
		tracker.Used(key(1), noon)
		tracker.writing.Wait()
	}
	if len(s.told) != 1 || heard != 1 {
		t.Errorf("%q, heard %d", s.told, heard)
	}
	s.fail = nil
	for range 5 {
		tracker.Used(key(1), noon.Add(afterError))
		tracker.writing.Wait()
	}
	if len(s.told) != 2 {
		t.Errorf("%q", s.told)
	}
}

// TestNothingWaitsForTheStore: the uses return while every write hangs, and no
// more than a few of these are under way.
func TestNothingWaitsForTheStore(t *testing.T) {
	s := &store{hang: make(chan struct{})}
	tracker := &Tracker{Mark: s.MarkUsed}
	for n := range 1000 {
		tracker.Used(key(n), noon)
	}
	close(s.hang)
	tracker.writing.Wait()
	if len(s.told) != maxWrites {
		t.Errorf("%d writes, not %d", len(s.told), maxWrites)
	}
	for n := range 2 * maxKeys {
		tracker.Used(key(n), noon)
		tracker.writing.Wait()
	}
	if len(tracker.seen) > maxKeys {
		t.Errorf("%d keys are remembered", len(tracker.seen))
	}
}

// TestDaysAreThoseOfUTC.
func TestDaysAreThoseOfUTC(t *testing.T) {
	east := time.FixedZone("east", 3*60*60)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{noon, "2026-11-22"},
		{noon.Add(12 * time.Hour), "2026-11-23"},
		{noon.Add(12*time.Hour - 1), "2026-11-22"},
		{time.Date(2026, 11, 23, 2, 59, 0, 0, east), "2026-11-22"},
		{time.Date(2027, 11, 22, 0, 0, 0, 0, time.UTC), "2027-11-22"},
		{time.Unix(-1, 0), "1969-12-31"},
		{time.Unix(0, 0), "1970-01-01"},
	} {
		if got := Day(tt.at); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.at, got, tt.want)
		}
	}
}

// TestSessionsAreNotedAsTheirPerson, so that no row is left of each for ever.
func TestSessionsAreNotedAsTheirPerson(t *testing.T) {
	s := &store{}
	tracker := &Tracker{Mark: s.MarkUsed}
	for n := range 3 {
		session := key(n)
		session.Kind, session.PrincipalID = access.KindSession, "ada"
		tracker.Used(session, noon)
	}
	tracker.writing.Wait()
	if want := []string{"ws ada 2026-11-22"}; !slices.Equal(s.told, want) {
		t.Errorf("%q, want %q", s.told, want)
	}
}
