package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/repository/s3"
)

// Compacting says how packs are merged.
type Compacting struct {
	// All merges all packs into one; else only those that are small beside the
	// others.
	All bool
	// From is how many packs there must be for it to be worth while.
	From     int
	Now      func() time.Time
	Progress Progress
}

// Compacted is what Compact has done.
type Compacted struct {
	Merged    int   // packs that became one
	More      bool  // there are small packs left: another Compact merges them
	Left      int   // packs that the history lies in now
	Removed   int   // packs that were deleted: merged a day ago, or needed by nobody
	Snapshots int   // snapshots that were deleted
	Rows      int   // rows that no head names and that were deleted
	Bytes     int64 // deleted
}

// Compact removes what nobody has needed for a day, and merges small packs into
// few. Readers, writers and another Compact may go on meanwhile.
func (w *Workspace) Compact(ctx context.Context, o Compacting) (Compacted, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	var done Compacted
	packs, err := w.ledger.Packs(ctx)
	if err != nil {
		return done, err
	}
	if err := w.sweep(ctx, packs, o.Now(), &done); err != nil {
		return done, err
	}
	done.Left = len(packs)
	return done, w.merge(ctx, packs, o, &done)
}

// sweep deletes what is old and not needed.
func (w *Workspace) sweep(ctx context.Context, packs []string, now time.Time, done *Compacted) error {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return err
	}
	upkeep, err := w.keepBook(ctx, now, func(u *upkeep) { u.note(u.Bases, head.Base.Name, now) })
	if err != nil {
		return err
	}
	swept, err := w.objects.Sweep(ctx, s3.Keep{
		Packs:     slices.Concat(packs, slices.Collect(maps.Keys(upkeep.Retired))),
		Snapshots: slices.Collect(maps.Keys(upkeep.Bases)),
	}, s3.Day, false)
	done.Removed, done.Snapshots, done.Bytes = swept.Packs, swept.Snapshots, swept.Bytes
	if err != nil {
		return err
	}
	done.Rows, err = w.ledger.Sweep(ctx, now.Add(-s3.Day))
	return err
}

// mostMerged bounds the packs that become one at a time, and with it the work
// that is lost when a run ends in the middle of it.
const mostMerged = 2000

func (w *Workspace) merge(ctx context.Context, packs []string, o Compacting, done *Compacted) error {
	small := packs
	if !o.All {
		var err error
		if small, err = w.objects.Small(ctx, packs); err != nil {
			return err
		}
	}
	if len(small) < max(2, o.From) {
		return nil
	}
	if !o.All && len(small) > mostMerged {
		small, done.More = small[:mostMerged], true
	}
	told := o.Progress.of("merging", "packs")
	merged, err := w.objects.Merge(ctx, small, func(read int) { told(read, len(small)) })
	if err != nil {
		return err
	}
	told(len(small), len(small))
	retired := slices.DeleteFunc(slices.Clone(small), func(name string) bool { return name == merged.Name })
	// Before the table stops naming them: they stay for a day all the same.
	_, err = w.keepBook(ctx, o.Now(), func(u *upkeep) {
		for _, name := range retired {
			u.note(u.Retired, name, o.Now())
		}
	})
	if err != nil {
		return err
	}
	places := map[string]pack.Place{}
	for id, place := range merged.Places() {
		places[id] = place
	}
	if err := w.ledger.Compacted(ctx, dynamo.Compaction{Retired: retired, Pack: merged.Name, Places: places}); err != nil {
		return fmt.Errorf("the merged pack is stored, and the table does not name it yet; compact once more: %w", err)
	}
	done.Merged, done.Left = len(small), len(packs)-len(small)+1
	return nil
}

// upkeep is what is remembered of a workspace between two runs.
type upkeep struct {
	// Retired are packs that were merged, and when; Bases snapshots that a head
	// named, and when that was seen last.
	Retired map[string]time.Time `json:"retired"`
	Bases   map[string]time.Time `json:"bases"`
	// Checked is the commit that was found clean last, and when.
	Checked   string    `json:"checked,omitempty"`
	CheckedAt time.Time `json:"checkedAt,omitzero"`
}

func (u *upkeep) note(where map[string]time.Time, name string, now time.Time) {
	if name != "" {
		where[name] = now.UTC()
	}
}

// forget drops what is older than a day and some.
func (u *upkeep) forget(now time.Time) {
	old := func(_ string, at time.Time) bool { return now.Sub(at) > s3.Day+time.Hour }
	maps.DeleteFunc(u.Retired, old)
	maps.DeleteFunc(u.Bases, old)
}

// keepBook changes what is remembered of the workspace, and returns it.
func (w *Workspace) keepBook(ctx context.Context, now time.Time, change func(*upkeep)) (upkeep, error) {
	key := "maintenance/" + w.ID + ".json"
	for range mostTries {
		u := upkeep{}
		text, info, err := w.stores.bucket.Get(ctx, key)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return u, err
		}
		isNew := err != nil
		if !isNew {
			_ = json.Unmarshal(text, &u) // what can not be read is begun anew
		}
		if u.Retired == nil {
			u.Retired = map[string]time.Time{}
		}
		if u.Bases == nil {
			u.Bases = map[string]time.Time{}
		}
		change(&u)
		u.forget(now)
		next, err := json.Marshal(u)
		if err != nil || bytes.Equal(next, text) {
			return u, err
		}
		if isNew {
			_, err = w.stores.bucket.Create(ctx, key, bucket.Bytes(next))
		} else {
			_, err = w.stores.bucket.Replace(ctx, key, info.ETag, bucket.Bytes(next))
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, bucket.ErrChanged) {
			return u, err
		}
	}
	return upkeep{}, repository.ErrBusy
}
