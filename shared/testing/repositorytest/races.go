package repositorytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"svc.example/svc/shared/repository"
)

// together runs a function n times at once and returns how each ended.
func together(n int, run func(i int) error) []error {
	ended := make([]error, n)
	start := make(chan struct{})
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			<-start
			ended[i] = run(i)
		})
	}
	close(start)
	running.Wait()
	return ended
}

func count(ended []error, want error) int {
	n := 0
	for _, err := range ended {
		if errors.Is(err, want) || err == nil && want == nil {
			n++
		}
	}
	return n
}

// testRace lets writers begin at one head, each as an instance of its own and
// all in one instance: exactly one wins.
func testRace(t *testing.T, w *world) {
	const writers = 12
	base := w.commit("base", put("svc.json", "{}\n"))
	for _, instances := range []int{writers, 1} {
		repos := make([]*repository.Repository, instances)
		for i := range repos {
			repos[i] = repository.New(w.Ledger, w.Objects)
		}
		landed := make([]*repository.Snapshot, writers)
		// The same in everything, to the second: who made it is all they differ in.
		draft := w.draft("the same", put(fmt.Sprintf("feature-flags/%d.json", instances), "1\n"))
		ended := together(writers, func(i int) (err error) {
			repo := repos[i%instances]
			from, err := repo.Snapshot(context.Background(), base.Head)
			if err == nil {
				landed[i], err = repo.Commit(context.Background(), from, draft)
			}
			return err
		})
		if count(ended, nil) != 1 || count(ended, repository.ErrMoved) != writers-1 {
			t.Fatalf("%d writers in %d instances ended with %v", writers, instances, ended)
		}
		winner := landed[slices.Index(ended, nil)]
		if head := w.head(); head != winner.Head {
			t.Errorf("the head is %+v, the winner's is %+v", head, winner.Head)
		}
		w.wantSame(winner, w.cold())
		base = winner
	}
	if n := len(w.history(repository.Page{})); n != 3 {
		t.Errorf("the history has %d commits, want 3", n)
	}
	w.fsck()
}

// testResponseLost breaks the way back from the ledger before and after the
// head has moved: a write that landed is never reported as failed.
func testResponseLost(t *testing.T, w *world) {
	type through = func(n int, advance func() (repository.Head, error)) (repository.Head, error)
	lostAfter := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		head, err := advance()
		if n == 1 && err == nil {
			return repository.Head{}, errLost
		}
		return head, err
	}
	lostBefore := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		if n == 1 {
			return repository.Head{}, errLost
		}
		return advance()
	}
	overtaken := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		if n == 1 {
			w.commit("overtakes", put("configs/b.json", fmt.Sprintln(w.now)))
			return repository.Head{}, errLost
		}
		return advance()
	}
	passed := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		head, err := advance()
		if n == 1 && err == nil {
			w.commit("on top", put("configs/b.json", fmt.Sprintln(w.now)))
			return repository.Head{}, errLost
		}
		return head, err
	}
	silent := func(int, func() (repository.Head, error)) (repository.Head, error) { return repository.Head{}, errLost }
	busy := func(int, func() (repository.Head, error)) (repository.Head, error) {
		return repository.Head{}, repository.ErrBusy
	}
	newer := func(n int, advance func() (repository.Head, error)) (repository.Head, error) {
		if n > 1 {
			return repository.Head{}, repository.ErrNewer
		}
		return lostAfter(n, advance)
	}
	for _, test := range []struct {
		name    string
		through through
		want    error
		adds    int // to the history
	}{
		{"after the head moved", lostAfter, nil, 1},
		{"before the head moved", lostBefore, nil, 1},
		{"another one lands meanwhile", overtaken, repository.ErrMoved, 1},
		{"another one lands on top", passed, nil, 2},
		{"for good", silent, repository.ErrUnknownOutcome, 0},
		{"a newer version has begun meanwhile", newer, repository.ErrUnknownOutcome, 1},
		{"busy", busy, repository.ErrBusy, 0},
	} {
		before := len(w.history(repository.Page{}))
		repo := repository.New(&advancing{Ledger: w.Ledger, through: test.through}, w.Objects)
		landed, err := repo.Commit(context.Background(), w.snapshotOf(repo), w.draft(test.name, put("feature-flags/a.json", test.name)))
		if !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		history := w.history(repository.Page{})
		if len(history) != before+test.adds {
			t.Errorf("%s: the history grew from %d to %d", test.name, before, len(history))
		}
		if err == nil && !slices.Contains(shas(history), landed.Head.Commit) {
			t.Errorf("%s: %s was reported and is not in the history", test.name, landed.Head.Commit)
		}
		w.wantSame(w.snapshot(), w.cold())
	}
	w.fsck()
}
