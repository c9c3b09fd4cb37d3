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
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
)

// Compacting says how packs are merged.
type Compacting struct {
	// All merges all packs into one; else only those that are small beside the
	// others.
	All bool
	// From is how many packs there must be for it to be worth while.
	From     int
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
	var done Compacted
	if err := w.sweep(ctx, &done); err != nil {
		return done, err
	}
	for range provision.MaxTries {
		if err := w.merge(ctx, o, &done); !errors.Is(err, repository.ErrMoved) {
			return done, err
		}
	}
	return done, fmt.Errorf("others sweep all the time, so that merged packs do not last: %w", repository.ErrBusy)
}

// sweep deletes what nobody has needed for a day. The order of its steps makes
// it safe, whatever the clocks say and however long it is held up: what may go is
// listed first, then the fence is raised, then what to keep is read. Who stored
// something before and has not named it yet will be refused.
func (w *Workspace) sweep(ctx context.Context, done *Compacted) error {
	objects, rows, err := w.leftovers(ctx)
	if err != nil || len(objects) == 0 && len(rows) == 0 {
		return err
	}
	fence, err := w.ledger.RaiseFence(ctx)
	if err != nil {
		return err
	}
	keep, err := w.named(ctx)
	if err != nil {
		return err
	}
	swept, err := w.objects.Sweep(ctx, objects, keep)
	done.Removed, done.Snapshots, done.Bytes = swept.Packs, swept.Snapshots, swept.Bytes
	if err != nil {
		return err
	}
	done.Rows, err = w.ledger.Sweep(ctx, rows, fence)
	return err
}

// leftovers are what nobody names, and has named for a day.
func (w *Workspace) leftovers(ctx context.Context) (objects s3.Leftovers, rows dynamo.Leftovers, err error) {
	if rows, err = w.ledger.Leftovers(ctx); err != nil {
		return objects, rows, err
	}
	keep, err := w.named(ctx)
	if err != nil {
		return objects, rows, err
	}
	now, err := w.now(ctx)
	if err != nil {
		return objects, rows, err
	}
	book, err := w.editUpkeep(ctx, now, func(u *upkeep) {
		for _, name := range keep.Snapshots {
			u.Bases[name] = now.UTC()
		}
		seen := map[string]time.Time{} // those that are gone are forgotten
		for name := range rows {
			if seen[name] = now.UTC(); !u.Rows[name].IsZero() {
				seen[name] = u.Rows[name]
			}
		}
		u.Rows = seen
	})
	if err != nil {
		return objects, rows, err
	}
	keep.Packs = slices.AppendSeq(keep.Packs, maps.Keys(book.Retired))
	keep.Snapshots = slices.AppendSeq(keep.Snapshots, maps.Keys(book.Bases))
	maps.DeleteFunc(rows, func(name string, _ dynamo.Note) bool { return now.Sub(book.Rows[name]) < s3.Day })
	objects, err = w.objects.Leftovers(ctx, keep)
	return objects, rows, err
}

// now is the bucket's own time, by which everything here is counted.
func (w *Workspace) now(ctx context.Context) (time.Time, error) {
	return w.stores.bucket.Now(ctx, w.prefix())
}

// named is what the ledger names. The base is read last, since a commit after
// the list of packs is of no account: it read the fence after it was raised.
func (w *Workspace) named(ctx context.Context) (s3.Keep, error) {
	packs, err := w.ledger.Packs(ctx)
	if err != nil {
		return s3.Keep{}, err
	}
	keep := s3.Keep{Packs: packs}
	head, err := w.ledger.Head(ctx)
	if head.Base.Name != "" {
		keep.Snapshots = []string{head.Base.Name}
	}
	return keep, err
}

// maxMerged bounds the packs that become one at a time, and with it the work
// that is lost when a run ends in the middle of it.
const maxMerged = 2000

func (w *Workspace) merge(ctx context.Context, o Compacting, done *Compacted) error {
	// The head first: the fence must be older than what it is to protect.
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return err
	}
	packs, err := w.ledger.Packs(ctx)
	if err != nil {
		return err
	}
	done.Left = len(packs)
	small := packs
	if !o.All {
		if small, err = w.objects.Small(ctx, packs); err != nil {
			return err
		}
	}
	if len(small) < max(2, o.From) {
		return nil
	}
	if !o.All && len(small) > maxMerged {
		small, done.More = small[:maxMerged], true
	}
	step := o.Progress.begin("merging", "packs")
	merged, err := w.objects.Merge(ctx, small, head.Fence, func(read int) { step(read, len(small)) })
	if err != nil {
		return err
	}
	step(len(small), len(small))
	retired := slices.DeleteFunc(slices.Clone(small), func(name string) bool { return name == merged.Name })
	// Before the table stops naming them: they stay for a day all the same.
	if err := w.retire(ctx, retired); err != nil {
		return err
	}
	c := dynamo.Compaction{Retired: retired, Pack: merged.Name, Fence: head.Fence, Places: maps.Collect(merged.Places())}
	if err := w.ledger.Compacted(ctx, c); err != nil {
		return fmt.Errorf("the merged pack is stored, and the table does not name it yet; compact once more: %w", err)
	}
	done.Merged, done.Left = len(small), len(packs)-len(small)+1
	return nil
}

// retire notes that packs are needed no more, so that they stay for a day.
func (w *Workspace) retire(ctx context.Context, packs []string) error {
	now, err := w.now(ctx)
	if err != nil {
		return err
	}
	_, err = w.editUpkeep(ctx, now, func(u *upkeep) {
		for _, name := range packs {
			u.Retired[name] = now.UTC()
		}
	})
	return err
}

// upkeep is what is remembered of a workspace between two runs. All times are
// the bucket's own. It only decides how long something stays beyond need; if it
// is lost, that begins again.
type upkeep struct {
	// Retired are packs that were merged, and when; Bases snapshots that a head
	// named, and when that was seen last; Rows sets of rows that no head names,
	// and when that was seen first.
	Retired map[string]time.Time `json:"retired"`
	Bases   map[string]time.Time `json:"bases"`
	Rows    map[string]time.Time `json:"rows,omitempty"`
	// Checked is the commit that was found clean last, and when.
	Checked   string    `json:"checked,omitempty"`
	CheckedAt time.Time `json:"checkedAt,omitzero"`
	// Idle is the head, and its rows, at which there was nothing left to do.
	Idle string `json:"idle,omitempty"`
}

// over writes it over the text from which it was read, so that what a newer
// version remembers stays.
func (u *upkeep) over(was upkeep, text []byte) ([]byte, error) {
	if tree, err := jsontree.Overlay(text, was, u); err == nil && tree.Kind == jsontree.Object {
		return tree.Compact(), nil
	}
	return json.Marshal(u)
}

// forget drops what is older than a day and some. A time that is still to come
// was noted by another clock than the bucket's, and counts from now.
func (u *upkeep) forget(now time.Time) {
	for _, times := range []map[string]time.Time{u.Retired, u.Bases, u.Rows} {
		for name, at := range times {
			if at.After(now) {
				times[name] = now.UTC()
			}
		}
	}
	if u.CheckedAt.After(now) {
		u.CheckedAt = now.UTC()
	}
	old := func(_ string, at time.Time) bool { return now.Sub(at) > s3.Day+time.Hour }
	maps.DeleteFunc(u.Retired, old)
	maps.DeleteFunc(u.Bases, old)
}

// readUpkeep returns what is remembered of the workspace, as it is written too. There is no
// version of what is not there.
func (w *Workspace) readUpkeep(ctx context.Context) (u upkeep, text []byte, version string, err error) {
	text, info, err := w.stores.bucket.Get(ctx, w.upkeepKey())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return u, nil, "", nil
	case err == nil:
		_ = json.Unmarshal(text, &u) // what cannot be read is begun again
	}
	return u, text, info.ETag, err
}

func (w *Workspace) upkeepKey() string { return "maintenance/" + w.ID + ".json" }

// editUpkeep changes what is remembered of the workspace, and returns it.
func (w *Workspace) editUpkeep(ctx context.Context, now time.Time, change func(*upkeep)) (upkeep, error) {
	for range provision.MaxTries {
		u, text, version, err := w.readUpkeep(ctx)
		if err != nil {
			return u, err
		}
		if u.Retired == nil {
			u.Retired = map[string]time.Time{}
		}
		if u.Bases == nil {
			u.Bases = map[string]time.Time{}
		}
		was := u
		was.Retired, was.Bases, was.Rows = maps.Clone(u.Retired), maps.Clone(u.Bases), maps.Clone(u.Rows)
		change(&u)
		u.forget(now)
		next, err := u.over(was, text)
		if err != nil || bytes.Equal(next, text) {
			return u, err
		}
		if version == "" {
			_, err = w.stores.bucket.Create(ctx, w.upkeepKey(), bucket.Bytes(next))
		} else {
			_, err = w.stores.bucket.Replace(ctx, w.upkeepKey(), version, bucket.Bytes(next))
		}
		if !errors.Is(err, fs.ErrExist) && !errors.Is(err, bucket.ErrChanged) {
			return u, err
		}
	}
	return upkeep{}, repository.ErrBusy
}
