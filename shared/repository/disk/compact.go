package disk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/repository/pack"
)

// Compaction says what Compact has done.
type Compaction struct {
	Merged  int   // packs that became one
	Left    int   // packs there are now
	Written int64 // bytes
}

const (
	growth      = 2         // of each pack against all smaller ones, in objects, as git repack --geometric
	largestPack = 512 << 20 // bytes; a larger one is never copied again
)

// Compact merges small packs into a larger one, so that few are left, and
// removes what crashes have left behind. Everything may go on meanwhile:
// commits, readers, real git. It does nothing, cheaply, when there is nothing
// to merge.
func (o *Objects) Compact(ctx context.Context) (Compaction, error) {
	o.compacting.Lock()
	defer o.compacting.Unlock()
	o.sweep(tempLife)
	for tries := 0; ; tries++ {
		done, err := o.compact(ctx)
		// A git gc beside us collects packs that we are about to read.
		if !errors.Is(err, fs.ErrNotExist) || tries == 3 {
			return done, err
		}
	}
}

func (o *Objects) compact(ctx context.Context) (Compaction, error) {
	if err := o.scan(); err != nil {
		return Compaction{}, err
	}
	files, err := o.list()
	if err != nil {
		return Compaction{}, err
	}
	small := smallPacks(o.mergeable(files))
	if len(small) < 2 {
		return Compaction{Left: o.Packs()}, nil
	}
	merged, err := o.merge(ctx, small)
	if err != nil {
		return Compaction{}, fmt.Errorf("merging %d packs: %w", len(small), err)
	}
	if err := o.forget(small, merged); err != nil {
		return Compaction{}, err
	}
	return Compaction{Merged: len(small), Left: o.Packs(), Written: merged.size}, nil
}

// mergeable returns the packs that are ours to merge: not one that somebody
// keeps, or that git treats in a way of its own (promised or cruft objects).
func (o *Objects) mergeable(files []os.FileInfo) []*packFile {
	if slices.ContainsFunc(files, func(f os.FileInfo) bool { return f.Name() == "multi-pack-index.d" }) {
		return nil
	}
	groups := groupPacks(files)
	var packs []*packFile
	for _, p := range o.known() {
		group := groups[p.name]
		if group == nil || group[".keep"] != nil || group[".promisor"] != nil || group[".mtimes"] != nil || p.size > largestPack {
			continue
		}
		packs = append(packs, p)
	}
	return packs
}

// smallPacks picks the packs to merge: those that are not at least twice as
// large as all smaller ones together. What remains grows geometrically, so
// that an object is copied once for each doubling of the history.
func smallPacks(packs []*packFile) []*packFile {
	slices.SortFunc(packs, func(a, b *packFile) int { return a.index.Len() - b.index.Len() })
	count := 0
	for i := len(packs) - 1; i > 0; i-- {
		if packs[i].index.Len() < growth*packs[i-1].index.Len() {
			count = i + 1
			break
		}
	}
	total := 0
	for _, p := range packs[:count] {
		total += p.index.Len()
	}
	for count > 0 && count < len(packs) && packs[count].index.Len() < growth*total {
		total += packs[count].index.Len()
		count++
	}
	return packs[:count]
}

// merge writes the new pack as durably as PutPack and makes it known.
func (o *Objects) merge(ctx context.Context, packs []*packFile) (*packFile, error) {
	slices.SortFunc(packs, func(a, b *packFile) int { return b.modified.Compare(a.modified) })
	packTemp, indexTemp := o.tempPath("pack"), o.tempPath("idx")
	name, index, size, err := o.writeMerged(ctx, packTemp, packs)
	if err == nil {
		err = write(o.fs, 0o444, newFile{indexTemp, index})
	}
	if err != nil {
		o.remove(packTemp)
		return nil, err
	}
	x, err := pack.ParseIndex(index)
	if err != nil {
		o.remove(packTemp, indexTemp)
		return nil, err
	}
	if err := o.publish(name, packTemp, indexTemp); err != nil {
		return nil, err
	}
	merged := &packFile{name: name, index: x, size: size, modified: time.Now()}
	o.include(merged, packs...)
	return merged, nil
}

func (o *Objects) writeMerged(ctx context.Context, path string, packs []*packFile) (name string, index []byte, size int64, err error) {
	f, err := o.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	if err != nil {
		return "", nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := &counter{to: bufio.NewWriterSize(f, 1<<20)}
	if name, index, err = pack.Merge(out, o.sources(ctx, packs)); err != nil {
		return "", nil, 0, err
	}
	if err = out.to.Flush(); err != nil {
		return "", nil, 0, err
	}
	return name, index, out.written, flush(f)
}

type counter struct {
	to      *bufio.Writer
	written int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	c.written += int64(n)
	return n, err
}

func (o *Objects) sources(ctx context.Context, packs []*packFile) []pack.Source {
	sources := make([]pack.Source, len(packs))
	for i, p := range packs {
		sources[i] = pack.Source{Size: p.size, Index: p.index, Open: func() (pack.Bytes, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return o.fs.Open(packPath(p.name, ".pack"))
		}}
	}
	return sources
}

// forget deletes packs whose objects all lie in another now. That may be one
// of them: a crash before this step leaves a pack that, merged once more with
// those it was made of, comes out as it is.
func (o *Objects) forget(packs []*packFile, merged *packFile) error {
	// An index over several packs would still name those that go.
	files, err := o.list()
	if err != nil {
		return err
	}
	var problems []error
	remove := func(path string) {
		if err := o.fs.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
		}
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "multi-pack-index") {
			remove(packFolder + "/" + f.Name())
		}
	}
	groups := groupPacks(files)
	for _, p := range packs {
		if p.name == merged.name || groups[p.name][".keep"] != nil {
			continue
		}
		remove(packPath(p.name, ".idx"))
		for extension := range groups[p.name] {
			if extension != ".idx" {
				remove(packPath(p.name, extension))
			}
		}
	}
	return errors.Join(problems...)
}

const (
	keepLife = time.Hour // no commit takes that long
	tempLife = 24 * time.Hour
	noLife   = time.Duration(math.MinInt64) // a file from the future is older too
)

// Sweep removes what crashes have left behind, at a start. Only who holds a lock
// that keeps every other writer out calls it: what another process was writing
// is left over, however young it is. Compact does the same with what is older
// than a day. Git's own files are git's, also those of a push that is under way.
func (o *Objects) Sweep() {
	o.compacting.Lock()
	defer o.compacting.Unlock()
	o.sweep(noLife)
}

// sweep leaves alone what these Objects are writing themselves, however long
// ago that began. How old the rest is, is a matter of the file system's clock
// alone, which need not be this machine's. What cannot be removed does no harm.
func (o *Objects) sweep(life time.Duration) {
	files, err := o.list()
	if err != nil || !slices.ContainsFunc(files, isLeftover) {
		return
	}
	now, err := o.clock()
	if err != nil {
		return
	}
	for _, f := range files {
		path, age := packFolder+"/"+f.Name(), now.Sub(f.ModTime())
		switch {
		case isTemp(f) && !strings.HasPrefix(f.Name(), o.tempOwner()) && age > life:
			o.remove(path)
		case isKeep(f) && age > keepLife && !o.guards(f.Name()) && o.isOurs(path):
			o.remove(path)
		}
	}
}

func isTemp(f os.FileInfo) bool {
	return strings.HasPrefix(f.Name(), tempPrefix) || strings.HasPrefix(f.Name(), oldTempPrefix)
}

func isKeep(f os.FileInfo) bool { return strings.HasSuffix(f.Name(), ".keep") }

func isLeftover(f os.FileInfo) bool { return isTemp(f) || isKeep(f) }

// clock is the time that the file system gives to a file that is made now.
func (o *Objects) clock() (time.Time, error) {
	path := o.tempPath("clock")
	f, err := o.fs.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return time.Time{}, err
	}
	defer o.remove(path)
	if err := f.Close(); err != nil {
		return time.Time{}, err
	}
	info, err := o.fs.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// guards says whether a .keep belongs to a commit that these Objects are making.
func (o *Objects) guards(keep string) bool {
	o.guarding.Lock()
	defer o.guarding.Unlock()
	return o.guarded[strings.TrimSuffix(strings.TrimPrefix(keep, "pack-"), ".keep")]
}

// isOurs tells our .keep files from those of others, which hold a reason or
// nothing.
func (o *Objects) isOurs(keep string) bool {
	f, err := o.fs.Open(keep)
	if err != nil {
		return false
	}
	defer f.Close()
	begins := make([]byte, len(keepText)+1)
	n, err := io.ReadFull(f, begins)
	isText := err != nil && string(begins[:n]) == keepText
	return isText || bytes.HasPrefix(begins, []byte(pack.Signature))
}
