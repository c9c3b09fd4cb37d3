package directory

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/workspace"
)

// update serves another state: what cannot be served of it as it last could be, and not
// at all where it never could. Where the directory itself cannot be read, all stays.
func (d *Directory) update(state datadir.State) {
	d.changing.Lock()
	defer d.changing.Unlock()
	loaded, problems := d.load(state)
	now, fresh := map[string]bool{}, false
	for _, p := range problems {
		line := p.In(d.path)
		if now[line] = true; !d.refused[line] {
			fresh = true
			d.report(line)
		}
	}
	fixed := len(d.refused) > 0 && len(now) == 0
	if d.refused = now; len(now) > 0 {
		if loaded, state = d.mended(state, problems); loaded == nil {
			if fresh {
				d.report("not reloaded: the last good state goes on being served")
			}
			return
		}
	}
	changed := !maps.EqualFunc(d.good.Files, state.Files, bytes.Equal)
	d.serve(loaded, state)
	switch {
	case fixed:
		d.report("fixed: serving the directory as it is now, " + d.Contents())
	case fresh:
		d.report("serving " + d.Contents() + ": what is broken as it last was good, or not at all where it never was, and all else as it is now")
	case changed:
		d.report("reloaded: " + d.Contents())
	}
}

// maxMends is how often other files may come to be in the way of a state.
const maxMends = 10

// mended is a state in which each file with a problem is as it is served now, and is not
// there where it is not served. It is nil where that does not help.
func (d *Directory) mended(state datadir.State, problems []workspace.Problem) (*loaded, datadir.State) {
	state.Files = maps.Clone(state.Files)
	for range maxMends {
		replaced := map[string]bool{}
		for _, p := range problems {
			if replaced[p.File] {
				continue
			}
			if _, _, document := workspace.SplitPath(p.File); !document && p.File != workspace.File {
				return nil, state
			}
			_, there := state.Files[p.File]
			if d.asItWas(state.Files, p.File) || d.othersAsTheyWere(state.Files, p.File) || !there {
				replaced[p.File] = true
			}
		}
		if len(replaced) == 0 {
			return nil, state
		}
		state.Problems = slices.DeleteFunc(slices.Clone(state.Problems), func(p workspace.Problem) bool {
			return replaced[p.File] && p.Severity == workspace.Fatal
		})
		loaded, found := d.load(state)
		if len(found) == 0 {
			return loaded, state
		}
		problems = found
	}
	return nil, state
}

// asItWas has a file as it is served, and reports whether that is another than it was.
func (d *Directory) asItWas(files map[string][]byte, path string) (changed bool) {
	now, there := files[path]
	good, served := d.good.Files[path]
	if served {
		files[path] = good
	} else {
		delete(files, path)
	}
	return there != served || !bytes.Equal(now, good)
}

// othersAsTheyWere has those as they are served that can be in the way of a file which
// is so already: the other segments of a segment, and who else wants its key.
func (d *Directory) othersAsTheyWere(files map[string][]byte, path string) (changed bool) {
	folder, key, _ := workspace.SplitPath(path)
	for _, other := range slices.Concat(slices.Collect(maps.Keys(files)), slices.Collect(maps.Keys(d.good.Files))) {
		its, name, _ := workspace.SplitPath(other)
		if (its == folder && its == workspace.Segments || strings.EqualFold(name, key)) && d.asItWas(files, other) {
			changed = true
		}
	}
	return changed
}
