//go:build !windows

package local

import (
	"io"
	"os"
	"syscall"
)

// canWrite says why no file can be made in a directory. A file system may be
// mounted read-only, which binds root too.
func canWrite(dir string) error {
	const write, search = 2, 1
	return syscall.Access(dir, write|search)
}

// hold returns what has to be closed once a file's identity need no longer be
// reserved: while it is open, no other file gets its inode number.
func hold(f *os.File) io.Closer { return f }
