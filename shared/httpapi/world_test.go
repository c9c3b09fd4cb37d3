package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/httpapi"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry/rows"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

const workspaceID = access.ID("0123456789abcdef")

// world is a workspace on the stores that `svc api` has, with the API over it.
type world struct {
	t       testing.TB
	ledger  *local.Ledger
	repo    *repository.Repository
	service *control.Service
	seen    *rows.Store
	handler http.Handler
	log     *svcbinary.Log
	// alter changes what the gate says, or fails.
	alter func(*control.Entry) error
	clock time.Time
	key   string // of a protected engineer
}

var unlimited = ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}

func newWorld(t testing.TB, files map[string]string) *world {
	return newWorldWith(t, files, httpapi.Options{Limit: unlimited, PublicURL: "https://svc.test", KeptAnswers: 32 << 20})
}

func newWorldWith(t testing.TB, files map[string]string, options httpapi.Options) *world {
	t.Helper()
	w := &world{t: t, log: &svcbinary.Log{}, clock: time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)}
	dir := filepath.Join(t.TempDir(), "data")
	must.Do(w.t, local.Create(dir, access.Workspace{ID: string(workspaceID), Name: "shop", Secret: []byte("cursor secret")}))
	w.ledger = must.Get(local.Open(context.Background(), dir, local.Options{}))(w.t)
	t.Cleanup(func() { w.ledger.Close() })
	w.seen = rows.New(bolt.New(w.ledger.Database()), 0)
	w.repo = repository.New(w.ledger, w.ledger.Objects())
	w.commit("Start", files)
	w.serve(options)
	w.key = w.newKey(access.KindUser, "protected_engineer")
	return w
}

// serve has the workspace be served with other options.
func (w *world) serve(options httpapi.Options) {
	w.t.Helper()
	w.service = control.New(control.Settings{
		Authenticator: gate{w},
		Repository:    func(context.Context, string) (control.Repository, error) { return w.repo, nil },
		Now:           func() time.Time { return w.clock },
		PublicURL:     options.PublicURL,
		Contexts:      w.seen,
		Evaluations:   w.seen,
		Registry: func(_ string, by access.Principal) *access.Registry {
			return w.ledger.Registry().Registry.By(by.Words())
		},
		Requests: request.Store{Table: bolt.New(w.ledger.Database())},
	})
	options.Service = w.service
	options.Now = func() time.Time { return w.clock }
	options.Logger = slog.New(slog.NewTextHandler(w.log, nil))
	w.handler = must.Get(httpapi.New(options, httpapi.All()...))(w.t)
}

// in is the same world for a part of the test.
func (w *world) in(t testing.TB) *world {
	part := *w
	part.t = t
	return &part
}

// gate is the ledger's, altered.
type gate struct{ w *world }

func (g gate) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	entry, err := g.w.ledger.Authenticate(ctx, key, once)
	if err == nil && g.w.alter != nil {
		err = g.w.alter(&entry)
	}
	return entry, err
}

// commit writes files past the API, as a push does.
func (w *world) commit(message string, files map[string]string) {
	w.t.Helper()
	if len(files) == 0 {
		return
	}
	head := must.Get(w.ledger.Head(context.Background()))(w.t)
	base := must.Get(w.repo.Snapshot(context.Background(), head))(w.t)
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: w.clock}
	draft := repository.Draft{Author: by, Committer: by, Message: message}
	for path, text := range files {
		draft.Changes = append(draft.Changes, repository.Change{Path: path, Content: []byte(text)})
	}
	must.Get(w.repo.Commit(context.Background(), base, draft))(w.t)
}

// newKey makes a key for a new principal with these roles.
func (w *world) newKey(kind access.Kind, roles ...string) string {
	w.t.Helper()
	id := must.Get(access.NewID(rand.Reader))(w.t)
	key := must.Get(access.NewKey(rand.Reader, kind, workspaceID, id))(w.t)
	p := access.Principal{Type: access.PrincipalUser, ID: id, Name: "Grace", Email: "grace@example.com", Roles: roles}
	if kind != access.KindUser {
		p = access.Principal{Type: access.PrincipalServiceAccount, ID: id, Name: "deploy-bot", Roles: roles}
	}
	record := access.RecordOf(key, "test", w.clock.Add(-time.Hour))
	if kind.Delivers() {
		record.Environment = "production"
	}
	must.Do(w.t, w.ledger.Registry().Update(context.Background(), func(s access.State) (access.State, access.Entry, error) {
		s.Version++
		s.Principals, s.Keys = append(slices.Clone(s.Principals), p), append(slices.Clone(s.Keys), record)
		return s, access.Entry{}, nil
	}))
	return key.Reveal()
}

// reply is an answer, checked against the description.
type reply struct {
	t      testing.TB
	status int
	header http.Header
	body   []byte // as it was before it was compressed
}

// do sends a request to a path below /v1, or to one of the CLI's API beside it, and holds the answer against the
// description. Headers come as "Name: value"; "-" leaves the key out.
func (w *world) do(method, path, body string, headers ...string) *reply {
	w.t.Helper()
	if !strings.HasPrefix(path, "/openfeature/") {
		path = "/v1" + path
	}
	r := httptest.NewRequest(method, "http://svc.test"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+w.key)
	for _, h := range headers {
		if h == "-" {
			r.Header.Del("Authorization")
			continue
		}
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return w.send(r)
}

func (w *world) send(r *http.Request) *reply {
	w.t.Helper()
	recorder := httptest.NewRecorder()
	w.handler.ServeHTTP(recorder, r)
	a := &reply{t: w.t, status: recorder.Code, header: recorder.Header(), body: recorder.Body.Bytes()}
	if a.header.Get("Content-Encoding") == "gzip" && r.Method != http.MethodHead {
		z := must.Get(gzip.NewReader(bytes.NewReader(a.body)))(w.t)
		a.body = must.Get(io.ReadAll(z))(w.t)
	}
	conforms(w.t, r, a)
	return a
}

func (w *world) get(path string, headers ...string) *reply {
	w.t.Helper()
	return w.do("GET", path, "", headers...)
}

// ok stops the test at anything but a success.
func (a *reply) ok() *reply {
	a.t.Helper()
	if a.status != http.StatusOK && a.status != http.StatusCreated {
		a.t.Fatalf("status %d: %s", a.status, a.body)
	}
	return a
}

// at is the value that a JSON Pointer without escapes names, nil for none.
func (a *reply) at(pointer string) any {
	a.t.Helper()
	var value any
	if err := json.Unmarshal(a.body, &value); err != nil {
		a.t.Fatalf("%v: %s", err, a.body)
	}
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		switch v := value.(type) {
		case map[string]any:
			value = v[part]
		case []any:
			value = nil
			for i := range v {
				if part == string(rune('0'+i)) {
					value = v[i]
				}
			}
		default:
			return nil
		}
	}
	return value
}

func (a *reply) text(pointer string) string {
	a.t.Helper()
	text, _ := a.at(pointer).(string)
	return text
}

// refused is the status, the code and details.code in one line.
func (a *reply) refused() string {
	a.t.Helper()
	line := http.StatusText(a.status)
	if a.status >= 400 {
		line = string(rune('0'+a.status/100)) + string(rune('0'+a.status/10%10)) + string(rune('0'+a.status%10)) + " " + a.text("/error")
		if code := a.text("/details/code"); code != "" {
			line += " " + code
		}
	}
	return line
}

const (
	declaration = `{"environments": [{"name": "production", "protected": true}, "staging", "development", {"name": "old", "archived": true}]}`
	redesign    = `{"key": "checkout.redesign", "type": "feature_flag", "valueType": "bool", "name": "Redesign", "tags": ["checkout"],
		"default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]},
		"environments": [{"id": "production", "rules": [
			{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["beta"]}}], "value": {"type": "bool", "value": true}},
			{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}],
		"variants": [{"value": {"type": "bool", "value": false}}, {"name": "On", "value": {"type": "bool", "value": true}}]}`
	colour = `{"key": "colour", "type": "feature_flag", "valueType": "string", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}],
		"value": {"type": "weighted_values", "value": {"hashByPropertyName": "user.key", "weightedValues": [{"value": {"type": "string", "value": "red"}, "weight": 40000}, {"value": {"type": "string", "value": "blue"}, "weight": 60000}]}}}]},
		"variants": [{"value": {"type": "string", "value": "red"}}, {"value": {"type": "string", "value": "blue"}}]}`
	timeout = `{"key": "checkout.timeout", "type": "config", "valueType": "duration", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "duration", "value": "PT30S"}}]}}`
	limits  = `{"key": "checkout.limits", "type": "config", "valueType": "json", "schemaKey": "limits", "sendToClientSdk": true, "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "json", "value": {"max": 3}}}]}}`
	secret  = `{"key": "api.token", "type": "config", "valueType": "string", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "c1ph3rt3xt", "confidential": true, "decryptWith": "master.key"}}]}}`
	master  = `{"key": "master.key", "type": "config", "valueType": "string", "access": "protected-all-envs", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "provided", "value": {"source": "ENV_VAR", "lookup": "MASTER"}}}]}}`
	cart    = `{"key": "log-level.cart", "type": "log_level", "valueType": "log_level", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "log_level", "value": "INFO"}}]}}`
	beta    = `{"key": "beta-users", "type": "segment", "valueType": "bool", "name": "Beta users", "default": {"rules": [{"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["beta"]}}], "value": {"type": "bool", "value": true}}]}}`
)

func shop() map[string]string {
	return map[string]string{
		"svc.json":                             declaration,
		"feature-flags/checkout.redesign.json": redesign,
		"feature-flags/colour.json":            colour,
		"feature-flags/broken.json":            `["no", "object"]`,
		"configs/checkout.timeout.json":        timeout,
		"configs/checkout.limits.json":         limits,
		"configs/api.token.json":               secret,
		"configs/master.key.json":              master,
		"log-levels/log-level.cart.json":       cart,
		"segments/beta-users.json":             beta,
		"schemas/limits.json":                  `{"type": "object", "properties": {"max": {"type": "integer", "maximum": 10}}}`,
	}
}
