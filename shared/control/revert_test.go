package control_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

func (w *world) revert(mode, key, commit string) (*change.PutResult, error) {
	w.t.Helper()
	return w.boss().Changes().Revert(ctx, document.Flag, key, change.Reversion{CommitSHA: commit, Mode: mode})
}

func (w *world) remove(t document.Type, key string) (*change.PutResult, error) {
	w.t.Helper()
	return w.boss().Changes().Delete(ctx, t, key, change.Deletion{})
}

func (w *world) holds(path string) bool {
	_, there := w.last().Files[path]
	return there
}

func TestDelete(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", "")})
	start := w.last().SHA
	r := must.Get(w.remove(document.Flag, "f"))(t)
	if want := `{"key":"f","changed":true,"commitSha":"` + w.last().SHA + `","previousCommitSha":"` + start + `"}`; wire(t, r) != want {
		t.Errorf("got\n%s, want\n%s", wire(t, r), want)
	}
	if w.holds(path("f")) || !w.holds(path("g")) {
		t.Error("the wrong files are there")
	}
	if got := feed.MessageOf(w.last().Commit); got != `flag "f" deleted` {
		t.Errorf("the commit says %q", got)
	}
	s := w.boss()
	ended(s.Flag(ctx, "f"))(t, "404 NOT_FOUND")
	ended(s.Document(ctx, document.Flag, "f", nil))(t, "404 NOT_FOUND")
	must.Get(s.Document(ctx, document.Flag, "f", &start))(t)
	ended(w.remove(document.Flag, "f"))(t, "404 NOT_FOUND")

	// The key is free, in any spelling and for any type, and held by one again.
	must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Config, Key: "F", ValueType: ptr("int"), Value: node(t, "1")}))(t)
	ended(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t, "409 CONFLICT ALREADY_EXISTS")
	ended(w.revert("undo", "f", r.CommitSHA))(t, "409 CONFLICT ALREADY_EXISTS")
}

// TestWhatIsReferredToIsNotDeleted names every place, and lets go with the last
// of them. A name that is spelled with escapes is one too.
func TestWhatIsReferredToIsNotDeleted(t *testing.T) {
	for _, test := range []struct {
		t         document.Type
		path, key string
		text      string
		by        map[string]string
		want      string
	}{
		{document.Segment, "segments/s.json", "s", segmentOf("s", serves("bool", "true")), map[string]string{
			path("f"):             boolFlag("f", `,"environments":[{"id":"staging","rules":[`+inSegment("s")+`]}]`),
			path("g"):             strings.Replace(boolFlag("g", "", inSegment("s")), `"s"`, `"\u0073"`, 1),
			"segments/other.json": segmentOf("other", inSegment("s")),
		}, "feature_flag f /environments/0/rules/0/criteria/0/valueToMatch, feature_flag g /default/rules/0/criteria/0/valueToMatch, segment other /default/rules/0/criteria/0/valueToMatch"},
		{workspace.SchemaType, "schemas/s.json", "s", `{}`, map[string]string{
			"configs/c.json": configOf("c", "int", "1", `,"schemaKey":"s"`),
		}, "config c /schemaKey"},
		{document.Config, "configs/k.json", "k", configOf("k", "string", `"x"`, ""), map[string]string{
			"configs/c.json": strings.Replace(configOf("c", "string", `"x"`, ""), `"value":"x"`, `"value":"x","confidential":true,"decryptWith":"k"`, 1),
		}, "config c /default/rules/0/value/decryptWith"},
		{document.Segment, "segments/self.json", "self", segmentOf("self", inSegment("self")), nil, ""},
	} {
		t.Run(test.path, func(t *testing.T) {
			files := maps.Clone(test.by)
			if files == nil {
				files = map[string]string{}
			}
			files[test.path] = test.text
			w := newWorld(t, files)
			if test.want != "" {
				for _, dry := range []bool{true, false} {
					f := ended(w.boss().Changes().Delete(ctx, test.t, test.key, change.Deletion{Request: change.Request{DryRun: dry}}))(t, "409 CONFLICT REFERENCED")
					var got []string
					for _, r := range members(t, f.Details)["references"].([]any) {
						r := r.(map[string]any)
						got = append(got, fmt.Sprint(r["type"], " ", r["key"], " ", r["pointer"]))
					}
					if strings.Join(got, ", ") != test.want {
						t.Errorf("references %q", got)
					}
				}
			}
			for by := range test.by {
				w.repo.Push(ada, "gone", map[string]string{by: ""})
			}
			must.Get(w.remove(test.t, test.key))(t)
			if w.holds(test.path) {
				t.Error("it is still there")
			}
		})
	}
}

// TestAnOverlapTellsWhoAndWhere.
func TestAnOverlapTellsWhoAndWhere(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	enabled := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t).CommitSHA
	disabled := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(false)}))(t).CommitSHA
	w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", "")})
	for _, dry := range []bool{true, false} {
		_, err := w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{Request: change.Request{DryRun: dry}, CommitSHA: enabled, Mode: "undo"})
		details := members(t, wantRefusal(t, err, "409 CONFLICT OVERLAP").Details)
		changes, _ := details["changes"].([]any)
		if wire(t, details["pointers"]) != `["/environments/0"]` || details["currentCommitSha"] != disabled ||
			len(changes) != 1 || changes[0].(map[string]any)["sha"] != disabled || changes[0].(map[string]any)["authorName"] != "Grace" {
			t.Errorf("details %v", details)
		}
	}
	deleted := must.Get(w.remove(document.Flag, "f"))(t).CommitSHA
	_, err := w.revert("undo", "f", disabled)
	details := members(t, wantRefusal(t, err, "409 CONFLICT OVERLAP").Details)
	if changes, _ := details["changes"].([]any); wire(t, details["pointers"]) != `[""]` || len(changes) != 1 || changes[0].(map[string]any)["sha"] != deleted {
		t.Errorf("after the deletion: %v", details)
	}
	must.Get(w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t)
	ended(w.revert("undo", "f", deleted))(t, "409 CONFLICT OVERLAP")
}

// TestTheUndoOfACommitTellsWhichItemsAreRefused, so that the others can be undone.
func TestTheUndoOfACommitTellsWhichItemsAreRefused(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", ""), path("h"): boolFlag("h", "")})
	patch := func(key string, to bool) change.Operation {
		return change.Patch(document.Flag, key, "production", change.ValuePatch{Enabled: &to})
	}
	of := func(operations ...change.Operation) change.ChangeSet {
		return change.ChangeSet{Operations: operations}
	}
	all := must.Get(w.boss().Changes().Change(ctx, of(patch("f", true), patch("g", true), patch("h", true))))(t).CommitSHA
	must.Get(w.boss().Changes().Change(ctx, of(patch("g", false))))(t)
	_, err := w.boss().Changes().Change(ctx, of(change.RevertCommit(change.Reversion{CommitSHA: all, Mode: "undo"})))
	details := members(t, wantRefusal(t, err, "409 CONFLICT OVERLAP").Details)
	refused, _ := details["refused"].([]any)
	if len(refused) != 1 || refused[0].(map[string]any)["key"] != "g" || refused[0].(map[string]any)["code"] != "OVERLAP" || wire(t, details["others"]) != `[{"key":"f","type":"feature_flag"},{"key":"h","type":"feature_flag"}]` {
		t.Errorf("details %s", wire(t, details))
	}
	others := func(key string) change.Operation {
		return change.Revert(document.Flag, key, change.Reversion{CommitSHA: all, Mode: "undo"})
	}
	must.Get(w.boss().Changes().Change(ctx, of(others("f"), others("h"))))(t)
	// Where none is left there is nothing to offer.
	_, err = w.boss().Changes().Change(ctx, of(others("g")))
	if details := members(t, wantRefusal(t, err, "409 CONFLICT OVERLAP").Details); details["refused"] != nil || details["others"] != nil {
		t.Errorf("details %s", wire(t, details))
	}
}

// TestReverts of commits that came by git, or that touched something else.
func TestReverts(t *testing.T) {
	const odd = `{ "key":"f", "type":"feature_flag",  "valueType":"bool","default":{"rules":[` // not as svc writes it
	spelled := odd + serves("bool", "false") + `]}}`
	for _, test := range []struct {
		name    string
		commits []string // of f, "" is none
		commit  int
		mode    string
		want    string // refusal, or what is stored then
	}{
		{"undo of an edit, byte for byte", []string{spelled, boolFlag("f", "")}, 1, "undo", spelled},
		{"undo below a later edit", []string{boolFlag("f", ""), boolFlag("f", `,"tags":["a"]`), boolFlag("f", `,"tags":["a"],"name":"n"`)}, 1, "undo", string(document.Encode(node(t, boolFlag("f", `,"name":"n"`))))},
		{"undo of a mere rewriting", []string{boolFlag("f", ""), spelled}, 1, "undo", boolFlag("f", "")},
		{"undo of a creation", []string{spelled}, 0, "undo", ""},
		{"undo of a deletion", []string{spelled, ""}, 1, "undo", spelled},
		{"undo of what broke it", []string{spelled, "["}, 1, "undo", spelled},
		{"undo of what mended it", []string{"[", spelled}, 1, "undo", "422 UNPROCESSABLE_CONTENT"},
		{"undo of a change of what is broken now", []string{spelled, boolFlag("f", `,"name":"n"`), "["}, 1, "undo", "409 CONFLICT OVERLAP"},
		{"undo of a creation that is gone", []string{spelled, ""}, 0, "undo", ""},
		{"undo of a commit to something else", []string{spelled}, -1, "undo", "422 UNPROCESSABLE_CONTENT"},
		{"restore, byte for byte", []string{spelled, boolFlag("f", ""), boolFlag("f", `,"name":"n"`)}, 0, "restore", spelled},
		{"restore of a deleted one", []string{spelled, ""}, 0, "restore", spelled},
		{"restore of what is there", []string{spelled}, 0, "restore", spelled},
		{"restore at a commit to something else", []string{spelled, boolFlag("f", "")}, -1, "restore", "422 UNPROCESSABLE_CONTENT"},
		{"restore at its deletion", []string{spelled, "", spelled}, 1, "restore", "422 UNPROCESSABLE_CONTENT"},
		{"restore of what is no object", []string{"[", spelled}, 0, "restore", "422 UNPROCESSABLE_CONTENT"},
		{"restore of another key", []string{boolFlag("other", ""), spelled}, 0, "restore", "400 BAD_REQUEST VALIDATION_FAILED"},
		{"restore of another type", []string{configOf("f", "int", "1", ""), spelled}, 0, "restore", "400 BAD_REQUEST VALIDATION_FAILED"},
		{"restore without its segment", []string{boolFlag("f", "", inSegment("gone")), spelled}, 0, "restore", "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"},
		{"undo that leaves what is imperfect so", []string{boolFlag("f", `,"access":"odd"`), boolFlag("f", `,"access":"odd","name":"n"`)}, 1, "undo", boolFlag("f", `,"access":"odd"`)},
		{"undo of what mended a field", []string{boolFlag("f", `,"access":"odd"`), boolFlag("f", "")}, 1, "undo", "400 BAD_REQUEST VALIDATION_FAILED"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", "")})
			elsewhere := w.last().SHA
			var commits []string
			for _, text := range test.commits {
				w.repo.Push(ada, "f", map[string]string{path("f"): text})
				commits = append(commits, w.last().SHA)
			}
			commit, before := elsewhere, w.repo.Head()
			if test.commit >= 0 {
				commit = commits[test.commit]
			}
			r, err := w.revert(test.mode, "f", commit)
			if test.want != "" && test.want[0] != '{' {
				wantRefusal(t, err, test.want)
				if w.repo.Head() != before {
					t.Error("written all the same")
				}
				return
			}
			wantRefusal(t, err, "ok")
			last, now := test.commits[len(test.commits)-1], ""
			if w.holds(path("f")) {
				now = w.stored(path("f"))
			}
			if now != test.want || r.Changed != (test.want != last) || r.Changed == (w.repo.Head() == before) || r.CommitSHA != w.last().SHA {
				t.Errorf("stored is %q, answered %s", now, wire(t, r))
			}
		})
	}
}

// TestAnUndoneCommitIsAsIfItHadNotBeen: whatever a write does, its undo gives the
// same bytes as before, and the undo of the undo those after it.
func TestAnUndoneCommitIsAsIfItHadNotBeen(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t, map[string]string{path("f"): boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "false"))})
		snapshot := func() map[string]string {
			texts := map[string]string{}
			for path, file := range w.last().Files {
				texts[path] = string(file.Text)
			}
			return texts
		}
		for range rapid.IntRange(1, 5).Draw(r, "writes") {
			before, head := snapshot(), w.repo.Head()
			var err error
			switch what := rapid.SampledFrom([]string{"toggle", "rollout", "put", "delete", "create", "push"}).Draw(r, "what"); what {
			case "toggle":
				_, err = w.boss().Changes().Patch(ctx, document.Flag, "f", rapid.SampledFrom([]string{"default", "production", "staging"}).Draw(r, "scope"),
					change.ValuePatch{Enabled: ptr(rapid.Bool().Draw(r, "enabled")), ReplaceTargeting: rapid.Bool().Draw(r, "replace")})
			case "rollout":
				_, err = w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Rollout: node(t, `[{"value":true,"percent":25},{"value":false,"percent":75}]`)})
			case "put":
				_, err = w.put("f", boolFlag("f", fmt.Sprintf(`,"name":%q`, rapid.SampledFrom([]string{"a", "b"}).Draw(r, "name"))))
			case "delete":
				_, err = w.remove(document.Flag, "f")
			case "create":
				_, err = w.boss().Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"})
			case "push":
				w.repo.Push(ada, "by git", map[string]string{path("f"): "{" + strings.Repeat(" ", rapid.IntRange(1, 9).Draw(r, "spaces")) + boolFlag("f", "")[1:]})
			}
			if err != nil || w.repo.Head() == head {
				continue
			}
			after := snapshot()
			undone := must.Get(w.revert("undo", "f", w.last().SHA))(t)
			if got := snapshot(); undone.Changed != !maps.Equal(before, after) || !maps.Equal(got, before) {
				r.Fatalf("after the undo there is %v, before was %v", got, before)
			}
			if !undone.Changed {
				continue
			}
			must.Get(w.revert("undo", "f", undone.CommitSHA))(t)
			if got := snapshot(); !maps.Equal(got, after) {
				r.Fatalf("after the undo of the undo there is %v, first was %v", got, after)
			}
		}
	})
}

// TestRevertsAskForLittle counts what a revert reads.
func TestRevertsAskForLittle(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	start := w.last().SHA
	for i := range 3 {
		must.Get(w.put("f", boolFlag("f", fmt.Sprintf(`,"name":"n%d"`, i))))(t)
	}
	for _, test := range []struct {
		mode, commit string
		want         map[string]int
	}{
		{"undo", w.last().SHA, map[string]int{"At": 1, "Commit": 1}},
		{"restore", start, map[string]int{"At": 1, "Commit": 1}},
	} {
		s := w.boss()
		clear(w.repo.Calls)
		must.Get(s.Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: test.commit, Mode: test.mode}))(t)
		delete(w.repo.Calls, "Snapshot")
		if !maps.Equal(w.repo.Calls, test.want) {
			t.Errorf("%s asks %v", test.mode, w.repo.Calls)
		}
	}
}

// TestADeletedItemTakesATokenOfNothing: compare-and-set is on content, and none
// is content too.
func TestADeletedItemTakesATokenOfNothing(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	there := w.last().SHA
	deleted := must.Get(w.remove(document.Flag, "f"))(t).CommitSHA
	w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", "")})
	for _, token := range []string{there, "main", strings.Repeat("0", 40)} {
		ended(w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: deleted, Mode: "undo", ExpectedCommitSHA: &token}))(t, "409 CONFLICT STALE_COMMIT_SHA")
	}
	must.Get(w.boss().Changes().Revert(ctx, document.Flag, "f", change.Reversion{CommitSHA: deleted, Mode: "undo", ExpectedCommitSHA: &deleted}))(t)
	if got := slices.Sorted(maps.Keys(w.last().Files)); !slices.Equal(got, []string{path("f"), path("g"), "svc.json"}) {
		t.Errorf("there is %v", got)
	}
}

// A dry run answers what the write then answers, but for the commits' names.
func TestADryRunAnswersAsTheWrite(t *testing.T) {
	files := map[string]string{
		path("f"):                     boolFlag("f", "", targets("pro", "bool", "true"), serves("bool", "false")),
		"configs/c.json":              configOf("c", "int", "1", ""),
		"log-levels/log-level.a.json": `{"key":"log-level.a","type":"log_level","valueType":"log_level","default":{"rules":[]}}`,
	}
	for _, test := range []struct {
		name   string
		path   string
		change bool
		ask    func(t *testing.T, s *control.Session, r change.Request, token string) (any, error)
	}{
		{"flag creation", path("new"), true, func(t *testing.T, s *control.Session, r change.Request, _ string) (any, error) {
			return s.Changes().Create(ctx, change.Creation{Type: document.Flag, Request: r, Key: "new"})
		}},
		{"flag", path("f"), true, func(t *testing.T, s *control.Session, r change.Request, token string) (any, error) {
			return s.Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Request: r, Enabled: ptr(true), ReplaceTargeting: true, ExpectedCommitSHA: &token})
		}},
		{"flag, nothing to do", path("f"), false, func(t *testing.T, s *control.Session, r change.Request, token string) (any, error) {
			return s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Request: r, Enabled: ptr(false)})
		}},
		{"first log level", "log-levels/log-level.b.json", true, func(t *testing.T, s *control.Session, r change.Request, _ string) (any, error) {
			return s.Changes().PatchLogLevel(ctx, "b", change.LogLevelPatch{Request: r, Level: ptr("INFO"), Target: ptr("x")})
		}},
		{"document", path("f"), true, func(t *testing.T, s *control.Session, r change.Request, token string) (any, error) {
			return s.Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Request: r, Document: node(t, boolFlag("f", `,"name":"n"`)), ExpectedCommitSHA: &token})
		}},
		{"deletion", path("f"), true, func(t *testing.T, s *control.Session, r change.Request, token string) (any, error) {
			return s.Changes().Delete(ctx, document.Flag, "f", change.Deletion{Request: r, ExpectedCommitSHA: &token})
		}},
		{"undo", path("f"), true, func(t *testing.T, s *control.Session, r change.Request, token string) (any, error) {
			return s.Changes().Revert(ctx, document.Flag, "f", change.Reversion{Request: r, CommitSHA: token, Mode: "undo"})
		}},
		{"restoration, nothing to do", path("f"), false, func(t *testing.T, s *control.Session, r change.Request, token string) (any, error) {
			return s.Changes().Revert(ctx, document.Flag, "f", change.Reversion{Request: r, CommitSHA: token, Mode: "restore"})
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, files)
			of := w.last().SHA // the item's own commit, which is the token to go on with
			w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", "")})
			head := w.repo.Head()
			want := of
			if files[test.path] == "" {
				want = head.Commit
			}
			tried, err := test.ask(t, w.boss(), change.Request{DryRun: true}, of)
			if err != nil || w.repo.Head() != head || w.repo.Count("Commit") != 0 {
				t.Fatalf("%v; head %v", err, w.repo.Head())
			}
			done, err := test.ask(t, w.boss(), change.Request{}, of)
			if err != nil || (w.repo.Head() != head) != test.change {
				t.Fatalf("%v; head %v", err, w.repo.Head())
			}
			dry, wet := members(t, tried), members(t, done)
			if dry["dryRun"] != true || wet["dryRun"] != nil || dry["commitSha"] != want {
				t.Errorf("%v\n%v", dry, wet)
			}
			var stored any
			if file, there := w.last().Files[test.path]; there {
				stored = members(t, node(t, string(file.Text)))
			}
			if got := dry["document"]; !reflect.DeepEqual(got, stored) {
				t.Errorf("the document would be %v, is %v", got, stored)
			}
			if test.change {
				entries := must.Get(w.boss().Feed().Activity(ctx, feed.ActivityQuery{}))(t).Activity[0]
				// What a first log level leaves to the next request stands in no feed.
				left, _ := wet["messages"].([]any)
				if got := append(members(t, entries)["messages"].([]any), left...); !reflect.DeepEqual(got, dry["messages"]) {
					t.Errorf("the feed says %v, foretold was %v", got, dry["messages"])
				}
			} else if got := wire(t, dry["messages"]); got != "[]" {
				t.Errorf("messages %s", got)
			}
			for _, name := range []string{"dryRun", "messages", "commitSha"} {
				delete(dry, name)
				delete(wet, name)
			}
			if _, created := wet["document"]; !created {
				delete(dry, "document")
			}
			if !reflect.DeepEqual(dry, wet) {
				t.Errorf("dry %v\nwet %v", dry, wet)
			}
		})
	}
}

func members(t *testing.T, v any) map[string]any {
	t.Helper()
	var m map[string]any
	must.Do(t, json.Unmarshal([]byte(wire(t, v)), &m))
	return m
}

func TestAStaleTokenIsExplained(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", "")})
	token := w.last().SHA
	elsewhere := w.repo.Push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", `,"x":1`)}).SHA
	must.Get(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))(t)
	by := repository.Signature{Name: "Bob", Email: "bob@example.com", When: ada.When}
	w.repo.Push(by, "by hand", map[string]string{path("f"): boolFlag("f", `,"tags":["web"]`)})
	current := w.last().SHA
	for _, test := range []struct {
		name, token string
		changes     int
	}{
		{"a commit that touched the flag", token, 2},
		{"a commit that did not", elsewhere, 2},
		{"no SHA", "main", 0},
		{"an unknown SHA", strings.Repeat("0", 40), 0},
		{"an abbreviation", token[:12], 0},
	} {
		f := ended(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &test.token}))(t, "409 CONFLICT STALE_COMMIT_SHA")
		changes, _ := f.Details["changes"].([]feed.Activity)
		if f.Details["currentCommitSha"] != current || len(changes) != test.changes {
			t.Fatalf("%s: %s", test.name, wire(t, f.Details))
		}
		if test.changes == 0 {
			continue
		}
		got := wire(t, changes)
		for _, part := range []string{`"authorName":"Bob"`, `tags: added web`, `"authorName":"Grace"`, `production: enabled set to true`, `"date":"2026-03-01T11:00:00Z"`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s is missing in %s", test.name, part, got)
			}
		}
		if changes[0].AuthorName != "Bob" {
			t.Errorf("not the newest first: %s", got)
		}
	}
	w.repo.Fail["History"] = errStorage
	ended(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &token}))(t, "409 CONFLICT STALE_COMMIT_SHA")
}
