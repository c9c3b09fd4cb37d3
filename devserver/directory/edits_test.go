package directory

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
)

// drawRule draws a rule of a document whose values are texts.
func drawRule(t *rapid.T) string {
	list := rapid.SampledFrom([]string{`["a"]`, `["b"]`, `["a","b"]`, `[]`, `["c","d","e"]`})
	criterion := rapid.OneOf(
		rapid.Just(`{"operator":"ALWAYS_TRUE"}`),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"operator":%q,"propertyName":%q,"valueToMatch":{"type":"string_list","value":%s}}`,
				rapid.SampledFrom([]string{"PROP_IS_ONE_OF", "PROP_IS_NOT_ONE_OF", "PROP_STARTS_WITH_ONE_OF", "PROP_CONTAINS_ONE_OF", "UNKNOWN"}).Draw(t, "operator"),
				rapid.SampledFrom([]string{"user.key", "user.plan", "plan"}).Draw(t, "property"), list.Draw(t, "operand"))
		}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"operator":%q,"valueToMatch":{"type":"string","value":%q}}`,
				rapid.SampledFrom([]string{"IN_SEG", "NOT_IN_SEG"}).Draw(t, "operator"), rapid.SampledFrom([]string{"s", "t", "gone"}).Draw(t, "segment"))
		}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"operator":"PROP_MATCHES","propertyName":"user.key","valueToMatch":{"type":"string","value":%q}}`,
				rapid.SampledFrom([]string{"^a", "b$", "x{1000}", "^a", "b$", "x{1000}", "^b", "c", "("}).Draw(t, "expression"))
		}),
		rapid.Custom(func(t *rapid.T) string {
			return fmt.Sprintf(`{"operator":"PROP_BEFORE","propertyName":"svc.current-time","valueToMatch":{"type":"string","value":"20%d0-01-01T00:00:00Z"}}`,
				rapid.IntRange(0, 9).Draw(t, "decade"))
		}),
	)
	value := `{"type":"string","value":%q}`
	arm := `{"value":{"type":"string","value":%q},"weight":%d}`
	plain := fmt.Sprintf(value, rapid.SampledFrom([]string{"one", "two", "three"}).Draw(t, "value"))
	if rapid.IntRange(0, 4).Draw(t, "split") == 0 {
		plain = fmt.Sprintf(`{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[`+arm+","+arm+`]}}`, "x", 1, "y", rapid.IntRange(0, 3).Draw(t, "weight"))
	}
	return fmt.Sprintf(`{"criteria":[%s],"value":%s}`, strings.Join(rapid.SliceOfN(criterion, 0, 2).Draw(t, "criteria"), ","), plain)
}

func drawDocument(t *rapid.T, folder, key string) string {
	kind := map[string]string{"feature-flags": "feature_flag", "configs": "config", "segments": "segment"}[folder]
	rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 3)
	text := fmt.Sprintf(`{"key":%q,"type":%q,"valueType":"string","sendToClientSdk":%t,"default":{"rules":[%s]},"environments":[{"id":"development","rules":[%s]}]}`,
		key, kind, folder == "configs" && rapid.Bool().Draw(t, "sent"), strings.Join(rules.Draw(t, "default"), ","), strings.Join(rules.Draw(t, "own"), ","))
	if kind == "segment" {
		text = strings.NewReplacer(`"one"`, "true", `"two"`, "false", `"three"`, "true", `"x"`, "true", `"y"`, "false", `"type":"string","value":t`, `"type":"bool","value":t`,
			`"type":"string","value":f`, `"type":"bool","value":f`).Replace(text)
	}
	return text
}

// TestEditsLeadWhereAStartDoes: after any edits, what is served is what a server
// that starts now would serve, in every byte, and where that would refuse to start
// it is what was served before.
func TestEditsLeadWhereAStartDoes(t *testing.T) {
	run, top := 0, t.TempDir()
	contexts := []string{`{}`, `{"user":{"key":"a","plan":"b"}}`, `{"user":{"key":"abc","plan":["a","c"]},"":{"plan":"d"}}`, `{"user":{"key":"` + strings.Repeat("x", 3000) + `"}}`}
	ask := func(d *Directory) (all string) {
		h := &delivery.Handler{Tables: d.Tables(""), Now: func() time.Time { return time.Unix(1_800_000_000, 0) }, Random: func() float64 { return 0.5 }}
		for _, context := range contexts {
			w := httptest.NewRecorder()
			h.Mux().ServeHTTP(w, httptest.NewRequest("POST", "/ofrep/v1/evaluate/flags", strings.NewReader(`{"context":`+context+`}`)))
			all += fmt.Sprintln(w.Code, w.Header().Get("ETag"), w.Body)
		}
		return all
	}
	served, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		dir := filepath.Join(top, fmt.Sprint(run))
		write(t, dir, "feature-flags/first.json", flagFile("first", "true"))
		d, err := Open(dir, "development", func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		last := ask(d)
		for range rapid.IntRange(1, 12).Draw(rt, "saves") {
			for range rapid.IntRange(1, 3).Draw(rt, "files") {
				folder := rapid.SampledFrom([]string{"feature-flags", "feature-flags", "configs", "segments"}).Draw(rt, "folder")
				key := rapid.SampledFrom(map[string][]string{"feature-flags": {"a", "b", "c", "d", "e", "f", "g"}, "configs": {"m", "n", "A"}, "segments": {"s", "t"}}[folder]).Draw(rt, "key")
				path := folder + "/" + key + ".json"
				switch rapid.IntRange(0, 30).Draw(rt, "edit") {
				case 0, 1, 2, 3:
					if err := os.RemoveAll(filepath.Join(dir, path)); err != nil {
						t.Fatal(err)
					}
				case 4:
					write(t, dir, path, rapid.SampledFrom([]string{"{", "", `{"key":1}`}).Draw(rt, "broken"))
				case 5, 6, 7:
					write(t, dir, "svc.json", rapid.SampledFrom([]string{`{"environments":["development"]}`, `{"environments":["development","e"]}`, `{"environments":["development","f"]}`, `{"environments":["development","g"]}`, `{"environments":["other"]}`}).Draw(rt, "declared"))
				default:
					write(t, dir, path, drawDocument(rt, folder, key))
				}
			}
			d.update(datadir.Look(dir))
			if fresh, err := Open(dir, "development", func(string) {}); err == nil {
				served++
				last = ask(fresh)
			} else {
				refused++
			}
			if got := ask(d); got != last {
				rt.Fatalf("after edits:\n%s\nwant\n%s", got, last)
			}
		}
	})
	if t.Logf("%d states are served, %d refused", served, refused); served < 20 || refused < 10 {
		t.Error("too few to tell")
	}
}
