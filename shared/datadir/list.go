package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/workspace"
)

// maxFiles is the most files that are read from a datadir.
const maxFiles = 100_000

// entry is a file of the layout as a listing found it, at the end of its
// symbolic links.
type entry struct {
	path string // in the layout, with forward slashes
	info fs.FileInfo
	seen time.Time
}

// listing is every file of the layout in a datadir, unread.
type listing struct {
	dir      string
	entries  []entry
	problems []workspace.Problem
	made     time.Time
	// told says that whatever was touched since the listing before is known.
	told bool
}

// coarsest is the step in which the coarsest file systems in use (FAT) count
// a file's time, and some allowance for a clock that is not this machine's.
const coarsest = 3 * time.Second

// list lists the files of the layout in dir, at most limit of them.
func list(dir string, limit int, now time.Time) listing {
	l := listing{dir: dir, made: now}
	if !l.listable() {
		return l
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		l.unreadable(itself, "the config directory "+l.dir+": "+plain(err))
		return l
	}
	defer root.Close()
	inside := inside{dir, root}
	present := l.workspaceFile(inside)
	for _, folder := range workspace.Folders {
		present = l.folder(inside, string(folder), limit) || present
	}
	if !present {
		l.warn(problem.NoConfigDirectory, itself, fmt.Sprintf("this does not look like a config directory: it has no %s and none of the folders %s; `svc init` creates one",
			workspace.File, folderNames()))
	}
	return l
}

// renewed is the listing once some documents that it has were touched, and nothing
// else. It is not ok when that takes a new listing to know.
func (l listing) renewed(touched map[string]bool, now time.Time) (_ listing, ok bool) {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return l, false
	}
	defer root.Close()
	left := len(touched)
	var entries []entry
	for _, e := range l.entries {
		if !touched[e.path] {
			entries = append(entries, e)
			continue
		}
		left--
		switch info, err := root.Lstat(e.path); {
		case errors.Is(err, fs.ErrNotExist): // and of a folder that is gone the system reports that too
		case err != nil || !info.Mode().IsRegular():
			return l, false
		default:
			entries = append(entries, entry{e.path, info, now})
		}
	}
	l.entries, l.made, l.told = entries, now, true
	return l, left == 0
}

// settled reports whether a file was written so long before it was seen that one more
// write would not have left it with the same time and size.
func (e entry) settled() bool { return e.seen.Sub(e.info.ModTime()).Abs() >= coarsest }

// itself is the datadir where a file of the layout would be named.
const itself = "."

func (l *listing) unreadable(path, message string) {
	l.problems = append(l.problems, workspace.Problem{Severity: workspace.Fatal, File: path, Message: message, Code: problem.UnreadableFile})
}

func (l *listing) warn(code problem.Code, path, message string) {
	l.problems = append(l.problems, workspace.Problem{Severity: workspace.Warning, File: path, Message: message, Code: code})
}

// listable reports whether there is a directory to list.
func (l *listing) listable() bool {
	info, why := follow(l.dir)
	switch {
	case why != "":
		l.unreadable(itself, "the config directory "+l.dir+": "+why)
	case info == nil:
		l.unreadable(itself, "the config directory "+l.dir+" is gone")
	case !info.IsDir():
		l.unreadable(itself, "the config directory "+l.dir+" is a file")
	default:
		return true
	}
	return false
}

// workspaceFile reports whether anything goes by the workspace file's name.
func (l *listing) workspaceFile(in inside) bool {
	found := in.find(workspace.File)
	switch {
	case found.problem != "":
		l.unreadable(workspace.File, found.problem)
	case found.outside:
		l.leadsOut(workspace.File)
	case found.info == nil:
		return false
	case !found.info.Mode().IsRegular():
		l.unreadable(workspace.File, "this is "+kind(found.info)+", and the workspace file is expected")
	default:
		l.entries = append(l.entries, entry{workspace.File, found.info, l.made})
	}
	return true
}

// folder reports whether anything goes by the folder's name.
func (l *listing) folder(in inside, folder string, limit int) bool {
	at := in.find(folder)
	switch {
	case at.problem != "":
		l.unreadable(folder, at.problem)
		return true
	case at.outside:
		l.leadsOut(folder)
		return true
	case at.info == nil:
		return false
	case !at.info.IsDir():
		l.unreadable(folder, "this is "+kind(at.info)+", and a folder is expected")
		return true
	}
	open, err := in.root.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	} else if err != nil {
		l.unreadable(folder, plain(err))
		return true
	}
	defer open.Close()
	names, err := documentNames(open, limit-len(l.entries))
	switch {
	case errors.Is(err, errTooMany):
		l.unreadable(folder, fmt.Sprintf("with this folder there are more than %d files, the most that a config directory may have", limit))
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		l.unreadable(folder, plain(err))
	}
	documents := make([]found, len(names))
	each(len(names), func(i int) { documents[i] = in.findIn(open, folder, names[i]) })
	l.entries = slices.Grow(l.entries, len(names))
	for i, name := range names {
		l.document(folder+"/"+name, documents[i])
	}
	return true
}

// leadsOut leaves out what a link names elsewhere on the disk: a directory is
// checked out from anywhere, and must not make other files readable by all who
// poll.
func (l *listing) leadsOut(path string) {
	l.warn(problem.LeftOut, path, "this is a symbolic link that leads out of the config directory: it is left out; put the "+
		"file or folder itself in its place, or a link to one within the directory")
}

var errTooMany = errors.New("too many files")

// documentNames returns the names in a folder that a document may have, in
// order. It reads in steps, so that a folder of any size is no burden.
func documentNames(folder *os.Root, limit int) ([]string, error) {
	f, err := folder.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		some, err := f.Readdirnames(1024) // what they are is looked at on all processors
		for _, name := range some {
			if workspace.KnownName(name) {
				names = append(names, name)
			}
		}
		if len(names) > limit {
			return nil, errTooMany
		}
		if err != nil {
			slices.Sort(names)
			return names, notEOF(err)
		}
	}
}

func notEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func (l *listing) document(path string, found found) {
	switch {
	case found.problem != "":
		l.unreadable(path, found.problem)
	case found.outside:
		l.leadsOut(path)
	case found.info == nil || found.info.IsDir(): // vanished, or a sub-folder behind a link
	case !found.info.Mode().IsRegular():
		l.warn(problem.LeftOut, path, "this is "+kind(found.info)+", not a file: it is left out")
	default:
		l.entries = append(l.entries, entry{path, found.info, l.made})
	}
}

// kind says what something is that is not what was expected.
func kind(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

// same reports whether two listings found the same files in the same condition,
// as far as that can be told without reading them.
func (l listing) same(other listing) bool {
	return slices.EqualFunc(l.entries, other.entries, entry.same) && slices.Equal(l.problems, other.problems)
}

func (e entry) same(other entry) bool {
	return e.path == other.path && e.info.Size() == other.info.Size() && e.info.Mode() == other.info.Mode() &&
		e.info.ModTime().Equal(other.info.ModTime()) && os.SameFile(e.info, other.info)
}
