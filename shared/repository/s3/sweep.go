package s3

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/together"
)

// Day is the least age at which Sweep deletes anything: longer than any
// request, by far, takes from storing a pack to moving the head, or holds on to
// what the ledger once said.
const Day = 24 * time.Hour

// Swept is what a Sweep has deleted, or would delete.
type Swept struct {
	Packs     int
	Snapshots int
	Bytes     int64
}

// Keep names what Sweep must leave alone, whatever its age.
type Keep struct {
	Packs     []string // all that the ledger names, or has named until a day ago
	Snapshots []string
}

// checkNames refuses names of another kind, with which Sweep would delete
// what they were to keep.
func (k Keep) checkNames(o *Objects) error {
	for _, name := range k.Packs {
		if !object.IsID(name) {
			return fmt.Errorf("%q is no name of a pack", name)
		}
	}
	for _, name := range k.Snapshots {
		if _, err := o.snapshotKey(name); err != nil {
			return err
		}
	}
	return nil
}

// Sweep deletes the packs and snapshots that are older than an age, at least a
// Day, and that nobody keeps: what lost races have left, and what was merged.
// The caller reads what to keep before, not after. With dry it only counts.
func (o *Objects) Sweep(ctx context.Context, keep Keep, age time.Duration, dry bool) (Swept, error) {
	if age < Day {
		return Swept{}, fmt.Errorf("a sweep of what is younger than %v could take what a writer needs: %v", Day, age)
	}
	if err := keep.checkNames(o); err != nil {
		return Swept{}, err
	}
	doomed, swept, err := o.doomed(ctx, keep, o.now().Add(-age))
	if err != nil || dry {
		return swept, err
	}
	// An index before its pack: whoever lists never sees one without the other
	// that it needs.
	for _, keys := range doomed {
		err := together.Each(ctx, len(keys), func(ctx context.Context, i int) error {
			return busy(o.bucket.Delete(ctx, keys[i]))
		})
		if err != nil {
			return swept, err
		}
	}
	return swept, nil
}

// doomed finds the keys to delete, in two steps.
func (o *Objects) doomed(ctx context.Context, keep Keep, before time.Time) (steps [2][]string, swept Swept, err error) {
	kept := map[string]bool{}
	for _, name := range keep.Packs {
		kept["pack-"+name] = true
	}
	for _, name := range keep.Snapshots {
		kept[name] = true
	}
	doom := func(info bucket.Info) (doomed bool) {
		name := path.Base(info.Key)
		extension := path.Ext(name)
		if kept[strings.TrimSuffix(name, extension)] || !info.Modified.Before(before) {
			return false
		}
		swept.Bytes += info.Size
		step := 0
		if extension == ".pack" {
			step = 1
		}
		steps[step] = append(steps[step], info.Key)
		return true
	}
	for info, err := range o.bucket.List(ctx, o.prefix+packFolder+"pack-") {
		if err != nil {
			return steps, swept, busy(err)
		}
		if doom(info) && path.Ext(info.Key) == ".pack" {
			swept.Packs++
		}
	}
	for info, err := range o.bucket.List(ctx, o.prefix+snapshotFolder) {
		if err != nil {
			return steps, swept, busy(err)
		}
		if doom(info) {
			swept.Snapshots++
		}
	}
	return steps, swept, nil
}
