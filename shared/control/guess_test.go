package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/telemetry"
)

// secretConfig is a config whose values are confidential: of the default rules, and of
// environments.
func secretConfig(key, more string, values ...string) string {
	rule := func(value string) string {
		return `{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"` + value + `","confidential":true}}]`
	}
	var environments []string
	for i, value := range values[1:] {
		environments = append(environments, rule(value)+`,"id":"`+[]string{"production", "staging"}[i]+`"}`)
	}
	return fmt.Sprintf(`{"key":%q,"type":"config","valueType":"string"%s,"default":%s},"environments":[%s]}`, key, more, rule(values[0]), strings.Join(environments, ","))
}

// TestAConfidentialValueAnswersNoQuestion: a dry run says the same whether the value that
// it tries is the confidential one or not, and whether the confidential one fits a schema.
func TestAConfidentialValueAnswersNoQuestion(t *testing.T) {
	const (
		right, wrong = "hunter2", "hunter3"
		kept         = "schemas/s.json"
		variants     = `{"key":"v","type":"feature_flag","valueType":"string","variants":[{"value":{"type":"string","value":"hunter2","confidential":true}},{"value":{"type":"string","value":"plain"}}],"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"plain"}}]}}`
	)
	one := func(operations ...control.Operation) []control.Operation { return operations }
	patch := func(t *testing.T, key, scope, value string) control.Operation {
		return control.Patch(key, scope, control.ConfigPatch{Value: node(t, `"`+value+`"`)})
	}
	put := func(t *testing.T, kind document.Type, key, text string) control.Operation {
		return control.Put(kind, key, control.DocumentPut{Document: node(t, text)})
	}
	schema := func(t *testing.T, text string) control.Operation {
		return put(t, control.Schema, "s", text)
	}
	restore := func(w *world) control.Operation {
		return control.Revert(document.Config, "c", control.Reversion{CommitSHA: w.last().SHA, Mode: "restore"})
	}
	undo := func(w *world) control.Operation {
		return control.Revert(document.Config, "c", control.Reversion{CommitSHA: w.last().SHA, Mode: "undo"})
	}
	copied := control.Copy(control.Copying{From: "production", To: "staging", Keys: []string{"c"}})
	pattern := func(value string) string { return `{"type":"string","pattern":"^` + value + `$"}` }
	for _, test := range []struct {
		name       string
		operations func(t *testing.T, w *world, guess string) []control.Operation
	}{
		{"a patch", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(patch(t, "c", "production", guess))
		}},
		{"a patch of the default rules", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(patch(t, "c", "default", guess))
		}},
		{"a document", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(put(t, document.Config, "c", secretConfig("c", `,"schemaKey":"s"`, "other", guess, "third")))
		}},
		{"a document with another name", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(put(t, document.Config, "c", secretConfig("c", `,"schemaKey":"s","name":"n"`, "other", guess, "third")))
		}},
		{"a document that shows the value", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(put(t, document.Config, "c", strings.ReplaceAll(secretConfig("c", `,"schemaKey":"s"`, "other", guess, "third"), `,"confidential":true`, "")))
		}},
		{"the value and then another", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(patch(t, "c", "production", "x"), patch(t, "c", "production", guess))
		}},
		{"the value, copied over", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(patch(t, "c", "staging", guess), copied)
		}},
		{"the value, restored", func(t *testing.T, w *world, guess string) []control.Operation {
			return one(patch(t, "c", "production", guess), restore(w))
		}},
		{"the value, undone", func(t *testing.T, w *world, guess string) []control.Operation {
			return one(patch(t, "c", "production", guess), undo(w))
		}},
		{"deleted and made anew", func(t *testing.T, w *world, guess string) []control.Operation {
			return one(control.Delete(document.Config, "c", control.Deletion{}), restore(w), patch(t, "c", "production", guess))
		}},
		{"a value among confidential variants", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(control.Patch("v", "production", control.FlagPatch{Value: node(t, `"`+guess+`"`)}))
		}},
		{"a rollout among confidential variants", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(control.Patch("v", "production", control.FlagPatch{Rollout: node(t, `[{"value":"`+guess+`","percent":10},{"value":"plain","percent":90}]`)}))
		}},
		{"a schema", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(schema(t, pattern(guess)))
		}},
		{"a schema and a patch elsewhere", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(schema(t, pattern("("+guess+"|fits)")), patch(t, "c", "staging", "fits"))
		}},
		{"a schema and a copy", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(schema(t, pattern(guess)), copied)
		}},
		{"a schema and a restoration", func(t *testing.T, w *world, guess string) []control.Operation {
			return one(control.Delete(document.Config, "c", control.Deletion{}), schema(t, pattern(guess)), restore(w))
		}},
		{"a schema and a value that breaks it", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(schema(t, pattern(guess)), patch(t, "c", "production", "breaks"))
		}},
		{"a schema and a document that breaks it", func(t *testing.T, _ *world, guess string) []control.Operation {
			return one(schema(t, pattern(guess)), put(t, document.Config, "c", secretConfig("c", `,"schemaKey":"s"`, "breaks", "breaks", "breaks")))
		}},
	} {
		for _, role := range []string{"protected_engineer", "engineer_nonprotected"} {
			t.Run(test.name+" by "+role, func(t *testing.T) {
				answer := func(guess string) string {
					w := newWorld(t, map[string]string{"configs/c.json": secretConfig("c", `,"schemaKey":"s"`, right, right, "third"), kept: `{"type":"string"}`, path("v"): variants})
					w.repo.push(ada, "describe it", map[string]string{"configs/c.json": secretConfig("c", `,"schemaKey":"s","description":"d"`, "other", right, "third")})
					settings := w.settings()
					settings.Contexts = &fakeContexts{found: []telemetry.Saved{{Type: "user", Key: "u"}}}
					w.service = control.New(settings)
					r, err := w.enter(role).Change(ctx, control.ChangeSet{Request: control.Request{DryRun: true, Impact: true}, Operations: test.operations(t, w, guess)})
					said := refusal(err)
					if err == nil {
						said = wire(t, r)
					} else {
						said += wire(t, err)
					}
					if strings.Contains(said, guess) && !strings.HasPrefix(test.name, "a document that shows") {
						t.Errorf("the value is told: %s", said)
					}
					return strings.ReplaceAll(said, guess, "GUESS")
				}
				if is, other := answer(right), answer(wrong); is != other {
					t.Errorf("the right one:\n%s\nanother:\n%s", is, other)
				}
			})
		}
	}
}
