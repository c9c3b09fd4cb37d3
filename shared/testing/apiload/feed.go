package apiload

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"testing"
)

// Get reads an answer of 200.
func Get(t testing.TB, client *http.Client, base, key, path string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	status, _, body, err := fetch(ctx, client, "GET", base+"/v1"+path, key, nil, "")
	must(t, err)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
	must(t, json.Unmarshal(body, into))
}

// feed is the commits of the workspace's feed but the oldest, which imported.
func feed(t testing.TB, client *http.Client, base, key string) (commits []string) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Activity   []struct{ SHA string }
			NextCursor string
		}
		Get(t, client, base, key, "/activity?limit=100&cursor="+cursor, &page)
		for _, entry := range page.Activity {
			commits = append(commits, entry.SHA)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	commits = slices.Compact(commits)
	return commits[:len(commits)-1]
}
