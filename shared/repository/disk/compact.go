package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
)

// Compaction says what Compact has done.
type Compaction struct {
	Merged int // packs that became one
	Left   int // packs there are now
}

// Compact merges small packs into a larger one, so that few are left, and
// removes what crashes have left behind. Everything may go on meanwhile:
// commits, readers, git's maintenance. It does nothing, cheaply, when there is nothing
// to merge. A pack that cannot be merged, as it is damaged, is left out from the next
// time on.
func (o *Objects) Compact(ctx context.Context) (Compaction, error) {
	o.compacting.Lock()
	defer o.compacting.Unlock()
	if err := o.DropStaleMultiPack(ctx); err != nil {
		return Compaction{}, err
	}
	o.sweep(false)
	for range 4 {
		if done, err := o.compact(ctx); !errors.Is(err, errRepacked) {
			return done, err
		}
	}
	return Compaction{Left: len(o.Packs())}, nil // somebody packs as fast as we do
}

// errRepacked says that packs which were listed with their indexes went before
// they were read: a git gc beside us has put their objects into another.
var errRepacked = errors.New("packs were collected while they were being merged")

func (o *Objects) compact(ctx context.Context) (Compaction, error) {
	if err := o.Refresh(ctx); err != nil {
		return Compaction{}, err
	}
	files, err := o.store.ReadDir(ctx, odb.PackFolder)
	if err != nil {
		return Compaction{}, err
	}
	mergeable, err := o.mergeable(files)
	if err != nil {
		return Compaction{}, err
	}
	small := odb.Small(mergeable)
	if len(small) == 0 {
		return Compaction{Left: len(o.Packs())}, nil
	}
	slices.SortStableFunc(small, func(a, b odb.Stored) int { return b.Modified.Compare(a.Modified) })
	// With a name that no pack has had, it is on no list of packs to delete that git has made.
	merged, err := o.Merge(ctx, small, 1+rand.Int64N(math.MaxInt64), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return Compaction{}, errRepacked
	}
	if err != nil {
		if at := (*pack.SourceError)(nil); errors.As(err, &at) && ctx.Err() == nil && fault.Refused(err) == "" {
			o.unmergeable[small[at.Source].Name] = true
			err = fmt.Errorf("pack %s: %w", small[at.Source].Name, err)
		}
		return Compaction{}, err
	}
	done := Compaction{Merged: len(small)}
	if err := o.replace(ctx, small, merged.Name); err != nil {
		return Compaction{}, err
	}
	err = o.Refresh(ctx)
	done.Left = len(o.Packs())
	return done, err
}

// mergeable returns the packs that are ours to merge: not one that somebody
// keeps, or that git treats in a way of its own (promised or cruft objects, or named by
// a multi-pack-index), nor one that cannot be read.
func (o *Objects) mergeable(files []os.FileInfo) ([]odb.Stored, error) {
	if slices.ContainsFunc(files, func(f os.FileInfo) bool { return f.Name() == multiPack+".d" }) {
		return nil, nil
	}
	named, err := o.inMultiPack()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, p := range o.Packs() {
		known[p.Name] = true
	}
	return slices.DeleteFunc(odb.StoredIn(files), func(s odb.Stored) bool {
		return !known[s.Name] || named[s.Name] || o.unmergeable[s.Name] || s.Has(".promisor") || s.Has(".mtimes") || o.isKept(s)
	}), nil
}

// isKept reports whether a pack's .keep is somebody else's, or guards a commit that is being
// made. Any other of ours keeps the pack from git alone.
func (o *Objects) isKept(s odb.Stored) bool {
	keep := odb.PackPath(s.Name, ".keep")
	return s.Has(".keep") && (o.guards(s.Name) || !o.isOurs(keep))
}

// replace deletes packs whose objects all lie in another now, once that was read back
// from the disk. Those that git's multi-pack-index has begun to name meanwhile stay.
func (o *Objects) replace(ctx context.Context, packs []odb.Stored, merged string) error {
	if err := o.readBack(packs, merged); err != nil {
		return err
	}
	named, err := o.inMultiPack()
	if err != nil {
		return err
	}
	files, err := o.store.ReadDir(ctx, odb.PackFolder)
	if err != nil {
		return err
	}
	now := map[string]odb.Stored{}
	for _, s := range odb.StoredIn(files) {
		now[s.Name] = s
	}
	var problems []error
	for _, p := range packs {
		if named[p.Name] || o.isKept(now[p.Name]) {
			continue
		}
		problems = append(problems, o.removeFile(odb.PackPath(p.Name, ".idx")))
		for _, extension := range now[p.Name].Beside {
			if extension != ".idx" {
				problems = append(problems, o.removeFile(odb.PackPath(p.Name, extension)))
			}
		}
	}
	return errors.Join(problems...)
}

// readBack reports whether a merged pack lies on the disk, whole, kept from git, and with
// every object of the packs that it was made of.
func (o *Objects) readBack(packs []odb.Stored, merged string) error {
	if _, err := o.store.Stat(odb.PackPath(merged, ".keep")); err != nil {
		return fmt.Errorf("the pack that was merged could be deleted by git: %w", err)
	}
	text, err := o.store.ReadFile(context.Background(), odb.PackPath(merged, ".idx"))
	if err != nil {
		return fmt.Errorf("reading the index that was merged: %w", err)
	}
	index, err := pack.ParseIndex(text)
	if err != nil {
		return fmt.Errorf("reading the index that was merged: %w", err)
	}
	path := odb.PackPath(merged, ".pack")
	info, err := o.store.Stat(path)
	if err != nil {
		return fmt.Errorf("reading the pack that was merged: %w", err)
	}
	f, err := o.store.files.Open(path)
	if err != nil {
		return fmt.Errorf("reading the pack that was merged: %w", err)
	}
	defer f.Close()
	if _, err := pack.Checksum(f, info.Size()); err != nil {
		return fmt.Errorf("reading the pack that was merged: %w", err)
	}
	for _, p := range o.Packs() {
		if !slices.ContainsFunc(packs, func(s odb.Stored) bool { return s.Name == p.Name }) {
			continue
		}
		for i := range p.Index.Len() {
			if _, found := index.Find(p.Index.ID(i)); !found {
				return fmt.Errorf("object %s of pack %s is not in the pack that was merged of it", p.Index.ID(i), p.Name)
			}
		}
	}
	return nil
}

const (
	keepLife = time.Hour // no commit takes that long, nor git's maintenance, which may still hold an older list of packs
	tempLife = 24 * time.Hour
)

// Sweep removes what crashes have left behind, and lets git have the packs that were kept
// from it for long enough; Compact does so too. Who holds a lock that keeps every other
// writer out is alone: what another process was writing is left over then, however young
// it is, and else if it is older than a day. Git's own files are git's, also those of a
// push that is under way.
func (o *Objects) Sweep(alone bool) {
	o.compacting.Lock()
	defer o.compacting.Unlock()
	o.sweep(alone)
}

// sweep leaves alone what these Objects are writing themselves, however long ago that
// began. What svc keeps from git it keeps as long as git has a multi-pack-index: several
// of the commands that write one can, at once, delete what another one relies on. How old
// the rest is, is a matter of the file system's clock alone, which need not be this
// machine's. What cannot be removed does no harm.
func (o *Objects) sweep(alone bool) {
	files, err := o.store.ReadDir(context.Background(), odb.PackFolder)
	if err != nil || !slices.ContainsFunc(files, func(f os.FileInfo) bool { return isTemp(f) || isKeep(f) }) {
		return
	}
	now, err := o.clock()
	if err != nil {
		return
	}
	indexed := slices.ContainsFunc(files, func(f os.FileInfo) bool { return strings.HasPrefix(f.Name(), multiPack) })
	for _, f := range files {
		path, age := odb.PackFolder+"/"+f.Name(), now.Sub(f.ModTime())
		switch {
		case isTemp(f) && !strings.HasPrefix(f.Name(), o.store.tempOwner()) && (alone || age > tempLife):
			_ = o.store.Remove(path)
		case isKeep(f) && age > keepLife && !indexed && !o.guards(strings.TrimSuffix(strings.TrimPrefix(f.Name(), "pack-"), ".keep")) && o.isOurs(path):
			_ = o.store.Remove(path)
		}
	}
}

func isTemp(f os.FileInfo) bool { return strings.HasPrefix(f.Name(), tempPrefix) }

func isKeep(f os.FileInfo) bool { return strings.HasSuffix(f.Name(), ".keep") }

// clock is the time that the file system gives to a file that is made now.
func (o *Objects) clock() (time.Time, error) {
	t, err := o.store.temp("clock")
	if err != nil {
		return time.Time{}, err
	}
	info, err := o.store.Stat(t.path)
	if err = errors.Join(err, t.Close()); err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// guards reports whether a pack belongs to a commit that these Objects are making.
func (o *Objects) guards(pack string) bool {
	o.store.guarding.Lock()
	defer o.store.guarding.Unlock()
	_, guards := o.store.guarded[pack]
	return guards
}

// isOurs tells our .keep files from those of others, which hold a reason or
// nothing.
func (o *Objects) isOurs(keep string) bool {
	text, err := o.store.ReadFile(context.Background(), keep)
	return err == nil && strings.HasPrefix(string(text), "svc: ")
}
