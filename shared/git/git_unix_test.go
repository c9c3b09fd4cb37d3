//go:build unix

package git

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

func TestAPipeInARepositoryIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	realgit.Run(t, dir, "init", "-q")
	for _, name := range []string{".git/index", ".git/config", ".git/packed-refs", ".git/refs/heads/main", ".git/info/attributes", ".gitattributes", "sub/.gitattributes"} {
		pipe := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o755), os.Rename(pipe, pipe+".away")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		must.Do(t, syscall.Mkfifo(pipe, 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		r, err := Open(ctx, dir)
		if err == nil {
			_, err = r.Attributes(ctx, "", map[string]string{"a.json": "sub/a.json"})
		}
		cancel()
		if err == nil || !strings.Contains(err.Error(), pipe+" is no file") {
			t.Errorf("%s: %v", name, err)
		}
		if err := os.Rename(pipe+".away", pipe); errors.Is(err, fs.ErrNotExist) {
			err = os.Remove(pipe)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	r := must.Get(Open(t.Context(), dir))(t)
	if _, err := r.Attributes(t.Context(), "", map[string]string{"a.json": "sub/a.json"}); err != nil {
		t.Error(err)
	}
}

// Only git itself can tell what its configuration includes.
func TestAPipeThatTheConfigurationIncludesIsNotWaitedForLong(t *testing.T) {
	defer func(was time.Duration) { openPatience = was }(openPatience)
	openPatience = 100 * time.Millisecond
	for _, top := range []string{"", "inner"} {
		dir := t.TempDir()
		for _, at := range []string{dir, filepath.Join(dir, top)} {
			must.Do(t, os.MkdirAll(at, 0o777))
			realgit.Run(t, at, "init", "-q")
		}
		must.Do(t, errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.WriteFile(filepath.Join(dir, ".git", "config"), []byte("[include]\npath = ../pipe\n"), 0o600)))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := Open(ctx, filepath.Join(dir, top))
		cancel()
		if err == nil || !strings.Contains(err.Error(), "git has not answered within 100ms") {
			t.Errorf("%q: %v", top, err)
		}
	}
}
