package sdkapi_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/telemetrytest"
)

// limits serves with small rates and a clock that stands still.
func limits(t *testing.T) (w *world, now *time.Time) {
	at := time.Now()
	clock := func() time.Time { return at }
	proxies := must.Get(ratelimit.ParseProxies([]string{"10.0.0.0/8"}))(t)
	w = newWorldWith(t, map[string]string{"svc.json": `{"environments":["production"]}`}, sdkapi.Options{
		Polls: ratelimit.Rate{PerSecond: 0.5, Burst: 3}, Telemetry: ratelimit.Rate{PerSecond: 1, Burst: 2},
		Anonymous: ratelimit.NewBuckets(ratelimit.Rate{PerSecond: 1, Burst: 20}, clock), Proxies: proxies, Now: clock,
	})
	return w, &at
}

// limited checks that an answer is 429 and may be read by a page.
func limited(t *testing.T, what string, answer *httptest.ResponseRecorder, wait string) {
	t.Helper()
	h := answer.Header()
	if answer.Code != http.StatusTooManyRequests || h.Get("Retry-After") != wait || h.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d, Retry-After %q, %s", what, answer.Code, h.Get("Retry-After"), answer.Body)
	}
	if h.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "Retry-After") {
		t.Errorf("%s: a page cannot read it: %v", what, h)
	}
}

const (
	nativePoll = "/api/v2/configs/eval-with-context/e30"
	ofrepBulk  = "/ofrep/v1/evaluate/flags"
)

func TestAPublicKeyIsLimitedByAddress(t *testing.T) {
	w, now := limits(t)
	public := w.key(access.KindPublicSDK, "production")
	for i := range 3 {
		if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
			t.Fatalf("poll %d: %d %s", i, answer.Code, answer.Body)
		}
	}
	gate, _ := w.cost(func() {
		answer := w.send("GET", nativePoll, public, "")
		limited(t, "a poll", answer, "2")
		if got := message(answer); got != "RATE_LIMITED: too many requests with this key; try again in 2 s" {
			t.Error(got)
		}
		for path, want := range map[string]string{
			ofrepBulk:         `{"errorCode":"GENERAL","errorDetails":"too many requests with this key; try again in 2 s"}`,
			ofrepBulk + "/f1": `{"key":"f1","errorCode":"GENERAL","errorDetails":"too many requests with this key; try again in 2 s"}`,
		} {
			answer := w.send("POST", path, public, "{}")
			limited(t, path, answer, "2")
			if got := answer.Body.String(); got != want {
				t.Errorf("%s: %s", path, got)
			}
		}
	})
	if gate != 0 {
		t.Errorf("requests over the limit cost %d reads", gate)
	}
	if answer := w.send("OPTIONS", nativePoll, "", ""); answer.Code != 204 {
		t.Errorf("a preflight: %d", answer.Code)
	}
	if answer := w.send("GET", nativePoll, public, "", "from", "192.0.2.2:1"); answer.Code != 200 {
		t.Errorf("another address: %d", answer.Code)
	}
	if answer := w.send("GET", nativePoll, public, "", "X-Forwarded-For", "192.0.2.3"); answer.Code != 429 {
		t.Errorf("an address that the client itself names: %d", answer.Code)
	}
	for i := range 4 {
		answer := w.send("GET", nativePoll, public, "", "from", "10.0.0.1:1", "X-Forwarded-For", "203.0.113.9, 192.0.2.4")
		if want := map[bool]int{true: 200, false: 429}[i < 3]; answer.Code != want {
			t.Errorf("poll %d through a proxy: %d", i, answer.Code)
		}
	}
	*now = now.Add(2 * time.Second)
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
		t.Errorf("two seconds later: %d", answer.Code)
	}
}

func TestASecretKeyIsLimitedWhereverItComesFrom(t *testing.T) {
	w, _ := limits(t)
	secret := w.key(access.KindSecretSDK, "production")
	for i := range 4 {
		answer := w.send("GET", "/api/v2/configs", secret, "", "from", fmt.Sprintf("192.0.2.%d:1", i))
		if want := map[bool]int{true: 200, false: 429}[i < 3]; answer.Code != want {
			t.Errorf("%d: %d %s", i, answer.Code, answer.Body)
		}
	}
}

func TestTelemetryHasALimitOfItsOwn(t *testing.T) {
	w, _ := limits(t)
	public := w.key(access.KindPublicSDK, "production")
	post := func() *httptest.ResponseRecorder {
		return w.send("POST", "/api/v1/telemetry/", public, `{"events":[]}`)
	}
	for i := range 2 {
		if answer := post(); answer.Code != 202 {
			t.Fatalf("%d: %d %s", i, answer.Code, answer.Body)
		}
	}
	records := w.store.Records()
	limited(t, "telemetry", post(), "1")
	if w.store.Records() != records {
		t.Error("a batch over the limit reached the store")
	}
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
		t.Errorf("a poll beside it: %d", answer.Code)
	}
}

// TestWrongKeysCostLittle: each costs a read of the gate when it is well made,
// so an address can send few.
func TestWrongKeysCostLittle(t *testing.T) {
	w, _ := limits(t)
	public := w.key(access.KindPublicSDK, "production")
	w.send("GET", nativePoll, public, "")
	unknown := newWorld(t, nil).key(access.KindPublicSDK, "production")
	gate, _ := w.cost(func() {
		for i := range 60 {
			path := []string{nativePoll, "/api/v1/telemetry/", "/api/v2/configs", "/nowhere"}[i%4]
			method := map[bool]string{true: "POST", false: "GET"}[i%4 == 1]
			answer := w.send(method, path, []string{unknown, "", "nonsense"}[i%3], "{}")
			if want := map[bool]int{true: 401, false: 429}[i < 19]; answer.Code != want {
				t.Errorf("request %d, %s: %d, want %d", i, path, answer.Code, want)
			}
		}
	})
	if gate > 19 {
		t.Errorf("60 wrong keys cost %d reads", gate)
	}
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 {
		t.Errorf("a key that is known to be good, from there: %d", answer.Code)
	}
}

var ctx = context.Background()

// world is a workspace on disk, served, with every backend call counted.
type world struct {
	log svcbinary.Log
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
	return must.Get(access.NewID(rand.Reader))(t)
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
	w.ledger = must.Get(local.Open(ctx, w.dir, local.Options{}))(t)
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

func (w *world) edit(change func(*local.Registry) error) {
	w.Helper()
	registry := must.Get(local.OpenRegistry(w.dir))(w.T)
	defer registry.Close()
	must.Do(w.T, change(registry))
}

// commit writes files; an empty text deletes.
func (w *world) commit(files map[string]string) {
	w.Helper()
	head := must.Get(w.ledger.Head(ctx))(w.T)
	base := must.Get(w.repo.Snapshot(ctx, head))(w.T)
	author := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Now()}
	draft := repository.Draft{Message: "Change\n", Author: author, Committer: author}
	for path, text := range files {
		change := repository.Change{Path: path}
		if text != "" {
			change.Content = []byte(text)
		}
		draft.Changes = append(draft.Changes, change)
	}
	must.Get(w.repo.Commit(ctx, base, draft))(w.T)
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
