package feed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/memoryrepository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/turns"
)

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
	list := must.Get(w.reader().Activity(ctx, q))(w.t)
	return list
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
