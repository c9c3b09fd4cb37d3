package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
)

// replaced is a file that is only ever replaced as a whole, by this process or
// another. It is read again when it is another one than the last time, which
// takes a look at its identity and nothing else.
type replaced[T any] struct {
	files  filesystem
	path   string
	limit  int64
	decode func(content []byte) (T, error)

	mu   sync.RWMutex
	seen *sighting[T]
}

// sighting is a file that was read, and what it held. Until it is closed, no
// other file can have its identity.
type sighting[T any] struct {
	info    fs.FileInfo
	held    io.Closer
	content T
}

// is says whether a file is still the one that was read.
func (s *sighting[T]) is(info fs.FileInfo) bool {
	return s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && os.SameFile(s.info, info)
}

// current is what the file holds now.
func (r *replaced[T]) current() (T, error) {
	content, known, err := r.unchanged()
	if known || err != nil {
		return content, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, err := r.look()
	if err != nil {
		return content, err
	}
	if r.seen != nil {
		r.seen.held.Close()
	}
	r.seen = seen
	return seen.content, nil
}

func (r *replaced[T]) unchanged() (content T, known bool, err error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	info, err := r.files.stat(r.path)
	if err != nil || r.seen == nil || !r.seen.is(info) {
		return content, false, err
	}
	return r.seen.content, true, nil
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
	text, err := readAll(f, r.limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	content, err := r.decode(text)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sighting[T]{info, hold(f), content}, nil
}

// Close lets go of the file that was read last.
func (r *replaced[T]) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		return nil
	}
	held := r.seen.held
	r.seen = nil
	return held.Close()
}
