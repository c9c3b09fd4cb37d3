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
		err := errors.Join(o.guard(name), flushFile(o.fs, packPath(name, ".pack")), flushFile(o.fs, packPath(name, ".idx")))
		return errors.Join(err, flushFolder(o.fs, packFolder))
	}
	done := make(chan error, 2)
	packTemp, indexTemp := tempPath("pack"), tempPath("idx")
	go func() { done <- write(o.fs, packTemp, 0o444, content) }()
	go func() { done <- write(o.fs, indexTemp, 0o444, index) }()
	err := o.guard(name)
	if err = errors.Join(err, <-done, <-done); err != nil {
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

// keepText tells our .keep files from those of others.
const keepText = "svc: a commit is being made\n"

// guard keeps a pack from being collected. A .keep that is there already is
// somebody else's and stays. It is not flushed: after a loss of power there is
// no commit that it could guard.
func (o *Objects) guard(name string) error {
	f, err := o.fs.OpenFile(packPath(name, ".keep"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	o.guarding.Lock()
	o.guarded[name] = true
	o.guarding.Unlock()
	_, err = f.Write([]byte(keepText))
	return errors.Join(err, f.Close())
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

// tempPrefix begins the names of files that are being written. git prune
// takes what begins with tmp_ for a leftover once it is old.
const tempPrefix = "tmp_svc_"

func tempPath(kind string) string {
	return packFolder + "/" + tempPrefix + kind + "_" + rand.Text()
}
