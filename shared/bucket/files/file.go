package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"svc.example/svc/shared/bucket"
)

// file is an open file: one that is being written (node), or one version of
// an object.
type file struct {
	files   *Files
	name    string
	flag    int
	node    *node
	version *version
	at      int64
	closed  bool
}

var errNegative = errors.New("there is nothing before the beginning of a file")

// Name implements billy.File.
func (f *file) Name() string { return f.name }

// Lock implements billy.File, and does nothing: see the package's comment.
func (f *file) Lock() error { return nil }

// Unlock implements billy.File.
func (f *file) Unlock() error { return nil }

// may says whether an operation is allowed.
func (f *file) may(op string, forbidden int) error {
	switch {
	case f.closed:
		return failed(op, f.name, fs.ErrClosed)
	case forbidden >= 0 && f.flag&(os.O_RDONLY|os.O_WRONLY|os.O_RDWR) == forbidden:
		return failed(op, f.name, fs.ErrPermission)
	}
	return nil
}

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.readAt(p, f.at)
	f.at += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, offset int64) (int, error) { return f.readAt(p, offset) }

func (f *file) readAt(p []byte, offset int64) (int, error) {
	if err := f.may("read", os.O_WRONLY); err != nil {
		return 0, err
	}
	if offset < 0 {
		return 0, failed("read", f.name, errNegative)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if f.node != nil {
		return f.node.readAt(p, offset)
	}
	n, err := f.version.readAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		err = failed("read", f.name, err)
	}
	return n, err
}

func (n *node) readAt(p []byte, offset int64) (int, error) {
	n.lock.Lock()
	defer n.lock.Unlock()
	if offset >= int64(len(n.text)) {
		return 0, io.EOF
	}
	count := copy(p, n.text[offset:])
	if count < len(p) {
		return count, io.EOF
	}
	return count, nil
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	if err := f.may("write", os.O_RDONLY); err != nil {
		return 0, err
	}
	n := f.node
	n.lock.Lock()
	defer n.lock.Unlock()
	if f.flag&os.O_APPEND != 0 {
		f.at = int64(len(n.text))
	}
	n.resize(max(int64(len(n.text)), f.at+int64(len(p))))
	copy(n.text[f.at:], p)
	f.at += int64(len(p))
	n.dirty, n.modified = true, time.Now()
	return len(p), nil
}

// resize makes the text longer, with zeros, or shorter.
func (n *node) resize(size int64) {
	have := int64(len(n.text))
	if size <= have {
		n.text = n.text[:size]
		return
	}
	n.text = slices.Grow(n.text, int(size-have))[:size]
	clear(n.text[have:])
}

// Seek implements io.Seeker.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	if err := f.may("seek", -1); err != nil {
		return 0, err
	}
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size()
	}
	if offset < 0 {
		return f.at, failed("seek", f.name, errNegative)
	}
	f.at = offset
	return offset, nil
}

func (f *file) size() int64 {
	if f.version != nil {
		return f.version.size
	}
	return f.node.info().size
}

// Truncate implements billy.File.
func (f *file) Truncate(size int64) error {
	if err := f.may("truncate", os.O_RDONLY); err != nil {
		return err
	}
	if size < 0 {
		return failed("truncate", f.name, errNegative)
	}
	f.node.lock.Lock()
	defer f.node.lock.Unlock()
	f.node.resize(size)
	f.node.dirty = true
	return nil
}

// Sync writes what has changed into the bucket.
func (f *file) Sync() error {
	if err := f.may("sync", -1); err != nil {
		return err
	}
	if !f.writes() {
		return nil
	}
	if err := f.node.flush(f.files); err != nil {
		return failed("sync", f.name, err)
	}
	return nil
}

// writes says whether the file was not opened only to be read.
func (f *file) writes() bool { return f.node != nil && f.flag != os.O_RDONLY }

// Close implements io.Closer. What was written is in the bucket when it
// returns without an error.
func (f *file) Close() error {
	if err := f.may("close", -1); err != nil {
		return err
	}
	f.closed = true
	if !f.writes() {
		return nil
	}
	err := f.node.flush(f.files)
	f.files.open.close(f.node)
	if err != nil {
		return failed("close", f.name, err)
	}
	return nil
}

// version is one version of an object, of which parts were read.
type version struct {
	files  *Files
	key    string
	etag   string
	size   int64
	chunks map[int64][]byte // by number
}

const (
	chunk     = 1 << 20 // bytes that are read at once
	maxChunks = 16      // that are kept
)

func (v *version) readAt(p []byte, offset int64) (int, error) {
	read := 0
	for read < len(p) {
		if offset >= v.size {
			return read, io.EOF
		}
		part, err := v.chunk(offset / chunk)
		if err != nil {
			return read, err
		}
		n := copy(p[read:], part[offset%chunk:])
		read, offset = read+n, offset+int64(n)
	}
	return read, nil
}

func (v *version) chunk(number int64) ([]byte, error) {
	if part, ok := v.chunks[number]; ok {
		return part, nil
	}
	length := min(chunk, v.size-number*chunk)
	part, _, err := v.files.bucket.GetRangeOf(v.files.ctx, v.key, v.etag, number*chunk, length)
	if err != nil {
		return nil, err
	}
	if int64(len(part)) != length {
		return nil, bucket.ErrChanged
	}
	if len(v.chunks) == maxChunks {
		clear(v.chunks)
	}
	v.chunks[number] = part
	return part, nil
}
