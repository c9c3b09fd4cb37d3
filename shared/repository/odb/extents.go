package odb

import (
	"cmp"
	"context"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// extent is a part of a pack in memory. It reads like a pack that ends where the
// extent does.
type extent struct {
	from  int64
	bytes []byte
}

func (e extent) end() int64 { return e.from + int64(len(e.bytes)) }

// ReadAt implements io.ReaderAt.
func (e extent) ReadAt(p []byte, offset int64) (int, error) {
	if offset < e.from || offset >= e.end() {
		return 0, io.EOF
	}
	n := copy(p, e.bytes[offset-e.from:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close makes it a pack.Bytes.
func (e extent) Close() error { return nil }

// extents are what a Reader has fetched.
type extents struct {
	byPack map[string][]extent // in order; none lies within another
	held   int
}

// maxFetched bounds what a Reader keeps of packs: twice what is prefetched at
// a time (repository.ReadTree), at the length of a large document.
const maxFetched = 64 << 20

// find returns an extent with all of the bytes asked for. Since none lies within
// another, the one that begins last before them reaches farthest.
func (x *extents) find(pack string, offset, length int64) (extent, bool) {
	all := x.byPack[pack]
	i, found := slices.BinarySearchFunc(all, offset, func(e extent, offset int64) int { return cmp.Compare(e.from, offset) })
	if !found {
		i--
	}
	if i >= 0 && offset+length <= all[i].end() {
		return all[i], true
	}
	return extent{}, false
}

func (x *extents) keep(pack string, e extent) {
	if _, kept := x.find(pack, e.from, int64(len(e.bytes))); kept {
		return
	}
	if x.held += len(e.bytes); x.held > maxFetched {
		clear(x.byPack)
		x.held = len(e.bytes)
	}
	all := slices.DeleteFunc(x.byPack[pack], func(other extent) bool { return e.from <= other.from && other.end() <= e.end() })
	i, _ := slices.BinarySearchFunc(all, e.from, func(e extent, from int64) int { return cmp.Compare(e.from, from) })
	x.byPack[pack] = slices.Insert(all, i, e)
}

// wanted is a part of a pack that is to be read.
type wanted struct {
	pack           string
	offset, length int64
}

func (o *Objects) get(ctx context.Context, w wanted) (extent, error) {
	bytes, err := o.ranger.ReadRange(ctx, PackPath(w.pack, ".pack"), w.offset, w.length)
	if err != nil {
		err = failure{err}
	}
	return extent{w.offset, bytes}, err
}

// fetch returns an extent that holds the bytes asked for, as far as the pack
// goes.
func (r *Reader) fetch(pack string, offset, length int64) (extent, error) {
	if e, ok := r.fetched.find(pack, offset, length); ok {
		return e, nil
	}
	e, err := r.objects.get(r.ctx, wanted{pack, offset, length})
	if err == nil {
		r.fetched.keep(pack, e)
	}
	return e, err
}

// fetchAll fetches many parts at once, as far as they can be had.
func (r *Reader) fetchAll(reads []wanted) {
	got := make([]extent, len(reads))
	group, within := errgroup.WithContext(r.ctx)
	group.SetLimit(AtOnce)
	for i := range reads {
		group.Go(func() (err error) {
			got[i], err = r.objects.get(within, reads[i])
			return err
		})
	}
	_ = group.Wait()
	for i, e := range got {
		if e.bytes != nil {
			r.fetched.keep(reads[i].pack, e)
		}
	}
}

const (
	gap         = 64 << 10 // bytes that are read in vain rather than asking twice
	largestRead = 4 << 20
)

// joined sorts what is wanted and joins what lies close together.
func joined(all []wanted) []wanted {
	slices.SortStableFunc(all, func(a, b wanted) int {
		return cmp.Or(cmp.Compare(a.pack, b.pack), cmp.Compare(a.offset, b.offset))
	})
	var reads []wanted
	for _, w := range all {
		if len(reads) > 0 {
			last := &reads[len(reads)-1]
			end := max(last.offset+last.length, w.offset+w.length)
			if last.pack == w.pack && w.offset-(last.offset+last.length) <= gap && end-last.offset <= largestRead {
				last.length = end - last.offset
				continue
			}
		}
		reads = append(reads, w)
	}
	return reads
}
