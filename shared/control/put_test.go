package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// put replaces a flag's document with a fresh token.
func (w *world) put(key, text string) (*change.PutResult, error) {
	w.t.Helper()
	token := w.last().SHA
	return w.boss().Changes().PutDocument(ctx, document.Flag, key, change.DocumentPut{Document: node(w.t, text), ExpectedCommitSHA: &token})
}

func TestPut(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", `,"name":"old","zzz":1`)})
	start := w.last().SHA
	r := must.Get(w.put("f", boolFlag("f", `,"tags":["web"],"$schema":"http://evil.test"`)))(t)
	if want := `{"key":"f","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + start + `"}`; wire(t, r) != want {
		t.Errorf("got\n%s, want\n%s", wire(t, r), want)
	}
	doc := node(t, w.stored(path("f")))
	if doc.Get("name") != nil || doc.Get("zzz") != nil {
		t.Errorf("what is left out is not gone: %s", doc.Compact())
	}
	if text, _ := doc.Get("$schema").Text(); text != "https://svc.test/schemas/v1/stored-config.json" {
		t.Errorf("$schema is %s", text)
	}
}

// TestAPutWarns of what it may not mean, dry run or not, and is done all the
// same. A rule without propertyName that asks for "none of" matches everybody.
func TestAPutWarns(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	everybody := `{"criteria":[{"operator":"PROP_IS_NOT_ONE_OF","valueToMatch":{"type":"string_list","value":["x"]}}],"value":{"type":"bool","value":true}}`
	text := `{"key":"f","type":"feature_flag","valueType":"bool","enviroments":[],"default":{"rules":[` + everybody + `]}}`
	for _, dry := range []bool{true, false} {
		token := w.last().SHA
		r := must.Get(w.boss().Changes().PutDocument(ctx, document.Flag, "f",
			change.DocumentPut{Document: node(t, text), ExpectedCommitSHA: &token, Request: change.Request{DryRun: dry}}))(t)
		if len(r.Warnings) != 2 || r.Warnings[0].Pointer != "/default/rules/0/criteria/0" || r.Warnings[1].Pointer != "/enviroments" || !r.Changed {
			t.Errorf("%+v", r)
		}
	}
}

func TestAPutThatSaysTheSameIsNoCommit(t *testing.T) {
	stored := `{"key":"f","type":"feature_flag","valueType":"double","n":1.0,"default":{"rules":[` + serves("double", "10") + `]},"bad":"` + strings.Repeat("x", 10) + `"}`
	w := newWorld(t, map[string]string{path("f"): stored, path("imperfect"): boolFlag("imperfect", `,"access":"odd"`)})
	n := w.repo.Head()
	for _, text := range []string{
		stored,
		`{"bad":"xxxxxxxxxx","n":1,"default":{"rules":[{"value":{"value":1e1,"type":"double"},"criteria":[{"operator":"ALWAYS_TRUE"}]}]},"valueType":"double","key":"f","type":"feature_flag"}`,
		strings.Replace(stored, "{", `{"$schema":"http://other.test",`, 1),
	} {
		r := must.Get(w.put("f", text))(t)
		if want := `{"key":"f","changed":false,"commitSha":"` + n.Commit + `"}`; wire(t, r) != want {
			t.Errorf("got\n%s, want\n%s", wire(t, r), want)
		}
	}
	// A no-op is found out before the document is judged.
	if r := must.Get(w.put("imperfect", w.stored(path("imperfect"))))(t); r.Changed {
		t.Error(wire(t, r))
	}
	if w.repo.Head() != n {
		t.Error("something was committed")
	}
}

func TestPutsThatAreRefused(t *testing.T) {
	good := boolFlag("f", `,"name":"new"`)
	for _, test := range []struct {
		name, key, text, want, at string
	}{
		{"another key", "f", boolFlag("g", ""), "400 BAD_REQUEST", "/document/key"},
		{"another type", "f", strings.Replace(good, "feature_flag", "config", 1), "400 BAD_REQUEST", "/document/type"},
		{"neither", "f", `{}`, "400 BAD_REQUEST", "/document/key /document/type"},
		{"an unknown key", "nope", boolFlag("nope", ""), "404 NOT_FOUND", ""},
		{"no rules", "f", `{"key":"f","type":"feature_flag","valueType":"bool"}`, "400 BAD_REQUEST VALIDATION_FAILED", "/default"},
		{"several at once", "f", boolFlag("f", `,"access":"x","sendToClientSdk":true`, serves("int", "1")), "400 BAD_REQUEST VALIDATION_FAILED", "/access /default/rules/0/value/type /sendToClientSdk"},
		{"no such segment", "f", boolFlag("f", "", inSegment("none")), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION", "/default/rules/0/criteria/0/valueToMatch"},
		{"no such environment", "f", boolFlag("f", `,"environments":[{"id":"moon","rules":[]}]`), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION", "/environments/0/id"},
		{"an archived environment", "f", boolFlag("f", `,"environments":[{"id":"old","rules":[]}]`), "ok", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
			n := w.repo.Head()
			f := ended(w.put(test.key, test.text))(t, test.want)
			if got := pointers(f, "issues"); got != test.at {
				t.Errorf("issues at %s, want %s", got, test.at)
			}
			if (test.want == "ok") == (w.repo.Head() == n) {
				t.Error("what is refused is not written, what is not is")
			}
		})
	}
}

func inSegment(key string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":%q}}],"value":{"type":"bool","value":true}}`, key)
}

func TestPutShape(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	token := w.last().SHA
	good := node(t, boolFlag("f", ""))
	for _, test := range []struct {
		name string
		put  change.DocumentPut
		at   string
	}{
		{"no token", change.DocumentPut{Document: good}, "/expectedCommitSha"},
		{"an empty token", change.DocumentPut{Document: good, ExpectedCommitSHA: ptr("")}, "/expectedCommitSha"},
		{"no document", change.DocumentPut{ExpectedCommitSHA: &token}, "/document"},
		{"nothing", change.DocumentPut{}, "/expectedCommitSha /document"},
		{"nothing, said before", change.DocumentPut{Request: change.Request{Malformed: issuesAt("/document", "/expectedCommitSha")}}, "/document /expectedCommitSha"},
		{"too deep", change.DocumentPut{ExpectedCommitSHA: &token, Document: deepFlag(t)}, "/document"},
	} {
		f := ended(w.boss().Changes().PutDocument(ctx, document.Flag, "f", test.put))(t, "400 BAD_REQUEST")
		if got := pointers(f, "issues"); got != test.at {
			t.Errorf("%s: at %s", test.name, got)
		}
	}
}

// deepFlag nests as deep as a body may, and one deeper once it is a member.
func deepFlag(t *testing.T) *jsontree.Node {
	n := node(t, boolFlag("f", ""))
	n.Set("x", node(t, strings.Repeat("[", 256)+strings.Repeat("]", 256)))
	return n
}

// A PUT is how a file that a hand-made commit broke is mended.
func TestAPutMendsWhatIsNoObject(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): "no JSON"})
	token := w.last().SHA
	put := change.DocumentPut{Document: node(t, boolFlag("f", "")), ExpectedCommitSHA: &token}
	if f := ended(w.enter("engineer").Changes().PutDocument(ctx, document.Flag, "f", put))(t, "403 FORBIDDEN PERMISSION_DENIED"); f.Details["required"] != "config.edit.protected" {
		t.Errorf("whose tier cannot be read is in the strictest: %v", f.Details)
	}
	must.Get(w.boss().Changes().PutDocument(ctx, document.Flag, "f", put))(t)
	if message := w.last().Message; !strings.HasPrefix(message, `flag "f" is a JSON object again`) {
		t.Error(message)
	}
}

func TestCompareAndSetIsOnContent(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	seen := w.last().SHA
	early := w.repo.Commits[0].SHA // before the flag was there
	elsewhere := w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", "")}).SHA
	other := w.repo.Push(ada, "changed", map[string]string{path("f"): boolFlag("f", `,"x":1`)}).SHA
	w.repo.Push(ada, "changed back", map[string]string{path("f"): boolFlag("f", "")})
	w.repo.Push(ada, "elsewhere again", map[string]string{path("g"): ""})
	head := w.last().SHA
	for _, test := range []struct{ name, token, want string }{
		{"the commit that touched it last", w.repo.Commits[4].SHA, "ok"},
		{"the head", head, "ok"},
		{"the same content, before it changed and changed back", seen, "ok"},
		{"a commit that did not touch it", elsewhere, "ok"},
		{"other content", other, "409 CONFLICT STALE_COMMIT_SHA"},
		{"a commit without the flag", early, "409 CONFLICT STALE_COMMIT_SHA"},
		{"an unknown commit", strings.Repeat("a", 40), "409 CONFLICT STALE_COMMIT_SHA"},
		{"an abbreviation", head[:39], "409 CONFLICT STALE_COMMIT_SHA"},
		{"a ref", "main", "409 CONFLICT STALE_COMMIT_SHA"},
		{"upper case", strings.ToUpper(head), "409 CONFLICT STALE_COMMIT_SHA"},
		{"with a line break", head + "\n", "409 CONFLICT STALE_COMMIT_SHA"},
	} {
		_, put := w.boss().Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Request: change.Request{DryRun: true}, Document: node(t, boolFlag("f", `,"y":1`)), ExpectedCommitSHA: &test.token})
		_, patch := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Request: change.Request{DryRun: true}, Enabled: ptr(true), ExpectedCommitSHA: &test.token})
		_, noop := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(false), ExpectedCommitSHA: &test.token})
		for i, err := range []error{put, patch, noop} {
			if got := refusal(err); got != test.want {
				t.Errorf("%s (%d): got %s", test.name, i, got)
			}
		}
	}
	if w.last().SHA != head {
		t.Error("something was written")
	}
}

// What a write asks of the repository, beside the gate: the snapshot and the
// commit. A token that names the item's last commit or the head needs no look.
func TestAWriteAsksForLittle(t *testing.T) {
	for _, token := range []func(w *world) *string{
		func(*world) *string { return nil },
		func(w *world) *string { return &w.repo.Commits[1].SHA },
		func(w *world) *string { return ptr(w.last().SHA) },
	} {
		w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
		w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", "")})
		s := w.boss()
		entered := w.gate.entered
		must.Get(s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: token(w)}))(t)
		if w.repo.Count("Snapshot") != 1 || w.repo.Count("Commit") != 1 || w.repo.Total() != 2 || w.gate.entered != entered {
			t.Errorf("%v, authenticated again %d times", w.repo.Calls, w.gate.entered-entered)
		}
	}
}

func TestCreateFlag(t *testing.T) {
	w := newWorld(t, nil)
	parent := w.last().SHA
	r := must.Get(w.enter("engineer_nonprotected", "engineer").Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "new-nav", Description: "D", Tags: []string{"web"}}))(t)
	want := `{"$schema":"https://svc.test/schemas/v1/stored-config.json","key":"new-nav","type":"feature_flag","valueType":"bool","description":"D",` +
		`"access":"standard","tags":["web"],"default":{"rules":[` + serves("bool", "false") + `]},"environments":[],` +
		`"variants":[{"value":{"type":"bool","value":false}},{"value":{"type":"bool","value":true}}]}`
	c := w.last()
	if got := wire(t, r); got != `{"key":"new-nav","valueType":"bool","commitSha":"`+c.SHA+`","document":`+want+`}` {
		t.Errorf("got %s", got)
	}
	if got := string(node(t, w.stored(path("new-nav"))).Compact()); got != want {
		t.Errorf("stored %s", got)
	}
	if !strings.HasSuffix(w.stored(path("new-nav")), "\n}\n") || !strings.Contains(w.stored(path("new-nav")), "\n  \"key\": \"new-nav\",\n") {
		t.Errorf("not indented by two spaces with a final newline: %s", w.stored(path("new-nav")))
	}
	if c.Parent != parent || c.Author.Name != "Grace" || c.Author.Email != "grace@example.com" || !c.Author.When.Equal(now) ||
		c.Committer.Name != "svc" || c.Committer.Email != "noreply@svc" || !c.Committer.When.Equal(now) {
		t.Errorf("commit %+v", c.Commit)
	}
	if !strings.HasPrefix(c.Message, `flag "new-nav" created`) || !strings.Contains(c.Message, "\n\nSvc-Principal: user/") {
		t.Errorf("message %q", c.Message)
	}
}

func TestCreationsThatAreRefused(t *testing.T) {
	w := newWorld(t, nil)
	for want, creation := range map[string]change.Creation{
		"/key /value": {Type: document.Flag, Key: "a b", ValueType: ptr("int"), Value: node(t, "true")},
		"/tag /key":   {Type: document.Flag, Key: "a b", Request: change.Request{Malformed: issuesAt("/tag")}},
		"/valueType":  {Type: document.Config, Key: "a", Value: node(t, "1")},
	} {
		if got := pointers(ended(w.boss().Changes().Create(ctx, creation))(t, "400 BAD_REQUEST"), "issues"); got != want {
			t.Errorf("at %s, want %s", got, want)
		}
	}
	if n := w.repo.Total(); n != 0 {
		t.Errorf("%d calls for requests that are wrong by themselves", n)
	}
}

// TestACreationThatCannotBeStored: the value fits into a request, and the
// document that would hold it twice is too large.
func TestACreationThatCannotBeStored(t *testing.T) {
	w := newWorld(t, nil)
	value := node(t, `"`+strings.Repeat("a", 700_000)+`"`)
	_, err := w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: "a", ValueType: ptr("string"), Value: value})
	if got := refusal(err); !strings.HasPrefix(got, "400 BAD_REQUEST VALIDATION_FAILED") || !strings.Contains(err.Error(), "at most 1048576 bytes can be stored") {
		t.Errorf("%s", got)
	}
}

func TestKeysArePooledIgnoringCase(t *testing.T) {
	w := newWorld(t, map[string]string{
		path("Checkout"):              boolFlag("Checkout", ""),
		"configs/limit.json":          configOf("limit", "int", "1", ""),
		"segments/beta.json":          segmentOf("beta"),
		"log-levels/log-level.a.json": `{"key":"log-level.a"}`,
		"log-levels/odd.json":         `{}`,
		path("broken"):                `no JSON`,
		"schemas/free.json":           `{}`,
	})
	for _, test := range []struct{ key, kind, held string }{
		{"checkout", "feature_flag", "Checkout"},
		{"Checkout", "feature_flag", "Checkout"},
		{"LIMIT", "config", "limit"},
		{"Beta", "segment", "beta"},
		{"Log-Level.A", "log_level", "log-level.a"},
		{"ODD", "log_level", "odd"},
		{"BROKEN", "feature_flag", "broken"},
	} {
		f := ended(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: test.key}))(t, "409 CONFLICT ALREADY_EXISTS")
		if f.Details["collidingType"] != test.kind || f.Details["collidingKey"] != test.held {
			t.Errorf("%s: %v", test.key, f.Details)
		}
		ended(w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: test.key, ValueType: ptr("bool"), Value: node(t, "true")}))(t, "409 CONFLICT ALREADY_EXISTS")
	}
	n := w.repo.Head().Sequence
	for _, key := range []string{"free", "a", "log-level.b"} {
		must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: key}))(t)
	}
	if w.repo.Head().Sequence != n+3 {
		t.Error("not every creation is a commit")
	}
	f := ended(w.boss().Changes().PatchLogLevel(ctx, "b", change.LogLevelPatch{Level: ptr("INFO")}))(t, "409 CONFLICT ALREADY_EXISTS")
	if f.Details["collidingType"] != "feature_flag" || f.Details["collidingKey"] != "log-level.b" {
		t.Errorf("%v", f.Details)
	}
}

func TestTheFirstCommitOfAWorkspace(t *testing.T) {
	w := newWorld(t, nil)
	w.repo.Commits = nil
	must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t)
	w.repo.Commits = nil
	r := must.Get(w.boss().Changes().PatchLogLevel(ctx, "a", change.LogLevelPatch{Level: ptr("INFO")}))(t)
	if r.PreviousCommitSHA != "" || r.CommitSHA != w.last().SHA {
		t.Errorf("%+v", r)
	}
}

func TestWithoutPublicURLThereIsNoSchemaAddress(t *testing.T) {
	w := newWorld(t, nil)
	settings := w.settings()
	settings.PublicURL = ""
	w.service = control.New(settings)
	r := must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t)
	if r.Document.Get("$schema") != nil {
		t.Error(wire(t, r))
	}
	settings.PublicURL = "https://svc.test/base/"
	w.service = control.New(settings)
	r = must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "g"}))(t)
	if text, _ := r.Document.Get("$schema").Text(); text != "https://svc.test/base/schemas/v1/stored-config.json" {
		t.Error(text)
	}
}

// TestANameThatWindowsCannotHaveIsWarnedOf by the write that creates it, and by no other.
func TestANameThatWindowsCannotHaveIsWarnedOf(t *testing.T) {
	w := newWorld(t, nil)
	made := must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: "con", ValueType: ptr("string"), Value: node(t, `"x"`)}))(t)
	if said := wire(t, made.Warnings); !strings.Contains(said, "cannot be checked out on Windows") {
		t.Errorf("no warning: %s", said)
	}
	set := must.Get(w.change("", created("nul"), w.putOf(workspace.SchemaType, "aux", `{"type":"string"}`), created("fine")))(t)
	if len(set.Warnings) != 2 {
		t.Errorf("%s", wire(t, set.Warnings))
	}
	patched := must.Get(w.boss().Changes().Patch(ctx, document.Config, "con", "default", change.ValuePatch{Value: node(t, `"y"`)}))(t)
	if len(patched.Warnings) != 0 {
		t.Errorf("%s", wire(t, patched.Warnings))
	}
}

func TestCopyingAnEnvironment(t *testing.T) {
	entry := func(names ...string) string {
		var entries []string
		for i, name := range names {
			entries = append(entries, `{"id":"`+name+`","rules":[`+strings.Repeat(targets("x", "bool", "true")+",", i)+serves("bool", "true")+`]}`)
		}
		return `,"environments":[` + strings.Join(entries, ",") + `],"tags":["checkout"]`
	}
	w := newWorld(t, map[string]string{
		path("own"):            boolFlag("own", entry("staging")),
		path("both"):           boolFlag("both", entry("production", "staging")),
		path("inherits"):       boolFlag("inherits", entry("production")),
		path("neither"):        boolFlag("neither", `,"tags":["checkout"]`),
		path("untagged"):       boolFlag("untagged", entry("staging")[:strings.Index(entry("staging"), `,"tags"`)]),
		path("guarded"):        boolFlag("guarded", entry("staging")+`,"access":"protected-env"`),
		"configs/c.json":       configOf("c", "int", "1", `,"environments":[{"id":"staging","rules":[`+serves("int", "2")+`]}]`),
		"segments/s.json":      segmentOf("s", serves("bool", "true")),
		"configs/escaped.json": configOf("escaped", "int", "1", `,"tags":["check\u006fut"]`),
	})
	copying := func(from, to string, tag string, keys ...string) change.Operation {
		c := change.Copying{From: from, To: to, Keys: keys}
		if tag != "" {
			c.Tag = &tag
		}
		return change.Copy(c)
	}
	for _, tt := range []struct {
		name      string
		operation change.Operation
		role      string
		want      string
	}{
		{"of nothing", copying("staging", "production", ""), "engineer", "400 BAD_REQUEST"},
		{"by both", copying("staging", "production", "checkout", "own"), "engineer", "400 BAD_REQUEST"},
		{"to nowhere", copying("staging", "nowhere", "", "own"), "engineer", "404 NOT_FOUND"},
		{"to an archived one", copying("staging", "old", "", "own"), "engineer", "404 NOT_FOUND"},
		{"of what is not there", copying("staging", "production", "", "own", "none"), "engineer", "404 NOT_FOUND"},
		{"of a segment", copying("staging", "production", "", "s"), "engineer", "404 NOT_FOUND"},
		{"of a tag that nothing has", copying("staging", "production", "none"), "engineer", "422 UNPROCESSABLE_CONTENT"},
		{"by who may not", copying("staging", "production", "", "own"), "engineer_nonprotected", "403 FORBIDDEN PERMISSION_DENIED"},
		{"by who may not all", copying("staging", "production", "checkout"), "engineer", "403 FORBIDDEN PERMISSION_DENIED"},
		{"from what is protected", copying("production", "staging", "", "both"), "engineer_nonprotected", "ok"},
	} {
		_, err := w.enter(tt.role).Changes().Change(ctx, change.ChangeSet{Request: change.Request{DryRun: true}, Operations: []change.Operation{tt.operation}})
		if got := refusal(err); got != tt.want {
			t.Errorf("%s: %s, %v", tt.name, got, err)
		}
	}
	r := must.Get(w.change("", copying("staging", "production", "checkout"), copying("staging", "production", "", "c", "untagged")))(t)
	var changed []string
	for _, result := range r.Results {
		if result.Changed {
			changed = append(changed, result.Key)
		}
	}
	if got := strings.Join(changed, " "); got != "both guarded inherits own c untagged" || len(r.Results) != 8 || r.Results[7].Index != 1 {
		t.Errorf("changed are %s of %s", got, wire(t, r.Results))
	}
	for key, want := range map[string]string{"own": `[{"id":"staging",%},{"id":"production",%}]`, "both": `[{"id":"production",%},{"id":"staging",%}]`, "inherits": "null"} {
		tree := node(t, w.stored(path(key)))
		got := wire(t, tree.Get("environments"))
		for _, e := range tree.Get("environments").Elements() {
			got = strings.Replace(got, `"rules":`+wire(t, e.Get("rules")), "%", 1)
			if wire(t, e.Get("rules")) != wire(t, tree.Get("environments").Items[0].Get("rules")) {
				t.Errorf("%s: the rules differ", key)
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// TestACopyOfWhatWasSeen is refused where any of its items has changed since.
func TestACopyOfWhatWasSeen(t *testing.T) {
	w := newWorld(t, map[string]string{path("a"): boolFlag("a", `,"tags":["t"]`), path("b"): boolFlag("b", `,"tags":["t"]`), path("c"): boolFlag("c", "")})
	must.Get(w.change("", enable("a", "staging", true), enable("b", "staging", true)))(t)
	seen, tag := w.last().SHA, "t"
	copied := func(token string) string {
		_, err := w.change("", change.Copy(change.Copying{From: "staging", To: "production", Tag: &tag, ExpectedCommitSHA: &token}))
		return refusal(err)
	}
	if got := copied("seen"); got != "400 BAD_REQUEST" && got != "409 CONFLICT STALE_COMMIT_SHA" {
		t.Errorf("what is no token: %s", got)
	}
	must.Get(w.change("", enable("b", "production", true)))(t)
	if got := copied(seen); got != "409 CONFLICT STALE_COMMIT_SHA" {
		t.Errorf("after a change of one of them: %s", got)
	}
	seen = w.last().SHA
	must.Get(w.change("", enable("c", "production", true)))(t)
	if got := copied(seen); got != "ok" {
		t.Errorf("after a change of another item: %s", got)
	}
}

// TestAnItemThatWasNotThere: a schema, or the log level of a service, is created where
// that is still so.
