package local

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
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/requestid"
)

// held is a ledger whose next move of the head waits.
type held struct {
	t             *testing.T
	ledger        *Ledger
	repo          *repository.Repository
	armed         atomic.Bool
	released      atomic.Bool
	entered, hold chan struct{}
	fail          error // of the move that waited
}

func newHeld(t *testing.T) *held {
	h := &held{t: t, entered: make(chan struct{}), hold: make(chan struct{})}
	h.ledger = opened(t, created(t), Options{Step: func(op Operation, path string) error {
		if op == OpCreate && strings.HasSuffix(path, nextHead) && h.armed.CompareAndSwap(true, false) {
			close(h.entered)
			<-h.hold
			return h.fail
		}
		return nil
	}})
	h.repo = repository.New(h.ledger, h.ledger.Objects())
	if _, err := h.commit(change("first", "0")); err != nil {
		t.Fatal(err)
	}
	h.armed.Store(true)
	return h
}

func (h *held) release() {
	h.released.Store(true)
	close(h.hold)
}

func change(key, text string) repository.Draft {
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: noon}
	return repository.Draft{Author: by, Committer: by, Message: "Set " + key,
		Changes: []repository.Change{{Path: "configs/" + key + ".json", Content: []byte(text)}}}
}

// tip is what a write begins with, as Authenticate tells it.
func (h *held) tip() *repository.Snapshot {
	h.t.Helper()
	at := head(h.t, h.ledger)
	if tip := h.ledger.pendingTip(at.Access); tip != nil {
		at = *tip
	}
	s, err := h.repo.Snapshot(background, at)
	must(h.t, err)
	return s
}

func (h *held) commit(draft repository.Draft) (*repository.Snapshot, error) {
	return h.repo.Commit(background, h.tip(), draft)
}

type outcome struct {
	landed *repository.Snapshot
	err    error
}

// write begins a commit on the tip, waits until it is the tip itself when it
// changes anything, and returns where its outcome will be.
func (h *held) write(draft repository.Draft) <-chan outcome {
	h.t.Helper()
	ended, base := make(chan outcome, 1), h.tip()
	go func() {
		landed, err := h.repo.Commit(background, base, draft)
		if !h.released.Load() {
			h.t.Error("an answer came before what it rests on had landed")
		}
		ended <- outcome{landed, err}
	}()
	for len(draft.Changes) > 0 {
		if tip := h.ledger.pendingTip(base.Head.Access); tip != nil && tip.Sequence > base.Head.Sequence {
			break
		}
		time.Sleep(time.Millisecond)
	}
	return ended
}

func TestCommitsThatComeMeanwhileLandTogether(t *testing.T) {
	h := newHeld(t)
	before := len(h.ledger.Objects().Packs())
	ended := []<-chan outcome{h.write(change("w0", "0"))}
	<-h.entered
	for n := 1; n <= 10; n++ {
		if _, there := h.tip().File(fmt.Sprintf("configs/w%d.json", n-1)); !there {
			t.Errorf("commit %d is decided without the one before", n)
		}
		ended = append(ended, h.write(change(fmt.Sprint("w", n), fmt.Sprint(n))))
	}
	if at := head(t, h.ledger); at.Sequence != 1 {
		t.Errorf("readers see %+v before it has landed", at)
	}
	h.release()
	var commits []string
	for _, e := range ended {
		o := <-e
		must(t, o.err)
		commits = append(commits, o.landed.Head.Commit)
	}
	if n := len(h.ledger.Objects().Packs()) - before; n != 2 {
		t.Errorf("11 commits in %d packs, want 2", n)
	}
	history, err := h.repo.History(background, head(t, h.ledger), repository.Page{Limit: len(commits)})
	must(t, err)
	for i, c := range history {
		at := len(commits) - 1 - i
		if c.SHA != commits[at] || at > 0 && c.Parent != commits[at-1] {
			t.Errorf("commit %d is %s on %s, want %s", at, c.SHA, c.Parent, commits[at])
		}
	}
	agree(t, h.ledger, 12)
	gitIn(t, h.ledger.Repository()).run("fsck", "--strict")
	for _, repo := range []*repository.Repository{h.repo, repository.New(h.ledger, h.ledger.Objects())} {
		s, err := repo.Snapshot(background, head(t, h.ledger))
		must(t, err)
		if n := len(s.Files); n != 12 {
			t.Errorf("%d files, want 12", n)
		}
	}
}

// Nobody is answered from a state that has not landed, and nobody whose commit
// rests on one that fails is told that it landed.
func TestWhatRestsOnACommitWaitsForIt(t *testing.T) {
	for _, test := range []struct {
		name        string
		fail        error
		first, rest error
	}{
		{"it lands", nil, nil, nil},
		{"it fails", errors.New("out of order"), repository.ErrFailed, repository.ErrMoved},
	} {
		h := newHeld(t)
		h.fail = test.fail
		first := h.write(change("a", "1"))
		<-h.entered
		rest := []<-chan outcome{
			h.write(repository.Draft{}),
			h.write(change("b", "1")),
			h.write(change("c", "1")),
			h.write(repository.Draft{}),
		}
		h.release()
		if o := <-first; !errors.Is(o.err, test.first) {
			t.Errorf("%s: the first: %v", test.name, o.err)
		}
		for i, e := range rest {
			if o := <-e; !errors.Is(o.err, test.rest) {
				t.Errorf("%s: %d: %v, want %v", test.name, i, o.err, test.rest)
			}
		}
		_, err := h.commit(change("d", "1"))
		must(t, err)
		want := 5
		if test.fail != nil {
			want = 2
		}
		agree(t, h.ledger, want)
	}
}

// A head that is on its way can be read, once it has landed.
func TestAReaderOfAPendingHeadWaits(t *testing.T) {
	h := newHeld(t)
	first := h.write(change("a", "1"))
	<-h.entered
	tip, ended := *h.ledger.pendingTip(head(t, h.ledger).Access), make(chan error)
	go func() {
		_, err := repository.New(h.ledger, h.ledger.Objects()).Snapshot(background, tip)
		if !h.released.Load() {
			t.Error("it was read before")
		}
		ended <- err
	}()
	h.release()
	must(t, <-ended)
	must(t, (<-first).err)
}

func TestAnotherAccessVersionDoesNotJoin(t *testing.T) {
	h := newHeld(t)
	first := h.write(change("a", "1"))
	<-h.entered
	base := h.tip()
	if h.ledger.pendingTip(base.Head.Access+1) != nil {
		t.Error("a writer of another access version is told the tip")
	}
	other := *h.ledger.pendingTip(base.Head.Access)
	other.Access++
	c := draft(t, h.ledger.Repository(), "", "x", "1")
	c.Parent = other.Commit
	if _, err := h.ledger.Advance(background, other, c); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("%v, want ErrMoved", err)
	}
	h.release()
	must(t, (<-first).err)
}

// Whoever gives up while it waits for its turn has written nothing.
func TestGivingUpBeforeTheTurn(t *testing.T) {
	h := newHeld(t)
	first := h.write(change("a", "1"))
	<-h.entered
	ctx, cancel := context.WithCancel(background)
	ended, base := make(chan error, 1), h.tip()
	go func() {
		_, err := h.repo.Commit(ctx, base, change("b", "1"))
		ended <- err
	}()
	for h.ledger.pendingTip(base.Head.Access).Sequence == base.Head.Sequence {
		time.Sleep(time.Millisecond)
	}
	cancel()
	h.release()
	must(t, (<-first).err)
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	} else if at := head(t, h.ledger); (err == nil) != (at.Sequence == 3) {
		t.Errorf("%v, and the head is %+v", err, at)
	}
}

// Every acknowledged increment counts once, whatever fails on the way.
func TestACrowdLosesNothing(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { crowd(t, seed) })
	}
}

func crowd(t *testing.T, seed uint64) {
	const writers, each = 8, 20
	var lock sync.Mutex
	dice := rand.New(rand.NewPCG(seed, 2))
	var armed atomic.Bool
	l := opened(t, created(t), Options{Step: func(op Operation, path string) error {
		lock.Lock()
		defer lock.Unlock()
		if armed.Load() && dice.IntN(60) == 0 {
			return errors.New("a step fails")
		}
		return nil
	}})
	h := &held{t: t, ledger: l, repo: repository.New(l, l.Objects())}
	_, err := h.commit(change("n", "0"))
	must(t, err)
	armed.Store(true)
	var acknowledged, unknown atomic.Int64
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() {
			for done := 0; done < each; {
				at, err := l.Head(background)
				if err != nil {
					continue
				}
				if tip := l.pendingTip(at.Access); tip != nil {
					at = *tip
				}
				base, err := h.repo.Snapshot(background, at)
				if err != nil {
					continue
				}
				f, _ := base.File("configs/n.json")
				n, err := strconv.Atoi(string(f.Text))
				if err != nil {
					t.Error(err)
					return
				}
				draft := change("n", strconv.Itoa(n+1))
				draft.RequestID = requestid.New()
				switch _, err = h.repo.Commit(background, base, draft); {
				case err == nil:
					acknowledged.Add(1)
					done++
				case errors.Is(err, repository.ErrUnknownOutcome):
					unknown.Add(1)
				case !repository.Refused(err):
					t.Error(err)
					return
				}
			}
		})
	}
	writing.Wait()
	armed.Store(false)
	f, _ := h.tip().File("configs/n.json")
	n, err := strconv.ParseInt(string(f.Text), 10, 64)
	must(t, err)
	if n < acknowledged.Load() || n > acknowledged.Load()+unknown.Load() {
		t.Errorf("%d increments were acknowledged, %d more are unknown, and the file says %d", acknowledged.Load(), unknown.Load(), n)
	}
	_, err = h.commit(change("last", "0")) // which clears away what a failure left behind
	must(t, err)
	agree(t, l, int(n)+2)
}

// A pack is in memory until a commit in it lands, and can be read all the same.
func TestAHeldPackCanBeRead(t *testing.T) {
	l := started(t)
	p, err := pack.Encode([]pack.Object{{ID: object.ParseID("9daeafb9864cf43055ae93beb0afd6c7d144bfa4"), Kind: "blob", Content: []byte("test\n")}})
	must(t, err)
	must(t, l.Objects().PutPack(background, p.Name, p.Bytes, p.Index))
	if n := len(l.Objects().Packs()); n != 0 {
		t.Errorf("%d packs are on disk", n)
	}
	touch := repository.Touch{Blob: "9daeafb9864cf43055ae93beb0afd6c7d144bfa4"}
	if text, err := l.Objects().Blob(background, touch); err != nil || string(text) != "test\n" {
		t.Errorf("%q, %v", text, err)
	}
	l.Objects().Release(p.Name)
	must(t, l.Objects().PutPack(background, p.Name, p.Bytes, p.Index))
	l.Objects().Release(p.Name)
	if len(l.Objects().held) > 0 {
		t.Error("what is released is held on to")
	}
	if _, err := disk.Open(l.Repository()); err != nil {
		t.Error(err)
	}
}
