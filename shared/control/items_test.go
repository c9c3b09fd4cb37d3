package control_test

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
)

func TestUnknownKeysAre404AndUnreadableOnes422(t *testing.T) {
	w := newWorld(t, map[string]string{
		path("f"): boolFlag("f", ""), path("text"): "no JSON", path("list"): "[]", path("twice"): `{"key":"twice","key":"twice"}`,
		"configs/c.json": "1", "segments/s.json": "null",
	})
	s := w.enter()
	flag := func(key string) error { _, err := s.Flag(ctx, key); return err }
	doc := func(t document.Type, key string) error { _, err := s.Document(ctx, t, key, nil); return err }
	config := func(key string) error { _, err := s.Config(ctx, key); return err }
	segment := func(key string) error { _, err := s.Segment(ctx, key); return err }
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"a flag", flag("f"), "ok"},
		{"an unknown flag", flag("g"), "404 NOT_FOUND"},
		{"keys have a case", flag("F"), "404 NOT_FOUND"},
		{"no key", flag(""), "404 NOT_FOUND"},
		{"a way out", flag("../configs/c"), "404 NOT_FOUND"},
		{"another family", config("f"), "404 NOT_FOUND"},
		{"an unknown segment", segment("f"), "404 NOT_FOUND"},
		{"text", flag("text"), "422 UNPROCESSABLE_CONTENT"},
		{"a list", flag("list"), "422 UNPROCESSABLE_CONTENT"},
		{"a name that stands twice", flag("twice"), "422 UNPROCESSABLE_CONTENT"},
		{"a number", config("c"), "422 UNPROCESSABLE_CONTENT"},
		{"null", segment("s"), "422 UNPROCESSABLE_CONTENT"},
		{"document", doc(document.Flag, "f"), "ok"},
		{"an unknown document", doc(document.Flag, "g"), "404 NOT_FOUND"},
		{"a document that is none", doc(document.Flag, "list"), "422 UNPROCESSABLE_CONTENT"},
		{"a log level without prefix", doc(document.LogLevel, "f"), "404 NOT_FOUND"},
	} {
		if got := refusal(test.err); got != test.want {
			t.Errorf("%s: got %s (%v), want %s", test.name, got, test.err, test.want)
		}
	}
	for key, says := range map[string]string{"text": "line 1, column 2: ", "list": "not an array", "twice": "line 1, column ", "big": "at most 1048576"} {
		if key == "big" {
			w.repo.Push(ada, "", map[string]string{path(key): `{"key":"big","x":"` + strings.Repeat("x", document.MaxSize) + `"}`})
			s = w.enter()
		}
		if err := flag(key); !strings.Contains(err.Error(), "is not a JSON object that can be read: ") || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", key, err)
		}
	}
	if err := doc(document.LogLevel, "f"); !strings.Contains(err.Error(), "log-level.") {
		t.Errorf("no hint at the prefix: %v", err)
	}
}

func TestADocumentIsReadVerbatim(t *testing.T) {
	text := `{"key":"f","type":"feature_flag","valueType":"double","zzz":1.0,"n":12345678901234567890,"default":{"rules":[` +
		`{"criteria":[],"value":{"type":"double","value":"1e3","decryptWith":"k"}}]},"a":"\u0041"}`
	w := newWorld(t, map[string]string{path("f"): text})
	got := must.Get(w.enter().Document(ctx, document.Flag, "f", nil))(t)
	if want := `{"commitSha":"` + w.last().SHA + `","document":` + text + `}`; wire(t, got) != want {
		t.Errorf("got\n%s, want\n%s", wire(t, got), want)
	}
}

func TestDocumentAt(t *testing.T) {
	w := newWorld(t, nil)
	before := w.last().SHA
	first := w.repo.Push(ada, "one", map[string]string{path("f"): boolFlag("f", "", serves("bool", "false"))}).SHA
	broken := w.repo.Push(ada, "two", map[string]string{path("f"): "[]"}).SHA
	w.repo.Push(ada, "three", map[string]string{path("f"): boolFlag("f", "", serves("bool", "true"))})
	gone := w.repo.Push(ada, "four", map[string]string{path("old"): boolFlag("old", "")}).SHA
	w.repo.Push(ada, "five", map[string]string{path("old"): ""})
	for _, test := range []struct {
		name, key, at, want string
	}{
		{"a full SHA", "f", first, "ok"},
		{"four digits", "f", first[:4], "ok"},
		{"not yet there", "f", before, "404 NOT_FOUND"},
		{"an unknown key", "g", first, "404 NOT_FOUND"},
		{"an unknown commit", "f", strings.Repeat("0", 40), "404 NOT_FOUND"},
		{"no object then", "f", broken, "422 UNPROCESSABLE_CONTENT"},
		{"a deleted item still has a past", "old", gone, "ok"},
		{"three digits", "f", first[:3], "400 BAD_REQUEST"},
		{"41 digits", "f", first + "0", "400 BAD_REQUEST"},
		{"upper case", "f", strings.ToUpper(first), "400 BAD_REQUEST"},
		{"a ref", "f", "main", "400 BAD_REQUEST"},
		{"nothing", "f", "", "400 BAD_REQUEST"},
		{"a line break", "f", first[:8] + "\n", "400 BAD_REQUEST"},
		{"a key that leaves the folder", "../feature-flags/f", first, "404 NOT_FOUND"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := w.enter().Document(ctx, document.Flag, test.key, &test.at)
			wantRefusal(t, err, test.want)
			if err == nil && (got.CommitSHA != test.at || got.Document.Get("key") == nil) {
				t.Errorf("got %s", wire(t, got))
			}
		})
	}
	w.repo.Fail["At"] = repository.ErrAmbiguous
	ended(w.enter().Document(ctx, document.Flag, "f", ptr("abcd")))(t, "400 BAD_REQUEST")
	_, unknown := newWorld(t, nil).enter().Document(ctx, document.Flag, "f", ptr(before))
	w.repo.Fail = map[string]error{}
	if _, early := w.enter().Document(ctx, document.Flag, "f", ptr(before)); unknown.Error() == early.Error() {
		t.Errorf("the two reasons for 404 are told alike: %v", early)
	}
}

func TestAStoreThatFailsIsAnswered(t *testing.T) {
	for _, failure := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("pack: %w", repository.ErrBusy), "503 SERVICE_UNAVAILABLE"},
		{errors.New("pack is broken"), "500 INTERNAL"},
	} {
		w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
		for _, method := range []string{"Snapshot", "History", "At", "Commit"} {
			w.repo.Fail[method] = failure.err
		}
		s := w.boss()
		_, flag := s.Flag(ctx, "f")
		_, list := s.Flags(ctx, control.FlagQuery{})
		_, configs := s.Configs(ctx, control.ConfigQuery{})
		_, levels := s.LogLevels(ctx)
		_, segments := s.Segments(ctx)
		_, environments := s.Environments(ctx)
		_, history := s.Feed().History(ctx, document.Flag, "f", feed.PageQuery{})
		_, activity := s.Feed().Activity(ctx, feed.ActivityQuery{})
		_, at := s.Document(ctx, document.Flag, "f", ptr("abcd"))
		_, patch := s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)})
		for i, err := range []error{flag, list, configs, levels, segments, environments, history, activity, at, patch} {
			if got := refusal(err); got != failure.want {
				t.Errorf("request %d: got %s, want %s", i, got, failure.want)
			}
		}
		w.repo.Fail = map[string]error{"Commit": failure.err}
		ended(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))(t, failure.want)
	}
}

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
	ended(s.Configs(ctx, control.ConfigQuery{PageQuery: feed.PageQuery{Limit: ptr(101)}}))(t, "400 BAD_REQUEST")
	f := ended(s.Flags(ctx, control.FlagQuery{PageQuery: feed.PageQuery{Limit: ptr(0), Cursor: "x"}, Status: "x"}))(t, "400 BAD_REQUEST")
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
			`{"configs":[{"key":"b","valueType":"string","tags":[],"sendToClientSdk":false,"serves":{"default":{"value":"x"}},"commitSha":"` + sha + `",` + modified + `},` +
				`{"key":"c","valueType":"int","tags":["t"],"sendToClientSdk":true,"schemaKey":"s","serves":{"default":{"value":1}},"commitSha":"` + sha + `",` + modified + `}],"total":2}`},
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

// Environments that a broken workspace file no longer declares are not gone:
// documents name them. All are protected until it is mended.
func TestEnvironmentsOfABrokenWorkspaceFile(t *testing.T) {
	entries := `,"environments":[{"id":"production","rules":[]},{"id":"staging","rules":[]}]`
	for file, declared := range map[string]string{"{": "", "[]": "", "{}": "", `{"environments":"broken"}`: "", `{"environments":["qa",7]}`: `{"name":"qa","environmentType":"development","protected":true},`} {
		w := newWorld(t, map[string]string{path("a"): boolFlag("a", entries), "svc.json": file})
		got := wire(t, must.Get(w.enter().Environments(ctx))(t))
		if want := `{"environments":[` + declared + `{"name":"staging","environmentType":"staging","protected":true},{"name":"production","environmentType":"production","protected":true}]}`; got != want {
			t.Errorf("%s: got\n%s, want\n%s", file, got, want)
		}
	}
}

// TestTheTextsOfWorkspacesAreForgotten once others were looked at, though lists
// and checks need little of them.
func TestTheTextsOfWorkspacesAreForgotten(t *testing.T) {
	service, enter := workspaces(t, 16<<20)
	before := memory.InUse()
	for range 8 {
		files := map[string]string{}
		for i := range 10 {
			key := fmt.Sprint("f", i)
			files[path(key)] = boolFlag(key, `,"extra":"`+strings.Repeat("x", 1<<20-1000)+`"`)
		}
		enter(files)
	}
	if held := (memory.InUse() - before) >> 20; held > 20 {
		t.Errorf("%d MB are held of workspaces of 10 MB each", held)
	}
	runtime.KeepAlive(service)
}

// workspaces makes a service that remembers so much, and what enters a new
// workspace of files, whose repository remembers nothing, and lists its flags.
func workspaces(t *testing.T, bytes int64) (*control.Service, func(files map[string]string)) {
	w := &world{t: t, gate: &fakeGate{keys: map[access.ID]access.KeyRecord{}, people: map[access.ID]access.Principal{}}}
	settings := w.settings()
	settings.CacheBytes = bytes
	service := control.New(settings)
	return service, func(files map[string]string) {
		w.repo = memoryrepository.New()
		w.gate.repo = w.repo
		w.repo.Push(ada, "", files)
		random := newRandom(w.keys + 5000)
		id, _ := access.NewID(random)
		w.keys++
		key := must.Get(access.NewKey(random, access.KindUser, id, id))(t)
		w.gate.keys[key.ID()] = access.RecordOf(key, "k", now)
		w.gate.people[id] = access.Principal{Type: access.PrincipalUser, ID: id}
		w.gate.workspace = access.Workspace{ID: string(id)}
		s := must.Get(service.SessionOf(ctx, key.Reveal()))(t)
		if list := must.Get(s.Flags(ctx, control.FlagQuery{}))(t); list.Total != len(files) {
			t.Error(list)
		}
	}
}
