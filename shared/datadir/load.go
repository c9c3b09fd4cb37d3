package datadir

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// State is what one look at a datadir finds.
type State struct {
	// Files are path in the layout to content, for workspace.Read. A file that has
	// not changed since an earlier look has the same bytes in memory.
	Files map[string][]byte
	// Problems of the code problem.LeftOut are about documents that are not in Files: who
	// takes a directory for the whole of a workspace must not take these for deleted.
	Problems []workspace.Problem

	listing listing // that Files were read by
}

// Look reads a datadir, and says what could not be read. What the files say is for
// workspace.Read to judge.
func Look(dir string) State {
	return list(dir, maxFiles, time.Now()).state(State{}, nil)
}

// LookAgain is Look for who knows an earlier state: of the files only those are read
// that have changed since.
func LookAgain(dir string, before State) State {
	return list(dir, maxFiles, time.Now()).state(before, nil)
}

// versionLength is the length of a commit's name in git, so that a version
// from a directory and one from a repository look alike.
const versionLength = 40

// Version names the content of files: 40 hexadecimal characters, the same for
// the same paths and content, whatever order they were read in.
func Version(files map[string][]byte) string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%d %s %d ", len(path), path, len(files[path]))
		h.Write(files[path])
	}
	return hex.EncodeToString(h.Sum(nil))[:versionLength]
}

// Version is the Version of the state's files.
func (s State) Version() string { return Version(s.Files) }

// same reports whether nothing worth telling lies between two states.
func (s State) same(other State) bool {
	return maps.EqualFunc(s.Files, other.Files, bytes.Equal) && slices.Equal(s.Problems, other.Problems)
}

// state reads the listed files, but for those that are in an earlier state and
// have not changed since; what was touched has changed, whatever it looks like.
func (l listing) state(before State, touched map[string]bool) State {
	state := State{Files: make(map[string][]byte, len(l.entries)), Problems: slices.Clone(l.problems), listing: l}
	root, err := os.OpenRoot(l.dir)
	if err != nil { // gone since; what was found as nothing has been told
		return state
	}
	defer root.Close()
	known := make(map[string]entry, len(before.listing.entries))
	for _, e := range before.listing.entries {
		known[e.path] = e
	}
	var unread []entry
	for _, e := range l.entries {
		if was, listed := known[e.path]; listed && !touched[e.path] && e.same(was) && (l.told || was.settled()) {
			if text, read := before.Files[e.path]; read {
				state.Files[e.path] = text
				continue
			}
		}
		unread = append(unread, e)
	}
	texts, errs := make([][]byte, len(unread)), make([]error, len(unread))
	each(len(unread), func(i int) { texts[i], errs[i] = content(root, filepath.FromSlash(unread[i].path)) })
	for i, e := range unread {
		switch err := errs[i]; {
		case err == nil && bytes.Equal(texts[i], before.Files[e.path]):
			state.Files[e.path] = before.Files[e.path]
		case err == nil:
			state.Files[e.path] = texts[i]
		case errors.Is(err, errNoFile), errors.Is(err, fs.ErrNotExist): // vanished since
		case errors.As(err, new(*workspace.Unread)):
			state.Problems = append(state.Problems, workspace.Problem{Severity: workspace.Fatal, File: e.path, Message: err.Error(), Code: problem.UnreadableFile})
		default:
			state.Problems = append(state.Problems, workspace.Problem{Severity: workspace.Fatal, File: e.path, Message: plain(err), Code: problem.UnreadableFile})
		}
	}
	slices.SortStableFunc(state.Problems, func(a, b workspace.Problem) int { return cmp.Compare(a.File, b.File) })
	return state
}

// each does n things, each told by its number; many of them on all processors.
func each(n int, do func(i int)) {
	var all errgroup.Group
	all.SetLimit(runtime.GOMAXPROCS(0))
	for ; n > 0 && n <= 128; n-- {
		do(n - 1)
	}
	for i := range n {
		all.Go(func() error { do(i); return nil })
	}
	_ = all.Wait() // nothing fails
}

// maxBytes is how much of a file is taken: the size of a document and a byte
// order mark, which workspace.Read does not count.
const maxBytes = document.MaxSize + 3

var errNoFile = errors.New("not a regular file")

// content reads a file that was a regular one a moment ago. It may have become
// a pipe since: opening without waiting, and asking again what it is, keeps
// that from hanging.
func content(root *os.Root, path string) ([]byte, error) {
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNoFile
	case info.Size() > maxBytes:
		return nil, workspace.TooLarge(info.Size())
	}
	return readAll(f, info.Size())
}

// readFolder returns what is in a folder, so many names at the most; none where it cannot
// be read. A pipe in its place is not waited for.
func readFolder(open func(string, int, fs.FileMode) (*os.File, error), path string, most int) []fs.DirEntry {
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(most)
	return entries
}

// readAll reads up to maxBytes. The size is what to expect: a file may grow
// while it is read, and some file systems do not know a size.
func readAll(r io.Reader, size int64) ([]byte, error) {
	text := make([]byte, 0, size+1) // so that the end is found without more memory
	for {
		n, err := r.Read(text[len(text):cap(text)])
		if text = text[:len(text)+n]; len(text) > maxBytes {
			return nil, workspace.TooLarge(int64(len(text)))
		}
		if err != nil {
			return text, notEOF(err)
		}
		if len(text) == cap(text) {
			text = slices.Grow(text, bytes.MinRead)
		}
	}
}
