package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Objects are the objects of one workspace's repository.
type Objects struct {
	bucket *bucket.Bucket
	prefix string // ends with a slash
	packs  Packs
	most   int64 // see Within
	known  known
}

// Packs tells the names of the packs that hold a workspace's objects: all that
// commits of the history were stored in, or what these were merged into.
type Packs func(ctx context.Context) ([]string, error)

// New returns the objects below a prefix of a bucket. Without packs, they are
// found by listing, which only a tool or a test should do.
func New(b *bucket.Bucket, prefix string, packs Packs) *Objects {
	o := &Objects{bucket: b, prefix: strings.Trim(prefix, "/") + "/", packs: packs}
	if packs == nil {
		o.packs = o.List
	}
	o.known.asking = make(chan struct{}, 1)
	return o
}

// Within bounds, before the first use, the bytes of a workspace that is read at
// once: as a snapshot, or from its tree. More is repository.TooLarge, and is not
// read; 0 is no bound.
func (o *Objects) Within(most int64) *Objects {
	o.most = most
	return o
}

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
		group.Go(func() error {
			_, err := o.bucket.Create(ctx, o.prefix+name, bucket.Bytes([]byte(text)))
			if errors.Is(err, fs.ErrExist) {
				return nil
			}
			return busy(err)
		})
	}
	return group.Wait()
}

const (
	packFolder = "objects/pack/"
	// atOnce bounds the requests of one task that are under way at a time.
	atOnce = 16
)

func (o *Objects) key(pack, extension string) string {
	return o.prefix + packFolder + "pack-" + pack + extension
}

// busy translates the error of a store that is overloaded.
func busy(err error) error {
	if errors.Is(err, bucket.ErrBusy) {
		return fmt.Errorf("%w: %w", repository.ErrBusy, err)
	}
	return err
}

// List returns the names of the packs that are there with their indexes.
func (o *Objects) List(ctx context.Context) ([]string, error) {
	files, err := o.list(ctx)
	var names []string
	for _, f := range files {
		if f.complete() {
			names = append(names, f.name)
		}
	}
	return names, err
}

// stored is what lies in the bucket under the name of a pack.
type stored struct {
	name        string
	size        int64 // of the pack
	pack, index time.Time
}

func (s stored) complete() bool { return !s.pack.IsZero() && !s.index.IsZero() }

// list returns what lies in the folder of packs, by name.
func (o *Objects) list(ctx context.Context) ([]stored, error) {
	var found []stored
	for info, err := range o.bucket.List(ctx, o.prefix+packFolder) {
		if err != nil {
			return nil, busy(err)
		}
		name, extension, _ := strings.Cut(strings.TrimPrefix(info.Key, o.prefix+packFolder+"pack-"), ".")
		if !object.IsID(name) {
			continue // no pack
		}
		if len(found) == 0 || found[len(found)-1].name != name {
			found = append(found, stored{name: name})
		}
		switch last := &found[len(found)-1]; extension {
		case "pack":
			last.pack, last.size = info.Modified, info.Size
		case "idx":
			last.index = info.Modified
		}
	}
	return found, nil
}
