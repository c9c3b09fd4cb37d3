package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"svc.example/svc/shared/repository/object"
)

const (
	branch = "refs/heads/main"

	maxRef    = 4 << 10
	maxPacked = 256 << 20
)

// reference is a branch that holds a repository's head.
type reference struct {
	files filesystem
	git   string // the bare repository's directory
	name  string // "" is branch

	loose *watchedFile[string] // of the branch's own file, for current
}

// newBranch is the branch of a repository.
func newBranch(files filesystem, git string) reference {
	r := reference{files: files, git: git}
	r.loose = &watchedFile[string]{files: files, path: r.path(branch), limit: maxRef, decode: parseLoose}
	return r
}

// current is read for frequent callers: the branch's file is read when it is another file
// than the last time. Git replaces it too.
func (r reference) current() (string, error) {
	if id, err := r.loose.current(); err == nil {
		return id, nil
	}
	return r.read() // there may be another way, or more to say
}

func (r reference) branch() string {
	if r.name == "" {
		return branch
	}
	return r.name
}

func (r reference) path(name string) string {
	return filepath.Join(r.git, filepath.FromSlash(name))
}

// read returns the commit that the branch names, "" when there is no branch.
//
// The loose file goes first, as with git: pack-refs writes packed-refs before
// it removes the loose file, so that one of the two always tells.
func (r reference) read() (string, error) {
	content, err := r.files.read(r.path(r.branch()), maxRef)
	if errors.Is(err, fs.ErrNotExist) {
		packed, err := r.packed()
		return idOf(packed, r.branch()), err
	}
	if err != nil {
		if info, failed := r.files.stat(r.path(r.branch())); failed == nil && info.IsDir() {
			return "", unavailable(err, "the repository's %s cannot be read: it is a directory, where a file with the commit's id belongs", r.branch())
		}
		return "", fmt.Errorf("reading the head: %w", err)
	}
	id, err := parseLoose(content)
	if err != nil {
		return "", unavailable(err, "the repository's %s cannot be read: %v", r.branch(), err)
	}
	return id, nil
}

var (
	errSymbolic = errors.New("the branch is a symbolic reference: it must name a commit itself")
	errNoID     = errors.New("40 hexadecimal digits are expected here: the file is damaged, git fsck and git reflog may help")
)

// parseLoose reads a loose reference. Git allows white space after the id.
func parseLoose(content []byte) (string, error) {
	if bytes.HasPrefix(content, []byte("ref:")) {
		return "", errSymbolic
	}
	id, rest := content, []byte(nil)
	if len(content) > object.IDLength {
		id, rest = content[:object.IDLength], content[object.IDLength:]
	}
	if !isID(string(id)) || len(bytes.TrimLeft(rest, " \t\r\n")) > 0 {
		return "", errNoID
	}
	return string(id), nil
}

const noCommit = "0000000000000000000000000000000000000000"

// isID reports whether text is an object id as git writes it. Zeros name nothing.
func isID(text string) bool { return object.IsID(text) && text != noCommit }
