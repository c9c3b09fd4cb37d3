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
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

const clients = 16

// operations is how many requests each client sends.
func operations() int {
	if testing.Short() {
		return 16
	}
	return 36
}

// TestManyClientsSeeOneOrderAcrossKills kills the server under the clients again and
// again. Writes that it had not answered may have happened or not.
func TestManyClientsSeeOneOrderAcrossKills(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t, apiload.Fixture(), clients)
	git := gitIn(t, w.repository())
	port, seed, kills := freeport.Take(), apiload.Seed(t), 12
	if testing.Short() {
		kills = 3
	}
	p := launch(t, svcbinary.Watched, w, port)
	l := apiload.New(t, p.base)
	ctx := background(t)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.Run(ctx, seed, w.keys, operations())
	}()
	r, total := apiload.Random(seed, clients), clients*operations()
	for n := range kills {
		if !l.Await(total*(n+1)/(kills+1)+r.IntN(total/(2*kills)), ended) {
			t.Fatalf("the load ended before kill %d", n+1)
		}
		p.kill(t)
		p = launch(t, svcbinary.Watched, w, port)
	}
	<-ended
	l.ReportRich(t)
	l.JudgeAll(t, git).Demand(t)
	git.Agrees(t, l.Client, p.base, w.keys[0], apiload.Items...)
	p.stop(t)
}

// store is what a control plane stands on: what a broken one breaks.
type store interface {
	control.Authenticator
	repository.Ledger
}

// blind is a ledger without compare-and-set: the later of two writers overwrites what
// came between.
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
	if err := errors.Join(os.WriteFile(next, []byte(c.SHA+"\n"), 0o666), os.Rename(next, branch)); err != nil {
		return repository.Head{}, err
	}
	return b.Ledger.Head(ctx)
}

// stale is a ledger that now and then lets in at an earlier head. Writes are safe with
// it, since they compare the head; reads are not.
type stale struct {
	*local.Ledger
	lock *sync.Mutex
	seen *[]repository.Head
}

func (s stale) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	entry, err := s.Ledger.Authenticate(ctx, key, once)
	s.lock.Lock()
	defer s.lock.Unlock()
	seen := *s.seen
	if err == nil && (len(seen) == 0 || seen[len(seen)-1].Sequence < entry.Head.Sequence) {
		seen = append(seen, entry.Head)
		*s.seen = seen
	}
	if err == nil && rand.IntN(4) == 0 {
		entry.Head = seen[max(0, len(seen)-6)]
	}
	return entry, err
}

// forgetful is a ledger that forgets what has landed under an Idempotency-Key.
type forgetful struct{ *local.Ledger }

func (f forgetful) Authenticate(ctx context.Context, key access.Key, _ string) (control.Entry, error) {
	return f.Ledger.Authenticate(ctx, key, "")
}

// TestABrokenStoreIsCaught has the same clients work on a sound store and on broken ones,
// and the same judges find nothing, and find it out.
func TestABrokenStoreIsCaught(t *testing.T) {
	for _, test := range []struct {
		name       string
		harm       func(*local.Ledger) store
		operations int // of each client
		by         apiload.Judges
	}{
		{"sound", func(l *local.Ledger) store { return l }, operations(), apiload.Judges{}},
		{"without compare-and-set", func(l *local.Ledger) store { return blind{l, &sync.Mutex{}} }, 10, apiload.Judges{Porcupine: true, History: true}},
		{"with stale reads", func(l *local.Ledger) store { return stale{l, &sync.Mutex{}, &[]repository.Head{}} }, 10, apiload.Judges{Porcupine: true}},
		{"without a memory of keys", func(l *local.Ledger) store { return forgetful{l} }, 10, apiload.Judges{History: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.by.Catch(t, func() apiload.Findings {
				w := newWorkplace(t, apiload.Fixture(), clients)
				git := gitIn(t, w.repository())
				ledger, err := local.Open(background(t), w.dir, local.Options{Rewritten: func(local.Rewrite) {}})
				must(t, err)
				defer ledger.Close()
				l := apiload.New(t, serveInstances(t, test.harm(ledger), ledger))
				l.Run(background(t), apiload.Seed(t), w.keys, test.operations)
				if test.by == (apiload.Judges{}) {
					l.ReportRich(t)
				}
				return l.JudgeAll(t, git)
			})
		})
	}
}

// serveInstances serves several instances at one address over one ledger, each request by
// any of them. A single one lets its own writers take turns, so that they never race at
// the ledger.
func serveInstances(t *testing.T, s store, ledger *local.Ledger) (base string) {
	t.Helper()
	const instances, public = 4, "https://svc.test"
	var handlers []http.Handler
	for range instances {
		repo := repository.New(s, ledger.Objects())
		service := control.New(control.Settings{
			Authenticator: s,
			Repository:    func(context.Context, string) (control.Repository, error) { return repo, nil },
			Now:           time.Now,
			PublicURL:     public,
		})
		api, err := httpapi.New(httpapi.Options{Service: service, PublicURL: public, Limit: unlimited}, httpapi.All()...)
		must(t, err)
		handlers = append(handlers, api)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers[rand.IntN(instances)].ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
