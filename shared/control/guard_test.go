package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

// account makes sessions of one service account.
func (w *world) account(name string, roles ...string) change.Request {
	w.t.Helper()
	key := w.key(access.KindServiceAccount, roles...)
	p := w.gate.people[key.Principal()]
	p.Name = name
	w.gate.people[key.Principal()] = p
	return change.Request{ID: key.Reveal()} // by which undo finds it
}

func (w *world) undo(as change.Request, commit string) (*change.PutResult, error) {
	w.t.Helper()
	session := must.Get(w.service.SessionOf(ctx, as.ID))(w.t)
	return session.Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: commit, Mode: "undo"})
}

// TestGuards: a service account takes back a commit that has named it, where others have
// to approve changes too; and nothing else.
func TestGuards(t *testing.T) {
	flag := boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "false"))
	guarded := change.Request{Guard: "watch"}
	on := func(r change.Request, scope string, on bool) func(*world) string {
		return func(w *world) string {
			return must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Request: r, Enabled: &on}))(w.t).CommitSHA
		}
	}
	set := func(r change.Request, operations ...change.Operation) func(*world) string {
		return func(w *world) string {
			return must.Get(w.boss().Changes().Change(ctx, change.ChangeSet{Request: r, Message: "Roll out", Operations: operations}))(w.t).CommitSHA
		}
	}
	paused := func(w *world) string {
		return must.Get(w.boss().Changes().Pause(ctx, document.Flag, "f", "production", change.Pausing{Request: guarded}))(w.t).CommitSHA
	}
	later := func(scope string, value bool) func(*world, string) {
		return func(w *world, _ string) { on(change.Request{}, scope, value)(w) }
	}
	undone := func(w *world, commit string) { must.Get(w.undo(w.account("other", "protected_engineer"), commit))(w.t) }
	for name, test := range map[string]struct {
		commit      func(*world) string
		later       func(w *world, commit string) // before there is review
		name, roles string
		want        string
		unchanged   bool
	}{
		"its guard":                     {on(guarded, "production", true), nil, "watch", "protected_engineer", "ok", false},
		"its guard, of a change set":    {set(guarded, enable("f", "production", true), enable("g", "production", true)), nil, "watch", "protected_engineer", "ok", false},
		"its guard, changed elsewhere":  {on(guarded, "production", true), later("staging", true), "watch", "protected_engineer", "ok", false},
		"its guard, changed again":      {on(guarded, "production", true), later("production", false), "watch", "protected_engineer", "409 CONFLICT OVERLAP", false},
		"its guard, other than it was":  {on(guarded, "production", true), func(w *world, _ string) { paused(w) }, "watch", "protected_engineer", "409 CONFLICT OVERLAP", false},
		"its guard, undone":             {on(guarded, "production", true), undone, "watch", "protected_engineer", "ok", true},
		"its guard, undone and redone":  {on(guarded, "production", true), func(w *world, c string) { undone(w, c); on(change.Request{}, "production", true)(w) }, "watch", "protected_engineer", "ok", true},
		"another account":               {on(guarded, "production", true), nil, "other", "protected_engineer", "403 FORBIDDEN REVIEW_REQUIRED", false},
		"may not edit":                  {on(guarded, "production", true), nil, "watch", "member", "403 FORBIDDEN PERMISSION_DENIED", false},
		"no guard":                      {on(change.Request{}, "production", true), nil, "watch", "protected_engineer", "403 FORBIDDEN REVIEW_REQUIRED", false},
		"nothing that has to be":        {on(change.Request{}, "staging", true), nil, "other", "protected_engineer", "ok", false},
		"changed again, to what it was": {on(guarded, "production", true), func(w *world, _ string) { later("production", false)(w, ""); later("production", true)(w, "") }, "watch", "protected_engineer", "ok", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): flag, path("g"): boolFlag("g", "")})
			commit := test.commit(w)
			if strings.Contains(name, "its guard") && !strings.Contains(w.last().Message, "\nSvc-Guard: watch\n") && !strings.HasSuffix(w.last().Message, "\nSvc-Guard: watch") {
				t.Errorf("the commit says %q", w.last().Message)
			}
			if test.later != nil {
				test.later(w, commit)
			}
			w.repo.Push(ada, "Review", map[string]string{"svc.json": reviewedDeclaration})
			r, err := w.undo(w.account(test.name, test.roles), commit)
			wantRefusal(t, err, test.want)
			if err != nil || test.name != "watch" {
				return
			}
			if r.Changed == test.unchanged {
				t.Errorf("changed %v", r.Changed)
			}
			if said := "\nSvc-Undoes: " + commit + "\nSvc-Review-Exempt: production\n"; r.Changed && !strings.HasSuffix(w.last().Message, said) {
				t.Errorf("the commit says %q, without %q", w.last().Message, said)
			}
		})
	}
}

// TestGuardsDoNotTurnOnAgain what nobody had to approve since it stopped something: what a
// guard has undone, and a pause.
func TestGuardsDoNotTurnOnAgain(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	commit := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Request: change.Request{Guard: "watch"}, Enabled: ptr(true)}))(t).CommitSHA
	w.repo.Push(ada, "Review", map[string]string{"svc.json": reviewedDeclaration})
	watch := w.account("watch", "protected_engineer")
	session := must.Get(w.service.SessionOf(ctx, watch.ID))(t)
	undo := must.Get(session.Changes().Revert(ctx, document.Flag, "f", change.Reversion{Request: change.Request{Guard: "watch"}, CommitSHA: commit, Mode: "undo"}))(t)
	_, err := w.undo(watch, undo.CommitSHA)
	wantRefusal(t, err, "403 FORBIDDEN REVIEW_REQUIRED")
	pause := must.Get(w.boss().Changes().Pause(ctx, document.Flag, "f", "production", change.Pausing{Request: change.Request{Guard: "watch"}}))(t)
	on := must.Get(w.enter("admin", "protected_engineer").Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Enabled: ptr(true)}))(t)
	_, err = w.undo(watch, pause.CommitSHA)
	wantRefusal(t, err, "403 FORBIDDEN REVIEW_REQUIRED")
	_, err = w.undo(watch, on.CommitSHA)
	wantRefusal(t, err, "ok")
}

func TestNamesOfGuards(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	for name, want := range map[string]string{"watch": "ok", "a\nSvc-Review-Bypassed: production": "400 BAD_REQUEST", " watch": "400 BAD_REQUEST", strings.Repeat("x", 101): "400 BAD_REQUEST", "Wächter 1": "ok"} {
		_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Request: change.Request{Guard: name, DryRun: true}, Enabled: ptr(true)})
		if f := wantRefusal(t, err, want); want != "ok" && pointers(f, "issues") != "/guard" {
			t.Errorf("%q: %s", name, pointers(f, "issues"))
		}
	}
	// What is named is no approval.
	w.repo.Push(ada, "Review", map[string]string{"svc.json": reviewedDeclaration})
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Request: change.Request{Guard: "watch"}, Enabled: ptr(true)})
	wantRefusal(t, err, "403 FORBIDDEN REVIEW_REQUIRED")
	// Nor does anybody else's commit name one.
	w.repo.Push(ada, "f on\n\nSvc-Principal: user/x\nSvc-Guard: watch\n", map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	_, err = w.undo(w.account("watch", "protected_engineer"), w.last().SHA)
	wantRefusal(t, err, "403 FORBIDDEN REVIEW_REQUIRED")
}
