package feed_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/turns"
)

// history is a page of an item's history.
func (w *world) history(t document.Type, key string, q feed.PageQuery) *feed.History {
	w.t.Helper()
	return must.Get(w.reader().History(ctx, t, key, q))(w.t)
}

func TestHistory(t *testing.T) {
	w := newWorld(t, nil)
	bob := by("Bob", ada.When)
	first := w.repo.Push(bob, "Add f\n\nBecause.\n\nSigned-off-by: Bob\n", map[string]string{path("f"): flag("f", "")})
	w.repo.Push(bob, "Other", map[string]string{path("g"): flag("g", "")})
	second := w.writes(robot, now, path("f"), flag("f", "", "production"))
	want := fmt.Sprintf(`{"history":[{"sha":"%s","message":"production: enabled set to true","authorName":"Deploy bot",`+
		`"authorEmail":"%s@service-accounts.svc","committerName":"svc","committerEmail":"noreply@svc","date":"2026-03-02T09:30:00Z","isServiceAccount":true},`+
		`{"sha":"%s","message":"Add f\n\nBecause.\n\nSigned-off-by: Bob","authorName":"Bob","authorEmail":"bob@example.com",`+
		`"committerName":"Bob","committerEmail":"bob@example.com","date":"2026-03-01T11:00:00Z","isServiceAccount":false}]}`,
		second.SHA, robot.ID, first.SHA)
	if got := documents.Wire(t, w.history(document.Flag, "f", feed.PageQuery{})); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	for _, key := range []string{"nope", "F", "", "../feature-flags/f", "a/b"} {
		_, err := w.reader().History(ctx, document.Flag, key, feed.PageQuery{})
		wantRefusal(t, err, "NOT_FOUND")
	}
	_, err := w.reader().History(ctx, document.Config, "f", feed.PageQuery{})
	wantRefusal(t, err, "NOT_FOUND")
	for _, limit := range []int{0, 101} {
		_, err := w.reader().History(ctx, document.Flag, "f", feed.PageQuery{Limit: &limit})
		wantRefusal(t, err, "BAD_REQUEST ?limit")
	}
}

func TestHistoryPages(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 7 {
		w.repo.Push(ada, fmt.Sprint("commit ", i), map[string]string{path("f"): flag("f", fmt.Sprintf(`,"n":%d`, i)), path("g"): flag("g", "")})
	}
	w.repo.Push(ada, "gone", map[string]string{path("f"): ""})
	all := w.history(document.Flag, "f", feed.PageQuery{})
	if len(all.History) != 8 || all.NextCursor != "" {
		t.Fatalf("%d entries, cursor %q", len(all.History), all.NextCursor)
	}
	first := w.history(document.Flag, "f", feed.PageQuery{Limit: ptr(3)})
	walked, cursor := first.History, first.NextCursor
	for cursor != "" {
		h := w.history(document.Flag, "f", feed.PageQuery{Limit: ptr(3), Cursor: cursor})
		walked, cursor = append(walked, h.History...), h.NextCursor
	}
	if !reflect.DeepEqual(walked, all.History) {
		t.Errorf("the pages are %v", walked)
	}
	if rest := w.history(document.Flag, "f", feed.PageQuery{Cursor: first.NextCursor}); len(rest.History) != 5 || rest.NextCursor != "" {
		t.Errorf("without limit the rest comes whole: %d", len(rest.History))
	}
}

// TestChangesSince a commit: at most 20 are listed. The commit is looked for farther back,
// by its SHA or else by the content that the file had there.
func TestChangesSince(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): flag("f", ""), path("g"): flag("g", "")})
	start := w.repo.Head().Commit
	texts := []string{flag("f", `,"x":1`), flag("f", "")}
	push := func(n int) {
		for i := range n {
			w.repo.Push(ada, "by hand", map[string]string{path("f"): texts[i%2]})
		}
	}
	blob := func(text string) string { return object.Hash(object.Blob, []byte(text)).String() }
	want := func(sha, text string, count int, truncated bool) {
		t.Helper()
		if changes, more, err := w.reader().Since(ctx, path("f"), sha, blob(text)); err != nil || len(changes) != count || more != truncated {
			t.Errorf("%d changes, more: %t, %v; want %d, %t", len(changes), more, err, count, truncated)
		}
	}
	push(3)
	want(start, flag("f", ""), 3, false) // though its content came back later
	elsewhere := w.repo.Push(ada, "elsewhere", map[string]string{path("g"): flag("g", `,"x":1`)}).SHA
	w.repo.Push(ada, "by hand", map[string]string{path("f"): flag("f", `,"x":2`)})
	want(elsewhere, texts[0], 1, false)
	push(22)
	want(start, flag("f", ""), 20, true)
}

func TestACursorIsGoodForItsListAndWorkspaceOnly(t *testing.T) {
	ours := feed.Cursors{Workspace: shop}
	cursor := ours.To("flags", "f")
	raw, _ := base64.RawURLEncoding.DecodeString(cursor)
	other := shop
	other.Secret = []byte("another sauce")
	for name, test := range map[string]struct {
		workspace    access.Workspace
		list, cursor string
		after        string
		good         bool
	}{
		"its own":             {shop, "flags", cursor, "f", true},
		"none":                {shop, "flags", "", "", true},
		"another list":        {shop, "configs", cursor, "", false},
		"another workspace":   {other, "flags", cursor, "", false},
		"cut":                 {shop, "flags", cursor[:len(cursor)-1], "", false},
		"longer":              {shop, "flags", cursor + "A", "", false},
		"padded":              {shop, "flags", cursor + "=", "", false},
		"with a line break":   {shop, "flags", cursor[:4] + "\n" + cursor[4:], "", false},
		"standard alphabet":   {shop, "flags", base64.StdEncoding.EncodeToString(raw), "", false},
		"another position":    {shop, "flags", base64.RawURLEncoding.EncodeToString(append(raw[:len(raw)-1:len(raw)-1], 'g')), "", false},
		"another MAC":         {shop, "flags", base64.RawURLEncoding.EncodeToString(append([]byte{raw[0] ^ 1}, raw[1:]...)), "", false},
		"a key":               {shop, "flags", "f", "", false},
		"nothing in it":       {shop, "flags", ours.To("flags", ""), "", false},
		"of an item's list":   {shop, "history feature_flag g", ours.To("history feature_flag f", "1"), "", false},
		"of the same history": {shop, "history feature_flag f", ours.To("history feature_flag f", "1"), "1", true},
	} {
		b, issues := feed.Cursors{Workspace: test.workspace}.Bounds(test.list, feed.PageQuery{Cursor: test.cursor})
		if test.good != (len(issues) == 0) || test.good && b.After != test.after {
			t.Errorf("%s: after %q, %v", name, b.After, issues)
		}
	}
	w := newWorld(t, map[string]string{path("f"): flag("f", "")})
	_, err := w.reader().History(ctx, document.Flag, "f", feed.PageQuery{Cursor: ours.To("history feature_flag f", "1")})
	wantRefusal(t, err, "BAD_REQUEST ?cursor") // no place in a history
}

var (
	ctx   = context.Background()
	now   = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)
	ada   = by("Ada", time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600)))
	shop  = access.Workspace{ID: "0123456789abcdef", Name: "Shop", Secret: []byte("sauce")}
	grace = access.Principal{Type: access.PrincipalUser, ID: "grace00000000000", Name: "Grace", Email: "grace@example.com"}
	robot = access.Principal{Type: access.PrincipalServiceAccount, ID: "robot00000000000", Name: "Deploy bot"}
)

// by is somebody who commits at a time.
func by(name string, when time.Time) repository.Signature {
	return repository.Signature{Name: name, Email: strings.ToLower(name) + "@example.com", When: when}
}

// world is a workspace and its feed.
type world struct {
	t    testing.TB
	repo *memoryrepository.Repository
	feed *feed.Feed
}

func newWorld(t testing.TB, files map[string]string) *world {
	w := &world{t, memoryrepository.New(), feed.New(1<<20, turns.Of(turns.Decoded, turns.Decoded))}
	w.repo.Push(ada, "Declare the environments", map[string]string{"svc.json": "{}"})
	if files != nil {
		w.repo.Push(ada, "Start", files)
	}
	return w
}

func (w *world) reader() *feed.Reader {
	return w.feed.Of(shop, grace.ID, source{w.repo, w.repo.Head()})
}

// page is a page of the feed.
func (w *world) page(q feed.ActivityQuery) *feed.ActivityList {
	w.t.Helper()
	return must.Get(w.reader().Activity(ctx, q))(w.t)
}

// all is the feed from a query on, and how many pages it has.
func (w *world) all(q feed.ActivityQuery) (entries []feed.Activity, pages int) {
	w.t.Helper()
	for {
		list := w.page(q)
		entries = append(entries, list.Activity...)
		if pages++; list.NextCursor == "" {
			return entries, pages
		}
		if q.Cursor = list.NextCursor; pages > 100 {
			w.t.Fatal("the feed does not end")
		}
	}
}

// writes makes a commit as the control plane does.
func (w *world) writes(who access.Principal, when time.Time, path, text string) repository.Commit {
	w.t.Helper()
	base := must.Get(w.repo.Snapshot(ctx, w.repo.Head()))(w.t)
	file, _ := base.File(path)
	author := feed.Author(who)
	author.When = when
	draft := repository.Draft{Author: author, Committer: repository.Committer(when), Changes: []repository.Change{{Path: path, Content: []byte(text)}},
		Message: feed.MessageOfOne(feed.Difference(path, file.Text, []byte(text)), who)}
	must.Get(w.repo.Commit(ctx, base, draft))(w.t)
	return w.repo.Commits[len(w.repo.Commits)-1].Commit
}

// source is a repository at a head.
type source struct {
	repo *memoryrepository.Repository
	head repository.Head
}

func (s source) History(ctx context.Context, page repository.Page) ([]repository.Commit, error) {
	return s.repo.History(ctx, s.head, page)
}

func (s source) Text(ctx context.Context, path, commit string) ([]byte, error) {
	if commit == "" {
		return nil, nil
	}
	_, text, err := s.repo.At(ctx, s.head, path, commit)
	if errors.Is(err, repository.ErrAbsent) {
		return nil, nil
	}
	return text, err
}

func (s source) KnowsEnvironment(_ context.Context, name string) error {
	if name == "" || strings.Contains(" production staging development old ", " "+name+" ") {
		return nil
	}
	return refusal.NoEnvironment(name)
}

// wantRefusal checks a refusal's code, and where its issues are.
func wantRefusal(t *testing.T, err error, want string) {
	t.Helper()
	got := "OK"
	if err != nil {
		f := fault.Of(err)
		got = f.Kind.Code()
		issues, _ := f.Details["issues"].([]document.Issue)
		for _, issue := range issues {
			got += " " + issue.Pointer
		}
	}
	if got != want {
		t.Errorf("got %s (%v), want %s", got, err, want)
	}
}

func ptr[T any](v T) *T { return &v }

func path(key string) string { return "feature-flags/" + key + ".json" }

// flag is a flag that serves false by default, and true where it is on.
func flag(key, more string, on ...string) string {
	rules := func(value string) string {
		return `{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":` + value + `}}]}`
	}
	common, environments := rules("false"), []string{}
	for _, scope := range on {
		if scope == document.DefaultScope {
			common = rules("true")
			continue
		}
		environments = append(environments, `{"id":"`+scope+`",`+rules("true")[1:])
	}
	return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"bool"%s,"default":%s,"environments":[%s]}`, key, more, common, strings.Join(environments, ","))
}

func config(key, value string) string {
	return fmt.Sprintf(`{"key":%q,"type":"config","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":%q}}]}}`, key, value)
}
