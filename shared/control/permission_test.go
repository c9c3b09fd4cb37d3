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
		ended(w.enter("engineer_nonprotected").Changes().Patch(ctx, document.Flag, "f", scope, change.ValuePatch{Enabled: ptr(true)}))(t, "ok")
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

const (
	guardedReferences = `{"environments": [{"name": "production", "protected": true}, "staging"], "secretReferences": "protected"}`
	stolenCiphertext  = "c3RvbGVuIGNpcGhlcnRleHQ="
)

// sealed is a rule that serves a ciphertext.
func sealed(ciphertext, with string) string {
	return fmt.Sprintf(`{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":%q,"decryptWith":%q}}`, ciphertext, with)
}

const fromEnvironment = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"provided","value":{"source":"ENV_VAR","lookup":%q}}}`

const sealedVariant = `,"variants":[{"value":{"type":"string","value":"b2xk","decryptWith":"master"}}]`

// vault is a workspace in which a secret of the highest tier lies beside the
// config of an ordinary engineer.
func vault(t *testing.T, declaration string) *world {
	t.Helper()
	return newWorld(t, map[string]string{
		"svc.json":             declaration,
		"configs/master.json":  configWith("master", `,"access":"protected-all-envs"`, fmt.Sprintf(fromEnvironment, "MASTER")),
		"configs/near.json":    configWith("near", "", serves("string", `"k"`)),
		"configs/token.json":   configWith("token", `,"access":"protected-all-envs"`, sealed(stolenCiphertext, "master")),
		"configs/mine.json":    configWith("mine", "", serves("string", `"x"`)),
		"configs/used.json":    configWith("used", `,"variants":[{"value":{"type":"string","value":"b2xk","decryptWith":"master"}}]`, sealed("b2xk", "master")),
		"configs/offered.json": configWith("offered", sealedVariant, serves("string", `"x"`)),
		"configs/looked.json":  configWith("looked", "", fmt.Sprintf(fromEnvironment, "ORDINARY")),
		"feature-flags/f.json": boolFlag("f", ""),
	})
}

func configWith(key, more string, rules ...string) string {
	return fmt.Sprintf(`{"key":%q,"type":"config","valueType":"string"%s,"default":{"rules":[%s]}}`, key, more, strings.Join(rules, ","))
}

// putConfig replaces a config under its current token.
func (w *world) putConfig(role, key, text string) (*change.PutResult, error) {
	w.t.Helper()
	stored := must.Get(w.boss().Document(ctx, document.Config, key, nil))(w.t)
	return w.enter(role).Changes().PutDocument(ctx, document.Config, key, change.DocumentPut{Document: node(w.t, text), ExpectedCommitSHA: &stored.CommitSHA})
}

// TestToBringInADecryptionKeyIsToUseIt: who may not edit the config that holds
// a key cannot have applications decrypt with it under another name.
func TestToBringInADecryptionKeyIsToUseIt(t *testing.T) {
	plain := serves("string", `"x"`)
	arm := `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"weightedValues":[{"weight":1,"value":{"type":"string","value":"` + stolenCiphertext + `","decryptWith":"master"}}]}}}`
	for _, c := range []struct{ name, key, document, engineer string }{
		{"in the default rules", "mine", configWith("mine", "", sealed(stolenCiphertext, "master")), "403"},
		{"as an arm", "mine", configWith("mine", "", arm), "403"},
		{"by a split as a whole", "mine", configWith("mine", "", strings.Replace(strings.Replace(arm, `,"decryptWith":"master"`, "", 1), `"weighted_values"`, `"weighted_values","decryptWith":"master"`, 1)), "403"},
		{"as an operand", "mine", configWith("mine", "", `{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"a.b","valueToMatch":{"type":"string_list","value":"`+stolenCiphertext+`","decryptWith":"master"}}],"value":{"type":"string","value":"x"}}`), "403"},
		{"with a key that one may edit", "mine", configWith("mine", "", sealed(stolenCiphertext, "near")), "ok"},
		{"what stands there already", "used", configWith("used", `,"name":"n"`, sealed("b2xk", "master")), "ok"},
		{"with a key that there is not", "mine", configWith("mine", "", sealed(stolenCiphertext, "gone")), "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := vault(t, declaration)
			n := w.repo.Head()
			_, err := w.putConfig("engineer", c.key, c.document)
			if c.engineer != "403" {
				wantRefusal(t, err, c.engineer)
				return
			}
			f := wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
			if f.Details["required"] != "config.edit.protected" || !strings.Contains(f.Message, `"master"`) || strings.Contains(f.Message, stolenCiphertext) {
				t.Errorf("%v: %s", f.Details["required"], f.Message)
			}
			if w.repo.Head() != n {
				t.Error("written all the same")
			}
			ended(w.putConfig("protected_engineer", c.key, c.document))(t, "ok")
		})
	}
	t.Run("by a PATCH over a ciphertext", func(t *testing.T) {
		for _, dry := range []bool{true, false} {
			w := vault(t, declaration)
			patch := change.ValuePatch{Request: change.Request{DryRun: dry}, Value: node(t, `"`+stolenCiphertext+`"`)}
			ended(w.enter("engineer").Changes().Patch(ctx, document.Config, "used", "staging", patch))(t, "403 FORBIDDEN PERMISSION_DENIED")
			ended(w.enter("protected_engineer").Changes().Patch(ctx, document.Config, "used", "staging", patch))(t, "ok")
		}
	})
	t.Run("a PATCH that copies what stands in the default rules", func(t *testing.T) {
		w := vault(t, declaration)
		ended(w.enter("engineer").Changes().Patch(ctx, document.Config, "used", "staging", change.ValuePatch{Value: node(t, `"b2xk"`)}))(t, "ok")
	})
	t.Run("a PATCH that serves what is a variant", func(t *testing.T) {
		w := vault(t, declaration)
		_, err := w.enter("engineer").Changes().Patch(ctx, document.Config, "offered", "staging", change.ValuePatch{Value: node(t, `"b2xk"`)})
		if staging := node(t, w.stored("configs/offered.json")).Get("environments"); err == nil && strings.Contains(wire(t, staging), "decryptWith") {
			t.Errorf("an engineer decrypts with a key of others: %s", wire(t, staging))
		}
	})
	t.Run("the scope counts", func(t *testing.T) {
		w := vault(t, declaration)
		for scope, want := range map[string]string{"staging": "ok", "production": "403 FORBIDDEN PERMISSION_DENIED"} {
			rules := `,"environments":[{"id":"` + scope + `","rules":[` + sealed(stolenCiphertext, "near") + `]}]`
			ended(w.putConfig("engineer_nonprotected", "mine", configWith("mine", rules, plain)))(t, want)
		}
	})
	t.Run("a key that cannot be read is guarded", func(t *testing.T) {
		w := vault(t, declaration)
		w.repo.Push(ada, "break it", map[string]string{"configs/near.json": "{"})
		ended(w.putConfig("engineer", "mine", configWith("mine", "", sealed(stolenCiphertext, "near"))))(t, "403 FORBIDDEN PERMISSION_DENIED")
	})
}

// TestALookupIsAWarningAndMayBeGuarded: a provided value reads any environment
// variable of the applications.
func TestALookupIsAWarningAndMayBeGuarded(t *testing.T) {
	lookup := func(name string) string { return fmt.Sprintf(fromEnvironment, name) }
	const refused = "403 FORBIDDEN PERMISSION_DENIED"
	for _, c := range []struct {
		name, svc, key, document, engineer string
		warnings                           int
	}{
		{"brought in", guardedReferences, "mine", configWith("mine", "", lookup("AWS_SECRET_ACCESS_KEY")), refused, 1},
		{"changed", guardedReferences, "looked", configWith("looked", "", lookup("AWS_SECRET_ACCESS_KEY")), refused, 1},
		{"as it was", guardedReferences, "looked", configWith("looked", `,"name":"n"`, lookup("ORDINARY")), "ok", 0},
		{"where they are open", declaration, "mine", configWith("mine", "", lookup("PATH")), "ok", 1},
		{"where the setting is misspelt", strings.Replace(guardedReferences, `"protected"}`, `"proteced"}`, 1), "mine", configWith("mine", "", lookup("PATH")), refused, 1},
		{"where svc.json cannot be read", `{"environments": ["staging", {"name": 1}]}`, "mine", configWith("mine", "", lookup("PATH")), refused, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := vault(t, c.svc)
			result, err := w.putConfig("engineer", c.key, c.document)
			if f := wantRefusal(t, err, c.engineer); c.engineer == refused {
				if f.Details["required"] != "config.edit.protected" || strings.Contains(f.Message, "AWS_SECRET") {
					t.Errorf("%v: %s", f.Details["required"], f.Message)
				}
				result, err = w.putConfig("protected_engineer", c.key, c.document)
				wantRefusal(t, err, "ok")
			}
			if len(result.Warnings) != c.warnings {
				t.Errorf("%d warnings, want %d: %v", len(result.Warnings), c.warnings, result.Warnings)
			}
			for _, warning := range result.Warnings {
				if warning.Pointer != "/default/rules/0/value" || !strings.Contains(warning.Message, "environment") {
					t.Errorf("%+v", warning)
				}
			}
		})
	}
}

// TestPlainTextOverASecretIsAWarning: the contract has it written.
func TestPlainTextOverASecretIsAWarning(t *testing.T) {
	w := vault(t, guardedReferences)
	patch := func(key, scope, value string) *change.PatchResult {
		return must.Get(w.enter("engineer").Changes().Patch(ctx, document.Config, key, scope, change.ValuePatch{Value: node(t, value)}))(t)
	}
	for _, c := range []struct{ key, scope, value, want string }{
		{"looked", "staging", `"plain"`, "/environments/0/rules/0/value"}, // the default rules' lookup has held there until now
		{"looked", "staging", `"plain again"`, ""},
		{"looked", "default", `"plain"`, "/default/rules/0/value"},
		{"mine", "default", `"y"`, ""},
		{"mine", "default", `"y"`, ""},
	} {
		got := patch(c.key, c.scope, c.value)
		if c.want == "" {
			if strings.Contains(wire(t, got), "warnings") {
				t.Errorf("%+v: %s", c, wire(t, got))
			}
			continue
		}
		if len(got.Warnings) != 1 || got.Warnings[0].Pointer != c.want || !strings.Contains(got.Warnings[0].Message, "plain") || !got.Changed {
			t.Errorf("%+v: %s", c, wire(t, got))
		}
	}
	// The server encrypts nothing: a switch over a ciphertext is plain too.
	sealedBool := strings.Replace(sealed("b2xk", "master"), `"type":"string"`, `"type":"bool"`, 1)
	w.repo.Push(ada, "a sealed flag", map[string]string{path("sealed"): boolFlag("sealed", "", sealedBool)})
	on := must.Get(w.boss().Changes().Patch(ctx, document.Flag, "sealed", "default", change.ValuePatch{Enabled: ptr(true)}))(t)
	if len(on.Warnings) != 1 || on.Warnings[0].Pointer != "/default/rules/0/value" {
		t.Errorf("a switch over a ciphertext: %s", wire(t, on))
	}
}
