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
