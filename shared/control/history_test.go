package control_test

import (
	"fmt"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/repository"
)

func TestHistory(t *testing.T) {
	w := newWorld(t, nil)
	bob := repository.Signature{Name: "Bob", Email: "bob@example.com", When: ada.When}
	first := w.repo.push(bob, "Add f\n\nBecause.\n\nSigned-off-by: Bob\n", map[string]string{path("f"): boolFlag("f", "")})
	w.repo.push(bob, "Other", map[string]string{path("g"): boolFlag("g", "")})
	key := w.key(access.KindServiceAccount, "protected_engineer")
	s := must[*control.Session](t)(w.service.SessionOf(ctx, key.Reveal()))
	second := must[*change.PatchResult](t)(s.Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))

	h := must[*feed.History](t)(w.enter().History(ctx, document.Flag, "f", feed.PageQuery{}))
	want := fmt.Sprintf(`{"history":[{"sha":"%s","message":"production: enabled set to true","authorName":"Deploy bot",`+
		`"authorEmail":"%s@service-accounts.svc","committerName":"svc","committerEmail":"noreply@svc","date":"2026-03-02T09:30:00Z","isServiceAccount":true},`+
		`{"sha":"%s","message":"Add f\n\nBecause.\n\nSigned-off-by: Bob","authorName":"Bob","authorEmail":"bob@example.com",`+
		`"committerName":"Bob","committerEmail":"bob@example.com","date":"2026-03-01T11:00:00Z","isServiceAccount":false}]}`,
		second.CommitSHA, key.Principal(), first.SHA)
	if got := wire(t, h); got != want {
		t.Errorf("got\n%s, want\n%s", got, want)
	}
	for _, key := range []string{"nope", "F", "", "../feature-flags/f", "a/b"} {
		_, err := w.enter().History(ctx, document.Flag, key, feed.PageQuery{})
		wantRefusal(t, err, "404 NOT_FOUND")
	}
	_, err := w.enter().History(ctx, document.Config, "f", feed.PageQuery{})
	wantRefusal(t, err, "404 NOT_FOUND")
}

func TestHistoryPages(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 7 {
		w.repo.push(ada, fmt.Sprint("commit ", i), map[string]string{path("f"): boolFlag("f", fmt.Sprintf(`,"n":%d`, i)), path("g"): boolFlag("g", "")})
	}
	w.repo.push(ada, "gone", map[string]string{path("f"): ""})
	all := must[*feed.History](t)(w.enter().History(ctx, document.Flag, "f", feed.PageQuery{}))
	if len(all.History) != 8 || all.NextCursor != "" {
		t.Fatalf("%d entries, cursor %q", len(all.History), all.NextCursor)
	}
	var walked []string
	page := feed.PageQuery{Limit: ptr(3)}
	for range 10 {
		h := must[*feed.History](t)(w.enter().History(ctx, document.Flag, "f", page))
		for _, entry := range h.History {
			walked = append(walked, entry.SHA)
		}
		if page.Cursor = h.NextCursor; page.Cursor == "" {
			break
		}
	}
	for i, entry := range all.History {
		if i >= len(walked) || walked[i] != entry.SHA {
			t.Fatalf("the pages are %v", walked)
		}
	}
	rest := must[*feed.History](t)(w.enter().History(ctx, document.Flag, "f", feed.PageQuery{Cursor: firstCursor(t, w)}))
	if len(rest.History) != 5 || rest.NextCursor != "" {
		t.Errorf("without limit the rest comes whole: %d", len(rest.History))
	}
	for _, limit := range []int{0, 101} {
		_, err := w.enter().History(ctx, document.Flag, "f", feed.PageQuery{Limit: &limit})
		wantRefusal(t, err, "400 BAD_REQUEST")
	}
}

func firstCursor(t *testing.T, w *world) string {
	return must[*feed.History](t)(w.enter().History(ctx, document.Flag, "f", feed.PageQuery{Limit: ptr(3)})).NextCursor
}

// A page of history or of the feed is one question to the repository.
func TestPagesAskOnce(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	for i := range 40 {
		must[*change.PatchResult](t)(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(i%2 == 0)}))
	}
	cursor := ""
	for range 2 {
		for _, ask := range []func(s *control.Session) error{
			func(s *control.Session) error {
				list, err := s.Activity(ctx, feed.ActivityQuery{PageQuery: feed.PageQuery{Limit: ptr(10), Cursor: cursor}})
				cursor = list.NextCursor
				return err
			},
			func(s *control.Session) error {
				_, err := s.History(ctx, document.Flag, "f", feed.PageQuery{Limit: ptr(10)})
				return err
			},
			func(s *control.Session) error {
				_, err := s.Activity(ctx, feed.ActivityQuery{Type: "feature_flag", Key: "f"})
				return err
			},
		} {
			s := w.enter()
			before := w.repo.total()
			if err := ask(s); err != nil {
				t.Fatal(err)
			}
			if n := w.repo.total() - before; n != 1 {
				t.Errorf("%d calls", n)
			}
		}
	}
}

func TestAStaleTokenIsExplained(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", ""), path("g"): boolFlag("g", "")})
	token := w.last().SHA
	elsewhere := w.repo.push(ada, "elsewhere", map[string]string{path("g"): boolFlag("g", `,"x":1`)}).SHA
	must[*change.PatchResult](t)(w.boss().Changes().Patch(ctx, document.Flag, "f", "production", change.ValuePatch{Enabled: ptr(true)}))
	by := repository.Signature{Name: "Bob", Email: "bob@example.com", When: ada.When}
	w.repo.push(by, "by hand", map[string]string{path("f"): boolFlag("f", `,"tags":["web"]`)})
	current := w.last().SHA
	for _, test := range []struct {
		name, token string
		changes     int
	}{
		{"a commit that touched the flag", token, 2},
		{"a commit that did not", elsewhere, 2},
		{"no SHA", "main", 0},
		{"an unknown SHA", strings.Repeat("0", 40), 0},
		{"an abbreviation", token[:12], 0},
	} {
		_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &test.token})
		f := wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
		changes, _ := f.Details["changes"].([]feed.Activity)
		if f.Details["currentCommitSha"] != current || len(changes) != test.changes {
			t.Fatalf("%s: %s", test.name, wire(t, f.Details))
		}
		if test.changes == 0 {
			continue
		}
		got := wire(t, changes)
		for _, part := range []string{`"authorName":"Bob"`, `tags: added web`, `"authorName":"Grace"`, `production: enabled set to true`, `"date":"2026-03-01T11:00:00Z"`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %s is missing in %s", test.name, part, got)
			}
		}
		if changes[0].AuthorName != "Bob" {
			t.Errorf("not the newest first: %s", got)
		}
	}
	w.repo.fail["History"] = errStorage
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: &token})
	wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
}

// A token of the item's own history counts from its commit on, though the
// content it saw came back later.
func TestChangesSinceATokenCountFromItsCommit(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	token := w.last().SHA
	for _, more := range []string{`,"x":1`, "", `,"x":2`} {
		w.repo.push(ada, "by hand", map[string]string{path("f"): boolFlag("f", more)})
	}
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(false), ExpectedCommitSHA: &token})
	f := wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
	if changes := f.Details["changes"].([]feed.Activity); len(changes) != 3 {
		t.Errorf("%d changes", len(changes))
	}
}

func TestAtMostTwentyChangesAreTold(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	token := w.last().SHA
	for i := range 25 {
		must[*change.PatchResult](t)(w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(i%2 == 0)}))
	}
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(false), ExpectedCommitSHA: &token})
	f := wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
	if changes := f.Details["changes"].([]feed.Activity); len(changes) != 20 || f.Details["changesTruncated"] != true {
		t.Errorf("%d changes, truncated: %v", len(changes), f.Details["changesTruncated"])
	}
}

// More changes than are told of, which brought the token's content back now and
// then.
func TestTheTokenIsLookedForFartherBackThanIsTold(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	token := w.last().SHA
	for i := range 25 {
		w.repo.push(ada, "by hand", map[string]string{path("f"): boolFlag("f", []string{`,"x":1`, ""}[i%2])})
	}
	_, err := w.boss().Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(false), ExpectedCommitSHA: &token})
	f := wantRefusal(t, err, "409 CONFLICT STALE_COMMIT_SHA")
	if changes := f.Details["changes"].([]feed.Activity); len(changes) != 20 || f.Details["changesTruncated"] != true {
		t.Errorf("%d changes, truncated: %v", len(changes), f.Details["changesTruncated"])
	}
}
