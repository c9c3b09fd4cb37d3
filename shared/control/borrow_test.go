package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/testing/must"
)

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
			_, err = w.putConfig("protected_engineer", c.key, c.document)
			wantRefusal(t, err, "ok")
		})
	}
	t.Run("by a PATCH over a ciphertext", func(t *testing.T) {
		for _, dry := range []bool{true, false} {
			w := vault(t, declaration)
			patch := change.ValuePatch{Request: change.Request{DryRun: dry}, Value: node(t, `"`+stolenCiphertext+`"`)}
			_, err := w.enter("engineer").Changes().Patch(ctx, document.Config, "used", "staging", patch)
			wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
			_, err = w.enter("protected_engineer").Changes().Patch(ctx, document.Config, "used", "staging", patch)
			wantRefusal(t, err, "ok")
		}
	})
	t.Run("a PATCH that copies what stands in the default rules", func(t *testing.T) {
		w := vault(t, declaration)
		_, err := w.enter("engineer").Changes().Patch(ctx, document.Config, "used", "staging", change.ValuePatch{Value: node(t, `"b2xk"`)})
		wantRefusal(t, err, "ok")
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
			_, err := w.putConfig("engineer_nonprotected", "mine", configWith("mine", rules, plain))
			wantRefusal(t, err, want)
		}
	})
	t.Run("a key that cannot be read is guarded", func(t *testing.T) {
		w := vault(t, declaration)
		w.repo.Push(ada, "break it", map[string]string{"configs/near.json": "{"})
		_, err := w.putConfig("engineer", "mine", configWith("mine", "", sealed(stolenCiphertext, "near")))
		wantRefusal(t, err, "403 FORBIDDEN PERMISSION_DENIED")
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
