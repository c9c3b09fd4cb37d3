package control_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/telemetry"
)

// fakeContexts answers every search with the same and notes the last query.
type fakeContexts struct {
	found     []telemetry.Saved
	err       error
	workspace string
	query     telemetry.Query
}

func (f *fakeContexts) Contexts(_ context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	f.workspace, f.query = workspace, q
	return f.found, f.err
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
	got := wire(t, must[*control.ContextList](t)(s.Contexts(ctx, control.ContextQuery{Type: "user", Query: "Ada", Environment: "production", Limit: ptr(7)})))
	want := `{"contexts":[{"type":"user","key":"u-1","name":"Ada <3","email":"a@b.example","environment":"production","lastSeenAt":"2026-03-02T09:30:01Z"},` +
		`{"type":"team","key":"7","name":null,"environment":"staging","lastSeenAt":"2026-03-02T09:30:00Z"}]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if asked := (telemetry.Query{Environment: "production", Type: "user", Text: "Ada", Limit: 7}); contexts.query != asked || contexts.workspace != workspaceID {
		t.Errorf("asked for %+v of %s", contexts.query, contexts.workspace)
	}
	must[*control.ContextList](t)(s.Contexts(ctx, control.ContextQuery{}))
	if contexts.query != (telemetry.Query{Limit: 20}) {
		t.Errorf("asked for %+v", contexts.query)
	}
	must[*control.ContextList](t)(s.Contexts(ctx, control.ContextQuery{Environment: "old"})) // an archived one
}

func TestContextsRefuses(t *testing.T) {
	s := searching(t, &fakeContexts{})
	for _, limit := range []int{0, -1, 101} {
		_, err := s.Contexts(ctx, control.ContextQuery{Limit: &limit})
		wantRefusal(t, err, "400 BAD_REQUEST")
	}
	_, err := s.Contexts(ctx, control.ContextQuery{Limit: ptr(0), Type: strings.Repeat("t", 201), Query: strings.Repeat("q", 1025), Environment: "nowhere"})
	wantRefusal(t, err, "400 BAD_REQUEST")
	for _, part := range []string{"?limit", "?type: type has at most 200 bytes, this one has 201", "?query: query has at most 1024 bytes"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %s", err, part)
		}
	}
	_, err = s.Contexts(ctx, control.ContextQuery{Environment: "prod"})
	wantRefusal(t, err, "404 NOT_FOUND")
	if !strings.Contains(err.Error(), `there is no environment "prod"`) {
		t.Error(err)
	}
}

func TestContextsWhenTheStoreFails(t *testing.T) {
	for cause, want := range map[error]string{
		fmt.Errorf("x: %w", telemetry.ErrBusy): "503 SERVICE_UNAVAILABLE",
		context.DeadlineExceeded:               "503 SERVICE_UNAVAILABLE",
		errors.New("disk full"):                "500 INTERNAL",
	} {
		_, err := searching(t, &fakeContexts{err: cause}).Contexts(ctx, control.ContextQuery{})
		wantRefusal(t, err, want)
	}
}
