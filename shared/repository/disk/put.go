package disk

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"svc.example/svc/shared/repository/pack"
)

// PutPack implements repository.Objects.
func (o *Objects) PutPack(ctx context.Context, name string, content, index []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x, err := pack.Accept(name, index)
	if err != nil {
		return err
	}
	if err := o.store(name, content, index); err != nil {
		o.Release(name)
		return fmt.Errorf("storing pack %s: %w", name, err)
	}
	o.include(&packFile{name: name, index: x, size: int64(len(content)), modified: time.Now()})
	return nil
}

// store writes both files, unless they are there, and flushes them and their
// names. The pack is guarded before it gets its name.
func (o *Objects) store(name string, content, index []byte) error {
	if o.has(name, ".pack", len(content)) && o.has(name, ".idx", len(index)) {
		// Whoever stored it may have crashed before flushing.
		err := errors.Join(o.guard(name, packPath(name, ".pack")), flushFile(o.fs, packPath(name, ".pack")), flushFile(o.fs, packPath(name, ".idx")))
		return errors.Join(err, flushFolder(o.fs, packFolder))
	}
	packTemp, indexTemp := o.tempPath("pack"), o.tempPath("idx")
	if err := write(o.fs, 0o444, newFile{packTemp, content}, newFile{indexTemp, index}); err != nil {
		return err
	}
	if err := o.guard(name, packTemp); err != nil {
		o.remove(packTemp, indexTemp)
		return err
	}
	return o.publish(name, packTemp, indexTemp)
}

// publish gives flushed files the names under which git sees them.
func (o *Objects) publish(name, packTemp, indexTemp string) error {
	if err := o.fs.Rename(packTemp, packPath(name, ".pack")); err != nil {
		o.remove(packTemp, indexTemp)
		return err
	}
	if err := o.fs.Rename(indexTemp, packPath(name, ".idx")); err != nil {
		o.remove(indexTemp)
		return err
	}
	return flushFolder(o.fs, packFolder)
}

func (o *Objects) has(name, extension string, size int) bool {
	info, err := o.fs.Stat(packPath(name, extension))
	return err == nil && info.Size() == int64(size)
}

// remove deletes files on the way out of an error, which is what matters.
func (o *Objects) remove(paths ...string) {
	for _, path := range paths {
		_ = o.fs.Remove(path)
	}
}

// guard keeps a pack from being collected. The .keep is another name of the
// pack's own file, which costs the file system next to nothing. One that is
// there already is somebody else's and stays. It is not flushed: after a loss of
// power there is no commit that it could guard.
func (o *Objects) guard(name, file string) error {
	keep := packPath(name, ".keep")
	err := errors.ErrUnsupported
	if fs, can := o.fs.(linker); can {
		err = fs.Link(file, keep)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = o.guardByText(keep)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	o.guarding.Lock()
	o.guarded[name] = true
	o.guarding.Unlock()
	return err
}

// keepText is what a .keep of ours says where files have no second names.
const keepText = "svc: a commit is being made\n"

func (o *Objects) guardByText(keep string) error {
	f, err := o.fs.OpenFile(keep, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(keepText))
	if err = errors.Join(err, f.Close()); err != nil {
		o.remove(keep) // nobody would take it for ours
	}
	return err
}

// Release implements repository.Objects.
func (o *Objects) Release(name string) {
	o.guarding.Lock()
	ours := o.guarded[name]
	delete(o.guarded, name)
	o.guarding.Unlock()
	if ours {
		o.remove(packPath(name, ".keep"))
	}
}

func packPath(name, extension string) string {
	return packFolder + "/pack-" + name + extension
}

// tempPrefix begins the names of files that are being written. Git's chores know
// no such name: what begins with tmp_, git prune removes at once, whoever may be
// writing it. Behind it stands whose file it is. Sweep removes what was left.
const (
	tempPrefix    = "svc-tmp-"
	oldTempPrefix = "tmp_svc_" // of earlier versions
)

func (o *Objects) tempPath(kind string) string {
	return packFolder + "/" + o.tempOwner() + kind + "-" + rand.Text()
}

// tempOwner begins the names of the files that these Objects write.
func (o *Objects) tempOwner() string { return tempPrefix + o.owner + "-" }
