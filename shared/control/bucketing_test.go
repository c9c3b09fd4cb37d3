package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/testing/must"
)

// TestOffAndOnAgainKeepsWhereUsersAre: a rollout goes on with the property of
// the last one that its scope served, else of the default rules' one.
func TestOffAndOnAgainKeepsWhereUsersAre(t *testing.T) {
	split := func(by string) string {
		return `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"hashByPropertyName":"` + by +
			`","weightedValues":[{"value":{"type":"bool","value":true},"weight":25000},{"value":{"type":"bool","value":false},"weight":75000}]}}}`
	}
	own := func(rule string) string { return `,"environments":[{"id":"staging","rules":[` + rule + `]}]` }
	off, byOrg, byTeam := serves("bool", "false"), split("org.id"), split("team.key")

	type step func(*world)
	git := func(text string) step {
		return func(w *world) { w.repo.Push(ada, "by hand", map[string]string{path("f"): text}) }
	}
	gone := func(w *world) { w.repo.Push(ada, "by hand", map[string]string{path("f"): ""}) }
	patch := func(scope string, p change.ValuePatch) step {
		return func(w *world) {
			must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", scope, p))(t)
		}
	}
	enabled := func(scope string, on bool) step { return patch(scope, change.ValuePatch{Enabled: &on}) }
	tagged := func(n int) step {
		return func(w *world) {
			for range n {
				stored := must.Get(w.boss().Document(ctx, document.Flag, "f", nil))(t)
				next := stored.Document.Clone()
				next.Set("name", node(t, fmt.Sprintf(`"name %d"`, w.repo.Head().Sequence)))
				must.Get(w.boss().Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Document: next, ExpectedCommitSHA: &stored.CommitSHA}))(t)
			}
		}
	}
	steps := func(steps ...step) []step { return steps }

	for _, c := range []struct {
		name  string
		first string
		steps []step
		scope string
		want  string
		read  int // documents of the history
	}{
		{"off and on", boolFlag("f", own(byOrg)), steps(enabled("staging", false)), "staging", "org.id", 1},
		{"off and on in the default rules", boolFlag("f", "", byOrg), steps(enabled("default", false)), "default", "org.id", 1},
		{"other things in between", boolFlag("f", own(byOrg)), steps(enabled("staging", false), tagged(30), enabled("production", true), tagged(30)), "staging", "org.id", 1},
		{"off, on for everybody, off", boolFlag("f", own(byOrg)), steps(enabled("staging", false), enabled("staging", true), enabled("staging", false)), "staging", "org.id", 3},
		{"the last of two", boolFlag("f", own(byTeam)), steps(git(boolFlag("f", own(byOrg))), enabled("staging", false)), "staging", "org.id", 1},
		{"by hand", boolFlag("f", own(byOrg)), steps(git(boolFlag("f", own(off)))), "staging", "org.id", 1},
		{"served by the default rules", boolFlag("f", "", byTeam), steps(enabled("staging", false)), "staging", "team.key", 1},
		{"before the default rules of today", boolFlag("f", own(byOrg)), steps(git(boolFlag("f", own(off), byTeam))), "staging", "org.id", 1},
		{"only the default rules have one", boolFlag("f", own(off), byTeam), nil, "staging", "team.key", 0},
		{"never one", boolFlag("f", own(off)), steps(enabled("staging", true)), "staging", "user.key", 1},
		{"another scope's is not this one's", boolFlag("f", own(byOrg)), steps(enabled("staging", false)), "production", "user.key", 0},
		{"deleted in between", boolFlag("f", own(byOrg)), steps(gone, git(boolFlag("f", own(off)))), "staging", "org.id", 2},
		{"unreadable in between", boolFlag("f", own(byOrg)), steps(git("{"), git(boolFlag("f", own(off)))), "staging", "org.id", 2},
		{"longer ago than is looked through", boolFlag("f", own(byOrg)), steps(git(boolFlag("f", own(off))), tagged(120)), "staging", "user.key", 0},
		{"behind more documents than are read", boolFlag("f", own(byOrg)), steps(enabled("staging", false), enabled("staging", true), enabled("staging", false), enabled("staging", true), enabled("staging", false)), "staging", "user.key", 4},
		{"one stands", boolFlag("f", own(byOrg)), nil, "staging", "org.id", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): c.first})
			for _, step := range c.steps {
				step(w)
			}
			rollout := change.ValuePatch{Rollout: node(t, `[{"value":true,"percent":50},{"value":false,"percent":50}]`)}
			asked, read := w.repo.Count("History"), w.repo.Count("At")
			rollout.DryRun = true
			would := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", c.scope, rollout))(t)
			looked := c.read >= 0
			if n := w.repo.Count("At") - read; n != max(c.read, 0) {
				t.Errorf("%d documents were read, want %d", n, c.read)
			}
			if n := w.repo.Count("History") - asked; (n == 1) != looked || n > 1 {
				t.Errorf("the history was asked for %d times", n)
			}
			rollout.DryRun = false
			did := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", c.scope, rollout))(t)
			stored := node(t, w.stored(path("f")))
			if got := edit.SplitProperty(stored, c.scope); got != c.want || wire(t, did.Rules) != wire(t, would.Rules) || !strings.Contains(wire(t, did.Rules), `"`+c.want+`"`) {
				t.Errorf("sticky by %s, want %s: %s, a dry run %s", got, c.want, wire(t, did.Rules), wire(t, would.Rules))
			}
		})
	}
}

func TestAHistoryThatCannotBeReadIsNoReasonToSpreadAgain(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.Fail["History"] = errStorage
	n := w.repo.Head()
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Rollout: node(t, `[{"value":true,"percent":50},{"value":false,"percent":50}]`)})
	wantRefusal(t, err, "500 INTERNAL")
	if w.repo.Head() != n {
		t.Error("written all the same")
	}
}
