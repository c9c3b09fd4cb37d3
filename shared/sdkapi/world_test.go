package sdkapi_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
)

var ctx = context.Background()

// world is a workspace on disk, served, with every backend call counted.
type world struct {
	log lines
	*testing.T
	ledger  *local.Ledger
	repo    *repository.Repository
	store   *telemetrytest.Store
	handler http.Handler

	gate, storage atomic.Int64
	told          func(repository.Head) string // the versions at a head; nil where it tells none
	id            access.ID
	dir           string
}

// countedGate counts what a request asks of the gate.
type countedGate struct{ *world }

func (g countedGate) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	g.gate.Add(1)
	entry, err := g.ledger.Authenticate(ctx, key, once)
	if g.told != nil {
		entry.Head.Versions = g.told(entry.Head)
	}
	return entry, err
}

// countedRepository counts the snapshots that are asked of the repository.
type countedRepository struct {
	*repository.Repository
	world *world
}

func (w *world) counted() countedRepository { return countedRepository{w.repo, w} }

func (r countedRepository) Snapshot(ctx context.Context, head repository.Head) (*repository.Snapshot, error) {
	r.world.storage.Add(1)
	return r.Repository.Snapshot(ctx, head)
}

func newID(t *testing.T) access.ID {
	t.Helper()
	id := must.Get(access.NewID(rand.Reader))(t)
	return id
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	return newWorldWith(t, files, sdkapi.Options{})
}

// newWorldWith serves with options, which it completes.
func newWorldWith(t *testing.T, files map[string]string, options sdkapi.Options) *world {
	t.Helper()
	w := &world{T: t, dir: t.TempDir(), store: telemetrytest.NewStore(t), id: newID(t)}
	must.Do(t, local.Create(w.dir, access.Workspace{ID: string(w.id), Name: "Shop", Secret: []byte(secret)}))
	var err error
	w.ledger, err = local.Open(ctx, w.dir, local.Options{})
	must.Do(t, err)
	t.Cleanup(func() { w.ledger.Close() })
	w.repo = repository.New(w.ledger, w.ledger.Objects())
	w.commit(files)
	w.serve(options)
	return w
}

// secret is the workspace's.
const secret = "sauce"

// serve begins to serve, with nothing in memory.
func (w *world) serve(options sdkapi.Options) {
	options.Service = control.New(control.Settings{
		Authenticator: countedGate{w},
		Directory:     w.ledger,
		Keys:          w.ledger,
		Repository:    func(context.Context, string) (control.Repository, error) { return w.counted(), nil },
		Now:           time.Now,
	})
	options.Intake = &telemetry.Intake{Store: w.store, Now: func() time.Time { return telemetrytest.Now }}
	options.Logger, options.TellBroken = slog.New(slog.NewTextHandler(&w.log, nil)), true
	w.handler = all(options)
}

// all serves everything that there is for applications.
func all(options sdkapi.Options) http.Handler {
	return router.New(sdkapi.Routes(options), sdkapi.Delivery(options))
}

// lines is a log that many write to.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (w *world) edit(change func(*local.Registry) error) {
	w.Helper()
	registry, err := local.OpenRegistry(w.dir)
	must.Do(w.T, err)
	defer registry.Close()
	must.Do(w.T, change(registry))
}

// commit writes files; an empty text deletes.
func (w *world) commit(files map[string]string) {
	w.Helper()
	head, err := w.ledger.Head(ctx)
	must.Do(w.T, err)
	base, err := w.repo.Snapshot(ctx, head)
	must.Do(w.T, err)
	author := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}
	draft := repository.Draft{Message: "Change\n", Author: author, Committer: author}
	for path, text := range files {
		change := repository.Change{Path: path}
		if text != "" {
			change.Content = []byte(text)
		}
		draft.Changes = append(draft.Changes, change)
	}
	_, err = w.repo.Commit(ctx, base, draft)
	must.Do(w.T, err)
}

func (w *world) key(kind access.Kind, environment string) string {
	w.Helper()
	var key access.Key
	w.edit(func(r *local.Registry) (err error) {
		key, _, err = r.IssueKey(ctx, access.KeyRequest{Kind: kind, Name: "test", Environment: environment})
		return err
	})
	return key.Reveal()
}

// send sends a request with a key, and headers given as name, value.
func (w *world) send(method, path, key, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.1:1234"
	if key != "" {
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "from" {
			r.RemoteAddr = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	w.handler.ServeHTTP(answer, r)
	return answer
}

// cost is how many calls of gate and repository some work makes.
func (w *world) cost(work func()) (gate, storage int64) {
	g, s := w.gate.Load(), w.storage.Load()
	work()
	return w.gate.Load() - g, w.storage.Load() - s
}

func message(answer *httptest.ResponseRecorder) string {
	var envelope struct{ Error, Message, ErrorCode, ErrorDetails string } // the latter two of OFREP
	_ = json.Unmarshal(answer.Body.Bytes(), &envelope)
	return envelope.Error + envelope.ErrorCode + ": " + envelope.Message + envelope.ErrorDetails
}

// stuckStore does not answer until its gate is open.
type stuckStore struct {
	telemetry.Store
	gate chan struct{}
	came chan struct{}
}

func (s stuckStore) Record(ctx context.Context, workspace string, b telemetry.Batch) (telemetry.Recorded, error) {
	s.came <- struct{}{}
	<-s.gate
	return s.Store.Record(ctx, workspace, b)
}
