// Package ledgertest is what every ledger has to pass: tests of what the interfaces
// repository.Ledger and control.Authenticator promise, written against them alone. Only
// tests import it.
//
// What must stay true:
//
//   - Commits are real ones: their objects are handed to the implementation,
//     and their ids are git's. So it runs over stores that look into them.
//   - Nothing in it knows how a ledger stores anything, or waits for time to
//     pass.
//   - Where a touch's object lies (Pack, Offset, Length) is a hint that a
//     ledger may forget, and is not compared. A ledger may keep texts, for
//     Since; those it returns must be the right ones.
package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

// Subject is a ledger over a workspace without commits, principals and keys.
type Subject struct {
	Ledger        repository.Ledger
	Authenticator control.Authenticator
	Workspace     access.ID
	// Put stores an object where the ledger looks for objects, if it does.
	Put      func(t testing.TB, kind object.Kind, content []byte)
	Registry *access.Registry
	// Reopen returns the same workspace as another process finds it.
	Reopen func(t testing.TB) Subject
}

// Run runs the suite. Each test opens a subject of its own.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	tests := map[string]func(*bench){
		"a stale commit is refused":           staleCommit,
		"a stale access version is refused":   staleAccess,
		"no write is lost":                    noneLost,
		"the same commit again is a success":  again,
		"a cancelled write":                   cancelled,
		"agrees with the one in memory":       agrees,
		"abbreviations":                       abbreviations,
		"the commit before a time":            atTimes,
		"commits that are not in the history": notInHistory,
		"another process finds the same":      reopened,
		"what was made once is found":         madeOnce,
		"keys are authenticated":              authenticate,
		"a revocation bites at once":          revocation,
		"somebody signs in":                   signIn,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(newBench(t, open(t))) })
	}
}

// bench is a subject with what every test does with it.
type bench struct {
	*testing.T
	Subject
	key    access.Key
	random *rand.ChaCha8
	now    time.Time
	files  map[string]map[string]string // by commit
	once   *repository.Once             // of the next commits
}

func newBench(t *testing.T, s Subject) *bench {
	b := &bench{
		T: t, Subject: s, random: rand.NewChaCha8([32]byte{1}),
		now:   time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 2*60*60)),
		files: map[string]map[string]string{"": {}},
	}
	b.key = b.admit("Ada")
	return b
}

// admit adds a user with a key.
func (b *bench) admit(name string) access.Key {
	b.Helper()
	key, _, err := b.Registry.IssueKey(background, access.KeyRequest{
		Kind: access.KindUser, Name: name, Email: name + "@example.com", Roles: []string{"engineer"}, Expires: 24 * time.Hour})
	must.Do(b, err)
	return key
}

// head enters the workspace.
func (b *bench) head() repository.Head {
	b.Helper()
	entry := must.Get(b.Authenticator.Authenticate(context.Background(), b.key, ""))(b)
	return entry.Head
}

// advance makes a commit with these changes the head, which must work.
func (b *bench) advance(changes map[string]string) repository.Commit {
	b.Helper()
	from := b.head()
	c := b.commit(from.Commit, changes)
	head := must.Get(b.Ledger.Advance(context.Background(), from, c))(b)
	if head.Commit != c.SHA || head.Sequence != from.Sequence+1 || head.Access != from.Access {
		b.Fatalf("advanced from %+v to %+v, and the commit is %s", from, head, c.SHA)
	}
	if entered := b.head(); entered != head {
		b.Fatalf("advanced to %+v, and whoever enters finds %+v", head, entered)
	}
	c.Sequence = head.Sequence
	return c
}

const (
	first  = "feature-flags/first.json"
	second = "configs/second.json"
)

var background = context.Background()

// refused checks that an Advance is refused with ErrMoved and does nothing.
func (b *bench) refused(from repository.Head, c repository.Commit) {
	b.Helper()
	before := b.head()
	if head, err := b.Ledger.Advance(background, from, c); !errors.Is(err, repository.ErrMoved) {
		b.Errorf("advanced to %+v with the error %v, want ErrMoved", head, err)
	}
	if after := b.head(); after != before {
		b.Errorf("a refused write moved the head from %+v to %+v", before, after)
	}
	rows := must.Get(b.Ledger.Since(background, before, 0))(b)
	for _, row := range rows {
		if row.SHA == c.SHA {
			b.Error("a refused commit is in the history")
		}
	}
}

func staleCommit(b *bench) {
	empty := b.head()
	root := b.commit("", map[string]string{first: "other"})
	b.advance(map[string]string{first: "1"})
	b.refused(empty, root)
	old := b.head()
	late := b.commit(old.Commit, map[string]string{first: "late"})
	b.advance(map[string]string{second: "2"})
	b.refused(old, late)
	unborn := b.head()
	unborn.Commit = late.SHA
	b.refused(unborn, b.commit(late.SHA, map[string]string{first: "later"}))
}

func staleAccess(b *bench) {
	b.advance(map[string]string{first: "1"})
	from := b.head()
	key := b.admit("Grace")
	if b.head().Access == from.Access {
		b.Error("a new key leaves the access version as it was")
	}
	b.refused(from, b.commit(from.Commit, map[string]string{first: "2"}))
	from = b.head()
	b.revoke(key)
	b.refused(from, b.commit(from.Commit, map[string]string{first: "3"}))
	b.advance(map[string]string{first: "4"})
}

// noneLost has writers who try again until they have had their turns.
func noneLost(b *bench) {
	const writers, each = 4, 5
	var (
		making sync.Mutex
		all    sync.WaitGroup
	)
	for writer := range writers {
		all.Go(func() {
			for n := 0; n < each; {
				entry, err := b.Authenticator.Authenticate(background, b.key, "")
				if err != nil {
					b.Error(err)
					return
				}
				making.Lock()
				c := b.commit(entry.Head.Commit, map[string]string{fmt.Sprintf("configs/%d.json", writer): fmt.Sprint(n + 1)})
				making.Unlock()
				switch _, err := b.Ledger.Advance(background, entry.Head, c); {
				case err == nil:
					n++
				case !errors.Is(err, repository.ErrMoved) && !errors.Is(err, repository.ErrBusy):
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	head := b.head()
	rows := must.Get(b.Ledger.Since(background, head, 0))(b)
	if len(rows) != writers*each {
		b.Errorf("%d commits, want %d", len(rows), writers*each)
	}
	for writer := range writers {
		if text := b.files[head.Commit][fmt.Sprintf("configs/%d.json", writer)]; text != fmt.Sprint(each) {
			b.Errorf("writer %d ends with %q", writer, text)
		}
	}
	for i, row := range rows[1:] {
		if row.Parent != rows[i].SHA || row.Sequence != rows[i].Sequence+1 {
			b.Fatalf("commit %d does not follow the one before", i+1)
		}
	}
}

func again(b *bench) {
	from := b.head()
	c := b.commit("", map[string]string{first: "1"})
	head := must.Get(b.Ledger.Advance(background, from, c))(b)
	if repeated, err := b.Ledger.Advance(background, from, c); err != nil || repeated != head {
		b.Errorf("the second time: %+v, %v, want %+v", repeated, err, head)
	}
	b.advance(map[string]string{first: "2"})
	b.admit("Grace")
	if repeated, err := b.Ledger.Advance(background, from, c); err != nil || repeated.Commit != head.Commit || repeated.Sequence != head.Sequence {
		b.Errorf("after another commit: %+v, %v, want %+v", repeated, err, head)
	}
	if rows, err := b.Ledger.Since(background, b.head(), 0); err != nil || len(rows) != 2 {
		b.Errorf("%d commits, %v, want 2", len(rows), err)
	}
}

func cancelled(b *bench) {
	b.advance(map[string]string{first: "1"})
	from := b.head()
	ended, cancel := context.WithCancel(background)
	cancel()
	if _, err := b.Ledger.Advance(ended, from, b.commit(from.Commit, map[string]string{first: "2"})); !errors.Is(err, context.Canceled) {
		b.Errorf("the error %v, want that of the context", err)
	}
	if head := b.head(); head != from {
		b.Errorf("the head moved to %+v", head)
	}
	if _, err := b.Ledger.Since(ended, from, 0); !errors.Is(err, context.Canceled) {
		b.Errorf("reading: the error %v, want that of the context", err)
	}
}

func authenticate(b *bench) {
	entry := must.Get(b.Authenticator.Authenticate(background, b.key, ""))(b)
	if entry.Workspace.ID != string(b.Workspace) {
		b.Errorf("workspace %q, want %q", entry.Workspace.ID, b.Workspace)
	}
	keys := must.Get(b.Registry.Keys(background))(b)
	if entry.Key != keys[0] || entry.Principal.ID != b.key.Principal() || entry.Principal.Name != "Ada" {
		b.Errorf("entered as %+v with %+v", entry.Principal, entry.Key)
	}
	if err := entry.Key.Admits(b.key, time.Now()); err != nil || entry.Key.Name != "Ada" || entry.Key.ExpiresAt.IsZero() {
		b.Errorf("%+v: %v", entry.Key, err)
	}
	finder, finds := b.Authenticator.(control.KeyFinder)
	if !finds {
		b.Fatal("it does not find keys by their ids")
	}
	found := must.Get(finder.FindKey(background, b.Workspace, b.key.ID()))(b)
	if found.Key.ID != b.key.ID() || found.Principal.ID != b.key.Principal() || found.Workspace.ID != string(b.Workspace) || found.Head != entry.Head {
		b.Errorf("found as %+v", found)
	}
	for name, key := range b.unknownKeys() {
		if _, err := b.Authenticator.Authenticate(background, key, ""); !errors.Is(err, access.ErrNotFound) {
			b.Errorf("%s: %v, want ErrNoEntry", name, err)
		}
		if found, err := finder.FindKey(background, b.Workspace, key.ID()); !errors.Is(err, access.ErrNotFound) {
			b.Errorf("%s: found %+v, %v, want ErrNotFound", name, found, err)
		}
	}
}

// unknownKeys are keys of which one row is missing.
func (b *bench) unknownKeys() map[string]access.Key {
	other, err := access.NewID(b.random)
	must.Do(b, err)
	make := func(workspace, principal access.ID) access.Key {
		return must.Get(access.NewKey(b.random, access.KindUser, workspace, principal))(b)
	}
	elsewhere := make(other, b.key.Principal())
	_, _, err = b.Registry.IssueKey(background, access.KeyRequest{Kind: access.KindServiceAccount, Name: "ci"})
	must.Do(b, err)
	return map[string]access.Key{
		"another workspace":    elsewhere,
		"a key never made":     make(b.Workspace, b.key.Principal()),
		"a principal not made": make(b.Workspace, access.ID("zzzzzzzzzzzzzzzz")),
	}
}

func (b *bench) revoke(key access.Key) {
	b.Helper()
	must.Get(b.Registry.RevokeKey(background, key.ID(), time.Now()))(b)
}

func revocation(b *bench) {
	key := b.admit("Grace")
	entry := must.Get(b.Authenticator.Authenticate(background, key, ""))(b)
	must.Do(b, entry.Key.LiveAt(time.Now()))
	b.revoke(key)
	after := must.Get(b.Authenticator.Authenticate(background, key, ""))(b)
	if err := after.Key.LiveAt(time.Now()); !errors.Is(err, access.ErrKeyRevoked) {
		b.Errorf("the revoked key is %v", err)
	}
	if after.Head.Access == entry.Head.Access {
		b.Error("a revocation leaves the access version as it was")
	}
	other := must.Get(b.Authenticator.Authenticate(background, b.key, ""))(b)
	must.Do(b, other.Key.LiveAt(time.Now()))
}

func signIn(b *bench) {
	oneTime := func() access.Key {
		key, _, err := b.Registry.IssueKey(background, access.KeyRequest{Kind: access.KindOneTime, Name: "Ada", Principal: b.key.Principal(), Expires: access.OneTimeFor})
		must.Do(b, err)
		return key
	}
	admitted := func(session access.Key) bool {
		entry, err := b.Authenticator.Authenticate(background, session, "")
		if errors.Is(err, access.ErrNotFound) {
			return false
		}
		must.Do(b, err)
		return entry.Principal.ID == b.key.Principal() && entry.Key.Admits(session, time.Now()) == nil
	}
	var all sync.WaitGroup
	made, shared := make(chan access.Key, 8), oneTime()
	for range cap(made) {
		all.Go(func() {
			if session, _, err := b.Registry.SignIn(background, shared, access.Key{}); err == nil {
				made <- session
			} else if !errors.Is(err, access.ErrKeyRevoked) {
				b.Error(err)
			}
		})
	}
	all.Wait()
	if len(made) != 1 {
		b.Fatalf("a one-time key has signed in %d times", len(made))
	}
	oldest := <-made
	if !admitted(oldest) {
		b.Error("the session is not admitted")
	}
	for n := range 21 {
		session, _, err := b.Registry.SignIn(background, oneTime(), access.Key{})
		must.Do(b, err)
		if !admitted(session) {
			b.Errorf("session %d is not admitted", n)
		}
	}
	if admitted(oldest) {
		b.Error("there is no bound on sessions")
	}
	told := map[string]bool{}
	for _, e := range must.Get(b.Registry.Audit(background, 0))(b) {
		for _, c := range e.Changes {
			if c.Action == access.KeyCreated && told[c.Subject] {
				b.Errorf("two keys had the id %s", c.Subject)
			}
			told[c.Subject] = told[c.Subject] || c.Action == access.KeyCreated
		}
	}
}
