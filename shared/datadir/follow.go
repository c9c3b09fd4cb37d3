package datadir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// follow returns what stands at the end of a path's symbolic links, or what is
// wrong with it in words. With neither, there is nothing at that path.
func follow(path string) (fs.FileInfo, string) {
	info, err := os.Stat(path)
	if err == nil {
		return info, ""
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, plain(err)
	}
	if target, err := os.Readlink(path); err == nil {
		return nil, "this is a symbolic link to " + target + ", which does not exist"
	}
	return nil, ""
}

// plain is a file system's error in words, without the path: the caller has
// said which file it is about.
func plain(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "permission denied: it cannot be read"
	case errors.Is(err, syscall.ELOOP):
		return "its symbolic links lead round in a circle"
	}
	if wrapped := (*fs.PathError)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return "it cannot be read: " + err.Error()
}
