package directory

import (
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
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
// the same holds with each file that is in the way as it last was served, if it was.
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
		d := must.Get(Open(dir, "development", func(string) {}))(t)
		for range rapid.IntRange(1, 12).Draw(rt, "saves") {
			for range rapid.IntRange(1, 3).Draw(rt, "files") {
				folder := rapid.SampledFrom([]string{"feature-flags", "feature-flags", "configs", "segments"}).Draw(rt, "folder")
				key := rapid.SampledFrom(map[string][]string{"feature-flags": {"a", "b", "c", "d", "e", "f", "g"}, "configs": {"m", "n", "A"}, "segments": {"s", "t"}}[folder]).Draw(rt, "key")
				path := folder + "/" + key + ".json"
				switch rapid.IntRange(0, 30).Draw(rt, "edit") {
				case 0, 1, 2, 3:
					must.Do(t, os.RemoveAll(filepath.Join(dir, path)))
				case 4:
					write(t, dir, path, rapid.SampledFrom([]string{"{", "", `{"key":1}`, strings.Replace(drawDocument(rt, "segments", key), "IN_SEG", "PROP_MATCHES", -1)}).Draw(rt, "broken"))
				case 5, 6, 7:
					write(t, dir, "svc.json", rapid.SampledFrom([]string{`{"environments":["development"]}`, `{"environments":["development","e"]}`, `{"environments":["development","f"]}`, `{"environments":["development","g"]}`, `{"environments":["other"]}`, "["}).Draw(rt, "declared"))
				default:
					write(t, dir, path, drawDocument(rt, folder, key))
				}
			}
			before, _ := d.Behind()
			disk := datadir.Look(dir)
			d.update(disk)
			fresh, err := Open(dir, "development", func(string) {})
			if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
				refused++
				good, behind := d.Behind()
				if !behind {
					rt.Fatalf("nobody hears of %v", refusal)
				}
				inTheWay := func(path string) bool {
					// An earlier segment may be in the way of a later one, and who has a key of who wants it.
					return strings.HasPrefix(path, "segments/") || slices.ContainsFunc(refusal.Problems, func(p workspace.Problem) bool { return strings.EqualFold(filepath.Base(p.File), filepath.Base(path)) })
				}
				for _, path := range slices.Concat(slices.Collect(maps.Keys(disk.Files)), slices.Collect(maps.Keys(good.Files))) {
					switch text, there := good.Files[path]; {
					case !inTheWay(path) && string(text) != string(disk.Files[path]):
						rt.Fatalf("%s is not served as it is, and nothing is wrong with it, but with others: %v", path, refusal)
					case there && string(text) != string(disk.Files[path]) && string(text) != string(before.Files[path]):
						rt.Fatalf("%s is served as it neither is nor was", path)
					}
				}
				at := filepath.Join(top, fmt.Sprint(run, " mended ", refused))
				for path, text := range good.Files {
					write(t, at, path, string(text))
				}
				fresh, err = Open(at, "development", func(string) {})
			} else {
				served++
			}
			must.Do(rt, err)
			if got, want := ask(d), ask(fresh); got != want {
				rt.Fatalf("after edits:\n%s\nwant\n%s", got, want)
			}
		}
	})
	if t.Logf("%d states are served, %d refused", served, refused); served < 20 || refused < 10 {
		t.Error("too few to tell")
	}
}

// A flag with three targeting rules and nothing that another flag has.
const flagOfItsOwn = `{"key":"flag-%[1]d","type":"feature_flag","valueType":"string","default":{"rules":[
  {"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["plan-%[1]d","free"]}}],"value":{"type":"string","value":"by plan"}},
  {"criteria":[{"operator":"PROP_ENDS_WITH_ONE_OF","propertyName":"user.email","valueToMatch":{"type":"string_list","value":["@team%[1]d.example"]}}],"value":{"type":"string","value":"by team"}},
  {"criteria":[{"operator":"PROP_GREATER_THAN","propertyName":"user.orders","valueToMatch":{"type":"int","value":%[1]d}}],"value":{"type":"string","value":"by orders"}},
  {"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"everyone else"}}
]},"environments":[],"variants":[]}`

// How soon a large directory is served hangs on how much is made on the way, since
// that has to be collected: of a document there is its text, what is served of it,
// and little else.
func TestLoadingMakesLittleThatDoesNotStay(t *testing.T) {
	const flags, most = 500, 100
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "feature-flags"), 0o777))
	for i := range flags {
		must.Do(t, os.WriteFile(filepath.Join(dir, "feature-flags", fmt.Sprintf("flag-%d.json", i)), fmt.Appendf(nil, flagOfItsOwn, i), 0o666))
	}
	made := testing.AllocsPerRun(2, func() {
		must.Get(Open(dir, "development", func(string) {}))(t)
	}) / flags
	t.Logf("%.0f pieces of memory for each document", made)
	if made > most {
		t.Errorf("%.0f pieces of memory are made for each document, more than %d", made, most)
	}
}
