package apiload

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// Entry is a commit of an item's history, as GET history tells it.
type Entry struct {
	SHA, Message                  string
	AuthorName, AuthorEmail       string
	CommitterName, CommitterEmail string
	Date                          time.Time
	IsServiceAccount              bool
}

// historyOf is an item's history by the API, newest first.
func historyOf(t testing.TB, client *http.Client, base, key, family, item string) []Entry {
	t.Helper()
	var told struct{ History []Entry }
	Get(t, client, base, key, "/"+family+"/"+item+"/history", &told)
	for i := range told.History {
		told.History[i].Date = told.History[i].Date.UTC()
	}
	return told.History
}

// Agrees holds an item's history against git log of its file, where nothing
// was merged.
func Agrees(t testing.TB, client *http.Client, base, key string, g Git, family, item string) {
	t.Helper()
	told := historyOf(t, client, base, key, family, item)
	logged := logOf(t, g, family, item)
	differ(t, item, told, logged)
	if !t.Failed() && !slices.Equal(told, logged) {
		t.Errorf("the API tells of the commits of %s in another order than git", item)
	}
}

// AgreesMerged is agrees where histories were merged. The API has then also
// the commits of a side whose version a merge did not take, as git log has
// with --full-history; and as it tells in which order commits arrived, only
// that none stands before one that it descends from can be demanded.
func AgreesMerged(t testing.TB, client *http.Client, base, key string, g Git, family, item string) {
	t.Helper()
	told := historyOf(t, client, base, key, family, item)
	for _, e := range logOf(t, g, family, item) {
		if !slices.Contains(told, e) {
			t.Errorf("of %s git log tells %+v, and the API does not", item, e)
		}
	}
	// With it git shows merges also that took one side's version as it was.
	taken := func(e Entry) bool {
		changed := g.Lines(t, "diff-tree", "--no-commit-id", "-r", "--name-only", "--root", "-c", e.SHA)
		return !slices.Contains(changed, PathOf(family, item))
	}
	differ(t, item, told, slices.DeleteFunc(logOf(t, g, family, item, "--full-history"), taken))
	for i, e := range told {
		for _, older := range told[i+1:] {
			if _, err := g.Try("merge-base", "--is-ancestor", e.SHA, older.SHA); err == nil {
				t.Errorf("of %s the API tells %s as older than %s, which it descends from", item, older.SHA, e.SHA)
			}
		}
	}
}

// differ reports what only one of the two tells.
func differ(t testing.TB, item string, told, logged []Entry) {
	t.Helper()
	for _, e := range told {
		if !slices.Contains(logged, e) {
			t.Errorf("of %s the API alone tells %+v", item, e)
		}
	}
	for _, e := range logged {
		if !slices.Contains(told, e) {
			t.Errorf("of %s git alone tells %+v", item, e)
		}
	}
}

// logOf is git log of an item's file.
func logOf(t testing.TB, g Git, family, item string, options ...string) []Entry {
	t.Helper()
	const format = "--format=%x00%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%aI%x1f%B"
	args := append([]string{"log", format}, options...)
	out := g.Run(t, append(args, "refs/heads/main", "--", PathOf(family, item))...)
	var entries []Entry
	for _, text := range strings.Split(out, "\x00")[1:] {
		f := strings.SplitN(text, "\x1f", 7)
		date, err := time.Parse(time.RFC3339, f[5])
		must(t, err)
		message, trailer, _ := strings.Cut(f[6], "Svc-Principal: ")
		message, _, _ = strings.Cut(message, "Request-Id: ")
		entries = append(entries, Entry{f[0], strings.TrimSpace(message), f[1], f[2], f[3], f[4], date.UTC(), strings.HasPrefix(trailer, "service_account/")})
	}
	return entries
}
