package formattest

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/devserver/sample"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
)

// TestDataDirectories of svc api.
func TestDataDirectories(t *testing.T) {
	testFormats(t, "directory", local.Format, func(t *testing.T) store { return directory(filepath.Join(t.TempDir(), "data")) })
}

// directory is a data directory, by its path.
type directory string

func samples() map[string][]byte {
	files := map[string][]byte{}
	for _, f := range sample.All() {
		files[f.Path] = f.Content
	}
	return files
}

func (d directory) create(t *testing.T) {
	_, err := embedded.Create(t.Context(), string(d), embedded.Creation{Name: "shop", Files: samples(), By: "Ada", Source: "the samples"})
	must(t, err)
}

func (d directory) issueKey(t *testing.T, q access.KeyRequest) access.Key {
	key, _, err := embedded.IssueKey(t.Context(), string(d), "Ada", q)
	must(t, err)
	return key
}

func (d directory) revokeKey(t *testing.T, key access.Key) {
	registry, err := local.OpenRegistry(string(d))
	must(t, err)
	defer registry.Close()
	_, err = registry.By("Ada").RevokeKey(t.Context(), key.ID(), noon)
	must(t, err)
}

func (d directory) events(t *testing.T) int {
	events, err := embedded.Audit(t.Context(), string(d), 0)
	must(t, err)
	return len(events)
}

func (d directory) open(t *testing.T) (http.Handler, func()) {
	s, err := embedded.Open(context.Background(), string(d), embedded.Options{PublicURL: "https://svc.test", Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	return s.Handler(), func() { must(t, s.Close()) }
}

// expires: the days count on which a server runs.
func (d directory) expires(string) bool { return false }

func (d directory) dump(t *testing.T) map[string][]byte {
	files := map[string][]byte{}
	must(t, fs.WalkDir(os.DirFS(string(d)), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			files[path], err = os.ReadFile(filepath.Join(string(d), path))
		}
		return err
	}))
	return files
}

func (d directory) restore(t *testing.T, files map[string][]byte) {
	must(t, os.MkdirAll(filepath.Join(string(d), "repository.git", "refs", "heads"), 0o700))
	for path, content := range files {
		path = filepath.Join(string(d), filepath.FromSlash(path))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, content, 0o600))
	}
}
