package disk

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-billy/v5/util"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// packFile is a pack that is, or was, in the repository.
type packFile struct {
	name     string
	index    *pack.Index // nil when only the name is known
	size     int64
	modified time.Time
}

// listing is the packs as they were last seen. It never changes.
type listing struct {
	packs  []*packFile // newest first
	broken error       // of packs whose index cannot be read
	failed bool        // the disk, for one of them
}

func (o *Objects) known() []*packFile { return o.seen.Load().packs }

func (o *Objects) named(name string) *packFile {
	for _, p := range o.known() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// Packs is the number of packs that were seen last.
func (o *Objects) Packs() int { return len(o.known()) }

// include adds a pack that is complete on disk, and takes those away that it
// replaces.
func (o *Objects) include(p *packFile, replaced ...*packFile) {
	o.changing.Lock()
	defer o.changing.Unlock()
	old := o.seen.Load()
	packs := []*packFile{p}
	for _, other := range old.packs {
		if other.name != p.name && !slices.Contains(replaced, other) {
			packs = append(packs, other)
		}
	}
	o.seen.Store(&listing{packs, old.broken, old.failed})
}

// scan reads the directory again. The index of a pack that was known is not
// read a second time.
func (o *Objects) scan() error {
	o.changing.Lock()
	defer o.changing.Unlock()
	files, err := o.list()
	if err != nil {
		return err
	}
	old := map[string]*packFile{}
	for _, p := range o.known() {
		old[p.name] = p
	}
	found := &listing{}
	for name, extensions := range groupPacks(files) {
		p := old[name]
		if p == nil {
			p, err = o.load(name, extensions[".pack"])
		}
		switch {
		case p != nil:
			found.packs = append(found.packs, p)
		case !errors.Is(err, fs.ErrNotExist): // else it was just collected
			found.broken = errors.Join(found.broken, fmt.Errorf("%s: %w", packPath(name, ".idx"), err))
			found.failed = found.failed || !errors.Is(err, object.ErrMalformed)
		}
	}
	slices.SortFunc(found.packs, func(a, b *packFile) int {
		return cmp.Or(b.modified.Compare(a.modified), cmp.Compare(a.name, b.name))
	})
	o.seen.Store(found)
	return nil
}

func (o *Objects) load(name string, info os.FileInfo) (*packFile, error) {
	raw, err := util.ReadFile(o.fs, packPath(name, ".idx"))
	if err != nil {
		return nil, err
	}
	index, err := pack.ParseIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", object.ErrMalformed, err)
	}
	return &packFile{name: name, index: index, size: info.Size(), modified: info.ModTime()}, nil
}

// list reads the folder of packs. billy looks at each file after it has read
// the names, and fails when one has been deleted in between.
func (o *Objects) list() ([]os.FileInfo, error) {
	for tries := 0; ; tries++ {
		files, err := o.fs.ReadDir(packFolder)
		if !errors.Is(err, fs.ErrNotExist) || tries == 10 {
			return files, err
		}
	}
}

// groupPacks returns the files of each pack that is complete, by the pack's
// name and the files' extensions.
func groupPacks(files []os.FileInfo) map[string]map[string]os.FileInfo {
	packs := map[string]map[string]os.FileInfo{}
	for _, file := range files {
		stem, extension, _ := strings.Cut(file.Name(), ".")
		name, isPack := strings.CutPrefix(stem, "pack-")
		if !isPack {
			continue
		}
		if packs[name] == nil {
			packs[name] = map[string]os.FileInfo{}
		}
		packs[name]["."+extension] = file
	}
	for name, extensions := range packs {
		if extensions[".pack"] == nil || extensions[".idx"] == nil {
			delete(packs, name)
		}
	}
	return packs
}
