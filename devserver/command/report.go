package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"svc.example/svc/devserver/directory"
	"svc.example/svc/shared/workspace"
)

// report writes what happens to a directory, a line each, to standard error.
// Lines that come before the server is up are kept until it is, so that the
// start-up lines stand first.
type report struct {
	in   Invocation
	path string

	mu   sync.Mutex
	kept []string
	up   bool
}

func (r *report) line(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	line = r.in.clickable(r.path, line)
	if !r.up {
		r.kept = append(r.kept, line)
		return
	}
	fmt.Fprintln(r.in.Stderr, line)
}

func (r *report) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, line := range r.kept {
		fmt.Fprintln(r.in.Stderr, line)
	}
	r.kept, r.up = nil, true
}

// clickable puts the datadir before a path of the layout that begins a line, or
// of a file that was left out of it, so that a terminal or an editor can open
// the file.
func (in Invocation) clickable(datadir, line string) string {
	for i := range len(line) { // a name may have colons
		file := line[:i]
		if line[i] != ':' || strings.HasSuffix(file, "/") {
			continue
		}
		_, _, known := workspace.SplitPath(file)
		if known || file == workspace.File || workspace.KnownFolder(file) || file == "." || leftOut(datadir, file) {
			return filepath.Join(in.Display(datadir), filepath.FromSlash(file)) + line[i:]
		}
	}
	return line
}

// locate makes the paths of a refusal clickable.
func (in Invocation) locate(err error) error {
	var refusal *directory.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	lines := strings.Split(refusal.Error(), "\n")
	for i, line := range lines[1:] {
		lines[i+1] = in.clickable(refusal.Path, line)
	}
	return errors.New(strings.Join(lines, "\n"))
}

// leftOut reports whether a word that begins a line is a file, and no other word.
func leftOut(datadir, word string) bool {
	if !strings.ContainsAny(word, "./") || !filepath.IsLocal(word) {
		return false
	}
	_, err := os.Lstat(filepath.Join(datadir, filepath.FromSlash(word)))
	return err == nil
}
