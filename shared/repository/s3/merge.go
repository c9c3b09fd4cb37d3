package s3

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository/pack"
)

// Merged is a pack that was made of others.
type Merged struct {
	Name string
	Size int64 // bytes
	// From are the packs whose objects it holds.
	From  []string
	index *packIndex
}

// Objects is how many objects it holds.
func (m *Merged) Objects() int { return m.index.index.Len() }

// Places tells where in it each object lies, by id.
func (m *Merged) Places() iter.Seq2[string, pack.Place] {
	return func(yield func(string, pack.Place) bool) {
		for i := range m.index.index.Len() {
			offset := m.index.index.Offset(i)
			if !yield(m.index.index.ID(i).String(), pack.Place{Offset: offset, Length: m.index.length(offset)}) {
				return
			}
		}
	}
}

const (
	growth      = 2         // of each pack against all smaller ones together
	largestPack = 512 << 20 // bytes; a larger one is never copied again
)

// Small picks those of the packs that should be merged: the ones that are not
// at least twice as large as all smaller ones together. When they have become
// one, each pack is larger than all before it, so that their number grows with
// the logarithm of the history and an object is copied once for each doubling.
// Fewer than two are none.
func (o *Objects) Small(ctx context.Context, packs []string) ([]string, error) {
	files, err := o.those(ctx, packs)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f stored) bool { return f.size > largestPack })
	slices.SortFunc(files, func(a, b stored) int { return int(min(max(a.size-b.size, -1), 1)) })
	count, total := 0, int64(0)
	for i, f := range files {
		if i > 0 && f.size < growth*total {
			count = i + 1
		}
		total += f.size
	}
	if count < 2 {
		return nil, nil
	}
	return names(files[:count]), nil
}

func names(files []stored) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.name)
	}
	return all
}

// those returns what lies in the bucket of the packs named.
func (o *Objects) those(ctx context.Context, packs []string) ([]stored, error) {
	all, err := o.list(ctx)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	for _, name := range packs {
		asked[name] = true
	}
	found := slices.DeleteFunc(all, func(f stored) bool { return !asked[f.name] || !f.complete() })
	if len(found) == len(asked) {
		return found, nil
	}
	for _, f := range found {
		delete(asked, f.name)
	}
	for name := range asked {
		return nil, fmt.Errorf("%s and %d other packs: %w", o.key(name, ".pack"), len(asked)-1, fs.ErrNotExist)
	}
	return nil, nil
}

// Merge makes one pack of several, given in their order as far as that is known,
// the oldest first, and stores it under the name that it has at the fence, which
// the caller has read before. It deletes nothing: once the ledger names the new
// pack instead of the others, which it does only if the fence still stands, and
// a day has passed, Sweep takes these. Told is called now and then with how many packs have been read;
// it may be nil.
//
// In memory it keeps the packs' indexes, and a few packs; the new pack grows in
// a temporary file, since its name is known at its end. Everything may go on
// meanwhile: commits, readers, another Merge, which at worst makes the same
// pack.
func (o *Objects) Merge(ctx context.Context, packs []string, fence int64, told func(read int)) (*Merged, error) {
	files, err := o.those(ctx, packs)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, errors.New("there are no packs to be merged")
	}
	// The newest first, as pack.Merge wants it.
	order := map[string]int{}
	for i, name := range packs {
		order[name] = i
	}
	slices.SortFunc(files, func(a, b stored) int { return order[b.name] - order[a.name] })
	temp, err := os.CreateTemp("", "svc-merge-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	m, err := o.merge(ctx, temp, files, fence, told)
	if err != nil {
		return nil, fmt.Errorf("merging %d packs: %w", len(files), err)
	}
	o.known.add(m.index)
	return m, nil
}

func (o *Objects) merge(ctx context.Context, temp *os.File, files []stored, fence int64, told func(int)) (*Merged, error) {
	sources, err := o.sources(ctx, files, told)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(temp, 1<<20)
	name, index, err := pack.Merge(out, sources)
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
	x, err := pack.ParseIndex(index)
	if err != nil {
		return nil, err
	}
	name = pack.NameAt(name, fence)
	if err := o.store(ctx, name, temp, index); err != nil {
		return nil, err
	}
	return &Merged{Name: name, Size: size, From: names(files), index: indexed(name, x, size)}, nil
}

// sources reads all indexes and says how to open the packs.
func (o *Objects) sources(ctx context.Context, files []stored, told func(int)) ([]pack.Source, error) {
	sources := make([]pack.Source, len(files))
	ahead := newAhead(ctx, o, files)
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range files {
		group.Go(func() error {
			p, err := o.load(within, files[i].name)
			if err != nil {
				return err
			}
			sources[i] = pack.Source{Size: files[i].size, Index: p.index, Open: func() (pack.Bytes, error) {
				if told != nil && (i+1)%100 == 0 {
					told(i + 1)
				}
				return ahead.open(i)
			}}
			return nil
		})
	}
	err := group.Wait()
	return sources, err
}

// ahead reads packs before they are asked for, in their order.
type ahead struct {
	ctx     context.Context
	objects *Objects
	files   []stored
	coming  map[int]chan error // of the packs that are being read
	got     []*whole
	next    int
}

// Packs up to smallPack are read whole, ahead of their turn.
const (
	smallPack  = 1 << 20
	readsAhead = 32
)

func newAhead(ctx context.Context, o *Objects, files []stored) *ahead {
	return &ahead{ctx: ctx, objects: o, files: files, coming: map[int]chan error{}, got: make([]*whole, len(files))}
}

// open is called for each pack in turn, by one goroutine.
func (a *ahead) open(i int) (pack.Bytes, error) {
	for a.next = max(a.next, i); a.next < len(a.files) && a.next <= i+readsAhead; a.next++ {
		a.begin(a.next)
	}
	if done, ok := a.coming[i]; ok {
		delete(a.coming, i)
		p := a.got[i]
		a.got[i] = nil
		return p, <-done
	}
	f := a.files[i]
	return &large{ctx: a.ctx, objects: a.objects, name: f.name, size: f.size}, nil
}

func (a *ahead) begin(i int) {
	f := a.files[i]
	if f.size > smallPack {
		return
	}
	done, p := make(chan error, 1), &whole{}
	a.coming[i], a.got[i] = done, p
	go func() {
		var err error
		p.stretch, err = a.objects.get(a.ctx, wanted{f.name, 0, f.size})
		done <- err
	}()
}

// whole is a pack in memory.
type whole struct{ stretch }

func (*whole) Close() error { return nil }

// large is a pack of which a part is in memory. It is read from front to end
// twice: the headers, then the objects.
type large struct {
	ctx     context.Context
	objects *Objects
	name    string
	size    int64
	part    stretch
}

// ReadAt implements io.ReaderAt.
func (l *large) ReadAt(p []byte, offset int64) (int, error) {
	end := min(offset+int64(len(p)), l.size)
	if offset >= l.size {
		return 0, io.EOF
	}
	if offset < l.part.from || end > l.part.end() {
		var err error
		if l.part, err = l.objects.get(l.ctx, wanted{l.name, offset, max(largestRead, end-offset)}); err != nil {
			return 0, err
		}
	}
	return l.part.ReadAt(p, offset)
}

// Close implements io.Closer.
func (l *large) Close() error {
	l.part = stretch{}
	return nil
}
