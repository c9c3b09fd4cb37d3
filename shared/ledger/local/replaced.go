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

// replaced is a file that others may write too. It is read again when it is another
// one than the last time, which takes a look at its identity and nothing else.
type replaced[T any] struct {
	files  filesystem
	path   string
	limit  int64
	decode func(content []byte) (T, error)

	mu   sync.RWMutex
	seen atomic.Pointer[sighting[T]]
}

// sighting is a file that was read, and what it held. Until it is closed, no
// other file can have its identity.
type sighting[T any] struct {
	info    fs.FileInfo
	held    io.Closer
	content T
	settled bool
}

// settling is the most by which file systems round the time of a change. A file that was
// read so soon after it was changed may change again without another time.
const settling = 50 * time.Millisecond

// is reports whether a file is still the one that was read.
func (s *sighting[T]) is(info fs.FileInfo) bool {
	return s.settled && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && os.SameFile(s.info, info)
}

// current is what the file holds now.
func (r *replaced[T]) current() (content T, err error) {
	seen, err := r.sight()
	if err != nil {
		return content, err
	}
	return seen.content, nil
}

func (r *replaced[T]) sight() (*sighting[T], error) {
	seen, err := r.unchanged()
	if seen != nil || err != nil {
		return seen, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen, err = r.look(); err != nil {
		return nil, err
	}
	if before := r.seen.Swap(seen); before != nil {
		before.held.Close()
	}
	return seen, nil
}

// unchanged is the last sighting, nil when there is another file now.
func (r *replaced[T]) unchanged() (*sighting[T], error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	info, err := r.files.stat(r.path)
	if err != nil {
		return nil, err
	}
	if seen := r.seen.Load(); seen != nil && seen.is(info) {
		return seen, nil
	}
	return nil, nil
}

func (r *replaced[T]) look() (*sighting[T], error) {
	f, err := r.files.open(r.path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	settled := time.Since(info.ModTime()) > settling // before it is read
	text, err := readAll(f, r.limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	content, err := r.decode(text)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sighting[T]{info: info, held: hold(f), content: content, settled: settled}, nil
}

// Close lets go of the file that was read last.
func (r *replaced[T]) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seen := r.seen.Swap(nil); seen != nil {
		return seen.held.Close()
	}
	return nil
}
