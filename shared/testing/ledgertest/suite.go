package ledgertest

import (
	"context"
	"math/rand/v2"
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
		"commits that are not in the history": notInHistory,
		"another process finds the same":      reopened,
		"what was made once is found":         madeOnce,
		"keys are authenticated":              authenticate,
		"a revocation bites at once":          revocation,
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
	entry, err := b.Authenticator.Authenticate(context.Background(), b.key, "")
	must.Do(b, err)
	return entry.Head
}

// advance makes a commit with these changes the head, which must work.
func (b *bench) advance(changes map[string]string) repository.Commit {
	b.Helper()
	from := b.head()
	c := b.commit(from.Commit, changes)
	head, err := b.Ledger.Advance(context.Background(), from, c)
	must.Do(b, err)
	if head.Commit != c.SHA || head.Sequence != from.Sequence+1 || head.Access != from.Access {
		b.Fatalf("advanced from %+v to %+v, and the commit is %s", from, head, c.SHA)
	}
	if entered := b.head(); entered != head {
		b.Fatalf("advanced to %+v, and whoever enters finds %+v", head, entered)
	}
	c.Sequence = head.Sequence
	return c
}
