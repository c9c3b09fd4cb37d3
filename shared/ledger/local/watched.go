package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// watchedFile is a file that others may write too. It is read again when it is another
// file than the last time, for which only its identity is compared.
type watchedFile[T any] struct {
	files  filesystem
	path   string
	limit  int64
	decode func(content []byte) (T, error)

	mu   sync.RWMutex
	read atomic.Pointer[cachedFile[T]]
}

// cachedFile is a file that was read, and its content. Until it is closed, no
// other file can have its identity.
type cachedFile[T any] struct {
	info    fs.FileInfo
	held    io.Closer
	content T
	settled bool
}

// settling is the most by which file systems round the time of a change. A file that was
// read so soon after it was changed may change again without another time.
const settling = 50 * time.Millisecond

// is reports whether a file is still the one that was read.
func (s *cachedFile[T]) is(info fs.FileInfo) bool {
	return s.settled && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && os.SameFile(s.info, info)
}

// current returns the file's content, from memory if it is still the file that was read.
func (w *watchedFile[T]) current() (content T, err error) {
	cached, err := w.unchanged()
	if err != nil {
		return content, err
	}
	if cached != nil {
		return cached.content, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if cached, err = w.load(); err != nil {
		return content, err
	}
	if before := w.read.Swap(cached); before != nil {
		before.held.Close()
	}
	return cached.content, nil
}

// unchanged returns what was read last, nil when there is another file now.
func (w *watchedFile[T]) unchanged() (*cachedFile[T], error) {
	w.mu.RLock()
	defer w.mu.RUnlock()
	info, err := w.files.stat(w.path)
	if err != nil {
		return nil, err
	}
	if cached := w.read.Load(); cached != nil && cached.is(info) {
		return cached, nil
	}
	return nil, nil
}

func (w *watchedFile[T]) load() (*cachedFile[T], error) {
	f, err := w.files.open(w.path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	settled := time.Since(info.ModTime()) > settling // before it is read
	text, err := readAll(f, w.limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	content, err := w.decode(text)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &cachedFile[T]{info: info, held: hold(f), content: content, settled: settled}, nil
}

// Close lets go of the file that was read last.
func (w *watchedFile[T]) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if cached := w.read.Swap(nil); cached != nil {
		return cached.held.Close()
	}
	return nil
}
