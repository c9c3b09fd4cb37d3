package repository_test

import (
	"context"
	"errors"
	"math/bits"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
)

// dated is a history of commits that were made at these seconds, numbered from a base.
type dated struct {
	seconds []int64
	base    int64
	asked   int
}

func (d *dated) commit(i int) repository.Commit {
	return repository.Commit{Sequence: d.base + int64(i), Committer: repository.Signature{When: time.Unix(d.seconds[i], 0)}}
}

func (d *dated) page(_ context.Context, p repository.Page) (commits []repository.Commit, err error) {
	d.asked++
	end := len(d.seconds)
	if p.Before > 0 {
		end = int(min(max(p.Before-d.base, 0), int64(end)))
	}
	for i := end - 1; i >= max(0, end-p.Limit); i-- {
		commits = append(commits, d.commit(i))
	}
	return commits, nil
}

// before is where the commit before a time stands by its definition, -1 for none.
func (d *dated) before(at time.Time) int {
	for i := range d.seconds {
		if !d.commit(i).Committer.When.Before(at) {
			return i - 1
		}
	}
	return len(d.seconds) - 1
}

func TestTheCommitBeforeATime(t *testing.T) {
	for name, seconds := range map[string][]int64{
		"none": {}, "one": {100}, "equal": {100, 100, 100, 200, 200}, "backwards": {100, 200, 150, 160, 300, 50, 310},
		"pushed late": append([]int64{1000, 2000}, append(make([]int64, 20), 3000)...),
	} {
		for _, base := range []int64{1, 1000} {
			d := &dated{seconds: seconds, base: base}
			for at := int64(0); at <= 3100; at += 10 {
				for _, fraction := range []int64{0, 1} {
					when := time.Unix(at, fraction)
					got, err := repository.CommitBefore(t.Context(), d.page, "", when)
					want := d.before(when)
					early := (*repository.BeforeFirst)(nil)
					if errors.As(err, &early) != (want < 0) || want >= 0 && got.Sequence != base+int64(want) {
						t.Fatalf("%s from %d: before %d.%d stands %d (%v), want %d", name, base, at, fraction, got.Sequence, err, base+int64(want))
					}
					if want < 0 && len(seconds) > 0 && early.First.Unix() != seconds[0] {
						t.Errorf("%s: the first commit is of %d", name, early.First.Unix())
					}
				}
			}
		}
	}
}

// TestALongHistoryIsHalved: of a million commits few are asked for, of the newest once.
func TestALongHistoryIsHalved(t *testing.T) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		d := &dated{seconds: make([]int64, n), base: 7}
		for i := range d.seconds {
			d.seconds[i] = int64(10 * i)
		}
		for _, i := range []int{0, 1, n / 3, n / 2, n - 2, n - 1} {
			d.asked = 0
			got, err := repository.CommitBefore(t.Context(), d.page, "", time.Unix(int64(10*i), 1))
			if err != nil || got.Sequence != d.base+int64(i) {
				t.Errorf("of %d: %d, %v, want %d", n, got.Sequence, err, i)
			}
			if most := bits.Len(uint(n)); i == n-1 && d.asked > 1 || d.asked > most {
				t.Errorf("of %d, for %d: %d requests, want at most %d", n, i, d.asked, most)
			}
		}
	}
}

func TestTimesHaveAZone(t *testing.T) {
	for text, want := range map[string]bool{"2026-03-02T14:03:00Z": true, "2026-03-02T14:03:00.5+02:00": true,
		"2026-03-02T14:03:00": false, "2026-03-02": false, "14:03": false, "2026-03-02T14:03:60Z": false, "2026-03-02 14:03:00Z": false, "20260302": false} {
		if _, ok := repository.Time(text); ok != want {
			t.Errorf("%s is a time: %v", text, ok)
		}
	}
}
