package odb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// FS is the file system that an object database lies in: billy's calls, as few
// as it takes, with a context each, since one may be a request over a network.
// Paths are relative and have slashes. A file that is not there is
// fs.ErrNotExist; a store that is overloaded is repository.ErrBusy.
//
// One that is also an Opener is a disk; else it is a Ranger.
type FS interface {
	// ReadFile returns a whole file.
	ReadFile(ctx context.Context, path string) ([]byte, error)
	// ReadDir lists the files of a folder.
	ReadDir(ctx context.Context, path string) ([]fs.FileInfo, error)
	// TempFile begins a pack whose name will be known at its end.
	TempFile(ctx context.Context) (TempFile, error)
	// PutPack stores a pack and its index under the pack's name, durably, unless
	// they are there already. The content may be a TempFile, which is used up.
	PutPack(ctx context.Context, name string, content io.ReadSeeker, index []byte) error
}

// TempFile is a file that nobody else sees. Close removes it, unless it became
// a pack.
type TempFile interface {
	io.Writer
	io.ReadSeeker
	io.Closer
}

// Opener is a file system in which opening a file costs next to nothing. It may
// hold loose objects.
type Opener interface {
	Open(path string) (pack.Bytes, error)
}

// Ranger is a file system in which each read is a request over a network. What
// was read is kept, and what lies close together is read at once.
type Ranger interface {
	// ReadRange returns the bytes of a file from an offset on: as many as there
	// are, at most length.
	ReadRange(ctx context.Context, path string, offset, length int64) ([]byte, error)
}

// Objects are the objects of one repository.
type Objects struct {
	fs     FS
	opener Opener // of opener and ranger one is nil
	ranger Ranger
	// which tells the names of the packs, the ones used most first.
	which func(context.Context) ([]string, error)
	packs cache
	most  int64 // see Within
}

// New returns the objects in a file system. Which tells the names of all packs
// that hold them; nil lists the folder of packs, which on a Ranger only a tool
// or a test should do.
func New(files FS, which func(context.Context) ([]string, error)) *Objects {
	o := &Objects{fs: files, which: which, packs: cache{asking: make(chan struct{}, 1)}}
	o.packs.list.Store(&listing{})
	o.opener, _ = files.(Opener)
	if o.opener == nil {
		o.ranger = files.(Ranger)
		o.packs.most = maxCached
	}
	return o
}

// Within bounds, before the first use, the bytes of a workspace that Tree reads.
// More is repository.TooLarge, of which hardly more than that is read; 0 is no
// bound.
func (o *Objects) Within(most int64) { o.most = most }

// AtOnce bounds the reads of one task that are under way at a time.
const AtOnce = 16

// PackFolder is where packs lie.
const PackFolder = "objects/pack"

// PackPath is the path of a pack's file: its extension is .pack, .idx or
// another of git's.
func PackPath(name, extension string) string {
	if strings.HasPrefix(name, loosePrefix) {
		return PackFolder + "/" + name + extension
	}
	return PackFolder + "/pack-" + name + extension
}

// loosePrefix begins the names of the packs that git maintenance makes of loose objects,
// where those of all others begin with pack-.
const loosePrefix = "loose-"

// PutPack implements repository.Objects.
func (o *Objects) PutPack(ctx context.Context, name string, content, index []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !object.IsID(name) {
		return fmt.Errorf("%q is no name of a pack: %d hexadecimal digits", name, object.IDLength)
	}
	x, err := pack.ParseIndex(index)
	if err != nil {
		return err
	}
	if err := o.fs.PutPack(ctx, name, bytes.NewReader(content), index); err != nil {
		return fmt.Errorf("storing pack %s: %w", name, err)
	}
	o.packs.add(newPack(name, x, int64(len(content))))
	return nil
}
