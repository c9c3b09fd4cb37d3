package control_test

import (
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

// TestTheEnvironmentsAsTheyWereLastDeclaredHold where a push has broken the workspace
// file or taken it away, with what was protected of them, also once more is pushed and
// for an instance that has seen nothing of it.
func TestTheEnvironmentsAsTheyWereLastDeclaredHold(t *testing.T) {
	flag := boolFlag("f", `,"environments":[{"id":"development","rules":[]}]`)
	for name, steps := range map[string][]string{
		"broken":                   {"{"},
		"broken in part":           {`{"environments":["qa",7]}`},
		"gone":                     {""},
		"broken, then gone":        {"{", ""},
		"gone, then broken":        {"", "{"},
		"gone, there, gone":        {"", declaration, ""},
		"written anew, then gone":  {`{"environments":["other"]}`, declaration, ""},
		"broken in the second way": {"[]", "{"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): flag})
			want := wire(t, must.Get(w.enter().Environments(ctx))(t))
			for _, step := range steps {
				w.repo.Push(ada, "by hand", map[string]string{"svc.json": step})
				w.delivered()
			}
			for range 2 {
				if got := wire(t, must.Get(w.enter().Environments(ctx))(t)); got != want {
					t.Errorf("the environments are\n%s, want\n%s", got, want)
				}
				for _, scope := range []string{"production", "default"} {
					_, err := w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)})
					wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
				}
				for _, enabled := range []bool{true, false} {
					must.Get(w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Enabled: ptr(enabled)}))(t)
				}
				if now := w.delivered(); !now.Declared || len(now.Environments) != 4 {
					t.Errorf("what is served has the environments %+v, declared: %t", now.Environments, now.Declared)
				}
				d := w.detail()
				if d.BrokenDocuments != 1 || d.Broken[0].Type != "workspace" || d.Broken[0].Key != nil || d.Broken[0].ServedFrom == nil || d.Broken[0].Problem == "" {
					t.Errorf("the detail is %+v", d)
				}
				w.service = control.New(w.settings())
			}
			w.repo.Push(ada, "Mend it", map[string]string{"svc.json": `{"environments":["production"]}`})
			must.Get(w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
			if d := w.detail(); d.BrokenDocuments != 0 {
				t.Errorf("the detail is %+v", d)
			}
		})
	}
}

// TestAGoneWorkspaceFileIsLookedForOnce at each head, and never where it is there.
func TestAGoneWorkspaceFileIsLookedForOnce(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	key := w.key(access.KindUser)
	ask := func() {
		must.Get(must.Get(w.service.SessionOf(ctx, key.Reveal()))(t).Environments(ctx))(t)
	}
	ask()
	if n := w.repo.Count("History") + w.repo.Count("At"); n != 0 {
		t.Errorf("%d questions to the history of a file that is there", n)
	}
	w.repo.Push(ada, "by hand", map[string]string{"svc.json": ""})
	ask()
	before := w.repo.Count("History") + w.repo.Count("At")
	ask()
	w.repo.Push(ada, "something else", map[string]string{path("g"): boolFlag("g", "")})
	ask()
	if n := w.repo.Count("History") + w.repo.Count("At") - before; n != 1 {
		t.Errorf("%d questions to the history of what is known", n)
	}
}
