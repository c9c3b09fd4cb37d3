package control_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
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
	_, err := w.enter().Document(ctx, document.Flag, "f", ptr("abcd"))
	wantRefusal(t, err, "400 BAD_REQUEST")
	_, unknown := newWorld(t, nil).enter().Document(ctx, document.Flag, "f", ptr(before))
	w.repo.Fail = map[string]error{}
	_, early := w.enter().Document(ctx, document.Flag, "f", ptr(before))
	if unknown.Error() == early.Error() {
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
		_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)})
		wantRefusal(t, err, failure.want)
	}
}
