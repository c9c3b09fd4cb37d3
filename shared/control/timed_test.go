package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

func (w *world) pause(t document.Type, key, environment string, p change.Pausing, roles ...string) (*change.PatchResult, error) {
	w.t.Helper()
	return w.enter(append(roles, "member")...).Changes().Pause(ctx, t, key, environment, p)
}

func TestPauseAndResume(t *testing.T) {
	// As somebody has written it by hand.
	text := "{ \"key\": \"f\",\r\n\t\"type\": \"feature_flag\", \"valueType\": \"bool\",\r\n\t\"default\": {\"rules\": [ " + targets("pro", "bool", "true") + " , " + serves("bool", "true") + " ]} }"
	w := newWorld(t, map[string]string{path("f"): text})
	start := w.last().SHA
	dry := must.Get(w.pause(document.Flag, "f", "production", change.Pausing{Request: change.Request{DryRun: true}}, "protected_engineer"))(t)
	r := must.Get(w.pause(document.Flag, "f", "production", change.Pausing{ExpectedCommitSHA: &start}, "protected_engineer"))(t)
	want := `{"key":"f","environment":"production","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + start + `","preservedTargetingRuleCount":1,` +
		`"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false},"paused":true,"inherited":"environments"},` + targets("pro", "bool", "true") + `,` + serves("bool", "true") + `]}`
	if got := wire(t, r); got != want {
		t.Errorf("paused:\n%s, want\n%s", got, want)
	}
	if !dry.DryRun || wire(t, dry.Rules) != wire(t, r.Rules) || wire(t, dry.Messages) != `[{"scope":"production","message":"production: paused for everybody: serves false"}]` {
		t.Errorf("a dry run said %s", wire(t, dry))
	}
	if c := w.last(); !strings.HasPrefix(c.Message, "production: paused for everybody: serves false\n") {
		t.Errorf("message %q", c.Message)
	}
	detail, row := must.Get(w.boss().Flag(ctx, "f"))(t), must.Get(w.boss().Flags(ctx, control.FlagQuery{}))(t).Flags[0]
	if got := wire(t, []any{detail.Paused, detail.Environments[0].Paused, row.Paused, detail.EnvironmentStatuses["production"], detail.EnvironmentStatuses["staging"]}); got != `[["production"],true,["production"],"rollout","live"]` {
		t.Errorf("told %s", got)
	}
	if !strings.Contains(string(row.Serves), `"production":{"paused":true,"value":false}`) {
		t.Errorf("the list says %s", row.Serves)
	}
	if again := must.Get(w.pause(document.Flag, "f", "production", change.Pausing{}, "protected_engineer"))(t); again.Changed {
		t.Error("paused again it changes")
	}
	patched := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Enabled: ptr(false)}))(t)
	must.Get(w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: patched.CommitSHA, Mode: "undo"}))(t)
	must.Get(w.pause(document.Flag, "f", "production", change.Pausing{Resume: true}, "protected_engineer"))(t)
	must.Get(w.pause(document.Flag, "f", "default", change.Pausing{Serve: node(t, "true")}, "protected_engineer"))(t)
	must.Get(w.pause(document.Flag, "f", "default", change.Pausing{Resume: true}, "protected_engineer"))(t)
	if again := must.Get(w.pause(document.Flag, "f", "default", change.Pausing{Resume: true}, "protected_engineer"))(t); again.Changed {
		t.Error("resumed again it changes")
	}
	w = newWorld(t, map[string]string{path("f"): text})
	must.Get(w.pause(document.Flag, "f", "production", change.Pausing{}, "protected_engineer"))(t)
	undone := w.last().SHA
	must.Get(w.pause(document.Flag, "f", "production", change.Pausing{Resume: true}, "protected_engineer"))(t)
	if got := w.stored(path("f")); got != text {
		t.Errorf("resumed it is\n%s, not\n%s", got, text)
	}
	must.Get(w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: w.last().SHA, Mode: "undo"}))(t)
	must.Get(w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: undone, Mode: "undo"}))(t)
	if got := w.stored(path("f")); got != text {
		t.Errorf("undone it is\n%s, not\n%s", got, text)
	}
}

func TestRefusedPauses(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), "configs/c.json": configOf("c", "int", "1", ""), "segments/s.json": segmentOf("s")})
	for name, test := range map[string]struct {
		t           document.Type
		key, scope  string
		p           change.Pausing
		roles, want string
	}{
		"no such flag":        {document.Flag, "g", "production", change.Pausing{}, "protected_engineer", "404 NOT_FOUND"},
		"no such environment": {document.Flag, "f", "moon", change.Pausing{}, "protected_engineer", "404 NOT_FOUND"},
		"not allowed":         {document.Flag, "f", "production", change.Pausing{}, "engineer_nonprotected", "403 FORBIDDEN PERMISSION_DENIED"},
		"stale":               {document.Flag, "f", "production", change.Pausing{ExpectedCommitSHA: ptr(strings.Repeat("0", 40))}, "engineer", "409 CONFLICT STALE_COMMIT_SHA"},
		"an empty token":      {document.Flag, "f", "production", change.Pausing{ExpectedCommitSHA: ptr("")}, "engineer", "400 BAD_REQUEST"},
		"nothing to serve":    {document.Config, "c", "production", change.Pausing{}, "engineer", "400 BAD_REQUEST"},
		"another type":        {document.Config, "c", "production", change.Pausing{Serve: node(t, `"x"`)}, "engineer", "400 BAD_REQUEST"},
		"a number":            {document.Config, "c", "production", change.Pausing{Serve: node(t, `7`)}, "engineer", "ok"},
	} {
		t.Run(name, func(t *testing.T) { ended(w.pause(test.t, test.key, test.scope, test.p, test.roles))(t, test.want) })
	}
}

// warned are the kinds of an answer's warnings.
func warned(r *change.PatchResult) string {
	var kinds []string
	for _, w := range r.Warnings {
		kinds = append(kinds, w.Kind)
	}
	return strings.Join(kinds, " ")
}

// TestWarningsOfWhatIsTimed: a write says what keeps it from holding, and what it ended.
func TestWarningsOfWhatIsTimed(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "false"))})
	patch := func(p change.ValuePatch) *change.PatchResult {
		t.Helper()
		return must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", p))(t)
	}
	later := ptr(now.Add(time.Hour).Format(time.RFC3339))
	plan := func(hours int) change.ValuePatch {
		return change.ValuePatch{RolloutPlan: node(t, fmt.Sprintf(`{"value":true,"steps":[{"at":%q,"percent":10}]}`, now.Add(time.Duration(hours)*time.Hour).Format(time.RFC3339)))}
	}
	for i, step := range []struct {
		patch     change.ValuePatch
		preserved int
		want      string
	}{
		{change.ValuePatch{Enabled: ptr(true), At: later}, 1, ""},
		{change.ValuePatch{Enabled: ptr(true)}, 1, "scheduled"},
		{change.ValuePatch{Enabled: ptr(false)}, 1, "scheduled"},
		{plan(2), 1, "outgoing"},
		{plan(3), 1, "ended outgoing"},
		{change.ValuePatch{RolloutPlan: node(t, `{"do":"hold"}`)}, 1, ""},
		{change.ValuePatch{Enabled: ptr(true)}, 1, "ended scheduled"},
		{change.ValuePatch{Enabled: ptr(false)}, 1, "scheduled"},
		{plan(4), 1, "outgoing"},
		{change.ValuePatch{Enabled: ptr(false), ReplaceTargeting: true}, 0, "ended"},
	} {
		if r := patch(step.patch); !r.Changed || warned(r) != step.want || r.PreservedTargetingRuleCount != step.preserved {
			t.Errorf("%d: %s, want %q", i, wire(t, r), step.want)
		}
	}
	must.Get(w.pause(document.Flag, "f", "production", change.Pausing{}, "protected_engineer"))(t)
	for _, p := range []change.ValuePatch{plan(5), {Enabled: ptr(true)}, {Enabled: ptr(false), At: later}, {Enabled: ptr(true), ReplaceTargeting: true}} {
		if r := patch(p); !strings.Contains(warned(r), "paused") || wire(t, r.Rules[0].Get("paused")) != "true" {
			t.Errorf("%s", wire(t, r))
		}
	}
	must.Get(w.pause(document.Flag, "f", "staging", change.Pausing{}, "protected_engineer"))(t)
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "staging", change.ValuePatch{Enabled: ptr(true)}))(t)
	if r := must.Get(w.pause(document.Flag, "f", "staging", change.Pausing{Resume: true}, "protected_engineer"))(t); warned(r) != "detached" {
		t.Errorf("%s", wire(t, r))
	}
}

// TestWarningsOfAPlanBesideAChange: whichever of them was there first, and where a plan takes
// the place of targeting rules.
func TestWarningsOfAPlanBesideAChange(t *testing.T) {
	const steps = `{"value":true,"steps":[{"percent":10},{"at":"2035-01-01T00:00:00Z","percent":50},{"at":"2037-01-01T00:00:00Z","percent":60}]}`
	plan := change.ValuePatch{RolloutPlan: node(t, steps)}
	on, off := change.ValuePatch{Enabled: ptr(true), At: ptr("2036-01-01T00:00:00Z")}, change.ValuePatch{Enabled: ptr(false), At: ptr("2036-01-01T00:00:00Z")}
	everybody, last := on, on
	everybody.ReplaceTargeting, last.At = true, ptr("2038-01-01T00:00:00Z")
	over, later := plan, change.ValuePatch{RolloutPlan: node(t, `{"value":true,"steps":[{"at":"2037-01-01T00:00:00Z","percent":10}]}`), ReplaceTargeting: true}
	over.ReplaceTargeting = true
	all := change.ValuePatch{RolloutPlan: node(t, `{"value":true,"steps":[{"at":"2037-01-01T00:00:00Z","percent":100}]}`), ReplaceTargeting: true}
	const out = `outgoing in "production" some of those go out who get the value of the rollout plan: `
	const rule = out + "by the plan's first step, which takes the place of a targeting rule"
	for name, test := range map[string]struct {
		rules         []string
		first, second change.ValuePatch
		want          []string
	}{
		"the plan first": {nil, plan, on, []string{`scheduled this holds in "production" until the rollout plan's step for 2037-01-01T00:00:00Z`, out + "by the plan's step for 2037-01-01T00:00:00Z"}},
		"the change first": {nil, on, plan, []string{`scheduled this holds in "production" until what is scheduled for 2036-01-01T00:00:00Z, and again from the step for 2037-01-01T00:00:00Z on`,
			out + "by the plan's step for 2037-01-01T00:00:00Z"}},
		"off meanwhile":       {nil, plan, off, []string{`scheduled this holds in "production" until the rollout plan's step for 2037-01-01T00:00:00Z`, out + "by what is scheduled for 2036-01-01T00:00:00Z"}},
		"after the last step": {nil, last, plan, []string{`scheduled this holds in "production" until what is scheduled for 2038-01-01T00:00:00Z`}},
		"a plan, then a last": {nil, plan, last, nil},
		"targeting, at once":  {[]string{targets("pro", "bool", "true")}, last, over, []string{`scheduled this holds in "production" until what is scheduled for 2038-01-01T00:00:00Z`, rule}},
		"targeting, later":    {[]string{targets("pro", "bool", "true")}, last, later, []string{rule}},
		"targeting, to all":   {[]string{targets("pro", "bool", "true")}, last, all, nil},
		"of the other value":  {[]string{targets("pro", "bool", "false")}, last, later, nil},
		"everybody":           {[]string{targets("pro", "bool", "true")}, everybody, plan, []string{`scheduled this holds in "production" until what is scheduled for 2036-01-01T00:00:00Z`}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", append(test.rules, serves("bool", "false"))...)})
			must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", test.first))(t)
			r := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", test.second))(t)
			var got []string
			for _, w := range r.Warnings {
				got = append(got, w.Kind+" "+w.Message)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if again := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", test.second))(t); again.Changed {
				t.Errorf("again it changes: %s", wire(t, again.Rules))
			}
		})
	}
}

func TestRefusedTimes(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), "configs/c.json": configOf("c", "int", "1", "")})
	at := ptr("2036-01-01T00:00:00Z")
	plan := node(t, `{"value":true,"steps":[{"at":"2036-01-01T00:00:00Z","percent":10}]}`)
	for name, test := range map[string]struct {
		patch      change.ValuePatch
		want, says string
	}{
		"past":                {change.ValuePatch{Enabled: ptr(true), At: ptr("2026-03-02T09:29:59Z")}, "400 BAD_REQUEST", "/at"},
		"no zone":             {change.ValuePatch{Enabled: ptr(true), At: ptr("2036-03-02T09:29:59")}, "400 BAD_REQUEST", "/at"},
		"a leap second":       {change.ValuePatch{Enabled: ptr(true), At: ptr("2036-12-31T23:59:60Z")}, "400 BAD_REQUEST", "/at"},
		"nothing at a time":   {change.ValuePatch{At: at}, "400 BAD_REQUEST", ""},
		"a plan at a time":    {change.ValuePatch{RolloutPlan: plan, At: at}, "400 BAD_REQUEST", "/at"},
		"a plan and a value":  {change.ValuePatch{RolloutPlan: plan, Enabled: ptr(true)}, "400 BAD_REQUEST", ""},
		"two times to delete": {change.ValuePatch{Unschedule: at, At: at}, "400 BAD_REQUEST", "/at"},
		"no time to delete":   {change.ValuePatch{Unschedule: ptr("noon")}, "400 BAD_REQUEST", "/unschedule"},
		"all that is wrong":   {change.ValuePatch{RolloutPlan: node(t, `{"steps":[{"at":"2025-01-01T00:00:00Z","percent":0}]}`), ExpectedCommitSHA: ptr("")}, "400 BAD_REQUEST", "/expectedCommitSha /rolloutPlan/value /rolloutPlan/steps/0/at /rolloutPlan/steps/0/percent"},
		"a step that is past": {change.ValuePatch{RolloutPlan: node(t, `{"value":true,"steps":[{"at":"2025-01-01T00:00:00Z","percent":1}]}`)}, "400 BAD_REQUEST", "/rolloutPlan/steps/0/at"},
	} {
		t.Run(name, func(t *testing.T) {
			if f := ended(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", test.patch))(t, test.want); pointers(f, "issues") != test.says {
				t.Errorf("it says %q: %s", pointers(f, "issues"), f.Message)
			}
		})
	}
	c := must.Get(w.boss().Changes().Patch(ctx, document.Config, "c", "production", change.ValuePatch{Value: node(t, "2"), At: at}))(t)
	if len(c.Rules) != 2 || !strings.Contains(wire(t, c.Rules[0]), `"value":{"type":"int","value":2},"scheduled":"change"`) {
		t.Errorf("%s", wire(t, c))
	}
	if c = must.Get(w.boss().Changes().Patch(ctx, document.Config, "c", "production", change.ValuePatch{Unschedule: at}))(t); !c.Changed || len(c.Rules) != 1 {
		t.Errorf("%s", wire(t, c))
	}
}

// TestManyArePausedTogether: by their keys or by a tag, as one commit.
func TestManyArePausedTogether(t *testing.T) {
	tagged := `,"tags":["shop"]`
	w := newWorld(t, map[string]string{path("a"): boolFlag("a", tagged), path("b"): boolFlag("b", tagged), path("z"): boolFlag("z", ""),
		"configs/c.json": configOf("c", "int", "1", tagged), "log-levels/log-level.x.json": `{"key":"log-level.x","type":"log_level","valueType":"log_level","tags":["shop"],"default":{"rules":[]}}`})
	in := func(tag string, keys ...string) change.Selection {
		s := change.Selection{Keys: keys}
		if tag != "" {
			s.Tag = &tag
		}
		return s
	}
	_, err := w.change("", change.PauseMany(in("shop"), "production", change.Pausing{}))
	if f := wantRefusal(t, err, "400 BAD_REQUEST"); !strings.HasPrefix(wire(t, f.Details["refused"]), `[{"type":"config","key":"c","message":"/serve: serve is missing`) || wire(t, f.Details["others"]) == "null" {
		t.Errorf("%s\n%s", wire(t, f.Details["refused"]), f.Message)
	}
	r := must.Get(w.change("", change.PauseMany(in("", "a", "b"), "production", change.Pausing{})))(t)
	if len(r.Results) != 2 || !r.Results[1].Changed || w.last().SHA != r.CommitSHA {
		t.Errorf("%s", wire(t, r))
	}
	if r = must.Get(w.change("", change.PauseMany(in("shop"), "production", change.Pausing{Resume: true})))(t); len(r.Results) != 3 || r.Results[0].Changed || !r.Results[2].Changed {
		t.Errorf("%s", wire(t, r))
	}
	for want, operation := range map[string]change.Operation{
		"404 NOT_FOUND":             change.PauseMany(in("", "nope"), "production", change.Pausing{}),
		"422 UNPROCESSABLE_CONTENT": change.PauseMany(in("no"), "production", change.Pausing{}),
		"400 BAD_REQUEST":           change.PauseMany(in("shop", "a"), "production", change.Pausing{}),
	} {
		_, err := w.change("", operation)
		wantRefusal(t, err, want)
	}
}

// TestFoldAll: what has been over for a day, wherever it is.
func TestFoldAll(t *testing.T) {
	rule := func(at time.Time, value string) string {
		return `{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"string","value":"` + at.Format(time.RFC3339) + `"}}],"value":{"type":"bool","value":` + value + `},"scheduled":"change"}`
	}
	over, fresh := rule(now.Add(-25*time.Hour), "true"), rule(now.Add(-time.Hour), "true")
	w := newWorld(t, map[string]string{
		path("a"): boolFlag("a", `,"environments":[{"id":"production","rules":[`+over+`,`+serves("bool", "false")+`]},{"id":"staging","rules":[`+over+`]}]`),
		path("b"): boolFlag("b", "", fresh, serves("bool", "false")), path("c"): boolFlag("c", "", over, serves("bool", "true"))})
	if r := must.Get(w.change("", change.FoldAll(nil, "staging")))(t); len(r.Results) != 1 || !r.Changed {
		t.Errorf("%s", wire(t, r))
	}
	r := must.Get(w.change("", change.FoldAll(nil, "")))(t)
	var told []string
	for _, one := range r.Results {
		told = append(told, one.Key+" "+fmt.Sprint(one.Changed)+" "+wire(t, one.Messages))
	}
	slices.Sort(told)
	if got := strings.Join(told, "\n"); got != `a true [{"scope":"production","message":"production: what was scheduled for 2026-03-01T08:30:00Z has come, and holds from now on: enabled set to true"}]
b false []
c true [{"scope":"default","message":"default: no longer scheduled for 2026-03-01T08:30:00Z: enabled set to true"}]` {
		t.Errorf("%s", got)
	}
	if r = must.Get(w.change("", change.FoldAll(nil, "")))(t); r.Changed {
		t.Errorf("again: %s", wire(t, r))
	}
}

// TestStoppingIsNeverHeldUp: where others have to approve, a pause to the off value and
// what takes it back exactly need nobody; the rest does.
func TestStoppingIsNeverHeldUp(t *testing.T) {
	on := boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "true"))
	at := ptr("2036-01-01T00:00:00Z")
	pause := func(resume bool, serve string, keys ...string) change.Operation {
		p := change.Pausing{Resume: resume}
		if serve != "" {
			p.Serve = node(t, serve)
		}
		return change.PauseMany(change.Selection{Keys: keys}, "production", p)
	}
	patch := func(scope string, p change.ValuePatch) change.Operation {
		return change.Patch(document.Flag, "f", scope, p)
	}
	plan := change.ValuePatch{RolloutPlan: node(t, `{"value":false,"steps":[{"at":"2036-01-01T00:00:00Z","percent":10}]}`)}
	for name, test := range map[string]struct {
		before    []change.Operation // as a person who bypasses
		operation []change.Operation
		free      bool
	}{
		"pause":                    {nil, []change.Operation{pause(false, "", "f")}, true},
		"pause to off":             {nil, []change.Operation{pause(false, "false", "f")}, true},
		"pause of several":         {nil, []change.Operation{pause(false, "", "f", "g")}, true},
		"pause, others go off":     {nil, []change.Operation{pause(false, "", "base")}, true},
		"pause, another goes on":   {nil, []change.Operation{pause(false, "", "mode")}, false},
		"pause to on":              {nil, []change.Operation{pause(false, "true", "f")}, false},
		"pause of a config":        {nil, []change.Operation{pause(false, "0", "c")}, false},
		"pause and more":           {nil, []change.Operation{pause(false, "", "f"), enable("g", "production", true)}, false},
		"pause and a patch of it":  {nil, []change.Operation{pause(false, "", "f"), enable("f", "production", false)}, false},
		"pause, and elsewhere":     {nil, []change.Operation{pause(false, "", "f"), enable("g", "staging", true)}, false},
		"resume":                   {[]change.Operation{pause(false, "", "f")}, []change.Operation{pause(true, "", "f")}, true},
		"resume of what was on":    {[]change.Operation{pause(false, "true", "f"), pause(false, "", "f")}, []change.Operation{pause(true, "", "f")}, true},
		"resume after a patch":     {[]change.Operation{pause(false, "", "f"), enable("f", "production", false)}, []change.Operation{pause(true, "", "f")}, false},
		"resume after a default":   {[]change.Operation{pause(false, "", "f"), enable("f", "default", false)}, []change.Operation{pause(true, "", "f")}, false},
		"resume, never paused":     {nil, []change.Operation{pause(true, "", "f")}, true},
		"beneath a pause":          {[]change.Operation{pause(false, "", "f")}, []change.Operation{enable("f", "production", false)}, false},
		"schedule":                 {nil, []change.Operation{patch("production", change.ValuePatch{Enabled: ptr(false), At: at})}, false},
		"schedule in the defaults": {nil, []change.Operation{patch("default", change.ValuePatch{Enabled: ptr(false), At: at})}, false},
		"schedule elsewhere":       {nil, []change.Operation{patch("staging", change.ValuePatch{Enabled: ptr(false), At: at})}, true},
		"unschedule":               {[]change.Operation{patch("production", change.ValuePatch{Enabled: ptr(false), At: at})}, []change.Operation{patch("production", change.ValuePatch{Unschedule: at})}, false},
		"plan":                     {nil, []change.Operation{patch("production", plan)}, false},
		"hold":                     {[]change.Operation{patch("production", plan)}, []change.Operation{patch("production", change.ValuePatch{RolloutPlan: node(t, `{"do":"hold"}`)})}, false},
		"folding of nothing":       {[]change.Operation{pause(false, "", "f")}, []change.Operation{change.FoldAll(nil, "")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("base"): boolFlag("base", "", serves("bool", "true")), path("mode"): boolFlag("mode", "", serves("bool", "true")),
				path("needs"): boolFlag("needs", "", asks("base", "true"), serves("bool", "false")), path("lacks"): boolFlag("lacks", "", asks("mode", "false"), serves("bool", "false")),
				path("f"): on, path("g"): boolFlag("g", ""), "configs/c.json": configOf("c", "int", "1", "")})
			for _, operation := range test.before {
				must.Get(w.change("", operation))(t)
			}
			w.repo.Push(ada, "Review", map[string]string{"svc.json": reviewedDeclaration})
			set := change.ChangeSet{Operations: test.operation, Request: change.Request{DryRun: true}}
			shown := must.Get(w.boss().Changes().Change(ctx, set))(t)
			if free := len(shown.ReviewRequired) == 0; free != test.free {
				t.Errorf("a dry run says that %q have to approve", shown.ReviewRequired)
			}
			set.DryRun = false
			r, err := w.enter("protected_engineer").Changes().Change(ctx, set)
			want := "403 FORBIDDEN REVIEW_REQUIRED"
			if test.free {
				want = "ok"
			}
			wantRefusal(t, err, want)
			if exempt := strings.Contains(name, "pause") || strings.Contains(name, "resume"); err == nil && r.Changed && exempt != strings.HasSuffix(w.last().Message, "\nSvc-Review-Exempt: production\n") {
				t.Errorf("the commit says %q", w.last().Message)
			}
		})
	}
}

// TestAResumptionTurnsOnNothingElse: it needs nobody where what it asks for and whoever asks
// for it are as they were before the pause.
func TestAResumptionTurnsOnNothingElse(t *testing.T) {
	type operations = []change.Operation
	pauses := func(resume bool) func(keys ...string) change.Operation {
		return func(keys ...string) change.Operation {
			return change.PauseMany(change.Selection{Keys: keys}, "production", change.Pausing{Resume: resume})
		}
	}
	pause, resume := pauses(false), pauses(true)
	asking := func(key, more, flag string) change.Operation {
		return change.Put(document.Flag, key, change.DocumentPut{Document: node(t, boolFlag(key, more, asks(flag, "true"), serves("bool", "false")))})
	}
	wantBoth := strings.Replace(asks("base", "true"), "[", `[{"operator":"FLAG_IS_ONE_OF","propertyName":"other","valueToMatch":{"type":"string_list","value":["true"]}},`, 1)
	for name, test := range map[string]struct {
		before    operations // as a person who bypasses
		operation operations
		free      bool
	}{
		"it asks for one that is paused":           {operations{pause("lacks"), pause("mode")}, operations{resume("lacks")}, false},
		"both were paused at once":                 {operations{pause("lacks", "mode")}, operations{resume("lacks")}, false},
		"both are back":                            {operations{pause("lacks", "mode")}, operations{resume("lacks", "mode")}, true},
		"both are back, one was paused first":      {operations{pause("lacks"), pause("mode")}, operations{resume("lacks", "mode")}, true},
		"one for the other":                        {operations{pause("lacks")}, operations{resume("lacks"), pause("mode")}, false},
		"another has changed far below":            {operations{pause("far"), enable("mode", "production", false)}, operations{resume("far")}, false},
		"another asks for it now":                  {operations{pause("base"), created("g"), asking("g", "", "base")}, operations{resume("base")}, false},
		"another asks now for who asks for it":     {operations{pause("base"), created("g"), asking("g", "", "needs")}, operations{resume("base")}, false},
		"who asks for it asks for another, too":    {operations{pause("base"), enable("other", "production", false)}, operations{resume("base")}, false},
		"others have changed":                      {operations{pause("base"), enable("mode", "production", false)}, operations{resume("base")}, true},
		"others have changed elsewhere":            {operations{pause("base"), enable("needs", "staging", true)}, operations{resume("base")}, true},
		"another name":                             {operations{pause("base"), asking("needs", `,"name":"Needs"`, "base")}, operations{resume("base")}, true},
		"who asks for it is paused":                {operations{pause("base"), pause("needs")}, operations{resume("base")}, true},
		"it asks for one that was paused before":   {operations{pause("base"), pause("needs")}, operations{resume("needs")}, true},
		"it asks for one that is back":             {operations{pause("base"), pause("needs"), resume("base")}, operations{resume("needs")}, true},
		"it has changed and asks for who was away": {operations{pause("base"), created("g"), asking("g", "", "base"), pause("g"), resume("base")}, operations{resume("g")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			on := []string{serves("bool", "true")}
			w := newWorld(t, map[string]string{"svc.json": allowing,
				path("base"): boolFlag("base", "", on...), path("mode"): boolFlag("mode", "", on...), path("other"): boolFlag("other", "", on...),
				path("needs"): boolFlag("needs", "", asks("base", "true"), serves("bool", "false")), path("both"): boolFlag("both", "", wantBoth, serves("bool", "false")),
				path("lacks"): boolFlag("lacks", "", asks("mode", "false"), serves("bool", "false")), path("far"): boolFlag("far", "", asks("lacks", "true"), serves("bool", "false"))})
			for _, operation := range test.before {
				must.Get(w.change("", operation))(t)
			}
			w.repo.Push(ada, "Review", map[string]string{"svc.json": reviewedDeclaration})
			set := change.ChangeSet{Operations: test.operation, Request: change.Request{DryRun: true}}
			shown := must.Get(w.boss().Changes().Change(ctx, set))(t)
			if free := len(shown.ReviewRequired) == 0; free != test.free {
				t.Errorf("a dry run says that %q have to approve", shown.ReviewRequired)
			}
			set.DryRun = false
			_, err := w.enter("protected_engineer").Changes().Change(ctx, set)
			want := "403 FORBIDDEN REVIEW_REQUIRED"
			if test.free {
				want = "ok"
			}
			wantRefusal(t, err, want)
		})
	}
}

// TestUndoneHalfOfAPlan: a plan that was held meanwhile is not taken back in part.
func TestUndoneHalfOfAPlan(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	patch := func(p change.ValuePatch) *change.PatchResult {
		t.Helper()
		return must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", p))(t)
	}
	undo := func(commit string) error {
		_, err := w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: commit, Mode: "undo"})
		return err
	}
	plan := patch(change.ValuePatch{RolloutPlan: node(t, `{"value":true,"steps":[{"percent":5},{"at":"2036-01-01T00:00:00Z","percent":10},{"at":"2036-01-02T00:00:00Z","percent":50}]}`)}).CommitSHA
	hold := patch(change.ValuePatch{RolloutPlan: node(t, `{"do":"hold"}`)}).CommitSHA
	wantRefusal(t, undo(plan), "409 CONFLICT OVERLAP")
	wantRefusal(t, undo(hold), "ok")
	wantRefusal(t, undo(plan), "ok")
	if got := w.stored(path("f")); strings.Contains(got, "scheduled") {
		t.Errorf("it is %s", got)
	}
}
