// Package sample holds the config directory that svc init lays out and that
// the project itself serves as its example.
//
// What must stay true: every file verifies, and is stored in the form in which
// the API would write it.
package sample

import (
	"embed"
	"io/fs"
	"slices"
	"strings"
)

//go:embed directory
var directory embed.FS

// File is one file of the sample directory.
type File struct {
	Path    string // in the datadir, with forward slashes
	Content []byte
}

// minimal is one file of each kind, none of which needs another.
var minimal = []string{
	"svc.json",
	"feature-flags/new-checkout.json",
	"configs/api.timeout.json",
	"log-levels/log-level.storefront.json",
	"segments/beta-testers.json",
	"schemas/banner.json",
}

// All returns every file.
func All() []File {
	var files []File
	// Reading what is embedded cannot fail.
	fs.WalkDir(directory, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := directory.ReadFile(path)
		files = append(files, File{strings.TrimPrefix(path, "directory/"), content})
		return err
	})
	return files
}

// Minimal returns one file of each kind.
func Minimal() []File {
	return slices.DeleteFunc(All(), func(f File) bool { return !slices.Contains(minimal, f.Path) })
}
