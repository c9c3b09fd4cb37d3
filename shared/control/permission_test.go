package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

// TestWhatEachWriteAsksFor: the matrix of roles and tiers is tested in access; this is that
// each write asks for what it touches.
func TestWhatEachWriteAsksFor(t *testing.T) {
	const none, support, standard, guarded = "", "config.edit.support", "config.edit.standard", "config.edit.protected"
	type ask func(*world) change.Operation
	patch := func(key, scope string) ask { return func(*world) change.Operation { return enable(key, scope, true) } }
	put := func(key, more string, rules ...string) ask {
		return func(w *world) change.Operation { return w.putOf(document.Flag, key, boolFlag(key, more, rules...)) }
	}
	create := func(t document.Type) ask {
		return func(*world) change.Operation { return change.Create(change.Creation{Type: t, Key: "new"}) }
	}
	level := func(service, scope string) ask {
		return func(*world) change.Operation {
			return change.PatchLevel(service, change.LogLevelPatch{Level: ptr("WARN"), Environment: &scope})
		}
	}
	remove := func(t document.Type, key string) ask {
		return func(*world) change.Operation { return change.Delete(t, key, change.Deletion{}) }
	}
	schema := func(key string) ask {
		return func(w *world) change.Operation { return w.putOf(workspace.SchemaType, key, `{"description":"x"}`) }
	}
	segment := func(key string) ask {
		return func(w *world) change.Operation {
			stored := node(w.t, w.stored("segments/"+key+".json"))
			stored.Set("default", node(w.t, `{"rules":[`+serves("bool", "false")+`]}`))
			return change.Put(document.Segment, key, change.DocumentPut{Document: stored})
		}
	}
	// revert reverts what has just been done in a scope to a new flag.
	revert := func(mode, key, scope string) ask {
		return func(w *world) change.Operation {
			plain := boolFlag(key, "")
			before, after := plain, ""
			switch scope {
			case "":
				before, after = "", plain
			case "access":
				before, after = boolFlag(key, `,"access":"protected-all-envs"`), plain
			case "deleted":
				before = boolFlag(key, `,"access":"protected-all-envs"`)
			default:
				after = boolFlag(key, fmt.Sprintf(`,"environments":[{"id":%q,"rules":[%s]}]`, scope, serves("bool", "true")))
			}
			if before != "" {
				w.repo.Push(ada, "before", map[string]string{path(key): before})
			}
			commit := w.last().SHA
			w.repo.Push(ada, "after", map[string]string{path(key): after})
			if !strings.HasPrefix(mode, "restore") {
				commit = w.last().SHA
			}
			if mode == "undo again" {
				mode = "undo"
				w.repo.Push(ada, "again", map[string]string{path(key): strings.Replace(after, "true", "false", 1)})
			}
			return change.Revert(document.Flag, key, change.Reversion{CommitSHA: commit, Mode: mode})
		}
	}
	entry := func(environment string) string {
		return fmt.Sprintf(`,"environments":[{"id":%q,"rules":[%s]}]`, environment, serves("bool", "true"))
	}
	for _, test := range []struct {
		name, role string
		ask        ask
		required   string
	}{
		{"a member edits nothing", "member", patch("f", "staging"), standard},
		{"an admin edits nothing", "admin", patch("f", "staging"), standard},
		{"support on support", "support", patch("s", "production"), none},
		{"engineer in production", "engineer", patch("f", "production"), none},
		{"nonprotected in production", "engineer_nonprotected", patch("f", "production"), standard},
		{"nonprotected on default rules", "engineer_nonprotected", patch("f", "default"), standard},
		{"protected-env on default rules", "engineer", patch("p", "default"), guarded},
		{"protected-all-envs in staging", "engineer", patch("all", "staging"), guarded},
		{"a misspelt tier", "engineer", patch("odd", "staging"), guarded},
		{"a tier that is no string", "engineer", patch("number", "staging"), guarded},
		{"a no-op needs it too", "member", func(*world) change.Operation { return enable("f", "default", false) }, standard},

		{"creation by engineer", "engineer", create(document.Flag), none},
		{"creation by nonprotected", "engineer_nonprotected", create(document.Flag), standard},

		{"PUT of staging's rules", "engineer_nonprotected", put("f", entry("staging")), none},
		{"PUT of production's rules", "engineer_nonprotected", put("f", entry("production")), standard},
		{"PUT of default rules", "engineer_nonprotected", put("f", "", serves("bool", "true")), standard},
		{"PUT of metadata", "engineer_nonprotected", put("f", `,"name":"n"`), standard},
		{"PUT of nothing", "engineer_nonprotected", put("f", ""), none},
		{"moved down", "support", put("f", `,"access":"support"`), standard},
		{"moved up", "engineer", put("f", `,"access":"protected-all-envs"`), guarded},
		{"moved out of protection", "engineer", put("all", ""), guarded},

		{"deletion by nonprotected", "engineer_nonprotected", remove(document.Flag, "f"), standard},
		{"deletion of protected-all-envs", "engineer", remove(document.Flag, "all"), guarded},
		{"deletion of what is no object", "engineer", remove(document.Flag, "broken"), guarded},
		{"deletion of a schema that nobody names", "engineer", remove(workspace.SchemaType, "free"), none},
		{"deletion of a schema by nonprotected", "engineer_nonprotected", remove(workspace.SchemaType, "free"), standard},
		{"deletion of a schema of a guarded config", "engineer", remove(workspace.SchemaType, "bound"), guarded},

		{"a first schema by nonprotected", "engineer_nonprotected", schema("new"), standard},
		{"a schema of a guarded config", "engineer", schema("bound"), guarded},
		{"a schema of support's configs by support", "support", schema("helped"), none},
		{"a segment's rules by nonprotected", "engineer_nonprotected", segment("open"), standard},
		{"a guarded segment's rules", "engineer", segment("closed"), guarded},
		{"a first segment by nonprotected", "engineer_nonprotected", create(document.Segment), standard},
		{"a segment of support's flags by support", "support", segment("helpful"), none},
		{"a segment that a standard flag uses by support", "support", segment("usual"), standard},
		{"a segment that a guarded flag uses", "engineer", segment("shared"), guarded},
		{"a segment of a segment that a guarded flag uses", "engineer", segment("beneath"), guarded},
		{"a segment that a flag of a misspelt tier uses", "engineer", segment("of-odd"), guarded},
		{"a segment in a circle by engineer", "engineer", segment("round"), none},
		{"deletion of a segment that a guarded flag uses", "engineer", remove(document.Segment, "shared"), guarded},
		{"restoring a segment that a guarded flag uses", "engineer", func(w *world) change.Operation {
			commit := w.last().SHA
			w.repo.Push(ada, "after", map[string]string{"segments/shared.json": segmentOf("shared", serves("bool", "false"))})
			return change.Revert(document.Segment, "shared", change.Reversion{CommitSHA: commit, Mode: "restore"})
		}, guarded},
		{"a first segment that a guarded flag names already", "engineer", func(w *world) change.Operation {
			w.repo.Push(ada, "ahead", map[string]string{path("all"): boolFlag("all", `,"access":"protected-all-envs"`, inSegment("new"))})
			return create(document.Segment)(w)
		}, guarded},

		{"undo in staging", "engineer_nonprotected", revert("undo", "u", "staging"), none},
		{"undo in production", "engineer_nonprotected", revert("undo", "u", "production"), standard},
		{"undo of a creation", "engineer_nonprotected", revert("undo", "u", ""), standard},
		{"undo that is refused for an overlap", "engineer_nonprotected", revert("undo again", "u", "production"), standard},
		{"restore to where only staging differs", "engineer_nonprotected", revert("restore", "u", "staging"), none},
		{"restore to where production differs", "engineer_nonprotected", revert("restore", "u", "production"), standard},
		{"undo of a move out of protection", "engineer", revert("undo", "u", "access"), guarded},
		{"undo of the deletion of a guarded flag", "engineer", revert("undo", "u", "deleted"), guarded},

		{"a level in staging", "engineer_nonprotected", level("held", "staging"), none},
		{"a level in production", "engineer_nonprotected", level("held", "production"), standard},
		{"a first level in staging has default rules", "engineer_nonprotected", level("new", "staging"), standard},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{
				path("f"):                        boolFlag("f", ""),
				path("guarded"):                  boolFlag("guarded", `,"access":"protected-all-envs","environments":[{"id":"staging","rules":[`+inSegment("above")+`,`+inSegment("shared")+`]}]`),
				path("helped"):                   boolFlag("helped", `,"access":"support"`, inSegment("helpful")),
				path("usual"):                    boolFlag("usual", "", inSegment("usual")),
				path("of-odd"):                   boolFlag("of-odd", `,"access":"suport"`, inSegment("of-odd")),
				"segments/above.json":            segmentOf("above", inSegment("between")),
				"segments/between.json":          segmentOf("between", inSegment("beneath")),
				"segments/beneath.json":          segmentOf("beneath", serves("bool", "true")),
				"segments/shared.json":           segmentOf("shared", serves("bool", "true")),
				"segments/helpful.json":          strings.Replace(segmentOf("helpful", serves("bool", "true")), `"name"`, `"access":"support","name"`, 1),
				"segments/usual.json":            strings.Replace(segmentOf("usual", serves("bool", "true")), `"name"`, `"access":"support","name"`, 1),
				"segments/of-odd.json":           segmentOf("of-odd", serves("bool", "true")),
				"segments/round.json":            segmentOf("round", inSegment("round-too")),
				"segments/round-too.json":        segmentOf("round-too", inSegment("round")),
				path("s"):                        boolFlag("s", `,"access":"support"`),
				path("p"):                        boolFlag("p", `,"access":"protected-env"`),
				path("all"):                      boolFlag("all", `,"access":"protected-all-envs"`),
				path("odd"):                      boolFlag("odd", `,"access":"suport"`),
				path("number"):                   boolFlag("number", `,"access":1`),
				path("broken"):                   `["no object"]`,
				"schemas/free.json":              `{}`,
				"schemas/bound.json":             `{}`,
				"schemas/helped.json":            `{}`,
				"configs/helped.json":            configOf("helped", "int", "1", `,"schemaKey":"helped","access":"support"`),
				"segments/open.json":             segmentOf("open", serves("bool", "true")),
				"segments/closed.json":           strings.Replace(segmentOf("closed", serves("bool", "true")), `"name"`, `"access":"protected-env","name"`, 1),
				"configs/bound.json":             configOf("bound", "int", "1", `,"schemaKey":"bound","access":"protected-env"`),
				"log-levels/log-level.held.json": `{"key":"log-level.held","type":"log_level","valueType":"log_level","default":{"rules":[` + serves("log_level", `"INFO"`) + `]}}`,
			})
			o := change.ChangeSet{Operations: []change.Operation{test.ask(w)}}
			n := w.repo.Count("Commit")
			for _, o.DryRun = range []bool{true, false} {
				_, err := w.enter(test.role).Changes().Change(ctx, o)
				if test.required == none {
					wantRefusal(t, err, "ok")
					continue
				}
				f := wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
				if f.Details["required"] != test.required || !strings.Contains(f.Message, test.required) {
					t.Errorf("required %v (%s), want %s", f.Details["required"], f.Message, test.required)
				}
				if w.repo.Count("Commit") != n {
					t.Error("written all the same")
				}
			}
		})
	}
}

func TestWithoutProtectedEnvironmentsNothingIsGuarded(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), "svc.json": `{"environments":["production"]}`})
	for _, scope := range []string{"default", "production"} {
		_, err := w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)})
		wantRefusal(t, err, "ok")
	}
}

// A slip in the workspace file must not open what it protected.
func TestAWorkspaceFileThatCanNotBeReadGuardsEverything(t *testing.T) {
	flag := boolFlag("f", `,"environments":[{"id":"production","rules":[]},{"id":"staging","rules":[]}]`)
	for _, file := range []string{"", "{", "[]", "{}", `{"environments":["production","staging",{"name":"x","protected":"yes"}]}`, "\xff\xfe{\x00}\x00"} {
		w := newWorld(t, map[string]string{path("f"): flag, "svc.json": file + " "})
		for _, scope := range []string{"default", "production", "staging"} {
			_, err := w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)})
			if got := refusal(err); got != "403 FORBIDDEN PERMISSION_DENIED" && got != "404 NOT_FOUND" {
				t.Errorf("%q: %s: %s", file, scope, got)
			}
		}
		_, err := w.enter("engineer_nonprotected").Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{ExpectedCommitSHA: ptr(w.last().SHA),
			Document: node(t, strings.Replace(flag, `"rules":[]`, `"rules":[`+serves("bool", "true")+`]`, 1))})
		wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
	}
}

func TestServiceAccountsWriteUnderTheirName(t *testing.T) {
	w := newWorld(t, nil)
	key := w.key("service_account", "engineer")
	p := w.gate.people[key.Principal()]
	p.Name = " Deploy <bot>\nAuthor: evil "
	w.gate.people[key.Principal()] = p
	s := must.Get(w.service.SessionOf(ctx, key.Reveal()))(t)
	must.Get(s.Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "f"}))(t)
	c := w.last()
	if c.Author.Name != "Deploy bot Author: evil" || c.Author.Email != string(key.Principal())+"@service-accounts.svc" {
		t.Errorf("%+v", c.Author)
	}
	if !strings.HasSuffix(c.Message, "\n\nSvc-Principal: service_account/"+string(key.Principal())+"\n") {
		t.Errorf("%q", c.Message)
	}
	p.Name, p.Type = " \n", "user"
	w.gate.people[key.Principal()] = p
	s = must.Get(w.service.SessionOf(ctx, key.Reveal()))(t)
	must.Get(s.Changes().Create(ctx, change.Creation{Type: document.Flag, Key: "g"}))(t)
	if c := w.last(); c.Author.Name != string(key.Principal()) || c.Author.Email != string(key.Principal())+"@users.svc" {
		t.Errorf("%+v", c.Author)
	}
}
