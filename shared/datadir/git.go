package datadir

import (
	"os"
	"path/filepath"
	"time"

	"svc.example/svc/shared/git"
)

const (
	// gitPatience is how long the next file of a git checkout is waited for.
	gitPatience = 8 * time.Second
	// maxCheckout is how long a checkout is waited for at the most. A lock older than
	// that was left behind.
	maxCheckout = time.Minute
)

// gitAtWork reports whether git is changing the work tree that a directory lies
// in: it holds the lock of the index from the first file to the last. A busy
// machine can make it pause in between for longer than any quiet that an edit
// should be made to wait for.
func gitAtWork(dir string, now time.Time) bool {
	repository := gitOf(dir)
	if repository == "" {
		return false
	}
	info, err := os.Lstat(filepath.Join(repository, "index.lock"))
	return err == nil && now.Sub(info.ModTime()) < maxCheckout
}

// gitOf is the git directory of the work tree that a directory lies in, "" for none.
func gitOf(dir string) string {
	at, err := git.Locate(dir)
	if err != nil || at.Top == "" {
		return ""
	}
	return git.Directory(filepath.Join(at.Top, ".git"))
}
