package admin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository/pack"
)

// atlas tells where objects lie in packs that are on disk.
type atlas struct {
	packs []mapped // the largest first: what was merged counts before its parts
}

type mapped struct {
	name    string
	size    int64
	index   *pack.Index
	offsets []int64 // in order, and the end of the last object
}

const packTrailer = 20

func readAtlas(dir string) (*atlas, error) {
	found, err := filepath.Glob(packPath(dir, "*", ".idx"))
	if err != nil {
		return nil, err
	}
	a := &atlas{}
	for _, path := range found {
		m, err := readMapped(dir, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "pack-"), ".idx"))
		if err != nil {
			return nil, err
		}
		a.packs = append(a.packs, m)
	}
	slices.SortFunc(a.packs, func(a, b mapped) int {
		if n := b.index.Len() - a.index.Len(); n != 0 {
			return n
		}
		return strings.Compare(a.name, b.name)
	})
	return a, nil
}

func readMapped(dir, name string) (mapped, error) {
	m := mapped{name: name}
	raw, err := os.ReadFile(packPath(dir, name, ".idx"))
	if err != nil {
		return m, err
	}
	info, err := os.Stat(packPath(dir, name, ".pack"))
	if err != nil {
		return m, err
	}
	m.size = info.Size()
	if m.index, err = pack.ParseIndex(raw); err != nil {
		return m, fmt.Errorf("the index of pack %s: %w", name, err)
	}
	for i := range m.index.Len() {
		m.offsets = append(m.offsets, m.index.Offset(i))
	}
	slices.Sort(m.offsets)
	m.offsets = append(m.offsets, m.size-packTrailer)
	return m, nil
}

func (a *atlas) names() []string {
	var names []string
	for _, m := range a.packs {
		names = append(names, m.name)
	}
	return names
}

// prefer lets the packs of these names count before the others.
func (a *atlas) prefer(names []string) {
	first := map[string]bool{}
	for _, name := range names {
		first[name] = true
	}
	slices.SortStableFunc(a.packs, func(a, b mapped) int {
		switch {
		case first[a.name] == first[b.name]:
			return 0
		case first[a.name]:
			return -1
		}
		return 1
	})
}

// named is a pack of a name; nil when it is not there.
func (a *atlas) named(name string) *mapped {
	for i := range a.packs {
		if a.packs[i].name == name {
			return &a.packs[i]
		}
	}
	return nil
}

// place says where an object lies.
func (a *atlas) place(id string) (name string, offset, length int64, ok bool) {
	hash := plumbing.NewHash(id)
	for _, m := range a.packs {
		offset, found := m.index.Find(hash)
		if !found {
			continue
		}
		i, found := slices.BinarySearch(m.offsets, offset)
		if found && i+1 < len(m.offsets) {
			return m.name, offset, m.offsets[i+1] - offset, true
		}
	}
	return "", 0, 0, false
}
