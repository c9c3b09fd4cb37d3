package files

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-git/go-billy/v5"

	"svc.example/svc/shared/bucket"
)

// Files is a file system in a bucket. It is safe for concurrent use; its files
// are not.
type Files struct {
	ctx    context.Context
	bucket *bucket.Bucket
	root   string // the prefix of all keys: "" or ends with a slash
	open   *writers
}

var (
	_ billy.Filesystem = (*Files)(nil)
	_ billy.Capable    = (*Files)(nil)
)

// New returns the file system below a prefix of a bucket.
func New(ctx context.Context, b *bucket.Bucket, prefix string) *Files {
	root := strings.Trim(path.Clean("/"+prefix), "/")
	if root != "" {
		root += "/"
	}
	return &Files{ctx: ctx, bucket: b, root: root, open: &writers{byKey: map[string][]*node{}}}
}

// In returns the same file system with another context.
func (f *Files) In(ctx context.Context) *Files {
	g := *f
	g.ctx = ctx
	return &g
}

// Capabilities implements billy.Capable: all but locks.
func (f *Files) Capabilities() billy.Capability {
	return billy.AllCapabilities &^ billy.LockCapability
}

// clean returns the path below the root, "" for the root itself.
func clean(name string) (string, error) {
	name = path.Clean(filepath.ToSlash(name))
	if name == ".." || strings.HasPrefix(name, "../") {
		return "", billy.ErrCrossedBoundary
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "/"), "."+"/"), nil
}

// key returns the key of a file; the root has none.
func (f *Files) key(op, name string) (string, error) {
	name, err := clean(name)
	if err == nil && (name == "" || name == ".") {
		err = syscall.EISDIR
	}
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	return f.root + name, nil
}

// folder returns the prefix of what lies in a folder.
func (f *Files) folder(op, name string) (string, error) {
	cleaned, err := clean(name)
	if err != nil {
		return "", &fs.PathError{Op: op, Path: name, Err: err}
	}
	if cleaned == "" || cleaned == "." {
		return f.root, nil
	}
	return f.root + cleaned + "/", nil
}

// failed is an error as package os has them: os.IsNotExist and os.IsExist know
// only the plain ones.
func failed(op, name string, err error) error {
	for _, plain := range []error{fs.ErrNotExist, fs.ErrExist} {
		if errors.Is(err, plain) {
			err = plain
		}
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// Join implements billy.Basic.
func (f *Files) Join(elem ...string) string { return path.Join(elem...) }

// Root implements billy.Chroot.
func (f *Files) Root() string { return "/" + strings.TrimSuffix(f.root, "/") }

// Chroot implements billy.Chroot.
func (f *Files) Chroot(name string) (billy.Filesystem, error) {
	root, err := f.folder("chroot", name)
	if err != nil {
		return nil, err
	}
	g := *f
	g.root = root
	return &g, nil
}

// info implements os.FileInfo.
type info struct {
	name     string
	size     int64
	modified time.Time
	folder   bool
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.folder }
func (i info) Sys() any           { return nil }
func (i info) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

// Lstat implements billy.Symlink. There are no links.
func (f *Files) Lstat(name string) (os.FileInfo, error) { return f.Stat(name) }

// Symlink implements billy.Symlink.
func (f *Files) Symlink(_, link string) error {
	return &fs.PathError{Op: "symlink", Path: link, Err: billy.ErrNotSupported}
}

// Readlink implements billy.Symlink.
func (f *Files) Readlink(link string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: link, Err: billy.ErrNotSupported}
}

// Stat implements billy.Basic.
func (f *Files) Stat(name string) (os.FileInfo, error) {
	folder, err := f.folder("stat", name)
	if err != nil {
		return nil, err
	}
	if folder == f.root {
		return info{name: "/", folder: true}, nil
	}
	key := strings.TrimSuffix(folder, "/")
	if n := f.open.last(key); n != nil {
		return n.info(), nil
	}
	found, err := f.bucket.Stat(f.ctx, key)
	if err == nil {
		return info{name: path.Base(key), size: found.Size, modified: found.Modified}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, failed("stat", name, err)
	}
	below, err := f.bucket.Any(f.ctx, folder, 1)
	if err != nil {
		return nil, failed("stat", name, err)
	}
	if len(below) == 0 && !f.open.below(folder) {
		return nil, failed("stat", name, fs.ErrNotExist)
	}
	return info{name: path.Base(key), folder: true}, nil
}

// ReadDir implements billy.Dir.
func (f *Files) ReadDir(name string) ([]os.FileInfo, error) {
	folder, err := f.folder("readdir", name)
	if err != nil {
		return nil, err
	}
	found := map[string]os.FileInfo{}
	exists := folder == f.root
	for entry, err := range f.bucket.Folder(f.ctx, folder) {
		if err != nil {
			return nil, failed("readdir", name, err)
		}
		exists = true
		if entry.Key != folder { // else the folder's own object
			base := path.Base(entry.Key)
			if _, shadowed := found[base]; !shadowed || !entry.Folder {
				found[base] = info{name: base, size: entry.Size, modified: entry.Modified, folder: entry.Folder}
			}
		}
	}
	for _, n := range f.open.in(folder) {
		exists = true
		found[n.Name()] = n
	}
	if !exists {
		return nil, failed("readdir", name, fs.ErrNotExist)
	}
	all := make([]os.FileInfo, 0, len(found))
	for _, one := range found {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b os.FileInfo) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// MkdirAll implements billy.Dir.
func (f *Files) MkdirAll(name string, _ os.FileMode) error {
	folder, err := f.folder("mkdir", name)
	if err != nil {
		return err
	}
	at := f.root
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(folder, f.root), "/"), "/") {
		if part == "" {
			continue
		}
		at += part
		if _, err := f.bucket.Stat(f.ctx, at); err == nil {
			return failed("mkdir", name, syscall.ENOTDIR)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return failed("mkdir", name, err)
		}
		at += "/"
		if _, err := f.bucket.Create(f.ctx, at, bucket.Bytes(nil)); err != nil && !errors.Is(err, fs.ErrExist) {
			return failed("mkdir", name, err)
		}
	}
	return nil
}

// Remove implements billy.Basic. A folder must be empty.
func (f *Files) Remove(name string) error {
	key, err := f.key("remove", name)
	if err != nil {
		return err
	}
	wasOpen := f.open.remove(key)
	_, err = f.bucket.Stat(f.ctx, key)
	switch {
	case err == nil:
		err = f.bucket.Delete(f.ctx, key)
	case errors.Is(err, fs.ErrNotExist) && wasOpen:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		err = f.removeFolder(key + "/")
	}
	if err != nil {
		return failed("remove", name, err)
	}
	return nil
}

func (f *Files) removeFolder(folder string) error {
	below, err := f.bucket.Any(f.ctx, folder, 2)
	switch {
	case err != nil:
		return err
	case len(below) == 0:
		return fs.ErrNotExist
	case len(below) > 1 || below[0].Key != folder || f.open.below(folder):
		return syscall.ENOTEMPTY
	}
	return f.bucket.Delete(f.ctx, folder)
}

// Rename implements billy.Basic, for files.
func (f *Files) Rename(from, to string) error {
	oldKey, err := f.key("rename", from)
	if err != nil {
		return err
	}
	newKey, err := f.key("rename", to)
	if err != nil {
		return err
	}
	if err := f.rename(oldKey, newKey); err != nil {
		return failed("rename", from, err)
	}
	return nil
}

func (f *Files) rename(from, to string) error {
	if n := f.open.last(from); n != nil {
		if err := n.flush(f); err != nil {
			return err
		}
	}
	if from == to {
		_, err := f.bucket.Stat(f.ctx, from)
		return err
	}
	err := f.bucket.Copy(f.ctx, from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if below, anyErr := f.bucket.Any(f.ctx, from+"/", 1); anyErr == nil && len(below) > 0 {
			return fmt.Errorf("folders cannot be renamed: %w", billy.ErrNotSupported)
		}
	}
	if err != nil {
		return err
	}
	f.open.move(from, to)
	return f.bucket.Delete(f.ctx, from)
}

// TempFile implements billy.TempFile. Nobody else finds the file before it is
// closed.
func (f *Files) TempFile(dir, prefix string) (billy.File, error) {
	name := f.Join(dir, prefix+rand.Text())
	key, err := f.key("open", name)
	if err != nil {
		return nil, err
	}
	return f.write(name, &node{key: key, dirty: true, modified: time.Now()}, os.O_RDWR), nil
}
