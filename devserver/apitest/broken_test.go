package apitest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/brokenstore"
)

// store is what a control plane stands on: what a broken one breaks.
type store interface {
	control.Authenticator
	repository.Ledger
}

// blind is a ledger without compare-and-set: whoever comes late writes over
// what came between.
type blind struct {
	*local.Ledger
	lock *sync.Mutex
}

func (b blind) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	head, err := b.Ledger.Advance(ctx, from, c)
	if !errors.Is(err, repository.ErrMoved) {
		return head, err
	}
	if _, err := b.Objects().Tree(ctx, repository.Head{Commit: c.SHA}); err != nil { // which stores them
		return repository.Head{}, err
	}
	branch := filepath.Join(b.Repository(), "refs", "heads", "main")
	next := filepath.Join(b.Repository(), "blind")
	if err := os.WriteFile(next, []byte(c.SHA+"\n"), 0o666); err != nil {
		return repository.Head{}, err
	}
	if err := os.Rename(next, branch); err != nil {
		return repository.Head{}, err
	}
	return b.Ledger.Head(ctx)
}

// dated is a ledger with another authenticator.
type dated struct {
	*local.Ledger
	gate control.Authenticator
}

func (d dated) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	return d.gate.Authenticate(ctx, key, once)
}

// forgetful is a ledger that forgets what has landed under an Idempotency-Key.
type forgetful struct{ *local.Ledger }

func (f forgetful) Authenticate(ctx context.Context, key access.Key, _ string) (control.Entry, error) {
	return f.Ledger.Authenticate(ctx, key, "")
}

// instances is how many of the service there are over one ledger. A single one
// lets its own writers take turns, so that they never race at the ledger.
const instances = 4

// serveInstances serves a workplace as several instances over one ledger that
// something was done to, each request by any of them.
func serveInstances(t *testing.T, w workplace, harm func(*local.Ledger) store) (base string, stop func()) {
	t.Helper()
	ledger, err := local.Open(background(t), w.dir, local.Options{Rewritten: func(local.Rewrite) {}})
	must(t, err)
	handlers := handlersOf(t, harm(ledger), ledger)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[rand.IntN(instances)].ServeHTTP(w, r)
	}))
	return server.URL, func() {
		server.Close()
		must(t, ledger.Close())
	}
}

func handlersOf(t *testing.T, s store, ledger *local.Ledger) (handlers []http.Handler) {
	t.Helper()
	for range instances {
		handlers = append(handlers, instance(t, s, repository.New(s, ledger.Objects())))
	}
	return handlers
}

// TestOneOfIdenticalRequestsWins: the same principal, token and content in the
// same second make commits that differ in nothing but who made them.
func TestOneOfIdenticalRequestsWins(t *testing.T) {
	w := newWorkplace(t, apiload.Fixture(), 1)
	ledger, err := local.Open(background(t), w.dir, local.Options{Rewritten: func(local.Rewrite) {}})
	must(t, err)
	var bases []string
	for _, handler := range handlersOf(t, ledger, ledger) {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		bases = append(bases, server.URL)
	}
	t.Cleanup(func() { must(t, ledger.Close()) })
	apiload.OneWinner(t, apiload.NewHTTPClient(t), bases, w.keys[0], 30)
}

func instance(t *testing.T, gate control.Authenticator, repo *repository.Repository) http.Handler {
	t.Helper()
	const public = "https://svc.test"
	service := control.New(control.Settings{
		Authenticator: gate,
		Repository:    func(context.Context, string) (control.Repository, error) { return repo, nil },
		Now:           time.Now,
		PublicURL:     public,
	})
	api, err := httpapi.New(httpapi.Options{Service: service, PublicURL: public, Limit: unlimited}, httpapi.All()...)
	must(t, err)
	return api
}

// TestManyClientsOfManyInstancesSeeOneOrder is the counterpart of the test
// below: nothing is broken, and nothing is found.
func TestManyClientsOfManyInstancesSeeOneOrder(t *testing.T) {
	w := newWorkplace(t, apiload.Fixture(), clients)
	gitIn(t, w.repository())
	base, stop := serveInstances(t, w, func(l *local.Ledger) store { return l })
	l := apiload.New(t, base)
	l.Run(background(t), apiload.Seed(t), w.keys, operations())
	stop()
	l.ReportRich(t)
	l.JudgeAll(t, gitIn(t, w.repository())).Demand(t)
}

// TestABrokenStoreIsCaught lets the same clients work on stores that are
// broken, and the same judges find it out.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name string
		harm func(*local.Ledger) store
		by   brokenstore.Judges
	}{
		{"without compare-and-set", func(l *local.Ledger) store {
			return blind{l, &sync.Mutex{}}
		}, brokenstore.Judges{Porcupine: true, History: true}},
		{"with stale reads", func(l *local.Ledger) store {
			return dated{l, new(brokenstore.Stale).Authenticator(l)}
		}, brokenstore.Judges{Porcupine: true}},
		{"without a memory of keys", func(l *local.Ledger) store { return forgetful{l} }, brokenstore.Judges{History: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			brokenstore.Caught(t, test.by, func() apiload.Findings { return tryBroken(t, test.harm) })
		})
	}
}

func tryBroken(t *testing.T, harm func(*local.Ledger) store) apiload.Findings {
	t.Helper()
	w := newWorkplace(t, apiload.Fixture(), clients)
	gitIn(t, w.repository())
	base, stop := serveInstances(t, w, harm)
	l := apiload.New(t, base)
	l.Run(background(t), apiload.Seed(t), w.keys, 10)
	stop()
	l.Report(t)
	return l.JudgeAll(t, gitIn(t, w.repository()))
}
