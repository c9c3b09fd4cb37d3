package control_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

func (w *world) change(message string, operations ...change.Operation) (*change.ChangeSetResult, error) {
	w.t.Helper()
	return w.boss().Changes().Change(ctx, change.ChangeSet{Message: message, Operations: operations})
}

func enable(key, scope string, on bool) change.Operation {
	return change.Patch(document.Flag, key, scope, change.ValuePatch{Enabled: &on})
}

func created(key string) change.Operation {
	return change.Create(change.Creation{Type: document.Flag, Key: key})
}

func deleted(key string) change.Operation {
	return change.Delete(document.Flag, key, change.Deletion{})
}

func (w *world) putOf(t document.Type, key, text string) change.Operation {
	return change.Put(t, key, change.DocumentPut{Document: node(w.t, text)})
}

// issues are the pointers and messages of a refusal, a line each.
func issues(f *fault.Fault) string {
	var lines []string
	all, _ := f.Details["issues"].([]document.Issue)
	for _, issue := range all {
		lines = append(lines, issue.Pointer+" "+issue.Message)
	}
	return strings.Join(lines, "\n")
}

func TestAChangeSetIsOneCommit(t *testing.T) {
	w := newWorld(t, map[string]string{path("a"): boolFlag("a", ""), path("b"): boolFlag("b", ""), path("c"): boolFlag("c", "")})
	start, n := w.last().SHA, len(w.repo.Commits)
	r := must.Get(w.change("Launch\n\nAll of it.",
		enable("a", "production", true), created("new"), enable("new", "staging", true), deleted("b"),
		w.putOf(document.Flag, "c", boolFlag("c", `,"name":"C"`)), enable("c", "default", false)))(t)
	if len(w.repo.Commits) != n+1 || r.CommitSHA != w.last().SHA || r.PreviousCommitSHA != start || !r.Changed || len(r.Results) != 6 {
		t.Fatalf("%d commits, %+v", len(w.repo.Commits)-n, r)
	}
	if want := `{"index":2,"type":"feature_flag","key":"new","changed":true,"messages":[{"scope":"staging","message":"staging: `; !strings.HasPrefix(wire(t, r.Results[2]), want) {
		t.Errorf("got %s", wire(t, r.Results[2]))
	}
	if r.Results[5].Changed || wire(t, r.Results[5].Messages) != "[]" {
		t.Errorf("%+v", r.Results[5])
	}
	if got := feed.MessageOf(w.last().Commit); !strings.HasPrefix(got, "Launch\n\nAll of it.\n\nflag \"a\": production: ") || !strings.Contains(got, "\nflag \"new\" created (and ") || !strings.Contains(got, "\nflag \"b\" deleted\n") {
		t.Errorf("the commit says %s", got)
	}
	entries := must.Get(w.boss().Feed().Activity(ctx, feed.ActivityQuery{}))(t).Activity
	var of []string
	for _, a := range entries[:4] {
		of = append(of, a.Action+" "+*a.Key+" "+a.Messages[0].Message)
		if a.SHA != r.CommitSHA {
			t.Errorf("%+v", a)
		}
	}
	if got := strings.Join(of, "\n"); !strings.Contains(got, "updated a production: ") || !strings.Contains(got, `created new flag "new" created`) || !strings.Contains(got, `deleted b flag "b" deleted`) || !strings.Contains(got, "updated c name: ") {
		t.Errorf("the feed says\n%s", got)
	}
	again := must.Get(w.change("", enable("a", "production", true)))(t)
	if again.Changed || again.CommitSHA != r.CommitSHA || again.PreviousCommitSHA != "" || len(w.repo.Commits) != n+1 {
		t.Errorf("%+v", again)
	}
}

func TestWhatAChangeSetIsRefusedFor(t *testing.T) {
	w := newWorld(t, map[string]string{
		path("a"): boolFlag("a", ""), path("b"): boolFlag("b", `,"access":"protected-all-envs"`),
		path("member"):            boolFlag("member", "", strings.Replace(targets("x", "bool", "true"), `"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["x"]}`, `"IN_SEG","valueToMatch":{"type":"string","value":"beta"}`, 1), serves("bool", "false")),
		"segments/beta.json":      segmentOf("beta", serves("bool", "true")),
		"configs/limit.json":      configOf("limit", "int", "1", `,"schemaKey":"small"`),
		"schemas/small.json":      `{"maximum":3}`,
		"configs/elsewhere.json":  configOf("elsewhere", "int", "1", ""),
		"feature-flags/bad.json":  `[`,
		"segments/unnamed.json":   segmentOf("unnamed", serves("bool", "true")),
		"schemas/unnamed.json":    `{}`,
		"feature-flags/late.json": boolFlag("late", ""),
	})
	old := w.last().SHA
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "late", "default", change.ValuePatch{Enabled: ptr(true)}))(t)
	set := func(key string, value string) change.Operation {
		return change.Patch(document.Config, key, "default", change.ValuePatch{Value: node(t, value)})
	}
	for _, tt := range []struct {
		name, role string
		operations []change.Operation
		want       string
		issues     []string
	}{
		{"nothing", "", nil, "400 BAD_REQUEST", []string{"/operations operations has 1 to 2000 entries, not 0"}},
		{"too many", "", slices.Repeat([]change.Operation{enable("a", "default", true)}, 2001), "400 BAD_REQUEST", []string{"/operations operations has"}},
		{"the third of four", "", []change.Operation{enable("a", "default", true), created("x"), enable("none", "default", true), enable("x", "default", true)},
			"404 NOT_FOUND", []string{`/operations/2 there is no flag "none"`}},
		{"all of them", "", []change.Operation{enable("none", "default", true), created("a"), enable("a", "nowhere", true), change.Patch(document.Flag, "a", "default", change.ValuePatch{})},
			"404 NOT_FOUND", []string{"/operations/0 there is no flag", "/operations/1 the key \"a\" is held", "/operations/2 there is no environment \"nowhere\"", "/operations/3/body send exactly one of"}},
		{"on what was refused", "engineer", []change.Operation{enable("b", "production", true), created("x"), created("x"), enable("y", "default", true)},
			"403 FORBIDDEN PERMISSION_DENIED", []string{"/operations/0 ", "/operations/2 the key \"x\" is held", "/operations/3 there is no flag \"y\""}},
		{"a token from before another's change", "", []change.Operation{enable("a", "default", true), change.Patch(document.Flag, "late", "default", change.ValuePatch{Enabled: ptr(false), ExpectedCommitSHA: &old})},
			"409 CONFLICT STALE_COMMIT_SHA", []string{"/operations/1 the flag \"late\" has changed since"}},
		{"an empty token", "", []change.Operation{change.Patch(document.Flag, "a", "default", change.ValuePatch{Enabled: ptr(false), ExpectedCommitSHA: ptr("")}), change.Delete(document.Flag, "a", change.Deletion{ExpectedCommitSHA: ptr("")})},
			"400 BAD_REQUEST", []string{"/operations/0/expectedCommitSha expectedCommitSha is empty", "/operations/1/expectedCommitSha expectedCommitSha is empty"}},
		{"deleted, then referred to", "", []change.Operation{change.Delete(document.Segment, "beta", change.Deletion{}),
			w.putOf(document.Flag, "member", strings.Replace(w.stored(path("member")), `"type"`, `"name":"again","type"`, 1))},
			"422 UNPROCESSABLE_CONTENT VERIFY_REJECTION", []string{"/operations/1/document/default/rules/0/criteria/0/valueToMatch there is no segment"}},
		{"a value that the schema does not allow", "", []change.Operation{enable("a", "default", true), set("limit", "4")},
			"400 BAD_REQUEST SCHEMA_VIOLATION", []string{`/operations/1 the schema "small" does not allow this: at "/default/rules/0/value/value": `}},
		{"a value that the later schema does not allow", "", []change.Operation{set("limit", "3"), w.putOf(workspace.SchemaType, "small", `{"maximum":2}`)},
			"400 BAD_REQUEST SCHEMA_VIOLATION", []string{`/operations/0 the schema "small" does not allow this`}},
		{"a schema that stored values break", "", []change.Operation{w.putOf(workspace.SchemaType, "small", `{"maximum":0}`), enable("a", "default", true)},
			"422 UNPROCESSABLE_CONTENT VERIFY_REJECTION", []string{`/operations/0/document the config "limit", at /default/rules/0/value/value`}},
		{"what cannot be read", "", []change.Operation{created("x"), change.NoOperation([]document.Issue{{Pointer: "/op", Message: "what?"}})}, "400 BAD_REQUEST", []string{"/operations/1/op what?"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, dry := range []bool{true, false} {
				n := len(w.repo.Commits)
				role := tt.role
				if role == "" {
					role = "protected_engineer"
				}
				f := ended(w.enter(role).Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: dry}, Operations: tt.operations}))(t, tt.want)
				lines := strings.Split(issues(f), "\n")
				if len(lines) != len(tt.issues) {
					t.Fatalf("the issues are\n%s", issues(f))
				}
				for i, want := range tt.issues {
					if !strings.HasPrefix(lines[i], want) {
						t.Errorf("got %s\nwant %s", lines[i], want)
					}
				}
				if len(w.repo.Commits) != n {
					t.Error("written all the same")
				}
			}
		})
	}
}

// TestWhatOnlyAChangeSetCanDo goes through states that a single write is refused
// for: what counts is where it ends.
func TestWhatOnlyAChangeSetCanDo(t *testing.T) {
	w := newWorld(t, map[string]string{
		"configs/limit.json": configOf("limit", "int", "1", `,"schemaKey":"small"`),
		"schemas/small.json": `{"maximum":3}`,
		"schemas/other.json": `{"maximum":3}`,
		path("gone"):         boolFlag("gone", ""),
		path("kept"):         boolFlag("kept", ""),
	})
	old := w.last().SHA
	raise := func(value string) change.Operation {
		return change.Patch(document.Config, "limit", "default", change.ValuePatch{Value: node(t, value), ExpectedCommitSHA: &old})
	}
	in := strings.Replace(targets("x", "bool", "true"), `"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["x"]}`, `"IN_SEG","valueToMatch":{"type":"string","value":"late"}`, 1)
	must.Get(w.change("", raise("9"), w.putOf(workspace.SchemaType, "small", `{"maximum":10}`), raise("10"),
		change.Delete(workspace.SchemaType, "other", change.Deletion{}), w.putOf(workspace.SchemaType, "new", `{}`),
		w.putOf(document.Flag, "kept", boolFlag("kept", "", in, serves("bool", "false"))), change.Create(change.Creation{Type: document.Segment, Key: "late"}),
		deleted("gone"), change.Create(change.Creation{Type: document.Config, Key: "gone", ValueType: ptr("int"), Value: node(t, "1")})))(t)
	if got := w.stored("configs/limit.json"); !strings.Contains(got, "10") {
		t.Error(got)
	}
	if got := w.stored("configs/gone.json"); !strings.Contains(got, `"gone"`) {
		t.Error(got)
	}
	n := len(w.repo.Commits)
	r := must.Get(w.change("", enable("kept", "staging", true), created("brief"), deleted("brief"),
		change.Revert(document.Flag, "kept", change.Reversion{CommitSHA: w.last().SHA, Mode: "restore"})))(t)
	if r.Changed || len(w.repo.Commits) != n || !r.Results[0].Changed || !r.Results[3].Changed {
		t.Errorf("what ends as it began is %+v", r)
	}
	must.Get(w.change("", change.Delete(document.Config, "gone", change.Deletion{}), change.Revert(document.Flag, "gone", change.Reversion{CommitSHA: old, Mode: "restore"})))(t)
	if got := w.stored(path("gone")); got != boolFlag("gone", "") {
		t.Error(got)
	}
}

func TestAnItemThatWasNotThere(t *testing.T) {
	w := newWorld(t, map[string]string{path("a"): boolFlag("a", ""), "schemas/old.json": `{}`})
	put := func(key, token, text string) string {
		_, err := w.change("", change.Put(workspace.SchemaType, key, change.DocumentPut{Document: node(t, text), ExpectedCommitSHA: &token}))
		return refusal(err)
	}
	seen := w.last().SHA
	must.Get(w.change("", enable("a", "staging", true)))(t)
	for _, tt := range []struct{ key, token, text, want string }{
		{"new", strings.Repeat("0", 40), `{}`, "409 CONFLICT STALE_COMMIT_SHA"},
		{"new", seen, `{}`, "ok"},
		{"new", seen, `{"type":"object"}`, "409 CONFLICT STALE_COMMIT_SHA"},
		{"old", seen, `{"type":"object"}`, "ok"},
		{"no key", seen, `{}`, "404 NOT_FOUND"},
	} {
		if got := put(tt.key, tt.token, tt.text); got != tt.want {
			t.Errorf("%s at %s: %s, want %s", tt.key, tt.token, got, tt.want)
		}
	}
	level := func(level, token string) string {
		_, err := w.change("", change.PatchLevel("shop", change.LogLevelPatch{Level: &level, ExpectedCommitSHA: &token}))
		return refusal(err)
	}
	if got := level("DEBUG", seen); got != "ok" {
		t.Errorf("the first level of a service: %s", got)
	}
	if got := level("INFO", seen); got != "409 CONFLICT STALE_COMMIT_SHA" {
		t.Errorf("the second that takes itself for the first: %s", got)
	}
}

// TestAChangeSetIsBounded in what it decodes and makes, and in how many items it is
// about.
func TestAChangeSetIsBounded(t *testing.T) {
	files := map[string]string{"configs/large.json": configOf("large", "string", `"`+strings.Repeat("x", 1_000_000)+`"`, "")}
	for i := range 2001 {
		key := fmt.Sprint("f", i)
		files[path(key)] = boolFlag(key, `,"tags":["t"]`)
	}
	w := newWorld(t, files)
	var patches, toggles []change.Operation
	for i := range 2000 {
		patches = append(patches, change.Patch(document.Config, "large", "production", change.ValuePatch{Value: node(t, fmt.Sprint(`"`, i, `"`))}))
		toggles = append(toggles, enable("f0", "production", i%2 == 0))
	}
	f := ended(w.change("", patches...))(t, "413 PAYLOAD_TOO_LARGE")
	if !strings.Contains(issues(f), "read and write more than 32 MiB") || strings.Contains(issues(f), "\n") {
		t.Error(issues(f))
	}
	must.Get(w.change("", toggles...))(t)
	var reversions []change.Operation
	for i := range 501 {
		reversions = append(reversions, change.Revert(document.Flag, fmt.Sprint("f", i), change.Reversion{CommitSHA: w.last().Parent, Mode: "undo"}))
	}
	_, err := w.change("", reversions...)
	if f := fault.Of(err); !strings.HasSuffix(issues(f), "/operations/500 500 operations need the history of their items before this one, which is the most for one request; send them in several") {
		t.Errorf("%.200s", issues(f))
	}
	if f = ended(w.change("", change.Copy(change.Copying{From: "staging", To: "production", Tag: ptr("t")})))(t, "422 UNPROCESSABLE_CONTENT"); !strings.Contains(f.Message, "2001 items") {
		t.Error(f.Message)
	}
	var copies []change.Operation
	for range 200 {
		copies = append(copies, change.Copy(change.Copying{From: "staging", To: "production", Tag: ptr("t")}))
	}
	if f := ended(w.change("", copies...))(t, "422 UNPROCESSABLE_CONTENT"); pointers(f, "issues") != "/operations/0" {
		t.Errorf("copies are gone through after those that are too many: %.200s", issues(f))
	}
}

// TestTokensAreLookedUpTogether: a request that writes many items that were read at one
// commit does not ask the history for each.
func TestTokensAreLookedUpTogether(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[path(fmt.Sprint("f", i))] = boolFlag(fmt.Sprint("f", i), "")
	}
	w := newWorld(t, files)
	token := w.last().SHA
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f7", "staging", change.ValuePatch{Enabled: ptr(true)}))(t)
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f8", "staging", change.ValuePatch{Enabled: ptr(true)}))(t)
	must.Get(w.change("", change.Revert(document.Flag, "f8", change.Reversion{CommitSHA: token, Mode: "restore"})))(t)
	var operations []change.Operation
	for i := range 50 {
		operations = append(operations, change.Patch(document.Flag, fmt.Sprint("f", i), "production", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &token}))
	}
	s, n := w.boss(), w.repo.Count("At")
	f := ended(s.Changes().Change(ctx, change.ChangeSet{Operations: operations}))(t, "409 CONFLICT STALE_COMMIT_SHA")
	if got := pointers(f, "issues"); got != "/operations/7" {
		t.Errorf("refused are %s", got)
	}
	operations = append(operations[:7:7], operations[8:]...)
	if asked := w.repo.Count("At") - n; asked > 4 { // of both that were touched, and for the words of what was done to one
		t.Errorf("%d documents were asked for", asked)
	}
	must.Get(w.change("", operations...))(t)
}

// TestChangeSetsInSmallRoom are refused where what they lead to has no place, by the
// operation that takes it.
func TestChangeSetsInSmallRoom(t *testing.T) {
	w := fullOfExpressions(t)
	ended(w.change("", enable("z", "staging", true), w.putOf(document.Flag, "f0", boolFlag("f0", `,"name":"n"`)), w.putOf(document.Flag, "f1", matching("f1", 11)), w.putOf(document.Flag, "z", matching("z", 12)), w.putOf(document.Flag, "f2", matching("f2", 2))))(t, "ok")
	if f := ended(w.change("", enable("f2", "staging", true), w.putOf(document.Flag, "f0", matching("f0", 13))))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"); pointers(f, "issues") != "/operations/1/document" {
		t.Errorf("%s: %s", pointers(f, "issues"), f.Message)
	}
	w.repo.Fail["Commit"] = fmt.Errorf("in configs: %w: new.json has mode 040000", repository.ErrOccupied)
	if f := ended(w.change("", enable("z", "staging", false), change.Create(change.Creation{Type: document.Config, Key: "new", ValueType: ptr("int"), Value: node(t, "1")})))(t, "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"); pointers(f, "issues") != "/operations/1" {
		t.Errorf("%s: %s", pointers(f, "issues"), f.Message)
	}
}

// TestChangeSetsWithoutAWorkspaceFile know the environments that they bring in.
func TestChangeSetsWithoutAWorkspaceFile(t *testing.T) {
	w := newWorld(t, map[string]string{"svc.json": "", path("a"): boolFlag("a", "")})
	entry := `,"environments":[{"id":"canary","rules":[` + serves("bool", "true") + `]}]`
	ended(w.change("", enable("a", "canary", false)))(t, "404 NOT_FOUND")
	must.Get(w.change("", w.putOf(document.Flag, "a", boolFlag("a", entry)), enable("a", "canary", false)))(t)
}

// TestASchemasTierIsThatOfTheConfigsSoFar: who binds a config to a schema, or frees
// it, has changed who may write the schema.
func TestASchemasTierIsThatOfTheConfigsSoFar(t *testing.T) {
	w := newWorld(t, map[string]string{
		"configs/c.json": configOf("c", "int", "1", ""), "configs/guarded.json": configOf("guarded", "int", "1", `,"schemaKey":"s","access":"protected-env"`),
		"schemas/s.json": `{}`, "schemas/free.json": `{}`,
	})
	put := func(key string) change.Operation { return w.putOf(workspace.SchemaType, key, `{"maximum":9}`) }
	bind := func(key, access string) change.Operation {
		return w.putOf(document.Config, key, configOf(key, "int", "1", `,"schemaKey":"free","access":"`+access+`"`))
	}
	for _, tt := range []struct {
		role, want string
		operations []change.Operation
	}{
		{"engineer", "ok", []change.Operation{put("free"), bind("c", "standard"), put("free")}},
		{"engineer", "403 FORBIDDEN PERMISSION_DENIED", []change.Operation{put("free"), put("s")}},
		{"engineer", "403 FORBIDDEN PERMISSION_DENIED", []change.Operation{change.Delete(document.Config, "guarded", change.Deletion{}), put("s")}},
		{"support", "403 FORBIDDEN PERMISSION_DENIED", []change.Operation{put("free")}},
		{"protected_engineer", "ok", []change.Operation{bind("guarded", "protected-env"), put("s"), put("free")}},
	} {
		ended(w.enter(tt.role).Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: true}, Operations: tt.operations}))(t, tt.want)
	}
}

// TestTheFeedTellsWhyManyItemsChanged, where they are too many to be told one by one.
func TestTheFeedTellsWhyManyItemsChanged(t *testing.T) {
	w := newWorld(t, nil)
	var operations []change.Operation
	for i := range 30 {
		operations = append(operations, created(fmt.Sprint("f", i)))
	}
	told := func() string {
		return wire(t, must.Get(w.boss().Feed().Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(1)}}))(t).Activity[0].Messages)
	}
	must.Get(w.change("  New team\n\nTheir flags.\n", operations...))(t)
	if got := told(); got != `[{"scope":"","message":"New team"},{"scope":"","message":"30 items in one commit: 30 created"}]` {
		t.Error(got)
	}
	if got := feed.MessageOf(w.last().Commit); !strings.HasPrefix(got, "New team\n\nTheir flags.\n\nflag \"f0\" created (and 1 more)\n") || !strings.HasSuffix(got, "\nand 10 more items") {
		t.Error(got)
	}
	must.Get(w.change("Why\n\nSvc-Principal: user/evil", enable("f0", "production", true)))(t)
	if got := wire(t, must.Get(w.boss().Feed().Activity(ctx, feed.ActivityQuery{}))(t).Activity[0].Messages); got != `[{"scope":"production","message":"production: enabled set to true"}]` {
		t.Error(got)
	}
}
