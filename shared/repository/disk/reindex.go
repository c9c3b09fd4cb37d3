package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
)

// IndexAgain makes the indexes that packs have lost: git gc takes an index for garbage, and
// deletes it, where it has not seen the pack, which may have got its name while git was
// reading the folder. A pack that has had none for one look only may be on its way in or
// out, unless nobody else is at work yet.
func (o *Objects) IndexAgain(ctx context.Context, alone bool) error {
	o.compacting.Lock()
	defer o.compacting.Unlock()
	files, err := o.store.ReadDir(ctx, odb.PackFolder)
	if err != nil {
		return err
	}
	var problems []error
	again, seen := false, map[string]bool{}
	for _, name := range odb.WithoutIndex(files) {
		seen[name] = true
		if o.guards(name) || o.unmergeable[name] || !alone && !o.unindexed[name] {
			continue
		}
		index, err := o.indexOf(name)
		if err != nil {
			o.unmergeable[name] = true // the pack is damaged, or gone by now
		} else if err = o.putIndex(files, name, index); err == nil {
			again = true
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Errorf("making the index that %s has lost: %w", odb.PackPath(name, ".pack"), err))
		}
	}
	if o.unindexed = seen; again {
		problems = append(problems, o.Refresh(ctx))
	}
	return errors.Join(problems...)
}

// indexOf makes the index of a pack.
func (o *Objects) indexOf(name string) ([]byte, error) {
	f, err := o.store.files.Open(odb.PackPath(name, ".pack"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := o.store.Stat(odb.PackPath(name, ".pack"))
	if err != nil {
		return nil, err
	}
	if _, err := pack.Checksum(f, info.Size()); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	entries := new(idxfile.Writer)
	parser, err := packfile.NewParser(packfile.NewScanner(f), entries)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, err
	}
	index, err := entries.Index()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	_, err = idxfile.NewEncoder(&text).Encode(index)
	return text.Bytes(), err
}

// putIndex gives a pack that has lost its index another name, keeps it from git again and
// stores its index. Under the name that it had, a git at work may have it on its list of
// packs to delete, from when it had no .keep, and leave its objects out of what it packs now
// that it has one.
func (o *Objects) putIndex(files []fs.FileInfo, name string, index []byte) error {
	idx, err := o.store.temp("idx")
	if err != nil {
		return err
	}
	if _, err = idx.Write(index); err == nil {
		err = flush(idx.File)
	}
	fresh := freshName(name)
	if err = errors.Join(err, idx.finish()); err == nil {
		err = o.rename(files, name, fresh)
	}
	if err == nil {
		err = idx.rename(odb.PackPath(fresh, ".idx"))
	}
	return errors.Join(err, idx.Close(), flushFolder(o.store.files, odb.PackFolder))
}

// rename gives a pack another name, with all that lies beside it: somebody else's .keep, and
// how git treats it, first.
func (o *Objects) rename(files []fs.FileInfo, from, to string) error {
	for _, f := range files {
		extension, beside := strings.CutPrefix(f.Name(), "pack-"+from)
		if !beside || extension == ".pack" || extension == ".keep" && o.isOurs(odb.PackPath(from, ".keep")) {
			continue
		}
		if err := o.store.Rename(odb.PackPath(from, extension), odb.PackPath(to, extension)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	keep, err := o.store.keep(to, keepText)
	if err != nil {
		return err
	}
	if keep != nil {
		err = keep.Close()
	}
	if err == nil {
		err = o.store.Rename(odb.PackPath(from, ".pack"), odb.PackPath(to, ".pack"))
	}
	if err == nil && o.isOurs(odb.PackPath(from, ".keep")) {
		_ = o.store.Remove(odb.PackPath(from, ".keep"))
	}
	return err
}

// freshName is a name that no pack has had, so that it is on no list that git has made.
func freshName(name string) string { return pack.NameAt(name, 1+rand.Int64N(math.MaxInt64)) }
