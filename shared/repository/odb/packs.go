package odb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// Pack is a pack whose index is in memory. It never changes.
type Pack struct {
	Name  string
	Index *pack.Index // nil when no more than the name is known
	Size  int64       // bytes; 0 when that is not known
	// offsets of all objects, in order; made when the first one is looked up.
	offsets func() []int64
	bases   map[int64]int64 // see pack.Merged; nil of a pack that was not merged here
}

func newPack(name string, x *pack.Index, size int64) *Pack {
	return &Pack{Name: name, Index: x, Size: size, offsets: sync.OnceValue(func() []int64 {
		offsets := make([]int64, x.Len())
		for i := range offsets {
			offsets[i] = x.Offset(i)
		}
		slices.Sort(offsets)
		return offsets
	})}
}

// Place tells where in the pack an object lies, if it does.
func (p *Pack) Place(id object.ID) (pack.Place, bool) {
	offset, found := p.Index.Find(id)
	return p.at(offset), found
}

func (p *Pack) at(offset int64) pack.Place {
	return pack.Place{Offset: offset, Length: p.length(offset), Base: p.bases[offset]}
}

// Places tells where in the pack each object lies, by id.
func (p *Pack) Places() iter.Seq2[object.ID, pack.Place] {
	return func(yield func(object.ID, pack.Place) bool) {
		for i := range p.Index.Len() {
			if !yield(p.Index.ID(i), p.at(p.Index.Offset(i))) {
				return
			}
		}
	}
}

// length is how many bytes the object at an offset takes; 0 if that is not
// known.
func (p *Pack) length(offset int64) int64 {
	if p.Index == nil {
		return 0
	}
	offsets := p.offsets()
	i, found := slices.BinarySearch(offsets, offset)
	switch {
	case found && i+1 < len(offsets):
		return offsets[i+1] - offset
	case found && p.Size > 0:
		return p.Size - pack.TrailerLength - offset
	}
	return 0
}

// cache holds the packs whose indexes are in memory.
type cache struct {
	most int64      // bytes; 0: no bound
	lock sync.Mutex // held while the list changes
	list atomic.Pointer[listing]
	// asking is held while the packs are being listed.
	asking chan struct{}
	asked  atomic.Int64 // how often that was done
}

// listing never changes.
type listing struct {
	packs  []*Pack // what was written last, which is asked for most, first
	broken error   // of packs whose index cannot be read
}

// maxCached bounds the bytes of the indexes that are still remembered when one
// more comes, the oldest go first; for what is in them the ledger is asked, who
// knows what was merged. That is some 4,000 commits of one document. A lookup
// that has asked needs all indexes at once, so they may be more until then.
const maxCached = 8 << 20

// packBytes is about what a pack takes beside its index, its offsets and its
// bases, each of which takes baseBytes.
const (
	packBytes = 512
	baseBytes = 40
)

func (p *Pack) bytes() int64 {
	return packBytes + int64(p.Index.Size()+8*p.Index.Len()+baseBytes*len(p.bases))
}

// Bytes is about what is held in memory.
func (o *Objects) Bytes() (sum int64) {
	for _, p := range o.packs.list.Load().packs {
		sum += p.bytes()
	}
	return sum
}

// Packs are the packs that were seen last.
func (o *Objects) Packs() []*Pack { return o.packs.list.Load().packs }

// Packed reports whether an object lies in one of them.
func (o *Objects) Packed(id object.ID) bool { return o.packs.find(id) != nil }

// Broken tells of packs whose index could not be read, nil when all could.
func (o *Objects) Broken() error { return o.packs.list.Load().broken }

func (l *listing) byName() map[string]*Pack {
	named := make(map[string]*Pack, len(l.packs))
	for _, p := range l.packs {
		named[p.Name] = p
	}
	return named
}

func (c *cache) named(name string) *Pack {
	for _, p := range c.list.Load().packs {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// find returns a pack that holds an object, as far as is known.
func (c *cache) find(id object.ID) *Pack {
	for _, p := range c.list.Load().packs {
		if _, found := p.Index.Find(id); found {
			return p
		}
	}
	return nil
}

// add remembers a pack.
func (c *cache) add(p *Pack) {
	c.lock.Lock()
	defer c.lock.Unlock()
	old, held := c.list.Load(), int64(0)
	packs := []*Pack{p}
	for _, other := range old.packs {
		if held += other.bytes(); c.most > 0 && held > c.most {
			break
		}
		if other.Name != p.Name {
			packs = append(packs, other)
		}
	}
	c.list.Store(&listing{packs, old.broken})
}

// replace takes a list that was made beginning with an earlier one. What was
// added in between stays.
func (c *cache) replace(before, found *listing) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if now := c.list.Load(); now != before {
		was, is := before.byName(), found.byName()
		added := slices.DeleteFunc(slices.Clone(now.packs), func(p *Pack) bool { return was[p.Name] != nil || is[p.Name] != nil })
		found = &listing{append(added, found.packs...), found.broken}
	}
	c.list.Store(found)
	c.asked.Add(1)
}

// Refresh asks which packs there are and reads the indexes that are not in
// memory.
func (o *Objects) Refresh(ctx context.Context) error { return o.refresh(ctx, o.packs.asked.Load()) }

// refresh is Refresh for a reader that has missed an object. Of concurrent calls one
// lists the packs; a call that began to wait after seen was counted takes its result.
func (o *Objects) refresh(ctx context.Context, seen int64) error {
	select {
	case o.packs.asking <- struct{}{}:
		defer func() { <-o.packs.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.packs.asked.Load() > seen+1 {
		return nil // that listing began after this call
	}
	before := o.packs.list.Load()
	all, err := o.all(ctx)
	if err != nil {
		return fmt.Errorf("asking which packs there are: %w", err)
	}
	known := before.byName()
	packs, broken := make([]*Pack, len(all)), make([]error, len(all))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(AtOnce)
	for i := range all {
		group.Go(func() (err error) {
			if packs[i] = known[all[i].Name]; packs[i] == nil {
				packs[i], err = o.load(within, all[i])
			}
			switch {
			case isTransient(within, err):
				return err
			case !errors.Is(err, fs.ErrNotExist): // else it was merged or collected just now
				broken[i] = err
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	packs = slices.DeleteFunc(packs, func(p *Pack) bool { return p == nil })
	o.packs.replace(before, &listing{packs, errors.Join(broken...)})
	return nil
}

// isTransient reports whether an error says nothing about what is stored.
func isTransient(ctx context.Context, err error) bool {
	return err != nil && (errors.Is(err, repository.ErrBusy) || ctx.Err() != nil)
}

// all are the packs that there are, of which the names are known at least.
func (o *Objects) all(ctx context.Context) ([]Stored, error) {
	if o.which == nil {
		files, err := o.List(ctx)
		slices.SortStableFunc(files, func(a, b Stored) int {
			return cmp.Or(b.Modified.Compare(a.Modified), cmp.Compare(a.Name, b.Name))
		})
		return files, err
	}
	names, err := o.which(ctx)
	all := make([]Stored, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all, err
}

func (o *Objects) load(ctx context.Context, s Stored) (*Pack, error) {
	path := PackPath(s.Name, ".idx")
	raw, err := o.fs.ReadFile(ctx, path)
	if err != nil {
		return nil, failure{err}
	}
	x, err := pack.ParseIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: the index is damaged: %w", path, err)
	}
	return newPack(s.Name, x, s.Size), nil
}

// Stored is a pack that lies in the file system with its index.
type Stored struct {
	Name     string
	Size     int64 // bytes of the pack
	Modified time.Time
	// Beside are the extensions of all its files: .pack, .idx, .keep ...
	Beside []string
}

// Has reports whether a pack has a file of an extension.
func (s Stored) Has(extension string) bool { return slices.Contains(s.Beside, extension) }

// List lists the packs that are there with their indexes, by name.
func (o *Objects) List(ctx context.Context) ([]Stored, error) {
	files, err := o.fs.ReadDir(ctx, PackFolder)
	if err != nil {
		return nil, err
	}
	return StoredIn(files), nil
}

// WithoutIndex are the names of the packs among the files of their folder that have none.
func WithoutIndex(files []fs.FileInfo) (names []string) {
	for name, s := range byName(files) {
		if s.Has(".pack") && !s.Has(".idx") {
			names = append(names, name)
		}
	}
	return names
}

// StoredIn are the packs among the files of their folder, by name.
func StoredIn(files []fs.FileInfo) []Stored {
	var found []Stored
	for _, s := range byName(files) {
		if s.Has(".pack") && s.Has(".idx") {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b Stored) int { return strings.Compare(a.Name, b.Name) })
	return found
}

func byName(files []fs.FileInfo) map[string]Stored {
	packs := map[string]Stored{}
	for _, file := range files {
		stem, extension, _ := strings.Cut(file.Name(), ".")
		name, isPack := strings.CutPrefix(stem, "pack-")
		if !isPack && !strings.HasPrefix(name, loosePrefix) {
			continue
		}
		s := packs[name]
		s.Name, s.Beside = name, append(s.Beside, "."+extension)
		if extension == "pack" {
			s.Size, s.Modified = file.Size(), file.ModTime()
		}
		packs[name] = s
	}
	return packs
}
