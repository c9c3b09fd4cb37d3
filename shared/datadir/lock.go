package datadir

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"svc.example/svc/shared/atomicfile"
	"svc.example/svc/shared/filelock"
	"svc.example/svc/shared/git"
	"svc.example/svc/shared/statedir"
	"svc.example/svc/shared/workspace"
)

// ErrHeld is the error of Lock where others go on writing.
var ErrHeld = errors.New("another svc is writing files of the directory; try it again")

// lockPatience is how long to wait for other writers. Each takes some milliseconds; a pull
// of a large workspace takes seconds.
const lockPatience = 10 * time.Second

// Lock has those who write files of a datadir take turns, whichever process they are
// in: what is decided on the files as they are is written before anybody else writes.
// It is let go by Close. Who only reads needs none. What one that was killed has done in
// part is taken back, and what it has left beside the files is removed.
//
// The lock is on the directory itself, so that it is the same for every user and
// nothing of it lies among the files. Where the system locks no directories (Windows,
// some network shares) it is on a file in the user's cache directory, if there is one,
// and is the user's alone.
//
// A directory that symbolic links of a repository lead to, out of it, is a *git.LedOut.
func Lock(ctx context.Context, dir string) (io.Closer, error) {
	if _, err := git.Locate(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	lock, err := hold(ctx, root, dir)
	if err != nil {
		return nil, err
	}
	if err = foundIn(root); err == nil {
		err = restore(inside{dir, root}, func() {})
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	sweep(root, dir)
	return lock, nil
}

// hold takes the lock and does nothing else.
func hold(ctx context.Context, root *os.Root, dir string) (lock io.Closer, err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	f, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	lock = f
	err = errors.ErrUnsupported
	if runtime.GOOS != "windows" {
		err = filelock.Wait(ctx, f)
	}
	if err != nil && !errors.Is(err, filelock.ErrHeld) {
		if path := lockOf(dir); path != "" {
			f.Close()
			lock, err = filelock.Await(ctx, path)
		} else {
			err = nil
		}
	}
	if errors.Is(err, filelock.ErrHeld) {
		err = ErrHeld
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return lock, nil
}

// lockOf is the file of a directory's lock; "" where there is no place for it.
func lockOf(dir string) string {
	cache, err := os.UserCacheDir()
	folder := filepath.Join(cache, "svc", "locks")
	if err != nil || os.MkdirAll(folder, 0o700) != nil {
		return ""
	}
	return filepath.Join(folder, statedir.Name(dir))
}

// sweep removes what this user's svc has written to take the place of a file. It is for who
// holds the lock: nobody else is about to give it its place.
func sweep(root *os.Root, dir string) {
	for _, folder := range slices.Concat(workspace.Folders, []workspace.Folder{"."}) {
		entries := readFolder(root.OpenFile, string(folder), -1)
		for _, e := range entries {
			if name := filepath.Join(string(folder), e.Name()); isOwn(dir, name) {
				_ = root.Remove(name)
			}
		}
	}
}

// ownName draws a name in the folder of a file of a directory, whose second half is a seal of
// the first and of that place: by it a later svc knows that this user's svc has made the name
// there, and no file that came from elsewhere has one. Where there is no place for a secret,
// nobody knows it.
func ownName(dir, path string) string {
	drawn := rand.Text()
	if seal, err := sealOf(dir, path, drawn[:len(drawn)/2]); err == nil {
		drawn = seal
	}
	return atomicfile.NameWith(path, drawn)
}

func isOwn(dir, name string) bool {
	drawn, is := atomicfile.Drawn(filepath.Base(name))
	if !is {
		return false
	}
	seal, err := sealOf(dir, name, drawn[:len(drawn)/2])
	return err == nil && seal == drawn
}

// sealOf is the half of a name with its seal.
func sealOf(dir, path, half string) (string, error) {
	place := statedir.Name(dir, filepath.ToSlash(filepath.Dir(path)))
	sum, err := statedir.Seal(os.Getenv, []byte("beside "+place+" "+half))
	if err != nil {
		return "", err
	}
	digits, err := hex.DecodeString(sum)
	return half + base32.StdEncoding.EncodeToString(digits)[:len(half)], err
}
