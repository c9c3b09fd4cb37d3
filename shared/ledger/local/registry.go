package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
)

const (
	registryName = "registry.json"
	registryMode = 0o600
	maxRegistry  = 64 << 20
)

// Registry is the keys, principals and the record of a workspace. Several
// processes may use it at a time.
type Registry struct {
	files filesystem
	dir   string
	by    string // whose edits these are, for the audit trail

	mu   sync.RWMutex
	seen *sighting
}

// sighting is a file that was read, and what it held.
type sighting struct {
	info   fs.FileInfo
	held   io.Closer
	roster *roster
}

// is says whether a file is still the one that was read.
func (s *sighting) is(info fs.FileInfo) bool {
	return s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && os.SameFile(s.info, info)
}

// OpenRegistry opens the registry of a data directory that another process may
// be serving.
func OpenRegistry(dir string) (*Registry, error) {
	r := &Registry{dir: dir}
	if _, err := r.current(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Close lets go of the file that was read last.
func (r *Registry) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen == nil {
		return nil
	}
	held := r.seen.held
	r.seen = nil
	return held.Close()
}

func (r *Registry) path() string { return filepath.Join(r.dir, registryName) }

// current returns what the file holds now. It reads the file only when it is
// another one than the last time.
func (r *Registry) current() (*roster, error) {
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
	return seen.roster, nil
}

func (r *Registry) unchanged() (*roster, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	info, err := r.files.stat(r.path())
	if err != nil {
		return nil, fmt.Errorf("reading the registry: %w", err)
	}
	if r.seen != nil && r.seen.is(info) {
		return r.seen.roster, nil
	}
	return nil, nil
}

func (r *Registry) look() (*sighting, error) {
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
	content, err := decodeRoster(text)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &sighting{info: info, held: hold(f), roster: content}, nil
}

// Workspace returns the workspace's record.
func (r *Registry) Workspace(context.Context) (control.Workspace, error) {
	found, err := r.current()
	if err != nil {
		return control.Workspace{}, err
	}
	return found.Workspace.workspace(), nil
}

// Principals lists the principals in the order in which they were made.
func (r *Registry) Principals(context.Context) ([]access.Principal, error) {
	found, err := r.current()
	if err != nil {
		return nil, err
	}
	return found.copyPrincipals(), nil
}

// Keys lists the records of all keys, revoked ones too, in the order in which
// they were made.
func (r *Registry) Keys(context.Context) ([]access.KeyRecord, error) {
	found, err := r.current()
	if err != nil {
		return nil, err
	}
	return slices.Clone(found.Keys), nil
}

func (r *roster) copyPrincipals() []access.Principal {
	principals := slices.Clone(r.Principals)
	for i := range principals {
		principals[i].Roles = slices.Clone(principals[i].Roles)
	}
	return principals
}
