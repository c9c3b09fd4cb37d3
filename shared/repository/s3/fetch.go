package s3

import (
	"cmp"
	"context"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
)

// stretch is a part of a pack. It reads like a pack that ends where the
// stretch does.
type stretch struct {
	from  int64
	bytes []byte
}

func (s stretch) end() int64 { return s.from + int64(len(s.bytes)) }

// ReadAt implements io.ReaderAt.
func (s stretch) ReadAt(p []byte, offset int64) (int, error) {
	if offset < s.from || offset >= s.end() {
		return 0, io.EOF
	}
	n := copy(p, s.bytes[offset-s.from:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// maxFetched bounds what a Reader keeps of packs: twice what is prefetched at
// a time (repository.AtATime), at the length of a large document.
const maxFetched = 64 << 20

// fetch returns a stretch that holds the bytes asked for, as far as the pack
// goes.
func (r *Reader) fetch(pack string, offset, length int64) (stretch, error) {
	if s, ok := r.has(pack, offset, length); ok {
		return s, nil
	}
	s, err := r.objects.get(r.ctx, wanted{pack, offset, length})
	if err == nil {
		r.keep(pack, s)
	}
	return s, err
}

func (r *Reader) has(pack string, offset, length int64) (stretch, bool) {
	all := r.fetched[pack]
	i, found := slices.BinarySearchFunc(all, offset, func(s stretch, offset int64) int { return cmp.Compare(s.from, offset) })
	if !found {
		i--
	}
	if i >= 0 && offset+length <= all[i].end() {
		return all[i], true
	}
	return stretch{}, false
}

// keep remembers a stretch. None that is kept lies within another, so that the
// one that begins last before an offset reaches farthest.
func (r *Reader) keep(pack string, s stretch) {
	if _, kept := r.has(pack, s.from, int64(len(s.bytes))); kept {
		return
	}
	if r.bytes += len(s.bytes); r.bytes > maxFetched {
		clear(r.fetched)
		r.bytes = len(s.bytes)
	}
	all := slices.DeleteFunc(r.fetched[pack], func(other stretch) bool { return s.from <= other.from && other.end() <= s.end() })
	i, _ := slices.BinarySearchFunc(all, s.from, func(s stretch, from int64) int { return cmp.Compare(s.from, from) })
	r.fetched[pack] = slices.Insert(all, i, s)
}

// wanted is a part of a pack that is to be read.
type wanted struct {
	pack           string
	offset, length int64
}

func (o *Objects) get(ctx context.Context, w wanted) (stretch, error) {
	bytes, _, err := o.bucket.GetRange(ctx, o.key(w.pack, ".pack"), w.offset, w.length)
	return stretch{w.offset, bytes}, busy(err)
}

const (
	gap         = 64 << 10 // bytes that are read in vain rather than asking twice
	largestRead = 4 << 20
)

// joined sorts what is wanted and joins what lies close together.
func joined(all []wanted) []wanted {
	slices.SortFunc(all, func(a, b wanted) int {
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

// prefetch reads what will be wanted soon, many parts at once. What cannot be
// read now is read, and explained, when its turn comes.
func (r *Reader) prefetch(reads []wanted) {
	got := make([]stretch, len(reads))
	group, within := errgroup.WithContext(r.ctx)
	group.SetLimit(atOnce)
	for i := range reads {
		group.Go(func() (err error) {
			got[i], err = r.objects.get(within, reads[i])
			return err
		})
	}
	_ = group.Wait()
	for i, s := range got {
		if s.bytes != nil {
			r.keep(reads[i].pack, s)
		}
	}
}
