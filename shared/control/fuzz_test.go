package control_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
)

// Whatever is sent is refused as the sender's mistake, or leaves a document
// that is valid.
func wantValidOrRefused(t *testing.T, w *world, path string, err error) {
	t.Helper()
	if err != nil {
		if got := refusal(err); !strings.HasPrefix(got, "400 ") && !strings.HasPrefix(got, "422 ") {
			t.Errorf("refused with %s: %v", got, err)
		}
		return
	}
	tree, err := jsontree.Parse([]byte(w.stored(path)))
	if err != nil {
		t.Fatal(err)
	}
	if issues := document.Validate(tree); len(issues) > 0 {
		t.Errorf("stored is %s: %v", tree.Compact(), issues)
	}
}

func FuzzPatch(f *testing.F) {
	for _, seed := range []string{`true`, `"x"`, `1.0`, `null`, `{"a":[1e400]}`, `["a"]`, `"PT1S"`,
		`[{"value":true,"percent":50},{"value":false,"percent":50}]`, `[{"percent":1e2},{}]`, `[[],1]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := jsontree.Parse([]byte(text))
		if err != nil {
			return
		}
		w := newWorld(t, map[string]string{
			path("bool"):         boolFlag("bool", ""),
			path("double"):       strings.Replace(strings.Replace(boolFlag("double", "", serves("double", "1")), `"bool"`, `"double"`, 1), `"key":"bool"`, `"key":"double"`, 1),
			"configs/json.json":  configOf("json", "json", "{}", ""),
			"configs/lists.json": configOf("lists", "string_list", "[]", ""),
		})
		for _, key := range []string{"bool", "double"} {
			for _, patch := range []change.ValuePatch{{Value: n}, {Rollout: n}, {Value: n, Rollout: n}} {
				_, err := w.boss().Changes().Patch(ctx, document.Flag, key, "staging", patch)
				wantValidOrRefused(t, w, path(key), err)
			}
		}
		for _, key := range []string{"json", "lists"} {
			_, err := w.boss().Changes().Patch(ctx, document.Config, key, "staging", change.ValuePatch{Value: n})
			wantValidOrRefused(t, w, "configs/"+key+".json", err)
		}
	})
}

func FuzzPut(f *testing.F) {
	f.Add(boolFlag("f", `,"name":"n"`))
	f.Add(boolFlag("f", `,"environments":[{"id":"staging","rules":[]}]`, targets("pro", "bool", "true")))
	f.Add(boolFlag("f", `,"access":null`, serves("weighted_values", `{"weightedValues":[{"value":{"type":"bool","value":true},"weight":1}]}`)))
	f.Add(`{"key":"f","type":"feature_flag"}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := jsontree.Parse([]byte(text))
		if err != nil {
			return
		}
		w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
		r, err := w.boss().Changes().PutDocument(ctx, document.Flag, "f", change.DocumentPut{Document: n, ExpectedCommitSHA: ptr(w.last().SHA)})
		wantValidOrRefused(t, w, path("f"), err)
		if err == nil && r.Changed {
			must[*project.FlagDetail](t)(w.boss().Flag(ctx, "f"))
			must[*feed.ActivityList](t)(w.boss().Activity(ctx, feed.ActivityQuery{}))
		}
	})
}
