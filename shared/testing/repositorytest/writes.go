package repositorytest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/testing/must"
)

func testWrites(t *testing.T, w *world) {
	first := w.commit("one", put("svc.json", "{}\n"), put("feature-flags/a.json", "1\n"), put("configs/b.json", "2\n"))
	second := w.commit("two", put("feature-flags/a.json", "3\n"), put("feature-flags/c.json", ""))
	third := w.commit("three", remove("configs/b.json"), put("schemas/d.json", "1\n"))

	w.wantFiles(first, map[string]string{"svc.json": "{}\n", "feature-flags/a.json": "1\n", "configs/b.json": "2\n"})
	w.wantFiles(third, map[string]string{"svc.json": "{}\n", "feature-flags/a.json": "3\n", "feature-flags/c.json": "", "schemas/d.json": "1\n"})
	w.wantSame(third, w.snapshot())
	w.wantSame(third, w.cold())
	for path, want := range map[string]string{
		"svc.json": first.Head.Commit, "feature-flags/a.json": second.Head.Commit,
		"feature-flags/c.json": second.Head.Commit, "schemas/d.json": third.Head.Commit,
	} {
		if f, ok := third.File(path); !ok || f.Last.SHA != want {
			t.Errorf("%s was last touched by %s, want %s", path, f.Last.SHA, want)
		}
	}
	if _, ok := third.File("configs/b.json"); ok {
		t.Error("a deleted file is still there")
	}
	if head := w.head(); head != third.Head || head.Sequence != first.Head.Sequence+2 {
		t.Errorf("the head is %+v after %+v", head, third.Head)
	}
	w.wantTouches(third.Head.Commit, map[string]bool{"configs/b.json": false, "schemas/d.json": true})
	w.wantTouches(second.Head.Commit, map[string]bool{"feature-flags/a.json": false, "feature-flags/c.json": true})

	w.commit("everything goes", remove("svc.json"), remove("feature-flags/a.json"), remove("feature-flags/c.json"), remove("schemas/d.json"))
	w.wantFiles(w.cold(), map[string]string{})
	back := w.commit("and comes back", put("svc.json", "{}\n"))
	w.wantSame(back, w.cold())
	w.wantTouches(back.Head.Commit, map[string]bool{"svc.json": true})
}

// wantTouches checks which files a commit in history touched, and whether it
// created them.
func (w *world) wantTouches(sha string, created map[string]bool) {
	w.t.Helper()
	for _, c := range w.history(repository.Page{}) {
		if c.SHA != sha {
			continue
		}
		if len(c.Touched) != len(created) {
			w.t.Errorf("%s touched %+v, want %v", c.Message, c.Touched, created)
		}
		for _, touch := range c.Touched {
			if want, ok := created[touch.Path]; !ok || want != touch.Created {
				w.t.Errorf("%s touched %+v, want %v", c.Message, touch, created)
			}
		}
		return
	}
	w.t.Errorf("%s is not in the history", sha)
}

func testNothing(t *testing.T, w *world) {
	base := w.commit("one", put("feature-flags/a.json", "1\n"))
	for _, change := range []repository.Change{put("feature-flags/a.json", "1\n"), remove("feature-flags/b.json"), remove("svc.json")} {
		if s, err := w.repo.Commit(context.Background(), base, w.draft("nothing", change)); err != nil || s.Head != base.Head {
			t.Errorf("%v: %v, %v", change, s, err)
		}
	}
	if s, err := w.repo.Commit(context.Background(), base, w.draft("nothing")); err != nil || s.Head != base.Head {
		t.Errorf("no change: %v, %v", s, err)
	}
	w.wantHistory(repository.Page{}, base.Head.Commit)
}

func testBadDrafts(t *testing.T, w *world) {
	base := w.commit("one", put("feature-flags/a.json", "1\n"))
	for name, spoil := range map[string]func(d *repository.Draft){
		"no path":              func(d *repository.Draft) { d.Changes[0].Path = "" },
		"parent":               func(d *repository.Draft) { d.Changes[0].Path = "../svc.json" },
		"dot git":              func(d *repository.Draft) { d.Changes[0].Path = ".git/config" },
		"dot git in a folder":  func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/.git" },
		"dot dot in a folder":  func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/../x.json" },
		"absolute":             func(d *repository.Draft) { d.Changes[0].Path = "/svc.json" },
		"foreign":              func(d *repository.Draft) { d.Changes[0].Path = "README.md" },
		"sub-folder":           func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/x/a.json" },
		"line break in a path": func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/a\n.json" },
		"NUL in a path":        func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/a\x00.json" },
		"backslash in a path":  func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/a\\b.json" },
		"no UTF-8 in a path":   func(d *repository.Draft) { d.Changes[0].Path = "feature-flags/\xff.json" },
		"a long name":          func(d *repository.Draft) { d.Changes[0].Path = "configs/" + strings.Repeat("x", 251) + ".json" },
		"twice":                func(d *repository.Draft) { d.Changes = append(d.Changes, d.Changes[0]) },
		"no author":            func(d *repository.Draft) { d.Author.Name = " " },
		"line break in a name": func(d *repository.Draft) { d.Author.Name = "Ada\ncommitter Eve <eve@example.com> 0 +0000" },
		"< in a name":          func(d *repository.Draft) { d.Author.Name = "Ada <" },
		"NUL in a name":        func(d *repository.Draft) { d.Committer.Name = "a\x00b" },
		"> in an address":      func(d *repository.Draft) { d.Committer.Email = "a>b" },
		"no UTF-8 in a name":   func(d *repository.Draft) { d.Author.Name = "\xff" },
		"no date":              func(d *repository.Draft) { d.Author.When = time.Time{} },
		"far future":           func(d *repository.Draft) { d.Author.When = d.Author.When.AddDate(9000, 0, 0) },
		"no message":           func(d *repository.Draft) { d.Message = "\n" },
		"NUL in the message":   func(d *repository.Draft) { d.Message = "a\x00b" },
		"a bad request id":     func(d *repository.Draft) { d.RequestID = "build-17" },
	} {
		draft := w.draft("bad", put("feature-flags/b.json", "1\n"))
		spoil(&draft)
		if _, err := w.repo.Commit(context.Background(), base, draft); !errors.Is(err, repository.ErrDraft) {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.wantHistory(repository.Page{}, base.Head.Commit)
}

func testIdentities(t *testing.T, w *world) {
	draft := w.draft("production: enabled set to false\n\nmore, with \"quotes\" and ümläuts\n\nSvc-Principal: service_account/sa_1\n\n",
		put("feature-flags/ä b.json", "1\n"))
	draft.Author = repository.Signature{Name: "Bärbel O'Neil Jr. 🙂", Email: "", When: time.Date(2026, 1, 2, 3, 4, 5, 678, time.FixedZone("IST", 5*3600+1800))}
	draft.RequestID = requestid.New()
	draft.Committer.When = time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", -9*3600-1800))
	landed := must.Get(w.repo.Commit(context.Background(), w.snapshot(), draft))(t)
	w.wantSame(landed, w.cold())
	last := landed.Files[0].Last
	if last.Author.Name != draft.Author.Name || !last.Author.When.Equal(draft.Author.When.Truncate(time.Second)) {
		t.Errorf("the author is %+v, want %+v", last.Author, draft.Author)
	}
	trailer := "Request-Id: " + draft.RequestID + "\n"
	if want := strings.TrimRight(draft.Message, "\n") + "\n" + trailer; last.Message != want {
		t.Errorf("the message is %q, want %q", last.Message, want)
	}
	if row := w.history(repository.Page{})[0]; !sameCommit(row, *last) {
		t.Errorf("the history has %+v, want %+v", row, last)
	}
	const format = "--format=%an|%ae|%aI|%cn|%ce|%cI|%B"
	want := "Bärbel O'Neil Jr. 🙂||2026-01-02T03:04:05+05:30|svc|noreply@svc|2026-01-02T03:04:05-09:30|" +
		"production: enabled set to false\n\nmore, with \"quotes\" and ümläuts\n\nSvc-Principal: service_account/sa_1\n" + trailer + "\n"
	if got := w.git("log", "-1", format, landed.Head.Commit); got != want {
		t.Errorf("git says %q, want %q", got, want)
	}
	w.fsck()
}
