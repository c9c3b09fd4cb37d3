package repository

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/workspace"
)

// IsFile reports whether a path is one of the layout. A file of the layout is
// what lies there as a file, executable or not (see object.TreeEntry.IsFile). A
// folder, a submodule or a symbolic link of such a name is foreign.
func IsFile(path string) bool {
	if path == workspace.File {
		return true
	}
	_, _, ok := workspace.SplitPath(path)
	return ok
}

// checkPath says what keeps a file from being written at a path. Reading is
// more lenient: a git that somebody else wrote is served as it is.
func checkPath(path string) error {
	_, name, _ := strings.Cut(path, "/")
	switch {
	case len(name) > workspace.MaxName:
		return fmt.Errorf("%q: a file's name has at most %d bytes", path, workspace.MaxName)
	case !IsFile(path):
		return fmt.Errorf("%q is no file of the layout: %s, or <folder>/<key>.json", path, workspace.File)
	case !utf8.ValidString(path):
		return fmt.Errorf("%q must be UTF-8", path)
	case strings.ContainsFunc(path, unicode.IsControl), strings.ContainsRune(path, '\\'):
		return fmt.Errorf("%q must not contain control characters or backslashes", path)
	}
	return nil
}
