package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-billy/v5"

	"svc.example/svc/shared/bucket"
)

// node is a file that is being written.
type node struct {
	lock     sync.Mutex
	key      string
	text     []byte
	dirty    bool // not in the bucket as it is here
	removed  bool
	modified time.Time
	// etag is the version that the bucket has to hold when this is written; ""
	// for any.
	etag string
}

func (n *node) info() info {
	n.lock.Lock()
	defer n.lock.Unlock()
	return info{name: path.Base(n.key), size: int64(len(n.text)), modified: n.modified}
}

// flush writes the file back.
func (n *node) flush(f *Files) error {
	n.lock.Lock()
	defer n.lock.Unlock()
	if !n.dirty || n.removed {
		return nil
	}
	var etag string
	var err error
	switch content := bucket.Bytes(n.text); {
	case n.etag != "":
		etag, err = f.bucket.Replace(f.ctx, n.key, n.etag, content)
	default:
		etag, err = f.bucket.Put(f.ctx, n.key, content)
	}
	if err == nil {
		n.etag, n.dirty = etag, false
	}
	return err
}

// writers are the files that are being written, which the bucket does not show
// yet.
type writers struct {
	lock  sync.Mutex
	byKey map[string][]*node
}

func (w *writers) add(n *node) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.byKey[n.key] = append(w.byKey[n.key], n)
}

// last is the file at a key that has changed in a way which the bucket does
// not show yet; of several, the one that was opened last.
func (w *writers) last(key string) *node {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, n := range slices.Backward(w.byKey[key]) {
		if n.isDirty() {
			return n
		}
	}
	return nil
}

func (n *node) isDirty() bool {
	n.lock.Lock()
	defer n.lock.Unlock()
	return n.dirty
}

func (w *writers) close(n *node) {
	w.lock.Lock()
	defer w.lock.Unlock()
	w.drop(n)
}

func (w *writers) drop(n *node) {
	nodes := w.byKey[n.key]
	for i, other := range nodes {
		if other == n {
			nodes = append(nodes[:i:i], nodes[i+1:]...)
			break
		}
	}
	if w.byKey[n.key] = nodes; len(nodes) == 0 {
		delete(w.byKey, n.key)
	}
}

// remove makes what is written to open files go nowhere.
func (w *writers) remove(key string) (any bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for _, n := range w.byKey[key] {
		any = true
		n.lock.Lock()
		n.removed = true
		n.lock.Unlock()
	}
	delete(w.byKey, key)
	return any
}

// move gives open files another key, at which others may be open: these are
// hidden now by what has come in their place.
func (w *writers) move(from, to string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	moved := w.byKey[from]
	delete(w.byKey, from)
	delete(w.byKey, to)
	for _, n := range moved {
		n.lock.Lock()
		n.key, n.etag = to, "" // the copy is another version
		n.lock.Unlock()
		w.byKey[to] = append(w.byKey[to], n)
	}
}

// in returns the open files in a folder.
func (w *writers) in(folder string) []os.FileInfo {
	w.lock.Lock()
	defer w.lock.Unlock()
	var found []os.FileInfo
	for key, nodes := range w.byKey {
		if name, ok := strings.CutPrefix(key, folder); ok && !strings.Contains(name, "/") {
			if last := nodes[len(nodes)-1]; last.isDirty() {
				found = append(found, last.info())
			}
		}
	}
	return found
}

// below says whether a file is open anywhere in a folder.
func (w *writers) below(folder string) bool {
	w.lock.Lock()
	defer w.lock.Unlock()
	for key := range w.byKey {
		if strings.HasPrefix(key, folder) {
			return true
		}
	}
	return false
}

// Create implements billy.Basic.
func (f *Files) Create(name string) (billy.File, error) {
	return f.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o666)
}

// Open implements billy.Basic.
func (f *Files) Open(name string) (billy.File, error) {
	return f.OpenFile(name, os.O_RDONLY, 0)
}

// OpenFile implements billy.Basic. The mode is not kept.
func (f *Files) OpenFile(name string, flag int, _ os.FileMode) (billy.File, error) {
	key, err := f.key("open", name)
	if err != nil {
		return nil, err
	}
	if flag&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC) == 0 {
		file, err := f.read(name, key)
		if err != nil {
			return nil, failed("open", name, err)
		}
		return file, nil
	}
	n, err := f.node(key, flag)
	if err != nil {
		return nil, failed("open", name, err)
	}
	return f.write(name, n, flag), nil
}

// read opens a file for reading: one that is being written here as it grows,
// else one version of what is in the bucket.
func (f *Files) read(name, key string) (billy.File, error) {
	if n := f.open.last(key); n != nil {
		return &file{files: f, name: name, node: n, flag: os.O_RDONLY}, nil
	}
	v := &version{files: f, key: key, chunks: map[int64][]byte{}}
	first, found, err := f.bucket.GetRange(f.ctx, key, 0, chunk)
	if err != nil {
		return nil, err
	}
	v.etag, v.size, v.chunks[0] = found.ETag, found.Size, first
	return &file{files: f, name: name, version: v, flag: os.O_RDONLY}, nil
}

func (f *Files) write(name string, n *node, flag int) *file {
	f.open.add(n)
	return &file{files: f, name: name, node: n, flag: flag}
}

// node begins to write a file, as the flags want it.
func (f *Files) node(key string, flag int) (*node, error) {
	n := &node{key: key, modified: time.Now()}
	create := flag&os.O_CREATE != 0
	switch {
	case create && flag&os.O_EXCL != 0:
		if f.open.last(key) != nil {
			return nil, fs.ErrExist
		}
		etag, err := f.bucket.Create(f.ctx, key, bucket.Bytes(nil)) // takes the name
		n.etag = etag
		return n, err
	case create && flag&os.O_TRUNC != 0:
		n.dirty = true
		return n, nil
	case flag&os.O_TRUNC != 0:
		_, err := f.bucket.Stat(f.ctx, key)
		n.dirty = true
		return n, err
	}
	var err error
	for range 3 { // somebody may remove or create it in between
		var found bucket.Info
		if n.text, found, err = f.bucket.Get(f.ctx, key); err == nil {
			n.etag = found.ETag
			return n, nil
		}
		if !create || !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if n.etag, err = f.bucket.Create(f.ctx, key, bucket.Bytes(nil)); !errors.Is(err, fs.ErrExist) {
			return n, err
		}
	}
	return nil, err
}
