package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"svc.example/svc/shared/workspace"
)

const (
	mostLooked     = 100_000 // names in a folder
	mostOverlooked = 20      // problems of a folder
)

// Overlooked points out what Load leaves out and its author may have meant to
// be a document: files of a folder in another spelling, folders below one, and
// folders that look like one of the layout. A server has no need of it.
func Overlooked(dir string) []workspace.Problem {
	var found []workspace.Problem
	warn := func(path, message string) {
		found = append(found, workspace.Problem{Severity: workspace.Warning, File: path, Message: message})
	}
	for _, e := range entries(dir) {
		meant := workspace.FolderLike(e.Name())
		if meant != "" && e.IsDir() && !sameFolder(e, filepath.Join(dir, string(meant))) {
			warn(e.Name(), fmt.Sprintf("this folder is left out; did you mean %s?", meant))
		}
	}
	for _, folder := range workspace.Folders {
		before := len(found)
		for _, e := range entries(filepath.Join(dir, string(folder))) {
			why := workspace.Overlooked(e.Name(), e.IsDir())
			if why != "" && len(found)-before < mostOverlooked {
				warn(string(folder)+"/"+e.Name(), why)
			}
		}
	}
	workspace.SortProblems(found)
	return found
}

// entries are the names in a folder, in order; none when it can not be read,
// which Load says.
func entries(dir string) []fs.DirEntry {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.ReadDir(mostLooked)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// sameFolder says whether two names are of one folder, on a file system that
// knows no case.
func sameFolder(e fs.DirEntry, path string) bool {
	a, errA := e.Info()
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
