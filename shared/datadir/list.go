package datadir

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/workspace"
)

// maxFiles is the most files that are read from a datadir.
const maxFiles = 100_000

// entry is a file of the layout as a listing found it, at the end of its
// symbolic links.
type entry struct {
	path string // in the layout, with forward slashes
	info fs.FileInfo
}

// listing is every file of the layout in a datadir, unread.
type listing struct {
	dir      string
	entries  []entry
	problems []workspace.Problem
	// unsettled says that some file was written so recently that one more
	// write might leave it with the same time and size.
	unsettled bool
}

// coarsest is the step in which the coarsest file systems in use (FAT) count
// a file's time, and some allowance for a clock that is not this machine's.
const coarsest = 3 * time.Second

// list lists the files of the layout in dir, at most limit of them.
func list(dir string, limit int, now time.Time) listing {
	l := listing{dir: dir}
	if !l.listable() {
		return l
	}
	present := l.workspaceFile()
	for _, folder := range workspace.Folders {
		present = l.folder(string(folder), limit) || present
	}
	if !present {
		l.problem(workspace.Warning, root, notADatadir())
	}
	for _, e := range l.entries {
		age := now.Sub(e.info.ModTime())
		l.unsettled = l.unsettled || age.Abs() < coarsest
	}
	return l
}

// root is the datadir itself where a file of the layout would be named.
const root = "."

func notADatadir() string {
	var names []string
	for _, folder := range workspace.Folders {
		names = append(names, string(folder))
	}
	return fmt.Sprintf("this does not look like a config directory: it has no %s and none of the folders %s; `svc init` lays one out",
		workspace.File, strings.Join(names, ", "))
}

func (l *listing) problem(severity workspace.Severity, path, message string) {
	l.problems = append(l.problems, workspace.Problem{Severity: severity, File: path, Message: message})
}

// listable says whether there is a directory to list.
func (l *listing) listable() bool {
	info, problem := follow(l.dir)
	switch {
	case problem != "":
		l.problem(workspace.Fatal, root, "the config directory "+l.dir+": "+problem)
	case info == nil:
		l.problem(workspace.Fatal, root, "the config directory "+l.dir+" is gone")
	case !info.IsDir():
		l.problem(workspace.Fatal, root, "the config directory "+l.dir+" is a file")
	default:
		return true
	}
	return false
}

// workspaceFile says whether anything goes by the workspace file's name.
func (l *listing) workspaceFile() bool {
	info, problem := follow(filepath.Join(l.dir, workspace.File))
	switch {
	case problem != "":
		l.problem(workspace.Fatal, workspace.File, problem)
	case info == nil:
		return false
	case !info.Mode().IsRegular():
		l.problem(workspace.Fatal, workspace.File, "this is "+kind(info)+", and the workspace file is expected")
	default:
		l.entries = append(l.entries, entry{workspace.File, info})
	}
	return true
}

// folder says whether anything goes by the folder's name.
func (l *listing) folder(folder string, limit int) bool {
	path := filepath.Join(l.dir, folder)
	info, problem := follow(path)
	switch {
	case problem != "":
		l.problem(workspace.Fatal, folder, problem)
		return true
	case info == nil:
		return false
	case !info.IsDir():
		l.problem(workspace.Fatal, folder, "this is "+kind(info)+", and a folder is expected")
		return true
	}
	names, err := documentNames(path, limit-len(l.entries))
	switch {
	case errors.Is(err, errTooMany):
		l.problem(workspace.Fatal, folder, fmt.Sprintf("with this folder there are more than %d files, the most that a config directory may have", limit))
	case errors.Is(err, fs.ErrNotExist):
		return false
	case err != nil:
		l.problem(workspace.Fatal, folder, plain(err))
	}
	for _, name := range names {
		l.document(folder + "/" + name)
	}
	return true
}

var errTooMany = errors.New("too many files")

// documentNames returns the names in a folder that a document may have, in
// order. It reads in steps, so that a folder of any size is no burden.
func documentNames(path string, limit int) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for {
		some, err := f.ReadDir(1024)
		for _, e := range some {
			if workspace.KnownName(e.Name()) && !e.IsDir() {
				names = append(names, e.Name())
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

func (l *listing) document(path string) {
	info, problem := follow(filepath.Join(l.dir, filepath.FromSlash(path)))
	switch {
	case problem != "":
		l.problem(workspace.Fatal, path, problem)
	case info == nil || info.IsDir(): // vanished, or a sub-folder behind a link
	case !info.Mode().IsRegular():
		l.problem(workspace.Warning, path, "this is "+kind(info)+", not a file: it is left out")
	default:
		l.entries = append(l.entries, entry{path, info})
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

// same says whether two listings found the same files in the same condition,
// as far as that can be told without reading them.
func (l listing) same(other listing) bool {
	return slices.EqualFunc(l.entries, other.entries, entry.same) && slices.Equal(l.problems, other.problems)
}

func (e entry) same(other entry) bool {
	return e.path == other.path && e.info.Size() == other.info.Size() && e.info.Mode() == other.info.Mode() &&
		e.info.ModTime().Equal(other.info.ModTime()) && os.SameFile(e.info, other.info)
}
