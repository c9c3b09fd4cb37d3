package odb

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository/pack"
)

const (
	growth      = 2         // of each pack against all smaller ones together
	largestPack = 512 << 20 // bytes; a larger one is never copied again
)

// Small picks those of the packs that should be merged: the ones that are not
// at least twice as large as all smaller ones together, as git repack --geometric
// has it. When they have become one, each pack is larger than all before it, so
// that their number grows with the logarithm of the history and an object is
// copied once for each doubling. Fewer than two are none.
func Small(packs []Stored) []Stored {
	small := slices.DeleteFunc(slices.Clone(packs), func(s Stored) bool { return s.Size > largestPack })
	slices.SortStableFunc(small, func(a, b Stored) int { return cmp.Compare(a.Size, b.Size) })
	count, total := 0, int64(0)
	for i, s := range small {
		if i > 0 && s.Size < growth*total {
			count = i + 1
		}
		total += s.Size
	}
	return small[:count]
}

// Merge makes one pack of several, given the newest first, and stores it under
// the name that its own has at the fence (see pack.NameAt). It removes nothing.
// Progress hears now and then how many packs have been read; it may be nil.
//
// In memory it keeps the packs' indexes, a few packs, and documents up to a bound
// (see pack.Merge); the new pack grows in a temporary file, since its name is known at its end. Everything may go on
// meanwhile: commits, readers, another Merge, which at worst makes the same pack.
func (o *Objects) Merge(ctx context.Context, packs []Stored, fence int64, progress func(read int)) (merged *Pack, err error) {
	if len(packs) == 0 {
		return nil, errors.New("there are no packs to be merged")
	}
	defer func() {
		if err != nil {
			merged, err = nil, fmt.Errorf("merging %d packs: %w", len(packs), err)
		}
	}()
	sources, err := o.sources(ctx, packs, progress)
	if err != nil {
		return nil, err
	}
	temp, err := o.fs.TempFile(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, temp.Close()) }()
	out := bufio.NewWriterSize(temp, 1<<20)
	made, err := pack.Merge(out, sources)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return nil, err
	}
	size, err := temp.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	x, err := pack.ParseIndex(made.Index)
	if err != nil {
		return nil, err
	}
	merged = newPack(pack.NameAt(made.Name, fence), x, size)
	merged.bases = made.Bases
	if err = o.fs.PutPack(ctx, merged.Name, temp, made.Index); err == nil {
		o.packs.add(merged)
	}
	return merged, err
}

// sources reads all indexes and says how to open the packs.
func (o *Objects) sources(ctx context.Context, packs []Stored, progress func(int)) ([]pack.Source, error) {
	sources := make([]pack.Source, len(packs))
	open := func(i int) (pack.Bytes, error) { return o.opener.Open(PackPath(packs[i].Name, ".pack")) }
	if o.ranger != nil {
		open = (&readAhead{ctx: ctx, objects: o, packs: packs, got: map[int]extent{}}).open
	}
	known := o.packs.list.Load().byName()
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(AtOnce)
	for i := range sources {
		group.Go(func() (err error) {
			p := known[packs[i].Name]
			if p == nil {
				if p, err = o.load(within, packs[i]); err != nil {
					return err
				}
			}
			sources[i].Size, sources[i].Index = packs[i].Size, p.Index
			return nil
		})
		sources[i].Open = func() (pack.Bytes, error) {
			if progress != nil && (i+1)%100 == 0 {
				progress(i + 1)
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return open(i)
		}
	}
	return sources, group.Wait()
}

// readAhead reads small packs whole, several at once before the first is asked for.
type readAhead struct {
	ctx     context.Context
	objects *Objects
	packs   []Stored
	got     map[int]extent
}

const (
	smallPack  = 1 << 20
	readsAhead = 32
)

// open is called for each pack in turn.
func (a *readAhead) open(i int) (pack.Bytes, error) {
	if a.packs[i].Size > smallPack {
		return &largePack{ctx: a.ctx, objects: a.objects, pack: a.packs[i]}, nil
	}
	if _, got := a.got[i]; !got {
		next := a.packs[i:min(i+readsAhead, len(a.packs))]
		read := make([]extent, len(next))
		group, within := errgroup.WithContext(a.ctx)
		group.SetLimit(AtOnce)
		for n := range next {
			group.Go(func() (err error) {
				if next[n].Size <= smallPack {
					read[n], err = a.objects.get(within, wanted{next[n].Name, 0, next[n].Size})
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		clear(a.got)
		for n := range next {
			a.got[i+n] = read[n]
		}
	}
	return a.got[i], nil
}

// largePack is a pack of which a part is in memory. It is read from front to end
// twice: the headers, then the objects.
type largePack struct {
	ctx     context.Context
	objects *Objects
	pack    Stored
	part    extent
}

// ReadAt implements io.ReaderAt.
func (l *largePack) ReadAt(p []byte, offset int64) (int, error) {
	end := min(offset+int64(len(p)), l.pack.Size)
	if offset >= l.pack.Size {
		return 0, io.EOF
	}
	if offset < l.part.from || end > l.part.end() {
		var err error
		if l.part, err = l.objects.get(l.ctx, wanted{l.pack.Name, offset, max(largestRead, end-offset)}); err != nil {
			return 0, err
		}
	}
	return l.part.ReadAt(p, offset)
}

// Close implements io.Closer.
func (l *largePack) Close() error {
	l.part = extent{}
	return nil
}
