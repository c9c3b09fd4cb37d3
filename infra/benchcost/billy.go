package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	slash "path"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/memfs"

	"svc.example/svc/shared/bucket"
)

// bucketFS is a billy.Filesystem in a bucket with as few requests as go-git's
// storage lets it have: a file is read whole when it is opened, and written when
// it is closed; folders need none. It promises nothing to several writers.
type bucketFS struct {
	ctx    context.Context
	bucket *bucket.Bucket
	root   string
}

var _ billy.Filesystem = bucketFS{}

func (b bucketFS) key(name string) string { return slash.Join(b.root, name) }

// plain is an error as package os has them: os.IsNotExist knows only those.
func plain(op, name string, err error) error {
	for _, known := range []error{fs.ErrNotExist, fs.ErrExist} {
		if errors.Is(err, known) {
			err = &fs.PathError{Op: op, Path: name, Err: known}
		}
	}
	return err
}

// openFile is an open file.
type openFile struct {
	billy.File
	in    bucketFS
	name  string
	flag  int
	dirty bool
}

func (m *openFile) Name() string { return m.name }

func (m *openFile) Write(p []byte) (int, error) {
	m.dirty = true
	return m.File.Write(p)
}

func (m *openFile) Truncate(size int64) error {
	m.dirty = true
	return m.File.Truncate(size)
}

func (m *openFile) Close() error {
	if m.dirty {
		_, err := m.File.Seek(0, io.SeekStart)
		var content []byte
		if err == nil {
			content, err = io.ReadAll(m.File)
		}
		if err == nil && m.flag&os.O_EXCL != 0 {
			_, err = m.in.bucket.Create(m.in.ctx, m.in.key(m.name), bucket.Bytes(content))
		} else if err == nil {
			_, err = m.in.bucket.Put(m.in.ctx, m.in.key(m.name), bucket.Bytes(content))
		}
		if err != nil {
			return plain("close", m.name, err)
		}
	}
	return m.File.Close()
}

func (b bucketFS) OpenFile(name string, flag int, mode os.FileMode) (billy.File, error) {
	m := &openFile{in: b, name: name, flag: flag, dirty: flag&(os.O_CREATE|os.O_TRUNC) != 0}
	var content []byte
	if flag&(os.O_TRUNC|os.O_EXCL) == 0 {
		var err error
		if content, _, err = b.bucket.Get(b.ctx, b.key(name)); err == nil {
			m.dirty = false
		} else if flag&os.O_CREATE == 0 || !errors.Is(err, fs.ErrNotExist) {
			return nil, plain("open", name, err)
		}
	}
	var err error
	if m.File, err = memfs.New().OpenFile("file", os.O_RDWR|os.O_CREATE|flag&os.O_APPEND, mode); err == nil && len(content) > 0 {
		if _, err = m.File.Write(content); err == nil {
			_, err = m.File.Seek(0, io.SeekStart)
		}
	}
	return m, err
}

func (b bucketFS) Create(name string) (billy.File, error) {
	return b.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

func (b bucketFS) Open(name string) (billy.File, error) { return b.OpenFile(name, os.O_RDONLY, 0) }

func (b bucketFS) TempFile(dir, prefix string) (billy.File, error) {
	return b.Create(slash.Join(dir, prefix+rand.Text()))
}

type info struct{ bucket.Info }

func (i info) Name() string       { return slash.Base(i.Key) }
func (i info) Size() int64        { return i.Info.Size }
func (i info) Mode() fs.FileMode  { return 0o644 }
func (i info) ModTime() time.Time { return i.Modified }
func (i info) IsDir() bool        { return i.Folder }
func (i info) Sys() any           { return nil }

func (b bucketFS) Stat(name string) (os.FileInfo, error) {
	found, err := b.bucket.Stat(b.ctx, b.key(name))
	return info{found}, plain("stat", name, err)
}

func (b bucketFS) Lstat(name string) (os.FileInfo, error) { return b.Stat(name) }

func (b bucketFS) ReadDir(name string) ([]os.FileInfo, error) {
	var all []os.FileInfo
	for found, err := range b.bucket.Folder(b.ctx, b.key(name)+"/") {
		if err != nil {
			return nil, plain("readdir", name, err)
		}
		all = append(all, info{found})
	}
	return all, nil
}

func (b bucketFS) Rename(from, to string) error {
	err := b.bucket.Copy(b.ctx, b.key(from), b.key(to))
	if err == nil {
		err = b.bucket.Delete(b.ctx, b.key(from))
	}
	return plain("rename", from, err)
}

func (b bucketFS) Remove(name string) error {
	return plain("remove", name, b.bucket.Delete(b.ctx, b.key(name)))
}

func (b bucketFS) MkdirAll(string, os.FileMode) error { return nil }

func (b bucketFS) Join(elem ...string) string { return slash.Join(elem...) }

func (b bucketFS) Root() string { return b.root }

func (b bucketFS) Chroot(name string) (billy.Filesystem, error) {
	b.root = b.key(name)
	return b, nil
}

func (b bucketFS) Symlink(string, string) error { return billy.ErrNotSupported }

func (b bucketFS) Readlink(string) (string, error) { return "", billy.ErrNotSupported }
