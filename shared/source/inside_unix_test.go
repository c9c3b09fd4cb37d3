//go:build unix

package source_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/shared/checkout"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/gitobjects"
	"svc.example/svc/shared/testing/must"
)

// TestNothingOutsideIsImported: somebody else has made the directory.
func TestNothingOutsideIsImported(t *testing.T) {
	elsewhere := t.TempDir()
	other, commit := filled(t, elsewhere)
	write(t, elsewhere, "secret.txt", "secret")
	loose := "objects/ab/" + strings.Repeat("c", 38)
	linked := func(name, target string) func(git string) error {
		return func(git string) error {
			path := filepath.Join(git, filepath.FromSlash(name))
			return errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o777), os.Symlink(target, path))
		}
	}
	written := func(name, text string) func(git string) error {
		return func(git string) error { return os.WriteFile(filepath.Join(git, name), []byte(text), 0o666) }
	}
	sized := func(name string, size int64) func(git string) error {
		return func(git string) error {
			path := filepath.Join(git, name)
			return errors.Join(os.WriteFile(path, nil, 0o666), os.Truncate(path, size))
		}
	}
	piped := func(name string) func(git string) error {
		return func(git string) error {
			path := filepath.Join(git, name)
			return errors.Join(os.RemoveAll(path), os.MkdirAll(filepath.Dir(path), 0o777), syscall.Mkfifo(path, 0o666))
		}
	}
	for name, test := range map[string]struct {
		spoil func(git string) error
		words string
	}{
		"another repository":     {linked("", other), ".git is a symbolic link"},
		"its objects":            {linked("objects", filepath.Join(other, "objects")), "objects is a symbolic link"},
		"its packs":              {linked("objects/pack", filepath.Join(other, "objects", "pack")), "objects/pack is a symbolic link"},
		"a file as an object":    {linked(loose, filepath.Join(elsewhere, "secret.txt")), loose + " is a symbolic link"},
		"a device as an object":  {linked(loose, "/dev/zero"), loose + " is a symbolic link"},
		"a pipe as an object":    {piped(loose), loose + " is no regular file"},
		"its branches":           {linked("refs", filepath.Join(other, "refs")), "refs is a symbolic link"},
		"its branch":             {linked("refs/heads/main", filepath.Join(other, "refs", "heads", "main")), "refs/heads/main is a symbolic link"},
		"its packed references":  {linked("packed-refs", filepath.Join(other, "packed-refs")), "packed-refs is a symbolic link"},
		"its HEAD":               {linked("HEAD", filepath.Join(other, "HEAD")), "HEAD is a symbolic link"},
		"settings elsewhere":     {linked("config", filepath.Join(other, "config")), "config is a symbolic link"},
		"a pipe as HEAD":         {piped("HEAD"), "HEAD is no regular file"},
		"a branch elsewhere":     {written("HEAD", "ref: refs/../../../x"), "HEAD of"},
		"a file as a branch":     {written("HEAD", "ref: ../secret.txt\n"), "which is no branch"},
		"settings without end":   {sized("config", 1<<40), "config has 1099511627776 bytes"},
		"an index without end":   {sized("objects/pack/pack-1.idx", 1<<40), "objects/pack/pack-1.idx has 1099511627776 bytes"},
		"a link within":          {linked("refs/heads/topic", "main"), "refs/heads/topic is a symbolic link"},
		"what svc does not read": {linked("hooks/post-commit", "/usr/bin/true"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			git, want := filled(t, dir)
			must.Do(t, test.spoil(git))
			found, _, err := source.FindRepository(dir)
			if test.words == "" {
				if err != nil || found.Commit() != want {
					t.Errorf("%+v, %v", found, err)
				}
				return
			}
			if err == nil || !strings.Contains(filepath.ToSlash(err.Error()), test.words) {
				t.Errorf("%v, want %q", err, test.words)
			}
		})
	}
	bare := filepath.Join(t.TempDir(), "bare")
	must.Do(t, os.Symlink(other, bare))
	if found, _, err := source.FindRepository(bare); err != nil || found.Commit() != commit {
		t.Errorf("a link that somebody names himself: %+v, %v", found, err)
	}
}

// TestCopyNoPipes: nor does the copy wait for one that came later.
func TestCopyNoPipes(t *testing.T) {
	git, commit := filled(t, t.TempDir())
	pipe := filepath.Join(git, "objects", "ab", strings.Repeat("c", 38))
	must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(pipe), 0o777), syscall.Mkfifo(pipe, 0o666)))
	into := must.Get(checkout.Init(t.TempDir(), ""))(t)
	if err := source.RepositoryAt(git, commit).CopyTo(t.Context(), into, nil); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("%v", err)
	}
}

// filled makes a repository with a commit.
func filled(t *testing.T, dir string) (git, commit string) {
	t.Helper()
	git = must.Get(checkout.Init(dir, ""))(t)
	root := gitobjects.Tree(t)
	c := gitobjects.Commit(root)
	gitobjects.StoreIn(t, git, root, c)
	must.Do(t, checkout.SetMain(git, c.ID.String()))
	return git, c.ID.String()
}
