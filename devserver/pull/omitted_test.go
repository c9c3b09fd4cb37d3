package pull_test

import (
	"fmt"
	"slices"
	"testing"

	"svc.example/svc/devserver/pull"
)

// TestWhatTheWorkspaceCannotReadStays: a file that the export leaves out, since somebody
// broke it in git, is named, and is not taken for deleted here.
func TestWhatTheWorkspaceCannotReadStays(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.set("b", flag("b", ""))
	f.pull()
	f.remove("b")
	f.omitted = `{"type":"feature_flag","key":"b","commitSha":"2"},{"type":"schema","key":"s","commitSha":"3"}`
	for i := range 2 {
		p := f.pull()
		if want := []string{"feature-flags/b.json", "schemas/s.json"}; !slices.Equal(p.Omitted, want) || len(p.Remove) > 0 || len(p.OnlyHere) > 0 {
			t.Errorf("omitted are %v, removed %v, only here %v", p.Omitted, p.Remove, p.OnlyHere)
		}
		if f.file("feature-flags/b.json") == "" {
			t.Fatal("the file is gone")
		}
		f.set("a", flag("a", fmt.Sprintf(`"n":%d,`, i)))
	}
	f.omitted = ""
	if p := f.pull(); !slices.Equal(p.Remove, []string{"feature-flags/b.json"}) {
		t.Errorf("deleted in the workspace, and removed here is %v", p.Remove)
	}
	f.set("a", flag("a", `"name":"A",`))
	f.omitted = `{"type":"feature_flag","key":""}`
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil {
		t.Error("an entry without key and commit was taken")
	}
}
