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

// Agrees demands that git finds nothing wrong with the repository, and that the API tells
// the history as git does: in the feed, but for the import, and of items.
func (g Git) Agrees(t testing.TB, client *http.Client, base, key string, items ...[2]string) {
	t.Helper()
	g.Sound(t)
	all := g.Lines(t, "rev-list", "refs/heads/main")
	if told := feed(t, client, base, key); !slices.Equal(told, all[:len(all)-1]) {
		t.Errorf("the feed tells of %d commits, git of %d before the import, or in another order", len(told), len(all)-1)
	}
	for _, item := range items {
		var told struct{ History []Entry } // newest first
		Get(t, client, base, key, "/"+item[0]+"/"+item[1]+"/history", &told)
		for i := range told.History {
			told.History[i].Date = told.History[i].Date.UTC()
		}
		if logged := logOf(t, g, item[0], item[1]); !slices.Equal(told.History, logged) {
			t.Errorf("of %s the API tells\n%+v\nand git log\n%+v", item[1], told.History, logged)
		}
	}
}

// logOf is git log of an item's file.
func logOf(t testing.TB, g Git, family, item string) []Entry {
	t.Helper()
	const format = "--format=%x00%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%aI%x1f%B"
	out := g.Run(t, "log", format, "refs/heads/main", "--", PathOf(family, item))
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
