package served_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
)

var (
	ctx = context.Background()
	ada = repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
)

const declaration = `{"environments": [{"name": "production", "protected": true}, "staging"]}`

// world is a workspace and what is remembered of it.
type world struct {
	t      testing.TB
	repo   *memoryrepository.Repository
	memory *served.Memory
}

func newWorld(t testing.TB, files map[string]string) *world {
	w := &world{t, memoryrepository.New(), served.New(32<<20, true, false)}
	w.push(map[string]string{"svc.json": declaration})
	w.push(files)
	return w
}

func (w *world) push(files map[string]string) string { return w.repo.Push(ada, "by hand", files).SHA }

// head is the workspace at its head.
func (w *world) head() *served.Head {
	w.t.Helper()
	snapshot := must.Get(w.repo.Snapshot(ctx, w.repo.Head()))(w.t)
	return must.Get(w.memory.Open(ctx, "shop", w.repo, snapshot))(w.t)
}

// served are the texts of what is served, by path, and broken what cannot be.
func (w *world) served() (texts map[string]string, broken []served.Broken) {
	w.t.Helper()
	h := w.head()
	ws, err := h.Effective(ctx)
	if err == nil {
		broken, err = h.AllBroken(ctx)
	}
	must.Do(w.t, err)
	texts = map[string]string{}
	for _, item := range ws.Items {
		texts[item.Path] = string(item.Text)
	}
	return texts, broken
}

func path(key string) string { return "feature-flags/" + key + ".json" }

func flag(key, more string) string {
	return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"bool"%s,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`, key, more)
}

// TestWhatIsServedOfABrokenDocument: each step is a commit; the document is
// served as in step from (-1: not at all) and is broken since step since.
func TestWhatIsServedOfABrokenDocument(t *testing.T) {
	describes := func(description string) string { return flag("f", `,"description":"`+description+`"`) }
	withRegex := func(expression string) string {
		return strings.Replace(flag("f", ""), `{"operator":"ALWAYS_TRUE"}`, `{"operator":"PROP_MATCHES","propertyName":"user.key","valueToMatch":{"type":"string","value":"`+expression+`"}}`, 1)
	}
	long := []string{describes("good")}
	for n := range 120 {
		long = append(long, fmt.Sprint("broken ", n))
	}
	for name, test := range map[string]struct {
		steps       []string
		from, since int
	}{
		"broken once":                {[]string{describes("1"), "x"}, 0, 1},
		"broken twice":               {[]string{describes("1"), "x", "y"}, 0, 1},
		"the newest good":            {[]string{describes("1"), describes("2"), "x"}, 1, 2},
		"good between":               {[]string{describes("1"), "x", describes("2"), "y"}, 2, 3},
		"broken as it was before":    {[]string{describes("1"), "x", "y", "x"}, 0, 1},
		"never good":                 {[]string{"x", "y"}, -1, 0},
		"deleted meanwhile":          {[]string{describes("1"), "", "x", "y"}, -1, 2},
		"half of its rules":          {[]string{describes("1"), strings.Replace(flag("f", ""), `[{"operator":"ALWAYS_TRUE"}]`, "1", 1)}, 0, 1},
		"another type":               {[]string{describes("1"), strings.Replace(describes("2"), "feature_flag", "config", 1)}, 0, 1},
		"an expression that is none": {[]string{withRegex("^a"), withRegex("(")}, 0, 1},
		"too far back":               {long, -1, 21},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("other"): flag("other", "")})
			var commits []string
			for _, step := range test.steps {
				commits = append(commits, w.push(map[string]string{path("f"): step}))
			}
			w.push(map[string]string{path("other"): flag("other", `,"x":1`)})
			want, from := "", ""
			if test.from >= 0 {
				want, from = test.steps[test.from], commits[test.from]
			}
			texts, broken := w.served()
			if texts[path("f")] != want {
				t.Errorf("served is %s, want %s", texts[path("f")], want)
			}
			if len(broken) != 1 || broken[0].File.Path != path("f") || broken[0].Since != commits[test.since] || broken[0].ServedFrom != from || len(broken[0].Problems) == 0 {
				t.Errorf("broken is %+v, want since %s and from %s", broken, commits[test.since], from)
			}
		})
	}
}

// TestManyBrokenDocuments: all are counted, and as many as is sensible are looked for in
// the history.
func TestManyBrokenDocuments(t *testing.T) {
	const many = 1100
	good, bad := map[string]string{}, map[string]string{}
	for n := range many {
		key := fmt.Sprintf("flag-%04d", n)
		good[path(key)], bad[path(key)] = flag(key, ""), "broken"
	}
	w := newWorld(t, good)
	w.push(bad)
	texts, broken := w.served()
	if n := w.repo.Count("History"); len(texts) != 1000 || len(broken) != many || n != 1000 {
		t.Errorf("%d are served, %d are broken, %d histories were read", len(texts), len(broken), n)
	}
}

// TestTheLastGoodIsLookedForOnce, and not at all where nothing is broken.
func TestTheLastGoodIsLookedForOnce(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", "")})
	asked := func() int { return w.repo.Count("History") + w.repo.Count("At") }
	if w.served(); asked() != 0 {
		t.Errorf("%d questions to the history of what is not broken", asked())
	}
	w.push(map[string]string{path("f"): "x"})
	for n := range 3 {
		w.served()
		w.push(map[string]string{path("other"): flag("other", fmt.Sprintf(`,"x":%d`, n))})
	}
	if asked() != 2 {
		t.Errorf("%d questions to the history", asked())
	}
}

// TestAHistoryThatCannotBeRead: nothing is served in the place of what is not
// known, and the next request asks again.
func TestAHistoryThatCannotBeRead(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", "")})
	w.push(map[string]string{path("f"): "x"})
	disk := errors.New("disk on fire")
	for _, method := range []string{"History", "At"} {
		w.repo.Fail[method] = disk
		h := w.head()
		if _, err := h.Effective(ctx); !errors.Is(err, disk) {
			t.Errorf("%s failed, and the answer is %v", method, err)
		}
		if _, err := h.AllBroken(ctx); !errors.Is(err, disk) {
			t.Errorf("%s failed, and the answer is %v", method, err)
		}
		delete(w.repo.Fail, method)
	}
	if texts, _ := w.served(); texts[path("f")] != flag("f", "") {
		t.Error("it is not served")
	}
}
