package local

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/semaphore"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/regularfile"
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
	store := &registryStore{files: files, dir: dir, file: &watchedFile[*registryFile]{
		files: files, path: filepath.Join(dir, registryName), limit: maxRegistry, decode: decodeRegistry},
		shared: sharedLock{one: semaphore.NewWeighted(1)}}
	return &Registry{access.NewRegistry(store, rand.Reader, time.Now), store}
}

// registryStore implements access.Store.
type registryStore struct {
	files filesystem
	dir   string
	file  *watchedFile[*registryFile]

	shared sharedLock
}

// lock takes the write lock. Who is done says for how long it is to be kept for the next.
func (r *registryStore) lock(ctx context.Context) (done func(keep time.Duration), err error) {
	return r.shared.take(ctx, func(limit time.Time) (func(), error) { return r.files.lockForWriting(ctx, r.dir, limit) })
}

// OpenRegistry opens the registry of a data directory that another process may
// be serving.
func OpenRegistry(dir string) (*Registry, error) {
	r := newRegistry(filesystem{}, dir)
	_, err := r.current()
	if err = cmp.Or(err, refuseForeign(dir)); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// refuseForeign refuses what is no file where svc writes into one. A data directory may have
// come with other files.
func refuseForeign(dir string) error {
	for _, name := range []string{serveLock, writeLock, writeTurn, auditName, cacheName, cacheName + ".next", filepath.Base(DatabaseIn(dir).Path)} {
		if err := regularfile.Check(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// Close lets go of the file that was read last.
func (r *registryStore) Close() error { return r.file.Close() }

func (r *registryStore) path() string { return filepath.Join(r.dir, registryName) }

// current returns what the file holds now.
func (r *registryStore) current() (*registryFile, error) {
	found, err := r.file.current()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", r.path(), err)
	}
	return found, nil
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
	done, err := r.lock(ctx)
	if err != nil {
		return fmt.Errorf("editing the registry: %w", err)
	}
	defer done(forNext)
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
	if err := r.files.replace(r.path(), text); err != nil {
		return fmt.Errorf("writing the registry: %w", err)
	}
	return nil
}
