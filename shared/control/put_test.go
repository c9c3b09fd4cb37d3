package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
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
			_, err := w.put(test.key, test.text)
			f := wantRefusal(t, err, test.want)
			if got := pointers(f, "issues"); got != test.at {
				t.Errorf("issues at %s, want %s", got, test.at)
			}
			if (err == nil) == (w.repo.Head() == n) {
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
		_, err := w.boss().Changes().PutDocument(ctx, document.Flag, "f", test.put)
		f := wantRefusal(t, err, "400 BAD_REQUEST")
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
	_, err := w.enter("engineer").Changes().PutDocument(ctx, document.Flag, "f", put)
	f := wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
	if f.Details["required"] != "config.edit.protected" {
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
