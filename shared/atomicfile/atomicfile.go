// Package atomicfile replaces files as a whole: a reader, also after a crash, finds the old
// content or the new.
package atomicfile

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Replace puts content in the place of a file in a folder that is there. A link is
// replaced, not followed. Mode 0 is that of new files, as the process makes them.
func Replace(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	next := NameWith(name, rand.Text())
	if err := WriteBeside(root, name, next, content, mode); err != nil {
		return err
	}
	if err := root.Rename(next, name); err != nil {
		return errors.Join(Named(err, name), root.Remove(next))
	}
	return nil
}

// ReplaceAt is Replace for the path of a file.
func ReplaceAt(path string, content []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer root.Close()
	return Replace(root, filepath.Base(path), content, mode)
}

// beginning is that of the names of files that are to take the place of others.
const beginning = ".svc-next-"

// NameWith is a name in the folder of a file, of what was drawn.
func NameWith(name, drawn string) string { return filepath.Join(filepath.Dir(name), beginning+drawn) }

// Drawn is what a name was made of, and whether it is one of those that NameWith makes.
func Drawn(name string) (drawn string, is bool) {
	drawn, is = strings.CutPrefix(name, beginning)
	return drawn, is && len(drawn) == len(rand.Text()) && strings.Trim(drawn, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// Named has an error of the system name a file as it was asked for, and not as the one
// that was to take its place.
func Named(err error, name string) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		at.Path = name
	case errors.As(err, &link):
		return &fs.PathError{Op: "replace", Path: name, Err: link.Err}
	}
	return err
}

// WriteBeside writes a file that is to take the place of another, under a name that was
// drawn in its folder, and leaves that to the caller. It is flushed. After an error there
// is none.
func WriteBeside(root *os.Root, name, next string, content []byte, mode fs.FileMode) error {
	begin := mode
	if mode == 0 {
		begin = 0o666
	}
	f, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, begin)
	if err != nil {
		return Named(err, name)
	}
	_, err = f.Write(content)
	if mode != 0 { // whatever the process takes from new files
		err = errors.Join(err, f.Chmod(mode))
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(Named(err, name), root.Remove(next))
	}
	return nil
}

// Fill makes a file of what fill writes, for its owner alone, in a folder that is
// there. It has its name when all of it is flushed; until then what is there stays,
// and after an error. What is there and is no ordinary file is left alone. Beside is
// a folder for what fill wants to put aside, which goes with the unfinished file.
func Fill(path string, fill func(to io.Writer, beside string) error) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "replace", Path: path, Err: errors.New("it is no ordinary file")}
	}
	folder := filepath.Dir(path)
	if _, err := os.Stat(folder); err != nil {
		return &fs.PathError{Op: "open", Path: path, Err: errors.Unwrap(err)}
	}
	beside, discard, err := Unfinished(filepath.Join(folder, ".svc"))
	if err != nil {
		return Named(err, path)
	}
	defer discard()
	f, err := os.OpenFile(filepath.Join(beside, filepath.Base(path)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return Named(err, path)
	}
	buffered := bufio.NewWriterSize(f, 1<<20)
	if err = fill(buffered, beside); err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == f.Name() || errors.As(err, new(*os.LinkError)) {
			err = Named(err, path)
		}
		return err
	}
	return SyncFolder(folder)
}

// SyncFolder makes names in a folder survive a loss of power. Windows has no such
// call, and NTFS keeps its names in a journal.
func SyncFolder(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
