package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
)

// fakeContexts answers every search with the same and notes the last query.
type fakeContexts struct {
	found     []telemetry.Saved
	err       error
	workspace string
	query     telemetry.Query
	walks     []telemetry.Walk
	forgotten []string
}

func (f *fakeContexts) Contexts(_ context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	f.workspace, f.query = workspace, q
	return f.found, f.err
}

func (f *fakeContexts) Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) bool) error {
	f.workspace, f.walks = workspace, append(f.walks, w)
	for i, c := range f.found {
		if f.err == nil && ctx.Err() == nil && c.Environment == w.Environment && (w.Limit == 0 || i < w.Limit) && !visit(c) {
			break
		}
	}
	return errors.Join(f.err, ctx.Err())
}

func (f *fakeContexts) Forget(_ context.Context, workspace string, environments []string, contextType, key string, _ time.Time) (bool, error) {
	f.workspace, f.forgotten = workspace, append(f.forgotten, contextType+" "+key+" in "+strings.Join(environments, ", "))
	return key == "u-1", f.err
}

// searching is a session of a service that has saved contexts.
func searching(t *testing.T, contexts *fakeContexts) *control.Session {
	t.Helper()
	w := newWorld(t, map[string]string{"feature-flags/f.json": `{"key":"f","type":"feature_flag","valueType":"bool"}`})
	settings := w.settings()
	settings.Contexts = contexts
	w.service = control.New(settings)
	return w.enter("member")
}

func TestContexts(t *testing.T) {
	contexts := &fakeContexts{found: []telemetry.Saved{
		{Environment: "production", Type: "user", Key: "u-1", LastSeen: now.Add(1500 * time.Millisecond), Properties: []telemetry.Property{
			{Name: "key", Kind: telemetry.String, Text: "u-1"}, {Name: "name", Kind: telemetry.String, Text: "Ada <3"}, {Name: "email", Kind: telemetry.String, Text: "a@b.example"}}},
		{Environment: "staging", Type: "team", Key: "7", LastSeen: now, Properties: []telemetry.Property{{Name: "name", Kind: telemetry.Int, Text: "7"}, {Name: "email", Kind: telemetry.Bool, Text: "true"}}},
	}}
	s := searching(t, contexts)
	got := wire(t, must.Get(s.Contexts(ctx, control.ContextQuery{Type: "user", Query: "Ada", Environment: "production", Limit: ptr(7)}))(t))
	want := `{"contexts":[{"type":"user","key":"u-1","name":"Ada <3","email":"a@b.example","environment":"production","lastSeenAt":"2026-03-02T09:30:01Z"},` +
		`{"type":"team","key":"7","name":null,"environment":"staging","lastSeenAt":"2026-03-02T09:30:00Z"}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if asked := (telemetry.Query{Environment: "production", Type: "user", Text: "Ada", Limit: 7}); contexts.query != asked || contexts.workspace != workspaceID {
		t.Errorf("asked for %+v of %s", contexts.query, contexts.workspace)
	}
	must.Get(s.Contexts(ctx, control.ContextQuery{}))(t)
	if contexts.query != (telemetry.Query{Limit: 20}) {
		t.Errorf("asked for %+v", contexts.query)
	}
	must.Get(s.Contexts(ctx, control.ContextQuery{Key: "u-1"}))(t)
	if contexts.query != (telemetry.Query{Key: "u-1", Limit: 20}) {
		t.Errorf("asked for %+v", contexts.query)
	}
	must.Get(s.Contexts(ctx, control.ContextQuery{Environment: "old"}))(t) // an archived one
}

func TestContextsRefuses(t *testing.T) {
	s := searching(t, &fakeContexts{})
	for _, limit := range []int{0, -1, 101} {
		ended(s.Contexts(ctx, control.ContextQuery{Limit: &limit}))(t, "400 BAD_REQUEST")
	}
	err := ended(s.Contexts(ctx, control.ContextQuery{Limit: ptr(0), Type: strings.Repeat("t", 201), Key: strings.Repeat("k", 1025), Query: strings.Repeat("q", 1025), Environment: "nowhere"}))(t, "400 BAD_REQUEST")
	for _, part := range []string{"?limit", "?type: type has at most 200 bytes, this one has 201", "?key: key has at most 1024 bytes", "?query: query has at most 1024 bytes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %s", err, part)
		}
	}
	if err := ended(s.Contexts(ctx, control.ContextQuery{Environment: "prod"}))(t, "404 NOT_FOUND"); !strings.Contains(err.Error(), `there is no environment "prod"`) {
		t.Error(err)
	}
}

func people(n int) (found []telemetry.Saved) {
	for i := range n {
		key := fmt.Sprint("u-", i)
		found = append(found, telemetry.Saved{Environment: "production", Type: "user", Key: key, LastSeen: now,
			Properties: []telemetry.Property{{Name: "key", Kind: telemetry.String, Text: key}}})
	}
	return found
}

// TestImpactWithinItsTime: what a dry run has no time for is not counted, and it says
// so.
func TestImpactWithinItsTime(t *testing.T) {
	contexts := &fakeContexts{found: people(5)}
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", serves("bool", "false"))})
	settings := w.settings()
	settings.Contexts = contexts
	w.service = control.New(settings)
	ask := func(ctx context.Context) (*change.PatchResult, error) {
		return w.enter("engineer").Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true), Request: change.Request{DryRun: true, Impact: true}})
	}
	got := must.Get(ask(ctx))(t).Impact["production"]
	if got.Contexts != 5 || got.Changed != 5 || !got.Complete || len(contexts.walks) != 1 || contexts.walks[0] != (telemetry.Walk{Environment: "production"}) {
		t.Errorf("%+v; walked %v", got, contexts.walks)
	}
	w.service.NoTime()
	if got := wire(t, must.Get(ask(ctx))(t).Impact["production"]); got != `{"contexts":0,"changed":0,"complete":false,"values":[],"examples":[]}` {
		t.Error(got)
	}
	w.service = control.New(settings)
	contexts.err = fmt.Errorf("x: %w", telemetry.ErrBusy)
	if _, err := ask(ctx); refusal(err) != "503 SERVICE_UNAVAILABLE" {
		t.Errorf("a store that does not answer: %v", err)
	}
	settings.Contexts, settings.MaxCompiled = nil, 1
	w.service = control.New(settings)
	if _, err := ask(ctx); refusal(err) != "503 SERVICE_UNAVAILABLE" {
		t.Errorf("beyond the memory: %v", err)
	}
}

// TestWhoMayForget: who may edit what is shared by all environments.
func TestWhoMayForget(t *testing.T) {
	w := newWorld(t, nil)
	const denied = "403 FORBIDDEN PERMISSION_DENIED"
	for role, want := range map[string]string{"engineer": "404 NOT_FOUND", "protected_engineer": "404 NOT_FOUND",
		"engineer_nonprotected": denied, "support": denied, "member": denied, "admin": denied} {
		_, err := w.enter(role).ForgetContext(ctx, control.Forgetting{Type: "user", Key: "u-1"})
		if got := refusal(err); got != want {
			t.Errorf("%s: %s, want %s (%v)", role, got, want, err)
		}
	}
}

// TestTheImpactOfAChangeSet is that of its operations together.
func TestTheImpactOfAChangeSet(t *testing.T) {
	contexts := &fakeContexts{found: people(4)}
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", serves("bool", "false")), path("g"): boolFlag("g", "", serves("bool", "false"))})
	settings := w.settings()
	settings.Contexts = contexts
	w.service = control.New(settings)
	patch := func(key string, enabled bool) change.Operation {
		return change.Patch(document.Flag, key, "production", change.ValuePatch{Enabled: &enabled})
	}
	got := must.Get(w.enter("engineer").Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: true, Impact: true},
		Operations: []change.Operation{patch("f", true), patch("g", true), patch("g", false)}}))(t)
	if e := got.Impact["production"]; len(got.Impact) != 1 || e.Changed != 4 || len(e.Values) != 1 || e.Values[0].Key != "f" {
		t.Errorf("%s", wire(t, got.Impact))
	}
}
