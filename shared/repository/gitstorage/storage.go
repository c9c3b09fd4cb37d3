// Package gitstorage shows a workspace's repository to go-git: a
// storage.Storer whose objects come from the object database and whose branch
// is the ledger's head, so that git.Open(storage, worktree) can log, compare and
// check out.
//
// What must stay true:
//
//   - It only reads. Objects are written by package repository, and the head
//     moves in the ledger; what go-git would write is ErrReadOnly, unless it is
//     so already. Configuration, index and shallow commits are in memory.
//   - It may be used by several goroutines at once, which go-git's own storage
//     may not. One object is read at a time, and bounded as package odb has it.
//
// It links no more of go-git than its formats: who opens it brings the rest. svc and
// svcadmin do not: they write a work tree by package checkout, since go-git's own
// brings transports and signatures along. It is for Go programs that want more of a
// workspace's history than the API tells, and for tests, which hold both against git.
package gitstorage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/storage"
	"github.com/go-git/go-git/v5/storage/memory"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
)

// ErrReadOnly: commits are made by package repository, and the ledger moves the
// head.
var ErrReadOnly = errors.New("this view of the repository is only read")

// Storage implements storage.Storer.
type Storage struct {
	memory.ConfigStorage
	memory.IndexStorage
	memory.ShallowStorage

	ctx     context.Context // go-git's methods have none
	objects *odb.Objects
	head    func() (string, error)

	reading sync.Mutex
	reader  *odb.Reader
}

var _ storage.Storer = (*Storage)(nil)

// New shows the objects of a repository and the commit that its branch main
// names, "" while there is none. It ends with the context; the caller closes it.
func New(ctx context.Context, objects *odb.Objects, head func() (string, error)) *Storage {
	return &Storage{ctx: ctx, objects: objects, head: head, reader: objects.Reader(ctx)}
}

// At is a head that stays.
func At(commit string) func() (string, error) {
	return func() (string, error) { return commit, nil }
}

// MaxBlob lets blobs of up to so many bytes be read; object.MaxBlob else.
func (s *Storage) MaxBlob(most int64) { s.reader.MaxBlob(most) }

// Close lets go of what was opened.
func (s *Storage) Close() {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.reader.Close()
}

func (s *Storage) read(id plumbing.Hash) (plumbing.ObjectType, []byte, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	kind, content, err := s.reader.Read(id)
	if lost := (*object.Lost)(nil); errors.As(err, &lost) && !lost.Damaged {
		return 0, nil, plumbing.ErrObjectNotFound
	}
	if err != nil {
		return 0, nil, err
	}
	t, err := plumbing.ParseObjectType(string(kind))
	return t, content, err
}

// EncodedObject implements storer.EncodedObjectStorer.
func (s *Storage) EncodedObject(want plumbing.ObjectType, id plumbing.Hash) (plumbing.EncodedObject, error) {
	t, content, err := s.read(id)
	if err != nil {
		return nil, err
	}
	if want != plumbing.AnyObject && want != t {
		return nil, plumbing.ErrObjectNotFound
	}
	o := &plumbing.MemoryObject{}
	o.SetType(t)
	_, err = o.Write(content)
	return o, err
}

// HasEncodedObject implements storer.EncodedObjectStorer.
func (s *Storage) HasEncodedObject(id plumbing.Hash) error {
	_, _, err := s.read(id)
	return err
}

// EncodedObjectSize implements storer.EncodedObjectStorer.
func (s *Storage) EncodedObjectSize(id plumbing.Hash) (int64, error) {
	_, content, err := s.read(id)
	return int64(len(content)), err
}

// IterEncodedObjects implements storer.EncodedObjectStorer, for the objects in
// packs.
func (s *Storage) IterEncodedObjects(want plumbing.ObjectType) (storer.EncodedObjectIter, error) {
	err := s.ctx.Err()
	if err == nil {
		err = s.objects.Refresh(s.ctx)
	}
	if err != nil {
		return nil, err
	}
	met := map[plumbing.Hash]bool{}
	var ids []plumbing.Hash
	for _, p := range s.objects.Packs() {
		for i := range p.Index.Len() {
			if id := p.Index.ID(i); !met[id] {
				met[id], ids = true, append(ids, id)
			}
		}
	}
	return &iter{s, want, ids}, nil
}

type iter struct {
	storage *Storage
	want    plumbing.ObjectType
	ids     []plumbing.Hash
}

func (i *iter) Next() (plumbing.EncodedObject, error) {
	for len(i.ids) > 0 {
		id := i.ids[0]
		i.ids = i.ids[1:]
		if o, err := i.storage.EncodedObject(i.want, id); !errors.Is(err, plumbing.ErrObjectNotFound) {
			return o, err
		}
	}
	return nil, io.EOF
}

func (i *iter) ForEach(do func(plumbing.EncodedObject) error) error {
	return storer.ForEachIterator(i, do)
}

func (i *iter) Close() { i.ids = nil }

// NewEncodedObject implements storer.EncodedObjectStorer.
func (s *Storage) NewEncodedObject() plumbing.EncodedObject { return &plumbing.MemoryObject{} }

// SetEncodedObject implements storer.EncodedObjectStorer.
func (s *Storage) SetEncodedObject(o plumbing.EncodedObject) (plumbing.Hash, error) {
	return o.Hash(), ErrReadOnly
}

// AddAlternate implements storer.EncodedObjectStorer.
func (s *Storage) AddAlternate(string) error { return ErrReadOnly }

const main = plumbing.ReferenceName("refs/heads/main")

// Reference implements storer.ReferenceStorer.
func (s *Storage) Reference(name plumbing.ReferenceName) (*plumbing.Reference, error) {
	switch name {
	case plumbing.HEAD:
		return plumbing.NewSymbolicReference(plumbing.HEAD, main), nil
	case main:
		commit, err := s.head()
		if err == nil && commit == "" {
			err = plumbing.ErrReferenceNotFound
		}
		if err == nil && !object.IsID(commit) {
			err = fmt.Errorf("%q is no id of a commit", commit)
		}
		if err != nil {
			return nil, err
		}
		return plumbing.NewHashReference(main, object.ParseID(commit)), nil
	}
	return nil, plumbing.ErrReferenceNotFound
}

// IterReferences implements storer.ReferenceStorer.
func (s *Storage) IterReferences() (storer.ReferenceIter, error) {
	var all []*plumbing.Reference
	for _, name := range []plumbing.ReferenceName{plumbing.HEAD, main} {
		r, err := s.Reference(name)
		if err == nil {
			all = append(all, r)
		} else if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return nil, err
		}
	}
	return storer.NewReferenceSliceIter(all), nil
}

// SetReference implements storer.ReferenceStorer.
func (s *Storage) SetReference(r *plumbing.Reference) error {
	is, err := s.Reference(r.Name())
	if err == nil && is.Strings() == r.Strings() {
		return nil
	}
	return ErrReadOnly
}

// CheckAndSetReference implements storer.ReferenceStorer.
func (s *Storage) CheckAndSetReference(r, _ *plumbing.Reference) error { return s.SetReference(r) }

// RemoveReference implements storer.ReferenceStorer.
func (s *Storage) RemoveReference(plumbing.ReferenceName) error { return ErrReadOnly }

// CountLooseRefs implements storer.ReferenceStorer.
func (s *Storage) CountLooseRefs() (int, error) { return 0, nil }

// PackRefs implements storer.ReferenceStorer.
func (s *Storage) PackRefs() error { return nil }

// Module implements storage.ModuleStorer. A submodule is a repository of its
// own, which is not here.
func (s *Storage) Module(string) (storage.Storer, error) { return memory.NewStorage(), nil }
