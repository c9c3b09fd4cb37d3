package datadir

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fsnotify/fsnotify"

	"svc.example/svc/shared/workspace"
)

// weight is what a change of a name means.
type weight int

const (
	nothing   weight = iota
	substance        // files may read differently
	structure        // other directories may have to be watched
)

// place is a directory through which the files of a datadir are reached. Its
// path has no symbolic links in it.
type place struct {
	info    fs.FileInfo       // as surveyed
	names   map[string]weight // in lower case
	folders []string          // of the layout, for which it stands: every document's name in it has substance
	// near is a place that holds files or links of the datadir itself, as
	// opposed to one that merely leads to it.
	near bool
}

// survey is every place of a datadir at one moment, by path.
type survey map[string]*place

// surveyOf finds the places of the datadir at path, which is absolute. As much
// of the way as there is is in it, so that what is missing is noticed when it
// appears.
func surveyOf(path string) survey {
	s := survey{}
	volume := filepath.VolumeName(path)
	if at, ok := s.trace(volume+separator, path[len(volume):], structure, false); ok {
		s.place(at).near = true
		s.trace(at, workspace.File, substance, true)
		for _, folder := range workspace.Folders {
			if at, ok := s.trace(at, string(folder), structure, true); ok {
				p := s.place(at)
				p.near, p.folders = true, append(p.folders, string(folder))
				for _, name := range links(at) {
					s.trace(at, name, substance, true)
				}
			}
		}
	}
	for at, place := range s {
		info, err := os.Lstat(at)
		if err != nil || !info.IsDir() {
			delete(s, at)
			continue
		}
		place.info = info
	}
	return s
}

func (s survey) place(at string) *place {
	if s[at] == nil {
		s[at] = &place{names: map[string]weight{}}
	}
	return s[at]
}

const (
	separator = string(filepath.Separator)
	// maxLinks is how many symbolic links Linux follows on one path.
	maxLinks = 40
)

// trace walks a path from at, which has no symbolic links in it, and marks
// every name that it goes through in the directory that holds it: the last
// with the given weight, the others as structure. It returns where the path
// ends, if there is anything.
func (s survey) trace(at, path string, last weight, near bool) (end string, ok bool) {
	rest := components(path)
	for links := 0; len(rest) > 0 && links <= maxLinks; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		w := structure
		if len(rest) == 0 {
			w = last
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		isLink := err == nil
		s.mark(at, name, w, near && (isLink || len(rest) == 0))
		if !isLink {
			if _, err := os.Lstat(next); err != nil {
				return "", false
			}
			at = next
			continue
		}
		links++
		if volume := filepath.VolumeName(target); filepath.IsAbs(target) {
			at, target = volume+separator, target[len(volume):]
		}
		rest = append(components(target), rest...)
	}
	return at, len(rest) == 0
}

// components are the names in a path that lead anywhere.
func components(path string) []string {
	return slices.DeleteFunc(strings.Split(filepath.FromSlash(path), separator), func(name string) bool {
		return name == "" || name == "."
	})
}

func (s survey) mark(at, name string, w weight, near bool) {
	p := s.place(at)
	p.near = p.near || near
	name = strings.ToLower(name)
	p.names[name] = max(p.names[name], w)
}

// links returns the documents' names in a folder that are symbolic links.
func links(folder string) []string {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(maxFiles)
	var names []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 && workspace.KnownName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// same reports whether two surveys found the same directories. A directory that
// was replaced is another one, and so is one that may now be watched because
// its permissions changed.
func (s survey) same(other survey) bool {
	return maps.EqualFunc(s, other, func(p, o *place) bool {
		return p.info.Mode() == o.info.Mode() && os.SameFile(p.info, o.info)
	})
}

// weigh says what an event means. Names are compared without regard to case,
// as some file systems do; a false alarm costs one look.
func (s survey) weigh(e fsnotify.Event) weight {
	name := filepath.Clean(e.Name)
	if w := s.weighName(filepath.Dir(name), filepath.Base(name)); w == substance || w == structure && e.Op != fsnotify.Write {
		// A directory is written to whenever something in it is created, on
		// systems that report that: no news about the directory itself.
		return w
	}
	switch {
	case s[name] == nil:
		return nothing
	case e.Has(fsnotify.Remove | fsnotify.Rename):
		return structure
	case e.Has(fsnotify.Chmod):
		return substance
	}
	return nothing
}

func (s survey) weighName(at, name string) weight {
	p := s[at]
	if p == nil {
		return nothing
	}
	if w := p.names[strings.ToLower(name)]; w != nothing {
		return w
	}
	if len(p.folders) > 0 && workspace.KnownName(name) {
		return substance
	}
	return nothing
}

// documents are the paths in the layout of the one document that an event is about:
// none when it may be about anything else.
func (s survey) documents(e fsnotify.Event) (paths []string) {
	at, name := filepath.Split(filepath.Clean(e.Name))
	p := s[filepath.Clean(at)]
	if p == nil || p.names[strings.ToLower(name)] != nothing || !workspace.KnownName(name) {
		return nil
	}
	for _, folder := range p.folders {
		paths = append(paths, folder+"/"+name)
	}
	return paths
}
