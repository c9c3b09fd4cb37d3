package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/edit"
	"svc.example/svc/shared/testing/must"
)

func issuesAt(places ...string) []document.Issue {
	var issues []document.Issue
	for _, place := range places {
		issues = append(issues, document.Issue{Pointer: place, Message: "unknown field"})
	}
	return issues
}

func TestPatchFlag(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "false"))})
	start := w.last().SHA
	r := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
	want := `{"key":"f","environment":"production","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + start + `",` +
		`"preservedTargetingRuleCount":1,"rules":[` + targets("pro", "bool", "true") + `,` + serves("bool", "true") + `]}`
	if got := wire(t, r); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if c := w.last(); !strings.HasPrefix(c.Message, "production: enabled set to true") {
		t.Errorf("message %q", c.Message)
	}

	n := w.repo.Count("Commit")
	again := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
	want = `{"key":"f","environment":"production","changed":false,"commitSha":"` + r.CommitSHA + `",` +
		`"preservedTargetingRuleCount":1,"rules":[` + targets("pro", "bool", "true") + `,` + serves("bool", "true") + `]}`
	if got := wire(t, again); got != want || w.repo.Count("Commit") != n {
		t.Errorf("again: got\n%s, want\n%s", got, want)
	}

	gone := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true), ReplaceTargeting: true}))(t)
	want = `{"key":"f","environment":"production","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + w.last().Parent + `",` +
		`"replacedTargetingRuleCount":1,"rules":[` + serves("bool", "true") + `]}`
	if got := wire(t, gone); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
}

func TestPatchOperations(t *testing.T) {
	text := `{"key":"colour","type":"feature_flag","valueType":"string","default":{"rules":[` + serves("string", `"red"`) + `]},` +
		`"variants":[{"value":{"type":"string","value":"red"}},{"value":{"type":"string","value":"blue"}}]}`
	rollout := `[{"value":"red","percent":33.333},{"value":"blue","percent":66.667}]`
	for _, test := range []struct {
		name, key string
		patch     change.ValuePatch
		want      string
		at        string
	}{
		{"enable a bool", "f", change.ValuePatch{Enabled: ptr(true)}, "ok", ""},
		{"value of a string", "colour", change.ValuePatch{Value: node(t, `"green"`)}, "ok", ""},
		{"rollout of a string", "colour", change.ValuePatch{Rollout: node(t, rollout)}, "ok", ""},
		{"nothing", "f", change.ValuePatch{}, "400 BAD_REQUEST", ""},
		{"two operations", "f", change.ValuePatch{Enabled: ptr(true), Value: node(t, "true")}, "400 BAD_REQUEST", ""},
		{"enable a string", "colour", change.ValuePatch{Enabled: ptr(true)}, "400 BAD_REQUEST", "/enabled"},
		{"above 100", "colour", change.ValuePatch{Rollout: node(t, `[{"value":"red","percent":101},{"value":"blue","percent":-1}]`)}, "400 BAD_REQUEST", "/rollout/0/percent /rollout/1/percent"},
		{"rules that are no list", "rules", change.ValuePatch{Enabled: ptr(true)}, "422 UNPROCESSABLE_CONTENT", "/default/rules"},
		{"an empty token", "f", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: ptr("")}, "400 BAD_REQUEST", "/expectedCommitSha"},
		{"all at once", "f", change.ValuePatch{Rollout: node(t, `[]`), ExpectedCommitSHA: ptr(""), Request: change.Request{Malformed: issuesAt("/x")}},
			"400 BAD_REQUEST", "/x /expectedCommitSha /rollout"},
		{"found before, and nothing", "f", change.ValuePatch{Request: change.Request{Malformed: issuesAt("/x")}}, "400 BAD_REQUEST", "/x "},
		{"found before, and two operations", "f", change.ValuePatch{Value: node(t, "true"), Request: change.Request{Malformed: issuesAt("/enabled")}}, "400 BAD_REQUEST", "/enabled "},
		{"found before, in a flag that is not there", "nope", change.ValuePatch{Value: node(t, "1"), Request: change.Request{Malformed: issuesAt("/x")}}, "400 BAD_REQUEST", "/x"},
		{"what was found before is not said twice", "f", change.ValuePatch{Request: change.Request{Malformed: issuesAt("/enabled")}}, "400 BAD_REQUEST", "/enabled"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("colour"): text,
				path("rules"): `{"key":"rules","type":"feature_flag","valueType":"bool","default":{"rules":{}}}`})
			n := w.repo.Head()
			r, err := w.boss().Changes().Patch(ctx, document.Flag, test.key, "staging", test.patch)
			f := wantRefusal(t, err, test.want)
			if got := pointers(f, "issues"); got != test.at {
				t.Errorf("issues at %s, want %s: %v", got, test.at, err)
			}
			if err == nil != (w.repo.Head() != n) || err == nil && !r.Changed {
				t.Error("what is refused is not written, what is not is")
			}
		})
	}
}

func TestScopesThatCanBeWritten(t *testing.T) {
	for scope, want := range map[string]string{
		"default": "ok", "production": "ok", "old": "404 NOT_FOUND", "Production": "404 NOT_FOUND", "": "404 NOT_FOUND", "nope": "404 NOT_FOUND",
	} {
		w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
		ended(w.boss().Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)}))(t, want)
	}
}

func TestPatchConfig(t *testing.T) {
	schema := `{"type":"integer","minimum":0,"maximum":10}`
	w := newWorld(t, map[string]string{
		"configs/limit.json": configOf("limit", "int", "-5", `,"schemaKey":"s"`),
		"configs/free.json":  configOf("free", "json", "{}", ""),
		"schemas/s.json":     schema,
	})
	ended(w.boss().Changes().Patch(ctx, document.Config, "free", "default", change.ValuePatch{}))(t, "400 BAD_REQUEST")
	_, err := w.boss().Changes().Patch(ctx, document.Config, "limit", "default", change.ValuePatch{Value: node(t, `"x"`), ExpectedCommitSHA: ptr(""), Request: change.Request{Malformed: issuesAt("/x")}})
	if got := pointers(wantRefusal(t, err, "400 BAD_REQUEST"), "issues"); got != "/x /expectedCommitSha" {
		t.Errorf("all that is wrong at once: issues at %s", got)
	}

	for _, test := range []struct {
		scope, value, want, at string
	}{
		{"staging", "11", "400 BAD_REQUEST SCHEMA_VIOLATION", "/environments/0/rules/0/value/value"},
		{"default", "-7", "400 BAD_REQUEST SCHEMA_VIOLATION", "/default/rules/0/value/value"}, // as wrong as what stands there
		{"staging", "7", "ok", ""}, // what stands elsewhere is not its fault
		{"default", "7", "ok", ""},
	} {
		f := ended(w.boss().Changes().Patch(ctx, document.Config, "limit", test.scope, change.ValuePatch{Value: node(t, test.value)}))(t, test.want)
		if got := pointers(f, "violations"); got != test.at {
			t.Errorf("%s in %s: violations at %s, want %s", test.value, test.scope, got, test.at)
		}
		if test.want != "ok" && f.Details["schemaKey"] != "s" {
			t.Errorf("%v", f.Details)
		}
	}
}

// A flag can be switched off whatever else is wrong with it.
func TestAPatchIsNotBlamedForWhatWasWrongBefore(t *testing.T) {
	imperfect := `,"access":"unheard-of","tags":[1],"environments":[{"id":"nowhere","rules":[]},{"id":"staging","rules":[` +
		`{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"none"}}],"value":{"type":"bool","value":true}},` + serves("bool", "true") + `]}]`
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", imperfect)})
	if r := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Enabled: ptr(false)}))(t); !r.Changed {
		t.Error(wire(t, r))
	}
	current := must.Get(w.boss().Document(ctx, document.Flag, "f", nil))(t)
	changed := current.Document.Clone()
	changed.SetFirst("name", node(t, `"x"`))
	ended(w.boss().Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Document: changed, ExpectedCommitSHA: &current.CommitSHA}))(t, "400 BAD_REQUEST VALIDATION_FAILED")
}

const levelPath = "log-levels/log-level.shop.json"

func TestPatchLogLevel(t *testing.T) {
	w := newWorld(t, nil)
	patch := func(p change.LogLevelPatch) *change.LevelResult {
		t.Helper()
		return must.Get(w.boss().Changes().PatchLogLevel(ctx, "shop", p))(t)
	}
	start := w.last().SHA
	r := patch(change.LogLevelPatch{Level: ptr("INFO")})
	want := `{"key":"log-level.shop","environment":"default","target":null,"level":"INFO","created":true,"changed":true,"commitSha":"` +
		w.last().SHA + `","previousCommitSha":"` + start + `"}`
	if got := wire(t, r); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	doc := node(t, w.stored(levelPath))
	if got := string(doc.Get("default").Compact()); got != `{"rules":[`+serves("log_level", `"INFO"`)+`]}` || len(doc.Get("environments").Items) != 0 {
		t.Errorf("a new document has a single unconditional default rule: %s", doc.Compact())
	}
	if r = patch(change.LogLevelPatch{Level: ptr("INFO")}); r.Changed || r.Created || r.PreviousCommitSHA != "" || r.CommitSHA != w.last().SHA {
		t.Errorf("again: %s", wire(t, r))
	}
	debug := change.LogLevelPatch{Level: ptr("DEBUG"), Target: ptr("com.acme"), Environment: ptr("staging")}
	r = patch(debug)
	want = `{"key":"log-level.shop","environment":"staging","target":"com.acme","level":"DEBUG","created":false,"changed":true,"commitSha":"` +
		w.last().SHA + `","previousCommitSha":"` + w.last().Parent + `"}`
	if got := wire(t, r); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	if r = patch(debug); r.Changed {
		t.Error("repeated calls do not converge")
	}
	row := must.Get(w.boss().LogLevels(ctx))(t).LogLevels[0]
	if got := wire(t, row.Scopes); got != `[{"scope":"default","fallbackLevel":"INFO","targets":[],"otherRuleCount":0},`+
		`{"scope":"staging","fallbackLevel":"INFO","targets":[{"target":"com.acme","level":"DEBUG"}],"otherRuleCount":0}]` {
		t.Error(got)
	}
	// The prefix may be there already.
	if r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "log-level.shop", debug))(t); r.Key != "log-level.shop" || r.Changed {
		t.Error(wire(t, r))
	}
}

// A first document holds less than was asked for: the answer says what was
// written, and what the next request is for.
func TestTheFirstLevelSaysWhatWasWritten(t *testing.T) {
	for _, c := range []struct {
		name  string
		patch change.LogLevelPatch
		told  string // the scope and a part of the message
	}{
		{"nothing more", change.LogLevelPatch{Level: ptr("WARN")}, ""},
		{"default by name", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("default")}, ""},
		{"an environment", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("production")}, "production: production is not written yet"},
		{"a target", change.LogLevelPatch{Level: ptr("WARN"), Target: ptr("com.acme")}, `default: the target "com.acme" in default is not written yet`},
		{"both", change.LogLevelPatch{Level: ptr("WARN"), Environment: ptr("production"), Target: ptr("com.acme")}, `production: the target "com.acme" in production is not written yet`},
	} {
		for _, dry := range []bool{true, false} {
			w := newWorld(t, nil)
			c.patch.DryRun = dry
			r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "shop", c.patch))(t)
			if r.Environment != "default" || r.Target != nil || !r.Created {
				t.Errorf("%s: %s", c.name, wire(t, r))
			}
			told := r.Messages
			if dry { // what the feed would say comes first
				if len(told) < 2 || !strings.Contains(told[0].Message, "created") {
					t.Fatalf("%s: a dry run says %+v", c.name, told)
				}
				told = told[2:]
			}
			if c.told == "" && len(told) == 0 {
				continue
			}
			if len(told) != 1 || !strings.HasPrefix(told[0].Scope+": "+told[0].Message, c.told) || !strings.Contains(told[0].Message, "again") {
				t.Errorf("%s: %+v, want %s", c.name, told, c.told)
			}
			if dry {
				continue
			}
			if first := node(t, w.stored(levelPath)); string(first.Get("default").Compact()) != `{"rules":[`+serves("log_level", `"WARN"`)+`]}` || first.At("/environments/0") != nil {
				t.Errorf("more than a single unconditional default rule: %s", w.stored(levelPath))
			}
			for _, changes := range []bool{true, false} { // the next request adds what was named, and the one after it nothing
				if r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "shop", c.patch))(t); r.Created || r.Changed != changes {
					t.Errorf("%s, again: %s", c.name, wire(t, r))
				}
			}
		}
	}
}

func TestLevelsThatAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	token := w.last().SHA
	for _, test := range []struct {
		name, service string
		patch         change.LogLevelPatch
		want, at      string
	}{
		{"no level", "shop", change.LogLevelPatch{}, "400 BAD_REQUEST", "/level"},
		{"an unknown level", "shop", change.LogLevelPatch{Level: ptr("LOUD")}, "400 BAD_REQUEST", "/level"},
		{"empty target", "shop", change.LogLevelPatch{Level: ptr("INFO"), Target: ptr("")}, "400 BAD_REQUEST", "/target"},
		{"empty environment", "shop", change.LogLevelPatch{Level: ptr("INFO"), Environment: ptr("")}, "400 BAD_REQUEST", "/environment"},
		{"empty token", "shop", change.LogLevelPatch{Level: ptr("INFO"), ExpectedCommitSHA: ptr("")}, "400 BAD_REQUEST", "/expectedCommitSha"},
		{"no service", "log-level.", change.LogLevelPatch{Level: ptr("INFO")}, "400 BAD_REQUEST", "/key"},
		{"a key that cannot be", "a b", change.LogLevelPatch{Level: ptr("INFO")}, "400 BAD_REQUEST", "/key"},
		{"found before", "shop", change.LogLevelPatch{Request: change.Request{Malformed: issuesAt("/level")}}, "400 BAD_REQUEST", "/level"},
		{"a token and no document", "shop", change.LogLevelPatch{Level: ptr("INFO"), ExpectedCommitSHA: &token}, "404 NOT_FOUND", ""},
		{"an unknown environment", "shop", change.LogLevelPatch{Level: ptr("INFO"), Environment: ptr("x")}, "404 NOT_FOUND", ""},
	} {
		f := ended(w.boss().Changes().PatchLogLevel(ctx, test.service, test.patch))(t, test.want)
		if got := pointers(f, "issues"); got != test.at {
			t.Errorf("%s: at %s", test.name, got)
		}
	}
	if w.last().SHA != token {
		t.Error("something was written")
	}
}

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
	ended(w.boss().Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Rollout: node(t, `[{"value":true,"percent":50},{"value":false,"percent":50}]`)}))(t, "500 INTERNAL")
	if w.repo.Head() != n {
		t.Error("written all the same")
	}
}

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
					ended(w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)}))(t, "403 FORBIDDEN PERMISSION_DENIED")
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
