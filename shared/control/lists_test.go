package control_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/must"
)

func flagKeys(list *control.FlagList) string {
	var keys []string
	for _, row := range list.Flags {
		keys = append(keys, row.Key)
	}
	return strings.Join(keys, " ")
}

// shop has flags whose order by path differs from their order by key.
func shop() map[string]string {
	live := fmt.Sprintf(`,"tags":["web"],"environments":[{"id":"production","rules":[%s]}]`, serves("bool", "true"))
	return map[string]string{
		path("a"):       boolFlag("a", `,"tags":["web","x"]`),
		path("a-b"):     boolFlag("a-b", live),
		path("a.b"):     boolFlag("a.b", `,"readyForCleanup":true`),
		path("Z"):       boolFlag("Z", fmt.Sprintf(`,"environments":[{"id":"staging","rules":[%s]}]`, serves("bool", "true"))),
		path("colour"):  `{"key":"colour","type":"feature_flag","valueType":"string-list","default":{"rules":[]}}`,
		path("broken"):  `not JSON`,
		path("array"):   `[1]`,
		path("renamed"): boolFlag("other", ""),
	}
}

func TestFlagList(t *testing.T) {
	w := newWorld(t, shop())
	tests := []struct {
		name  string
		query control.FlagQuery
		want  string
		total int
		next  bool
	}{
		{"everything, without what is no object", control.FlagQuery{}, "Z a a-b a.b colour renamed", 6, false},
		{"by tag", control.FlagQuery{Tag: "web"}, "a a-b", 2, false},
		{"by an unknown tag", control.FlagQuery{Tag: "we"}, "", 0, false},
		{"by status in production, never elsewhere", control.FlagQuery{Status: "live"}, "a-b", 1, false},
		{"by status of default rules", control.FlagQuery{Status: "pre_rollout"}, "Z a renamed", 3, false},
		{"by cleanup", control.FlagQuery{Status: "ready_for_cleanup"}, "a.b", 1, false},
		{"by no status", control.FlagQuery{Status: "rollout"}, "", 0, false},
		{"both filters", control.FlagQuery{Tag: "web", Status: "pre_rollout"}, "a", 1, false},
		{"a page", control.FlagQuery{PageQuery: feed.PageQuery{Limit: ptr(2)}}, "Z a", 6, true},
		{"a page that just fits", control.FlagQuery{PageQuery: feed.PageQuery{Limit: ptr(6)}}, "Z a a-b a.b colour renamed", 6, false},
		{"a filtered page", control.FlagQuery{PageQuery: feed.PageQuery{Limit: ptr(1)}, Tag: "web"}, "a", 2, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			list := must.Get(w.enter().Flags(ctx, test.query))(t)
			if got := flagKeys(list); got != test.want || list.Total != test.total || (list.NextCursor != "") != test.next {
				t.Errorf("got %q of %d, cursor %q", got, list.Total, list.NextCursor)
			}
		})
	}
}

func TestListQueriesThatAreRefused(t *testing.T) {
	w := newWorld(t, shop())
	s := w.enter()
	_, err := s.Configs(ctx, control.ConfigQuery{PageQuery: feed.PageQuery{Limit: ptr(101)}})
	wantRefusal(t, err, "400 BAD_REQUEST")
	_, err = s.Flags(ctx, control.FlagQuery{PageQuery: feed.PageQuery{Limit: ptr(0), Cursor: "x"}, Status: "x"})
	f := wantRefusal(t, err, "400 BAD_REQUEST")
	if got := pointers(f, "issues"); got != "?limit ?cursor ?status" {
		t.Errorf("not all at once: %s", got)
	}
	if w.repo.Total() != 0 {
		t.Error("a refused query was read for")
	}
}

// A walk sees every flag that was there all the time once, in order, whatever
// is created and deleted between its pages.
func TestPagingDoesNotShift(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-c.-][a-c.-]{0,3}`), 1, 12, rapid.ID).Draw(rt, "keys")
		keys = slices.DeleteFunc(keys, func(k string) bool { return k[0] == '.' })
		files := map[string]string{path("zz"): boolFlag("zz", "")}
		for _, key := range keys {
			files[path(key)] = boolFlag(key, "")
		}
		steady := map[string]bool{"zz": true}
		w := newWorld(t, files)
		for _, key := range keys {
			steady[key] = true
		}
		limit := rapid.IntRange(1, 5).Draw(rt, "limit")
		var seen []string
		cursor := ""
		for pages := 0; ; pages++ {
			if pages > 100 {
				rt.Fatal("the walk does not end")
			}
			list := must.Get(w.enter().Flags(ctx, control.FlagQuery{PageQuery: feed.PageQuery{Limit: &limit, Cursor: cursor}}))(rt)
			for _, row := range list.Flags {
				seen = append(seen, row.Key)
			}
			if cursor = list.NextCursor; cursor == "" {
				break
			}
			key := rapid.StringMatching(`[a-c-][a-c.-]{0,3}`).Draw(rt, "other")
			if rapid.Bool().Draw(rt, "delete") {
				if _, known := files[path(key)]; known {
					delete(steady, key)
					delete(files, path(key))
					w.repo.Push(ada, "", map[string]string{path(key): ""})
				}
			} else if _, known := files[path(key)]; !known {
				files[path(key)] = boolFlag(key, "")
				w.repo.Push(ada, "", map[string]string{path(key): files[path(key)]})
			}
		}
		if !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != len(seen) {
			rt.Fatalf("not in order, or twice: %v", seen)
		}
		for key := range maps.Keys(steady) {
			if !slices.Contains(seen, key) {
				rt.Fatalf("%s is missing in %v", key, seen)
			}
		}
	})
}

func TestOtherLists(t *testing.T) {
	w := newWorld(t, map[string]string{
		"configs/c.json":              configOf("c", "int", "1", `,"tags":["t"],"sendToClientSdk":true,"schemaKey":"s"`),
		"configs/b.json":              configOf("b", "string", `"x"`, ""),
		"segments/s.json":             segmentOf("s", serves("bool", "true")),
		"log-levels/log-level.a.json": `{"key":"log-level.a","type":"log_level","valueType":"log_level","default":{"rules":[` + serves("log_level", `"INFO"`) + `]},"environments":[{"id":"production","rules":[]}]}`,
		"schemas/s.json":              `{}`,
	})
	sha := w.last().SHA
	modified := `"lastModified":{"date":"2026-03-01T11:00:00Z","author":"Ada"}`
	s := w.enter()
	for _, test := range []struct {
		name string
		got  any
		want string
	}{
		{"environments", must.Get(s.Environments(ctx))(t),
			`{"environments":[{"name":"development","environmentType":"development","protected":false},` +
				`{"name":"staging","environmentType":"staging","protected":false},` +
				`{"name":"production","environmentType":"production","protected":true}]}`},
		{"configs", must.Get(s.Configs(ctx, control.ConfigQuery{}))(t),
			`{"configs":[{"key":"b","valueType":"string","tags":[],"sendToClientSdk":false,"commitSha":"` + sha + `",` + modified + `},` +
				`{"key":"c","valueType":"int","tags":["t"],"sendToClientSdk":true,"schemaKey":"s","commitSha":"` + sha + `",` + modified + `}],"total":2}`},
		{"configs by tag", must.Get(s.Configs(ctx, control.ConfigQuery{Tag: "u"}))(t), `{"configs":[],"total":0}`},
		{"log levels", must.Get(s.LogLevels(ctx))(t),
			`{"logLevels":[{"key":"log-level.a","tags":[],"scopes":[{"scope":"default","fallbackLevel":"INFO","targets":[],"otherRuleCount":0},` +
				`{"scope":"production","targets":[],"otherRuleCount":0}],"commitSha":"` + sha + `","lastModified":"2026-03-01T11:00:00Z"}]}`},
		{"segments", must.Get(s.Segments(ctx))(t),
			`{"segments":[{"key":"s","name":"S","description":"D","ruleCount":1,"commitSha":"` + sha + `"}],"total":1}`},
		{"segment", must.Get(s.Segment(ctx, "s"))(t),
			`{"key":"s","name":"S","default":{"rules":[` + serves("bool", "true") + `]},"commitSha":"` + sha + `"}`},
		{"config", must.Get(s.Config(ctx, "b"))(t),
			`{"key":"b","valueType":"string","tags":[],"readyForCleanup":false,"default":{"rules":[` + serves("string", `"x"`) + `]},` +
				`"environments":[],"variants":[],"environmentStatuses":{},"commitSha":"` + sha + `",` + modified + `,"sendToClientSdk":false}`},
	} {
		if got := wire(t, test.got); got != test.want {
			t.Errorf("%s: got\n%s, want\n%s", test.name, got, test.want)
		}
	}
}

func TestAnEmptyWorkspaceHasEmptyLists(t *testing.T) {
	w := newWorld(t, nil)
	w.repo.Commits = nil
	s := w.enter()
	for name, got := range map[string]any{
		`{"environments":[]}`:       must.Get(s.Environments(ctx))(t),
		`{"flags":[],"total":0}`:    must.Get(s.Flags(ctx, control.FlagQuery{}))(t),
		`{"configs":[],"total":0}`:  must.Get(s.Configs(ctx, control.ConfigQuery{}))(t),
		`{"logLevels":[]}`:          must.Get(s.LogLevels(ctx))(t),
		`{"segments":[],"total":0}`: must.Get(s.Segments(ctx))(t),
		`{"activity":[]}`:           must.Get(s.Feed().Activity(ctx, feed.ActivityQuery{}))(t),
	} {
		if wire(t, got) != name {
			t.Errorf("got %s, want %s", wire(t, got), name)
		}
	}
}
