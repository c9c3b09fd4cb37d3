package disk

import (
	"bytes"
	"context"
	crypto "crypto/rand"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"

	"github.com/go-git/go-billy/v5"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/odb"
)

// temp is a file that is being written.
type temp struct {
	billy.File
	store  *store
	path   string // "" once it has its name
	closed bool
}

// TempFile implements odb.FS.
func (s *store) TempFile(context.Context) (odb.TempFile, error) { return s.temp("pack") }

func (s *store) temp(kind string) (*temp, error) {
	path := odb.PackFolder + "/" + s.tempOwner() + kind + "-" + crypto.Text()
	f, err := s.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
	return &temp{File: f, store: s, path: path}, err
}

// finish ends the writing. Windows neither renames nor removes an open file.
func (t *temp) finish() error {
	if t.closed {
		return nil
	}
	t.closed = true
	return t.File.Close()
}

// Close removes the file, unless it has its name.
func (t *temp) Close() error {
	err := t.finish()
	if t.path != "" {
		err = errors.Join(err, t.store.Remove(t.path))
	}
	return err
}

// rename gives a flushed file the name under which git sees it.
func (t *temp) rename(to string) error {
	err := t.store.Rename(t.path, to)
	if err == nil {
		t.path = ""
	}
	return err
}

// PutPack implements odb.FS. All files are written before one is flushed: what
// the file system then has to write down of them it writes down once. A pack is
// kept from git before it gets its name, until it is merged or an hour old (see sweep).
//
// One whose name is taken gets another: a git that is at work may have the pack of that
// name on its list of those to delete.
func (s *store) PutPack(_ context.Context, name string, content io.ReadSeeker, index []byte) (err error) {
	file, merged := content.(*temp)
	put := name
	if !merged {
		if _, free := s.Stat(odb.PackPath(name, ".pack")); !errors.Is(free, fs.ErrNotExist) {
			name = freshName(name)
		}
		if file, err = s.temp("pack"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if _, err = io.Copy(file, content); err != nil {
			return err
		}
	}
	idx, err := s.temp("idx")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, idx.Close()) }()
	if _, err = idx.Write(index); err != nil {
		return err
	}
	text := keepText
	if !merged {
		text += uncommitted
	}
	keep, err := s.keep(name, text)
	if err != nil {
		return err
	}
	written := []billy.File{file.File, idx.File}
	if keep != nil {
		defer keep.Close()
		written = append(written, keep)
		if !merged {
			s.guard(name, guarded{put, content, index})
		}
	}
	if err = flushAll(written...); err == nil {
		err = errors.Join(file.finish(), idx.finish())
	}
	if err == nil {
		err = file.rename(odb.PackPath(name, ".pack"))
	}
	if err == nil {
		err = idx.rename(odb.PackPath(name, ".idx"))
	}
	if err == nil {
		err = flushFolder(s.files, odb.PackFolder)
	}
	return err
}

// keepText begins each .keep of ours; uncommitted follows as long as a commit is being
// made of the pack.
const (
	keepText    = "svc: kept from git's maintenance for an hour\n"
	uncommitted = "a commit is being made\n"
)

// IsUncommitted reports whether a pack's .keep says that its commit was never made, or is
// empty, as it can be after a loss of power.
func IsUncommitted(keep []byte) bool {
	return len(keep) == 0 || bytes.HasSuffix(keep, []byte(uncommitted))
}

// keep makes a pack's .keep, which git's maintenance respects. One that is there already
// is somebody else's and stays: there is no file then.
func (s *store) keep(name, text string) (billy.File, error) {
	keep := odb.PackPath(name, ".keep")
	f, err := s.OpenFile(keep, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err = f.Write([]byte(text)); err != nil {
		return nil, errors.Join(err, f.Close(), s.Remove(keep)) // nobody would take it for ours
	}
	return f, nil
}

// guarded is a pack of a commit that is being made: the name that it was put under, and what
// is in it.
type guarded struct {
	put     string
	content io.ReadSeeker
	index   []byte
}

// guard remembers that a pack belongs to a commit that is being made, until its Release.
func (s *store) guard(name string, g guarded) {
	s.guarding.Lock()
	defer s.guarding.Unlock()
	s.guarded[name] = g
}

// PutPack implements repository.Objects.
func (o *Objects) PutPack(ctx context.Context, name string, content, index []byte) error {
	err := o.Objects.PutPack(ctx, name, content, index)
	if err != nil {
		o.release(name, func(keep string) { _ = o.store.Remove(keep) })
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &repository.Unavailable{Message: "the repository was moved away or removed while svc was running", Cause: err}
	}
	return err
}

// Release implements repository.Objects. What git has taken of the pack since it was stored
// is stored again: the commit has not been told to anybody yet.
func (o *Objects) Release(name string) {
	for _, g := range o.store.taken(name) {
		again := freshName(name)
		_, err := g.content.Seek(0, io.SeekStart)
		if err == nil {
			err = o.store.PutPack(context.Background(), again, g.content, g.index)
		}
		o.release(again, o.store.commit)
		if err != nil {
			slog.Error("storing a pack again whose index git has deleted", "pack", name, "error", err)
		}
	}
	o.release(name, o.store.commit)
}

// taken are the packs put under a name of which git has deleted the index, which it takes
// for garbage where it has not seen the pack beside it.
func (s *store) taken(name string) (packs []guarded) {
	s.guarding.Lock()
	defer s.guarding.Unlock()
	for stored, g := range s.guarded {
		if g.put != name {
			continue
		}
		_, noIndex := s.Stat(odb.PackPath(stored, ".idx"))
		if _, noKeep := s.Stat(odb.PackPath(stored, ".keep")); noIndex != nil || noKeep != nil {
			packs = append(packs, g)
		}
	}
	return packs
}

func (o *Objects) release(name string, free func(keep string)) {
	o.store.guarding.Lock()
	defer o.store.guarding.Unlock()
	for stored, g := range o.store.guarded {
		if g.put == name {
			delete(o.store.guarded, stored)
			free(odb.PackPath(stored, ".keep"))
		}
	}
}

// commit takes the mark of a commit that is being made off a pack's .keep. One that cannot
// be changed is removed.
func (s *store) commit(keep string) {
	f, err := s.OpenFile(keep, os.O_WRONLY, 0o644)
	if err == nil {
		err = errors.Join(f.Truncate(int64(len(keepText))), f.Close())
	}
	if err != nil {
		_ = s.Remove(keep)
	}
}

// tempPrefix begins the names of files that are being written. Git's chores know
// no such name: what begins with tmp_, git prune removes at once, even while it is
// being written. Behind it stands whose file it is. Sweep removes what was left.
const tempPrefix = "svc-tmp-"

// tempOwner begins the names of the files that this process writes.
func (s *store) tempOwner() string { return tempPrefix + s.owner + "-" }
