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
	"slices"
	"syscall"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/workspace"
)

// State is what one look at a datadir finds.
type State struct {
	Files    map[string][]byte // path in the layout to content, for workspace.Read
	Version  string            // of Files
	Problems []workspace.Problem
	// Outside are those of Problems that are about a link which leads out of
	// the directory. Who takes a directory for the whole of a workspace must
	// not take a document that was left out for one that was deleted.
	Outside []workspace.Problem
}

// Look reads a datadir.
func Look(dir string) State {
	return list(dir, maxFiles, time.Now()).state()
}

// Load reads the files of a datadir, path in the layout to content, and says
// what could not be read. What the files say is for workspace.Read to judge.
func Load(dir string) (files map[string][]byte, problems []workspace.Problem) {
	return list(dir, maxFiles, time.Now()).read()
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

func (l listing) state() State {
	files, problems := l.read()
	return State{files, Version(files), problems, l.outside}
}

// same says whether nothing worth telling lies between two states.
func (s State) same(other State) bool {
	return s.Version == other.Version && slices.Equal(s.Problems, other.Problems)
}

// read reads the listed files.
func (l listing) read() (map[string][]byte, []workspace.Problem) {
	files := make(map[string][]byte, len(l.entries))
	problems := slices.Clone(l.problems)
	root, err := os.OpenRoot(l.dir)
	if err != nil { // gone since; what was found as nothing has been told
		return files, problems
	}
	in := &reading{root: root, folders: map[string]*os.Root{}}
	defer in.close()
	for _, e := range l.entries {
		text, err := in.content(cmp.Or(e.at, e.path))
		switch {
		case err == nil:
			files[e.path] = text
		case errors.Is(err, errNoFile), errors.Is(err, fs.ErrNotExist): // vanished since
		case errors.As(err, new(tooLarge)):
			problems = append(problems, workspace.Problem{Severity: workspace.Fatal, File: e.path, Message: err.Error()})
		default:
			problems = append(problems, workspace.Problem{Severity: workspace.Fatal, File: e.path, Message: plain(err)})
		}
	}
	slices.SortStableFunc(problems, func(a, b workspace.Problem) int { return cmp.Compare(a.File, b.File) })
	return files, problems
}

// maxBytes is how much of a file is taken: the size of a document and a byte
// order mark, which workspace.Read does not count.
const maxBytes = document.MaxSize + 3

type tooLarge int64

func (size tooLarge) Error() string {
	return fmt.Sprintf("%d bytes; a file may have at most %d", int64(size), document.MaxSize)
}

var errNoFile = errors.New("not a regular file")

// reading opens the files of a directory. Each folder is opened once: walking
// to every file again would take twice as long.
type reading struct {
	root    *os.Root
	folders map[string]*os.Root // nil for one that cannot be opened
}

func (r *reading) close() {
	for _, folder := range r.folders {
		if folder != nil {
			folder.Close()
		}
	}
	r.root.Close()
}

// content reads a file by its path in the directory.
func (r *reading) content(path string) ([]byte, error) {
	path = filepath.FromSlash(path)
	dir, name := filepath.Split(path)
	folder, opened := r.folders[dir]
	if !opened && dir != "" {
		folder, _ = r.root.OpenRoot(filepath.Clean(dir))
		r.folders[dir] = folder
	}
	if folder != nil {
		if info, err := folder.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			return content(folder, name)
		}
	}
	return content(r.root, path) // a link may lead to another folder of the directory
}

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
		return nil, tooLarge(info.Size())
	}
	return readAll(f, info.Size())
}

// readAll reads up to maxBytes. The size is what to expect: a file may grow
// while it is read, and some file systems do not know a size.
func readAll(r io.Reader, size int64) ([]byte, error) {
	var text bytes.Buffer
	text.Grow(int(size) + bytes.MinRead)
	n, err := text.ReadFrom(io.LimitReader(r, maxBytes+1))
	if n > maxBytes {
		return nil, tooLarge(n)
	}
	return text.Bytes(), err
}
