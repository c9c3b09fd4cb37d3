package repository_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/repository"
)

// mute is a ledger that never says how a commit ended.
type mute struct{ repository.Ledger }

func (mute) Advance(context.Context, repository.Head, repository.Commit) (repository.Head, error) {
	return repository.Head{}, errors.New("the answer was lost")
}

type releases struct {
	repository.Objects
	count atomic.Int64
}

func (r *releases) Release(name string) {
	r.count.Add(1)
	r.Objects.Release(name)
}

// TestAPackOfUnknownOutcomeIsReleased: not at once, since its commit may be landing
// still.
func TestAPackOfUnknownOutcomeIsReleased(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, dir)
		objects := &releases{Objects: s.objects}
		repo := repository.New(mute{s.ledger}, objects)
		if _, err := repo.Commit(ctx, s.snapshot(repo), s.draft(put("configs/a.json", "a"))); !errors.Is(err, repository.ErrUnknownOutcome) {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if n := objects.count.Load(); n != 0 {
			t.Errorf("released %d times within a minute", n)
		}
		time.Sleep(2 * time.Hour)
		if n := objects.count.Load(); n != 1 {
			t.Errorf("released %d times", n)
		}
	})
}
