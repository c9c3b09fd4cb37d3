package repository_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
)

// slow is a store whose first PutPack waits.
type slow struct {
	*store
	objects  *heldObjects
	repo     *repository.Repository
	released atomic.Bool
	decided  sync.WaitGroup
}

type heldObjects struct {
	repository.Objects
	puts          atomic.Int64
	entered, hold chan struct{}
	fail          error // of the first PutPack, after it was held
	landed, told  chan struct{}
}

// Release holds a commit up that has landed, until it may be told.
func (o *heldObjects) Release(name string) {
	if o.landed != nil {
		o.landed <- struct{}{}
		<-o.told
	}
	o.Objects.Release(name)
}

func (o *heldObjects) PutPack(ctx context.Context, name string, pack, index []byte) error {
	if o.puts.Add(1) == 1 {
		close(o.entered)
		<-o.hold
		if o.fail != nil {
			return o.fail
		}
	}
	return o.Objects.PutPack(ctx, name, pack, index)
}

func newSlow(t *testing.T) *slow {
	s := &slow{store: newStore(t, t.TempDir())}
	s.store.commit(put("configs/first.json", "0"))
	s.objects = &heldObjects{Objects: s.store.objects, entered: make(chan struct{}), hold: make(chan struct{})}
	s.repo = repository.New(s.ledger, s.objects)
	return s
}

func (s *slow) release() {
	s.released.Store(true)
	close(s.objects.hold)
}

type written struct {
	landed *repository.Snapshot
	err    error
}

// write begins a write and returns where its outcome will be. decide says
// what becomes of the state it is given.
func (s *slow) write(head repository.Head, decide func(*repository.Snapshot) (*repository.Draft, error)) <-chan written {
	outcome := make(chan written, 1)
	s.decided.Add(1)
	var once sync.Once
	go func() {
		landed, err := s.repo.Write(ctx, head, func(base *repository.Snapshot) (*repository.Draft, error) {
			defer once.Do(s.decided.Done)
			return decide(base)
		})
		if !s.released.Load() {
			s.t.Error("an answer came before what it rests on had landed")
		}
		outcome <- written{landed, err}
	}()
	return outcome
}

func (s *slow) put(path, text string) func(*repository.Snapshot) (*repository.Draft, error) {
	draft := s.draft(put(path, text))
	return func(*repository.Snapshot) (*repository.Draft, error) { return &draft, nil }
}

func TestWhatIsDecidedMeanwhileLandsTogether(t *testing.T) {
	s := newSlow(t)
	head := s.head()
	first := s.write(head, s.put("configs/w0.json", "0"))
	<-s.objects.entered
	var others []<-chan written
	for n := range 10 {
		path, seen := fmt.Sprintf("configs/w%d.json", n+1), fmt.Sprintf("configs/w%d.json", n)
		draft := s.draft(put(path, path))
		s.decided.Wait()
		others = append(others, s.write(head, func(base *repository.Snapshot) (*repository.Draft, error) {
			if _, there := base.File(seen); !there {
				t.Errorf("%s was decided without %s", path, seen)
			}
			return &draft, nil
		}))
	}
	s.decided.Wait()
	s.release()
	commits := []string{must(<-first)(t).Head.Commit}
	for _, other := range others {
		commits = append(commits, must(<-other)(t).Head.Commit)
	}
	if n := s.objects.puts.Load(); n != 2 {
		t.Errorf("11 commits in %d packs, want 2", n)
	}
	history, err := s.repo.History(ctx, s.head(), repository.Page{Limit: len(commits)})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range history {
		at := len(commits) - 1 - i
		if c.SHA != commits[at] || at > 0 && c.Parent != commits[at-1] {
			t.Errorf("commit %d is %s on %s, want %s", at, c.SHA, c.Parent, commits[at])
		}
		if _, text, err := s.repo.At(ctx, s.head(), fmt.Sprintf("configs/w%d.json", at), c.SHA); err != nil || len(text) == 0 {
			t.Errorf("commit %d: %q, %v", at, text, err)
		}
	}
	for _, repo := range []*repository.Repository{s.repo, repository.New(s.ledger, s.objects)} {
		if n := len(s.snapshot(repo).Files); n != 12 {
			t.Errorf("%d files, want 12", n)
		}
	}
}

func must(w written) func(t *testing.T) *repository.Snapshot {
	return func(t *testing.T) *repository.Snapshot {
		t.Helper()
		if w.err != nil {
			t.Fatal(w.err)
		}
		return w.landed
	}
}

var errRefused = errors.New("refused")

func TestNobodyHearsOfWhatHasNotLanded(t *testing.T) {
	s := newSlow(t)
	head := s.head()
	first := s.write(head, s.put("configs/a.json", "1"))
	<-s.objects.entered
	nothing := s.write(head, func(*repository.Snapshot) (*repository.Draft, error) { return nil, nil })
	same := s.write(head, s.put("configs/a.json", "1"))
	refused := s.write(head, func(*repository.Snapshot) (*repository.Draft, error) { return nil, errRefused })
	s.decided.Wait()
	s.release()
	landed := must(<-first)(t)
	for _, outcome := range []<-chan written{nothing, same} {
		if got := must(<-outcome)(t); got.Head != landed.Head {
			t.Errorf("nothing to write: %+v, want %+v", got.Head, landed.Head)
		}
	}
	if got := <-refused; !errors.Is(got.err, errRefused) {
		t.Errorf("a refusal: %v", got.err)
	}
}

func TestWhatRestsOnAFailureBeginsAgain(t *testing.T) {
	s := newSlow(t)
	s.objects.fail = fmt.Errorf("out of order: %w", repository.ErrBusy)
	head := s.head()
	first := s.write(head, s.put("configs/a.json", "1"))
	<-s.objects.entered
	later := []<-chan written{
		s.write(head, s.put("configs/b.json", "1")),
		s.write(head, s.put("configs/c.json", "1")),
		s.write(head, func(*repository.Snapshot) (*repository.Draft, error) { return nil, nil }),
		s.write(head, func(*repository.Snapshot) (*repository.Draft, error) { return nil, errRefused }),
	}
	s.decided.Wait()
	s.release()
	if got := <-first; !errors.Is(got.err, repository.ErrBusy) {
		t.Errorf("the first: %v", got.err)
	}
	for i, outcome := range later {
		if got := <-outcome; !errors.Is(got.err, repository.ErrMoved) {
			t.Errorf("%d: %v, want ErrMoved", i, got.err)
		}
	}
	if s.head() != head {
		t.Errorf("the head is %+v", s.head())
	}
	if _, err := s.repo.Write(ctx, s.head(), s.put("configs/d.json", "1")); err != nil {
		t.Error(err)
	}
}

// silent is a ledger that never tells how a line of several commits has ended.
type silent struct{ *ledger }

func (l silent) AdvanceLine(ctx context.Context, from repository.Head, line []repository.Commit) (repository.Head, error) {
	head, err := l.ledger.AdvanceLine(ctx, from, line)
	if len(line) > 1 {
		err = errors.New("no answer")
	}
	return head, err
}

// Who begins again after a commit of theirs has landed would meet it as if it
// were another's.
func TestAnUnknownOutcomeIsEverybodysWhoIsInIt(t *testing.T) {
	s := newSlow(t)
	s.repo = repository.New(silent{s.ledger}, s.objects)
	head := s.head()
	first := s.write(head, s.put("configs/a.json", "1"))
	<-s.objects.entered
	s.decided.Wait()
	var parts []<-chan written
	for n := range 3 {
		parts = append(parts, s.write(head, s.put(fmt.Sprintf("configs/b%d.json", n), "1")))
	}
	s.decided.Wait()
	nothing := s.write(head, func(*repository.Snapshot) (*repository.Draft, error) { return nil, nil })
	s.decided.Wait()
	s.release()
	must(<-first)(t)
	for i, outcome := range parts {
		if got := <-outcome; !errors.Is(got.err, repository.ErrUnknownOutcome) {
			t.Errorf("part %d: %v, want ErrUnknownOutcome", i, got.err)
		}
	}
	if got := <-nothing; !errors.Is(got.err, repository.ErrMoved) {
		t.Errorf("who wrote nothing: %v, want ErrMoved", got.err)
	}
}

// TestNothingIsDecidedOnAnOlderState: somebody builds on a commit before its
// writer is told of it, and a write that knows of that does not go back.
func TestNothingIsDecidedOnAnOlderState(t *testing.T) {
	s := newSlow(t)
	s.objects.landed, s.objects.told = make(chan struct{}, 1), make(chan struct{})
	s.release()
	first := s.write(s.head(), s.put("configs/a.json", "1"))
	<-s.objects.landed
	pushed := s.store.commit(put("configs/b.json", "1"))
	nothing := s.write(pushed.Head, func(*repository.Snapshot) (*repository.Draft, error) { return nil, nil })
	select {
	case got := <-nothing:
		t.Errorf("%+v, %v before the first was told", got.landed.Head, got.err)
	case <-time.After(20 * time.Millisecond):
		close(s.objects.told)
	}
	must(<-first)(t)
	if got := must(<-nothing)(t); got.Head != pushed.Head {
		t.Errorf("decided on %+v, let in at %+v", got.Head, pushed.Head)
	}
}

func TestAnotherAccessVersionDoesNotJoin(t *testing.T) {
	s := newSlow(t)
	head := s.head()
	first := s.write(head, s.put("configs/a.json", "1"))
	<-s.objects.entered
	s.released.Store(true) // this answer rests on nothing
	head.Access++
	if _, err := s.repo.Write(ctx, head, s.put("configs/b.json", "1")); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("%v, want ErrMoved", err)
	}
	s.release()
	must(<-first)(t)
}

// shaky is a ledger that is busy now and then, and one that answers with an
// error after the head has moved.
type shaky struct {
	*ledger
	lock   sync.Mutex
	random *rand.Rand
}

func (l *shaky) dice(n int) int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.random.IntN(n)
}

func (l *shaky) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	return l.AdvanceLine(ctx, from, []repository.Commit{c})
}

func (l *shaky) AdvanceLine(ctx context.Context, from repository.Head, line []repository.Commit) (repository.Head, error) {
	switch l.dice(8) {
	case 0:
		return repository.Head{}, repository.ErrBusy
	case 1:
		_, _ = l.ledger.AdvanceLine(ctx, from, line)
		return repository.Head{}, errors.New("no answer")
	}
	return l.ledger.AdvanceLine(ctx, from, line)
}

// Every acknowledged increment counts, once.
func TestACrowdLosesNothing(t *testing.T) {
	const writers, each = 8, 20
	s := newStore(t, t.TempDir())
	s.commit(put("configs/n.json", "0"))
	shaken := &shaky{ledger: s.ledger, random: rand.New(rand.NewPCG(1, 2))}
	repo := repository.New(shaken, s.objects)
	s.objects.puts.Store(0)
	draft := s.draft()
	increment := func(base *repository.Snapshot) (*repository.Draft, error) {
		f, _ := base.File("configs/n.json")
		n, err := strconv.Atoi(strings.TrimSpace(string(f.Text)))
		d := draft
		d.Changes = []repository.Change{put("configs/n.json", strconv.Itoa(n+1))}
		return &d, err
	}
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for done := 0; done < each; {
				head, err := s.ledger.Head(ctx)
				if err == nil {
					_, err = repo.Write(ctx, head, increment)
				}
				switch {
				case err == nil:
					done++
				case !errors.Is(err, repository.ErrMoved) && !errors.Is(err, repository.ErrBusy):
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	f, _ := s.snapshot(repository.New(s.ledger, s.objects)).File("configs/n.json")
	if got := strings.TrimSpace(string(f.Text)); got != strconv.Itoa(writers*each) {
		t.Errorf("%d increments were acknowledged, and the file says %s", writers*each, got)
	}
	t.Logf("%d commits in %d packs", writers*each, s.objects.puts.Load())
}
