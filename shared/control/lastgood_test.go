package control_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/workspace"
)

// delivered is the workspace as it is served.
func (w *world) delivered() *workspace.Workspace {
	w.t.Helper()
	d := must[*control.Delivery](w.t)(w.service.DeliveryOf(ctx, w.key(access.KindPublicSDK).Reveal()))
	return must[*workspace.Workspace](w.t)(d.Documents(ctx))
}

// served is the text of a document as it is served, "" when it is not.
func (w *world) served(path string) string {
	w.t.Helper()
	for _, item := range w.delivered().Items {
		if item.Path == path {
			return string(item.Text)
		}
	}
	return ""
}

func (w *world) detail() *control.WorkspaceDetail {
	w.t.Helper()
	return must[*control.WorkspaceDetail](w.t)(w.enter().Workspace(ctx))
}

// TestWhatIsServedOfABrokenDocument: each step is a commit; the document is
// served as in step from (-1: not at all) and is broken since step since.
func TestWhatIsServedOfABrokenDocument(t *testing.T) {
	flag := func(description string) string { return boolFlag("f", `,"description":"`+description+`"`) }
	withRegex := func(expression string) string {
		return boolFlag("f", "", `{"criteria":[{"operator":"PROP_MATCHES","propertyName":"user.key","valueToMatch":{"type":"string","value":"`+expression+`"}}],"value":{"type":"bool","value":true}}`)
	}
	long := []string{flag("good")}
	for n := range 120 {
		long = append(long, fmt.Sprint("broken ", n))
	}
	for name, test := range map[string]struct {
		steps       []string
		from, since int
	}{
		"broken once":                {[]string{flag("1"), "x"}, 0, 1},
		"broken twice":               {[]string{flag("1"), "x", "y"}, 0, 1},
		"the newest good":            {[]string{flag("1"), flag("2"), "x"}, 1, 2},
		"good between":               {[]string{flag("1"), "x", flag("2"), "y"}, 2, 3},
		"broken as it was before":    {[]string{flag("1"), "x", "y", "x"}, 0, 1},
		"never good":                 {[]string{"x", "y"}, -1, 0},
		"deleted meanwhile":          {[]string{flag("1"), "", "x", "y"}, -1, 2},
		"half of its rules":          {[]string{flag("1"), boolFlag("f", "", `{"criteria":1}`)}, 0, 1},
		"another type":               {[]string{flag("1"), strings.Replace(flag("2"), "feature_flag", "config", 1)}, 0, 1},
		"an expression that is none": {[]string{withRegex("^a"), withRegex("(")}, 0, 1},
		"too far back":               {long, -1, 21},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("other"): boolFlag("other", "")})
			var commits []string
			for n, step := range test.steps {
				commits = append(commits, w.repo.push(ada, fmt.Sprint("step ", n), map[string]string{path("f"): step}).SHA)
			}
			w.repo.push(ada, "something else", map[string]string{path("other"): boolFlag("other", `,"x":1`)})
			want, from := "", ""
			if test.from >= 0 {
				want, from = test.steps[test.from], commits[test.from]
			}
			if got := w.served(path("f")); got != want {
				t.Errorf("served is %s, want %s", got, want)
			}
			d := w.detail()
			if d.BrokenDocuments != 1 || len(d.Broken) != 1 || *d.CommitSHA != w.repo.head().Commit {
				t.Fatalf("the detail is %+v", d)
			}
			row := d.Broken[0]
			if row.Type != "feature_flag" || *row.Key != "f" || row.Since != commits[test.since] || (row.ServedFrom == nil) != (from == "") || from != "" && *row.ServedFrom != from || row.Problem == "" {
				t.Errorf("the row is %+v, want since %s and from %s", row, commits[test.since], from)
			}
		})
	}
}

// TestAWorkspaceFileThatIsBroken: the environments are as they last were.
func TestAWorkspaceFileThatIsBroken(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	good := w.delivered()
	w.repo.push(ada, "Break it", map[string]string{"svc.json": "{"})
	if now := w.delivered(); !now.Declared || !slices.Equal(now.Environments, good.Environments) {
		t.Errorf("the environments are %+v, declared: %t", now.Environments, now.Declared)
	}
	if d := w.detail(); d.BrokenDocuments != 1 || d.Broken[0].Type != "workspace" || d.Broken[0].Key != nil {
		t.Errorf("the detail is %+v", d)
	}
}

// TestManyBrokenDocuments: all are counted, some are told, and as many as is
// sensible are looked for in the history.
func TestManyBrokenDocuments(t *testing.T) {
	const many = 1100
	good, broken := map[string]string{}, map[string]string{}
	for n := range many {
		key := fmt.Sprintf("flag-%04d", n)
		good[path(key)], broken[path(key)] = boolFlag(key, ""), "broken"
	}
	w := newWorld(t, good)
	w.repo.push(ada, "Break all", broken)
	if got := len(w.delivered().Items); got != 1000 {
		t.Errorf("%d are served", got)
	}
	if d := w.detail(); d.BrokenDocuments != many || len(d.Broken) != 100 {
		t.Errorf("%d are counted and %d told", d.BrokenDocuments, len(d.Broken))
	}
	if n := w.repo.count("History"); n != 1000 {
		t.Errorf("%d histories were read", n)
	}
}

// TestTheLastGoodIsLookedForOnce, and not at all where nothing is broken.
func TestTheLastGoodIsLookedForOnce(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.delivered()
	if n := w.repo.count("History") + w.repo.count("At"); n != 0 {
		t.Errorf("%d questions to the history of what is not broken", n)
	}
	w.repo.push(ada, "Break it", map[string]string{path("f"): "x"})
	for n := range 3 {
		w.served(path("f"))
		w.detail()
		w.repo.push(ada, "something else", map[string]string{path("other"): boolFlag("other", fmt.Sprintf(`,"x":%d`, n))})
	}
	if n := w.repo.count("History") + w.repo.count("At"); n != 2 {
		t.Errorf("%d questions to the history", n)
	}
}

// TestAHistoryThatCannotBeRead: nothing is served in the place of what is not
// known, and the next request asks again.
func TestAHistoryThatCannotBeRead(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.push(ada, "Break it", map[string]string{path("f"): "x"})
	for _, method := range []string{"History", "At"} {
		w.repo.fail[method] = errStorage
		d := must[*control.Delivery](t)(w.service.DeliveryOf(ctx, w.key(access.KindPublicSDK).Reveal()))
		if _, err := d.Documents(ctx); !errors.Is(err, errStorage) {
			t.Errorf("%s failed, and the answer is %v", method, err)
		}
		if _, err := w.enter().Workspace(ctx); refusal(err) != "500 INTERNAL" {
			t.Errorf("%s failed, and the answer is %v", method, err)
		}
		delete(w.repo.fail, method)
	}
	if w.served(path("f")) == "" {
		t.Error("it is not served")
	}
}
