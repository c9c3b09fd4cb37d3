package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"svc.example/svc/shared/access"
)

const (
	registryName = "registry.json"
	registryMode = 0o600
	maxRegistry  = 64 << 20
)

// Registry is the keys, principals and the record of the workspace in a data
// directory. Several processes may use it at a time.
type Registry struct {
	*access.Registry
	*registryStore
}

func newRegistry(files filesystem, dir string) *Registry {
	store := &registryStore{files: files, dir: dir}
	return &Registry{access.NewRegistry(store, rand.Reader, time.Now), store}
}

// registryStore implements access.Store.
type registryStore struct {
	files filesystem
	dir   string

	mu   sync.RWMutex
	seen *sighting
}

// sighting is a file that was read, and what it held.
type sighting struct {
	info fs.FileInfo
	held io.Closer
	file *registryFile
}

// is says whether a file is still the one that was read.
func (s *sighting) is(info fs.FileInfo) bool {
	return s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && os.SameFile(s.info, info)
}

// OpenRegistry opens the registry of a data directory that another process may
// be serving.
func OpenRegistry(dir string) (*Registry, error) {
	r := newRegistry(filesystem{}, dir)
	if _, err := r.current(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close lets go of the file that was read last.
func (r *registryStore) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		return nil
	}
	held := r.seen.held
	r.seen = nil
	return held.Close()
}

func (r *registryStore) path() string { return filepath.Join(r.dir, registryName) }

// current returns what the file holds now. It reads the file only when it is
// another one than the last time.
func (r *registryStore) current() (*registryFile, error) {
	if found, err := r.unchanged(); found != nil || err != nil {
		return found, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, err := r.look()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.path(), err)
	}
	if r.seen != nil {
		r.seen.held.Close()
	}
	r.seen = seen
	return seen.file, nil
}

func (r *registryStore) unchanged() (*registryFile, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	info, err := r.files.stat(r.path())
	if err != nil {
		return nil, fmt.Errorf("reading the registry: %w", err)
	}
	if r.seen != nil && r.seen.is(info) {
		return r.seen.file, nil
	}
	return nil, nil
}

func (r *registryStore) look() (*sighting, error) {
	f, err := r.files.open(r.path())
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	text, err := readAll(f, maxRegistry)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	content, err := decodeRegistry(text)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sighting{info: info, held: hold(f), file: content}, nil
}

// Load implements access.Store.
func (r *registryStore) Load(context.Context) (access.State, error) {
	current, err := r.current()
	if err != nil {
		return access.State{}, err
	}
	return current.State, nil
}

// Update implements access.Store: it replaces the file by a changed one, under
// the write lock. An edit that fails, or changes nothing, leaves it alone.
func (r *registryStore) Update(ctx context.Context, edit func(access.State) (access.State, access.Entry, error)) error {
	release, err := r.files.lockForWriting(ctx, r.dir)
	if err != nil {
		return fmt.Errorf("editing the registry: %w", err)
	}
	defer release()
	before, err := r.current()
	if err != nil {
		return err
	}
	after, entry, err := edit(before.State)
	if err != nil || after.Version == before.Version {
		return err
	}
	text, err := encodeRegistry(before, after)
	if err != nil {
		return fmt.Errorf("editing the registry: %w", err)
	}
	if err := r.appendEntry(entry); err != nil {
		return err
	}
	return r.write(text)
}

func (r *registryStore) write(text []byte) error {
	if err := r.files.replace(r.path(), text); err != nil {
		return fmt.Errorf("writing the registry: %w", err)
	}
	return nil
}
