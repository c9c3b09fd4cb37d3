package s3

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
)

// Day is how long things stay that nobody names, by the store's clock: so long
// may a reader rely on what the ledger once said. What is deleted at last is
// not decided by it, but by the fence; see Sweep.
const Day = 24 * time.Hour

// Swept is what a Sweep has deleted, or would delete.
type Swept struct {
	Packs     int
	Snapshots int
	Bytes     int64
}

// Keep names what must stay.
type Keep struct {
	Packs     []string // all that the ledger names, or has named until a day ago
	Snapshots []string
}

// names is the set of what is kept, as the keys' last parts have it. Names of another
// kind are refused: a sweep would delete what they were to keep.
func (k Keep) names() (map[string]bool, error) {
	kept := map[string]bool{}
	for _, name := range k.Packs {
		if !object.IsID(name) {
			return nil, fmt.Errorf("%q is no name of a pack", name)
		}
		kept["pack-"+name] = true
	}
	for _, name := range k.Snapshots {
		if _, err := snapshotPath(name); err != nil {
			return nil, err
		}
		kept[name] = true
	}
	return kept, nil
}

// Leftovers are packs and snapshots that were in the bucket for a Day when they
// were listed, and that nobody named.
type Leftovers []bucket.Info

// nameOf is what an object is known by: the pack or the snapshot it belongs to.
func nameOf(key string) string {
	name := path.Base(key)
	return strings.TrimSuffix(name, path.Ext(name))
}

// Leftovers lists what Sweep may delete: what lost races have left, and what
// was merged. How old something is tells the store alone: the time at which it
// says that it stored it, and the time at which it says so.
func (o *Objects) Leftovers(ctx context.Context, keep Keep) (Leftovers, error) {
	kept, err := keep.names()
	if err != nil {
		return nil, err
	}
	var left Leftovers
	for _, prefix := range swept {
		for info, err := range o.store.bucket.List(ctx, o.store.key(prefix)) {
			if err != nil {
				return nil, busy(err)
			}
			if !kept[nameOf(info.Key)] && !info.Told.IsZero() && info.Told.Sub(info.Modified) >= Day {
				left = append(left, info)
			}
		}
	}
	return left, nil
}

// swept are the beginnings of the paths that Sweep may delete.
var swept = []string{odb.PackFolder + "/pack-", snapshotFolder + "/"}

// Sweep deletes leftovers, except what is to be kept by now. The caller lists
// them, then raises the fence of the head, then reads what the ledger names, and
// calls this with it. So a pause, however long, between any two steps does no
// harm:
//
//   - The writer of a leftover read the fence before it was raised. The leftover is
//     named by now, and kept, or its writer's move of the head will be refused.
//   - A writer that reads the fence from now on stores nothing under a leftover's
//     name: names depend on the fence (see pack.NameAt).
func (o *Objects) Sweep(ctx context.Context, left Leftovers, keep Keep) (Swept, error) {
	kept, err := keep.names()
	if err != nil {
		return Swept{}, err
	}
	// An index before its pack, so that no listing has an index without its pack.
	var steps [2][]string
	var swept Swept
	for _, info := range left {
		if kept[nameOf(info.Key)] {
			continue
		}
		swept.Bytes += info.Size
		step := 0
		switch path.Ext(info.Key) {
		case ".pack":
			step = 1
			swept.Packs++
		case "":
			swept.Snapshots++
		}
		steps[step] = append(steps[step], info.Key)
	}
	for _, keys := range steps {
		group, within := errgroup.WithContext(ctx)
		group.SetLimit(odb.AtOnce)
		for i := range keys {
			group.Go(func() error {
				return busy(o.store.bucket.Delete(within, keys[i]))
			})
		}
		if err := group.Wait(); err != nil {
			return swept, err
		}
	}
	return swept, nil
}
