package s3

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
)

// Objects are the objects of one workspace's repository.
type Objects struct {
	*odb.Objects
	store    store
	most     int64             // see Within
	makeRoom func(bytes int64) // see BeforeLoading
}

// Packs tells the names of the packs that hold a workspace's objects: all that
// commits of the history were stored in, or what these were merged into.
type Packs func(ctx context.Context) ([]string, error)

// Prefix is where the objects of a workspace lie in the service's bucket.
func Prefix(workspace string) string { return "workspaces/" + workspace + "/" }

// New returns the objects below a prefix of a bucket. Without packs, they are
// found by listing, which only a tool or a test should do.
func New(b *bucket.Bucket, prefix string, packs Packs) *Objects {
	s := store{b, strings.Trim(prefix, "/") + "/"}
	return &Objects{Objects: odb.New(s, packs), store: s}
}

// Within bounds, before the first use, the bytes of a workspace that is read at
// once: as a snapshot, or from its tree. More is repository.TooLarge, and is not
// read; 0 is no bound.
func (o *Objects) Within(most int64) *Objects {
	o.most = most
	o.Objects.Within(most)
	return o
}

// BeforeLoading has room made, before the first use, for a snapshot of so many
// bytes that is about to be loaded.
func (o *Objects) BeforeLoading(makeRoom func(bytes int64)) { o.makeRoom = makeRoom }

// settings of the repository that a copy of the prefix is.
const settings = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
`

// Init puts what makes the prefix a git repository where it is not there yet.
func (o *Objects) Init(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": settings} {
		group.Go(func() error { return o.store.create(ctx, name, bucket.Bytes([]byte(text))) })
	}
	return group.Wait()
}

// Release implements repository.Objects. A pack is safe by the fence.
func (o *Objects) Release(string) {}

// List returns the names of the packs that are there with their indexes.
func (o *Objects) List(ctx context.Context) ([]string, error) {
	packs, err := o.Objects.List(ctx)
	return names(slices.DeleteFunc(packs, func(s odb.Stored) bool { return !object.IsID(s.Name) })), err
}

func names(packs []odb.Stored) []string {
	var all []string
	for _, p := range packs {
		all = append(all, p.Name)
	}
	return all
}

// stored returns what lies in the bucket of the packs named, each once, in their
// order.
func (o *Objects) stored(ctx context.Context, packs []string) ([]odb.Stored, error) {
	all, err := o.Objects.List(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]odb.Stored{}
	for _, s := range all {
		there[s.Name] = s
	}
	var found []odb.Stored
	taken := map[string]bool{}
	for _, name := range packs {
		s, ok := there[name]
		if !ok {
			return nil, fmt.Errorf("%s: %w", o.store.key(odb.PackPath(name, ".pack")), fs.ErrNotExist)
		}
		if !taken[name] {
			taken[name], found = true, append(found, s)
		}
	}
	return found, nil
}

// Small picks those of the packs that should be merged, see odb.Small.
func (o *Objects) Small(ctx context.Context, packs []string) ([]string, error) {
	stored, err := o.stored(ctx, packs)
	return names(odb.Small(stored)), err
}

// Merge makes one pack of several, given in their order as far as that is known,
// the oldest first, and stores it under the name that it has at the fence, which
// the caller has read before. It deletes nothing: once the ledger names the new
// pack instead of the others, which it does only if the fence still stands, and
// a day has passed, Sweep takes these. Progress hears now and then how many packs
// have been read; it may be nil.
func (o *Objects) Merge(ctx context.Context, packs []string, fence int64, progress func(read int)) (*odb.Pack, error) {
	stored, err := o.stored(ctx, packs)
	if err != nil {
		return nil, err
	}
	slices.Reverse(stored)
	return o.Objects.Merge(ctx, stored, fence, progress)
}
