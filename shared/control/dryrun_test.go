package control_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/must"
)

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
