package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

var ctx = context.Background()

// world is a workspace with everything around it.
type world struct {
	t       testing.TB
	repo    *memoryrepository.Repository
	gate    *fakeGate
	service *control.Service
	keys    int
}

// fakeGate holds the rows of one workspace's keys.
type fakeGate struct {
	once      *repository.Landed // that every id has led to
	mu        sync.Mutex
	repo      *memoryrepository.Repository
	workspace access.Workspace
	keys      map[access.ID]access.KeyRecord
	people    map[access.ID]access.Principal
	entered   int
	fail      error
}

func (g *fakeGate) Authenticate(_ context.Context, key access.Key, once string) (control.Entry, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entered++
	if g.fail != nil {
		return control.Entry{}, g.fail
	}
	record, known := g.keys[key.ID()]
	if !known {
		return control.Entry{}, access.ErrNotFound
	}
	e := control.Entry{Key: record, Principal: g.people[key.Principal()], Workspace: g.workspace, Head: g.repo.Head()}
	if once != "" {
		e.Landed = g.once
	}
	return e, nil
}

const (
	workspaceID = "0123456789abcdef"
	declaration = `{"environments": [{"name": "production", "protected": true}, "staging", "development", {"name": "old", "archived": true}]}`
)

// now is the time in every test.
var now = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

// newWorld makes a workspace of files by path, committed at once.
func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	repo := memoryrepository.New()
	gate := &fakeGate{repo: repo, keys: map[access.ID]access.KeyRecord{}, people: map[access.ID]access.Principal{},
		workspace: access.Workspace{ID: workspaceID, Name: "Shop", Secret: []byte("sauce")}}
	w := &world{t: t, repo: repo, gate: gate}
	w.service = control.New(w.settings())
	w.service.Pause(func(ctx context.Context, _ int) error { return ctx.Err() })
	if _, declared := files["svc.json"]; !declared {
		repo.Push(ada, "Declare the environments", map[string]string{"svc.json": declaration})
	}
	if len(files) > 0 {
		repo.Push(ada, "Start", files)
	}
	return w
}

func (w *world) settings() control.Settings {
	return control.Settings{
		Authenticator: w.gate,
		Repository:    func(context.Context, string) (control.Repository, error) { return w.repo, nil },
		Now:           func() time.Time { return now },
		PublicURL:     "https://svc.test",
	}
}

// key makes a key for a new principal with these roles.
func (w *world) key(kind access.Kind, roles ...string) access.Key {
	w.t.Helper()
	w.gate.mu.Lock()
	defer w.gate.mu.Unlock()
	w.keys++
	random := newRandom(w.keys)
	id := must.Get(access.NewID(random))(w.t)
	key := must.Get(access.NewKey(random, kind, workspaceID, id))(w.t)
	principal := access.Principal{Type: access.PrincipalUser, ID: id, Name: "Grace", Email: "grace@example.com", Roles: roles}
	if kind != access.KindUser {
		principal = access.Principal{Type: access.PrincipalServiceAccount, ID: id, Name: "Deploy bot", Roles: roles}
	}
	w.gate.keys[key.ID()] = access.RecordOf(key, "test", now.Add(-time.Hour))
	w.gate.people[id] = principal
	return key
}

// random is bytes that differ from seed to seed.
type random struct{ seed, count int }

func newRandom(seed int) *random { return &random{seed: seed} }

func (r *random) Read(p []byte) (int, error) {
	for i := range p {
		r.count++
		p[i] = memoryrepository.Sum(fmt.Sprint(r.seed, r.count))[3]
	}
	return len(p), nil
}

// enter lets a request of a user with these roles in.
func (w *world) enter(roles ...string) *control.Session {
	w.t.Helper()
	return must.Get(w.service.SessionOf(ctx, w.key(access.KindUser, roles...).Reveal()))(w.t)
}

// boss is a session that may do everything.
func (w *world) boss() *control.Session {
	w.t.Helper()
	return w.enter("protected_engineer")
}

// stored is the content of a file at the head.
func (w *world) stored(path string) string {
	w.t.Helper()
	snapshot := must.Get(w.repo.Snapshot(ctx, w.repo.Head()))(w.t)
	file, known := snapshot.File(path)
	if !known {
		w.t.Fatalf("no file %s", path)
	}
	return string(file.Text)
}

// last is the newest commit.
func (w *world) last() memoryrepository.Committed {
	return w.repo.Commits[len(w.repo.Commits)-1]
}

var wire, node = documents.Wire, documents.Tree

// refusal is a fault in one line: 409 CONFLICT ALREADY_EXISTS.
func refusal(err error) string {
	if err == nil {
		return "ok"
	}
	f := fault.Of(err)
	text := fmt.Sprint(f.Kind.Status(), " ", f.Kind.Code())
	if code, ok := f.Details["code"]; ok {
		text += " " + code.(string)
	}
	return text
}

// wantRefusal checks a fault's line, and that it says something.
func wantRefusal(t testing.TB, err error, want string) *fault.Fault {
	t.Helper()
	if got := refusal(err); got != want {
		t.Fatalf("got %s (%v), want %s", got, err, want)
	}
	f := fault.Of(err)
	if want != "ok" && f.Message == "" {
		t.Error("the refusal says nothing")
	}
	return f
}

// ended is wantRefusal of a call: ended(s.Flag(ctx, "f"))(t, "404 NOT_FOUND").
func ended[R any](_ R, err error) func(testing.TB, string) *fault.Fault {
	return func(t testing.TB, want string) *fault.Fault {
		t.Helper()
		return wantRefusal(t, err, want)
	}
}

// pointers are the places of a refusal's issues.
func pointers(f *fault.Fault, member string) string {
	issues, _ := f.Details[member].([]document.Issue)
	var places []string
	for _, issue := range issues {
		places = append(places, issue.Pointer)
	}
	return strings.Join(places, " ")
}

func ptr[T any](v T) *T { return &v }

// flagOf and configOf write small documents.
func boolFlag(key, more string, rules ...string) string {
	if len(rules) == 0 {
		rules = []string{serves("bool", "false")}
	}
	return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"bool"%s,"default":{"rules":[%s]}}`, key, more, strings.Join(rules, ","))
}

func configOf(key, valueType, value, more string) string {
	return fmt.Sprintf(`{"key":%q,"type":"config","valueType":%q%s,"default":{"rules":[%s]}}`, key, valueType, more, serves(valueType, value))
}

func segmentOf(key string, rules ...string) string {
	return fmt.Sprintf(`{"key":%q,"type":"segment","valueType":"bool","name":"S","description":"D","default":{"rules":[%s]}}`, key, strings.Join(rules, ","))
}

func serves(valueType, value string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":%q,"value":%s}}`, valueType, value)
}

func targets(plan, valueType, value string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":[%q]}}],"value":{"type":%q,"value":%s}}`, plan, valueType, value)
}

func path(key string) string { return "feature-flags/" + key + ".json" }

var errStorage = errors.New("disk on fire")

var ada = repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600))}

// delivered is the workspace as it is served.
func (w *world) delivered() *workspace.Workspace {
	w.t.Helper()
	d := must.Get(w.service.DeliveryOf(ctx, w.key(access.KindPublicSDK).Reveal()))(w.t)
	return must.Get(must.Get(d.Open(ctx))(w.t).Effective(ctx))(w.t)
}

// served is the text of a document as it is served, "" when it is not.
func (w *world) served(path string) string {
	w.t.Helper()
	for _, item := range w.delivered().Items {
		if item.Path == path {
			return string(item.Text)
		}
	}
	return ""
}

func (w *world) detail() *control.WorkspaceDetail {
	w.t.Helper()
	return must.Get(w.enter().Workspace(ctx))(w.t)
}
