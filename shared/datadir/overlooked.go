package datadir

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

const (
	maxLooked     = 100_000 // names in a folder
	maxFolders    = 100     // folders that are none of the layout
	maxOverlooked = 20      // problems of a folder; the rest is counted
)

// Overlooked refuses what Look leaves out and another program would obey, and points
// out what its author may have meant to be a document: files of a folder in another spelling or format, folders below
// one, files that lie beside the folders or in another one, and folders that
// look like one of the layout.
func Overlooked(dir string) []workspace.Problem {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil // Look says so
	}
	defer root.Close()
	o, inGit := overlooking{root: root}, gitOf(dir) != ""
	o.obeyed(itself)
	o.repositories()
	for _, folder := range workspace.Folders {
		o.leftOut(string(folder), func(e fs.DirEntry) string { return workspace.Overlooked(e.Name(), e.IsDir()) })
		o.obeyed(string(folder))
		if inGit {
			o.links(string(folder))
		}
	}
	if inGit {
		o.found = append(o.found, hiddenByGit(dir)...)
	}
	o.leftOut(itself, func(e fs.DirEntry) string {
		if e.IsDir() || !workspace.OverlookedOutside(e.Name()) {
			return ""
		}
		return "this is left out: documents stand in the folders " + folderNames() + ", by their type"
	})
	o.otherFolders()
	workspace.SortProblems(o.found)
	return o.found
}

type overlooking struct {
	root  *os.Root
	found []workspace.Problem
}

func (o *overlooking) warn(code problem.Code, path, message string) {
	o.found = append(o.found, workspace.Problem{Severity: workspace.Warning, File: path, Message: message, Code: code})
}

// folder points out what there is a reason for; of more than maxOverlooked, the rest are
// told in one.
func (o *overlooking) folder(folder string, code problem.Code, rest string, reason func(fs.DirEntry) string) {
	count := 0
	for _, e := range o.entries(folder) {
		why := reason(e)
		if why == "" {
			continue
		}
		if count++; count <= maxOverlooked {
			o.warn(code, path.Join(folder, e.Name()), why)
		}
	}
	if count > maxOverlooked {
		o.warn(code, folder, fmt.Sprintf("%d more %s", count-maxOverlooked, rest))
	}
}

// leftOut is folder for what Look leaves out.
func (o *overlooking) leftOut(folder string, reason func(fs.DirEntry) string) {
	o.folder(folder, problem.LeftOut, "files or folders in here are left out", reason)
}

// links points out documents that are links to another file of the directory.
func (o *overlooking) links(folder string) {
	o.folder(folder, problem.LinkInGit, "files in here are symbolic links", func(e fs.DirEntry) string {
		if e.Type()&fs.ModeSymlink == 0 || !workspace.KnownName(e.Name()) {
			return ""
		}
		if info, err := o.root.Stat(path.Join(folder, e.Name())); err != nil || !info.Mode().IsRegular() {
			return ""
		}
		return "this is a symbolic link, which git holds as one: svc push, git push to svc api and --import refuse it; put the file itself in its place"
	})
}

// obeyed refuses what other programs would take for instructions.
func (o *overlooking) obeyed(folder string) {
	for _, e := range o.entries(folder) {
		if code, why := workspace.Obeyed(e.Name(), e.IsDir()); code != "" {
			o.found = append(o.found, workspace.Problem{Severity: workspace.Error, File: path.Join(folder, e.Name()), Message: why, Code: code})
		}
	}
}

// repositories refuses folders, however deep, that git takes for a bare repository when it
// is run in one of them.
func (o *overlooking) repositories() {
	parts, looked := map[string]map[string]bool{}, 0
	_ = fs.WalkDir(o.root.FS(), itself, func(at string, e fs.DirEntry, err error) error {
		looked++
		switch name := strings.ToLower(path.Base(at)); { // not every disk tells capital letters from small ones
		case looked > maxLooked:
			return fs.SkipAll
		case err != nil: // where it matters, Look says so
		case name == ".git" && e.IsDir():
			return fs.SkipDir
		case name == "head", name == "objects", name == "refs", name == "commondir":
			folder := path.Dir(at)
			if parts[folder] == nil {
				parts[folder] = map[string]bool{}
			}
			parts[folder][name] = true
		}
		return nil
	})
	for folder, has := range parts {
		if folder != itself && !workspace.KnownFolder(folder) && has["head"] && (has["commondir"] || has["objects"] && has["refs"]) {
			code, why := workspace.Obeyed("HEAD", false)
			o.found = append(o.found, workspace.Problem{Severity: workspace.Error, File: folder, Message: why, Code: code})
		}
	}
}

// otherFolders points out folders that are none of the layout, by their name or
// by what is in them.
func (o *overlooking) otherFolders() {
	looked := 0
	for _, e := range o.entries(itself) {
		name := e.Name()
		if !e.IsDir() || workspace.KnownFolder(name) || strings.HasPrefix(name, ".") || looked >= maxFolders {
			continue
		}
		looked++
		if meant := workspace.FolderLike(name); meant != "" {
			if !o.sameFolder(e, string(meant)) {
				o.warn(problem.MisspeltName, name, fmt.Sprintf("this folder is left out; did you mean %s?", meant))
			}
			continue
		}
		o.leftOut(name, func(e fs.DirEntry) string {
			if e.IsDir() || !workspace.OverlookedOutside(e.Name()) {
				return ""
			}
			return fmt.Sprintf("this is left out: %s is none of the folders %s", name, folderNames())
		})
	}
}

func folderNames() string {
	names := make([]string, len(workspace.Folders))
	for i, folder := range workspace.Folders {
		names[i] = string(folder)
	}
	return strings.Join(names, ", ")
}

// entries are the names in a folder, in order; none when it cannot be read,
// which Look says.
func (o *overlooking) entries(folder string) []fs.DirEntry {
	all := readFolder(o.root.OpenFile, folder, maxLooked)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// sameFolder reports whether two names are of one folder, on a file system that
// knows no case.
func (o *overlooking) sameFolder(e fs.DirEntry, path string) bool {
	a, errA := e.Info()
	b, errB := o.root.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
