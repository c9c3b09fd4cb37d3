package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/repository/pack"
)

// packIndex is a pack whose index is in memory. It never changes.
type packIndex struct {
	name  string
	index *pack.Index
	size  int64 // of the pack; 0 when that is not known
	// offsets of all objects, in order; made when the first one is looked up.
	offsets func() []int64
}

func indexed(name string, x *pack.Index, size int64) *packIndex {
	return &packIndex{name: name, index: x, size: size, offsets: sync.OnceValue(func() []int64 {
		offsets := make([]int64, x.Len())
		for i := range offsets {
			offsets[i] = x.Offset(i)
		}
		slices.Sort(offsets)
		return offsets
	})}
}

// checksumLength is what stands behind a pack's last object.
const checksumLength = 20

// length is how many bytes the object at an offset takes; 0 if that is not
// known.
func (p *packIndex) length(offset int64) int64 {
	offsets := p.offsets()
	i, found := slices.BinarySearch(offsets, offset)
	switch {
	case found && i+1 < len(offsets):
		return offsets[i+1] - offset
	case found && p.size > 0:
		return p.size - checksumLength - offset
	}
	return 0
}

// known are the packs whose indexes are in memory.
type known struct {
	lock sync.Mutex // held while the list changes
	list atomic.Pointer[[]*packIndex]
	// asking is held by whoever asks the ledger.
	asking chan struct{}
	asked  atomic.Int64 // how often that was done
}

// maxKnown bounds the bytes of the indexes that are still remembered when one
// more comes, the oldest go first; for what is in them the ledger is asked, who
// knows what was merged. That is some 4,000 commits of one document. A lookup
// that has asked needs all indexes at once, so they may be more until then.
const maxKnown = 8 << 20

// bytesOf is about what indexes take, with the offsets that are made of them.
func bytesOf(list []*packIndex) (sum int64) {
	for _, p := range list {
		sum += packBytes + int64(p.index.Size()+8*p.index.Len())
	}
	return sum
}

// packBytes is about what a pack takes beside its index.
const packBytes = 512

// Bytes is about what is held in memory.
func (o *Objects) Bytes() int64 { return bytesOf(o.known.packs()) }

func (k *known) packs() []*packIndex {
	if list := k.list.Load(); list != nil {
		return *list
	}
	return nil
}

func (k *known) named(name string) *packIndex {
	for _, p := range k.packs() {
		if p.name == name {
			return p
		}
	}
	return nil
}

// add remembers a pack, before all others: what was written last is asked for
// most.
func (k *known) add(p *packIndex) {
	k.lock.Lock()
	defer k.lock.Unlock()
	list := k.packs()
	for held := bytesOf(list); held > maxKnown && len(list) > 0; list = list[:len(list)-1] {
		held -= bytesOf(list[len(list)-1:])
	}
	list = slices.DeleteFunc(append([]*packIndex{p}, list...), func(other *packIndex) bool { return other != p && other.name == p.name })
	k.list.Store(&list)
}

// forget takes a pack out that is gone.
func (k *known) forget(name string) {
	k.lock.Lock()
	defer k.lock.Unlock()
	list := slices.DeleteFunc(slices.Clone(k.packs()), func(p *packIndex) bool { return p.name == name })
	k.list.Store(&list)
}

// refresh asks the ledger which packs there are and reads the indexes that
// are not in memory. Of those who want that at once, one does it: whoever
// began to wait after seen was counted is content with what it found.
func (o *Objects) refresh(ctx context.Context, seen int64) error {
	select {
	case o.known.asking <- struct{}{}:
		defer func() { <-o.known.asking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.known.asked.Load() > seen+1 {
		return nil // that one began after we did
	}
	names, err := o.packs(ctx)
	if err != nil {
		return fmt.Errorf("asking which packs there are: %w", err)
	}
	packs := make([]*packIndex, len(names))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range names {
		group.Go(func() (err error) {
			if packs[i] = o.known.named(names[i]); packs[i] == nil {
				packs[i], err = o.load(within, names[i])
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // merged, and swept since; the ledger knows better by now
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	o.known.replace(slices.DeleteFunc(packs, func(p *packIndex) bool { return p == nil }))
	return nil
}

func (k *known) replace(list []*packIndex) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.list.Store(&list)
	k.asked.Add(1)
}

func (o *Objects) load(ctx context.Context, name string) (*packIndex, error) {
	raw, _, err := o.bucket.Get(ctx, o.key(name, ".idx"))
	if err != nil {
		return nil, busy(err)
	}
	x, err := pack.ParseIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.key(name, ".idx"), err)
	}
	return indexed(name, x, 0), nil
}

// find tells where an object lies, as far as is known.
func (k *known) find(id plumbing.Hash) (p *packIndex, offset int64) {
	for _, p := range k.packs() {
		if offset, found := p.index.Find(id); found {
			return p, offset
		}
	}
	return nil, 0
}
