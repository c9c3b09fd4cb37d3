package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository/object"
)

// naive is the same workspace in go-git's stock storage on a bucket: loose
// objects and a branch. Each operation opens it again, as whoever else may have
// written asks for.
type naive struct {
	*service
	ctx    context.Context
	bucket *bucket.Bucket
	serial int
}

const (
	branch = plumbing.ReferenceName("refs/heads/main")
	folder = "feature-flags"
)

func newNaive(ctx context.Context, s *service) (*naive, error) {
	_, objects, err := s.Clients(ctx)
	if err != nil {
		return nil, err
	}
	own := *s
	own.counter = newCounter(nil)
	counted := s3.New(objects.Options(), func(o *s3.Options) { o.APIOptions = append(o.APIOptions, own.counter.options()...) })
	n := &naive{service: &own, ctx: ctx, bucket: bucket.New(counted, s.Bucket)}
	storage := n.open()
	if err := storage.Init(); err != nil {
		return nil, err
	}
	if err := storage.SetReference(plumbing.NewSymbolicReference(plumbing.HEAD, branch)); err != nil {
		return nil, err
	}
	contents := map[string][]byte{}
	for i := range s.documents {
		contents[name(i)+".json"] = document(i, 0)
	}
	return n, n.commit(storage, contents)
}

// stock is go-git's storage with the encodings of git's objects.
type stock struct{ *filesystem.Storage }

func (n *naive) open() stock {
	return stock{filesystem.NewStorage(bucketFS{n.ctx, n.bucket, "naive"}, cache.NewObjectLRUDefault())}
}

func (s stock) put(kind plumbing.ObjectType, content []byte) (string, error) {
	o := s.NewEncodedObject()
	o.SetType(kind)
	w, err := o.Writer()
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", err
	}
	id, err := s.SetEncodedObject(o)
	return id.String(), err
}

func (s stock) get(kind plumbing.ObjectType, id string) ([]byte, error) {
	o, err := s.EncodedObject(kind, plumbing.NewHash(id))
	if err != nil {
		return nil, err
	}
	r, err := o.Reader()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(r)
	return content, errors.Join(err, r.Close())
}

// head is the id of the branch's commit; "" when there is none.
func (s stock) head() (string, error) {
	ref, err := s.Reference(branch)
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", nil
	} else if err != nil {
		return "", err
	}
	return ref.Hash().String(), nil
}

// at reads a commit and the folder of flags in it.
func (s stock) at(id string) (c object.Commit, flags []object.TreeEntry, err error) {
	content, err := s.get(plumbing.CommitObject, id)
	if err == nil {
		c, err = object.DecodeCommit(content)
	}
	if err != nil {
		return c, nil, err
	}
	root, err := s.tree(c.Tree.String())
	if err == nil {
		flags, err = s.tree(root[0].ID.String())
	}
	return c, flags, err
}

func (s stock) tree(id string) ([]object.TreeEntry, error) {
	content, err := s.get(plumbing.TreeObject, id)
	if err != nil {
		return nil, err
	}
	return object.DecodeTree(content)
}

// commit writes files of the folder, and moves the branch if it still is where
// it was.
func (n *naive) commit(s stock, contents map[string][]byte) error {
	parent, err := s.head()
	if err != nil {
		return err
	}
	var flags []object.TreeEntry
	if parent != "" {
		if _, flags, err = s.at(parent); err != nil {
			return err
		}
	}
	for name, content := range contents {
		id, err := s.put(plumbing.BlobObject, content)
		if err != nil {
			return err
		}
		flags = slices.DeleteFunc(flags, func(e object.TreeEntry) bool { return e.Name == name })
		flags = append(flags, object.TreeEntry{Mode: object.ModeFile, Name: name, ID: object.ParseID(id)})
	}
	slices.SortFunc(flags, func(a, b object.TreeEntry) int { return strings.Compare(a.Name, b.Name) })
	return n.land(s, parent, flags)
}

func (n *naive) land(s stock, parent string, flags []object.TreeEntry) error {
	by := signature()
	c := object.Commit{Author: by, Committer: by, Message: fmt.Sprintln("commit", n.serial)}
	var from *plumbing.Reference
	if parent != "" {
		c.Parents, from = []object.ID{object.ParseID(parent)}, plumbing.NewHashReference(branch, plumbing.NewHash(parent))
	}
	tree, err := s.putTree(flags)
	if err == nil {
		c.Tree, err = s.putTree([]object.TreeEntry{{Mode: object.ModeFolder, Name: folder, ID: tree}})
	}
	if err != nil {
		return err
	}
	id, err := s.put(plumbing.CommitObject, object.EncodeCommit(c))
	if err != nil {
		return err
	}
	return s.CheckAndSetReference(plumbing.NewHashReference(branch, plumbing.NewHash(id)), from)
}

func (s stock) putTree(entries []object.TreeEntry) (object.ID, error) {
	id, err := s.put(plumbing.TreeObject, object.EncodeTree(entries))
	return object.ParseID(id), err
}

// read reads some files at the head.
func (n *naive) read(wanted int) error {
	s := n.open()
	id, err := s.head()
	if err != nil {
		return err
	}
	_, flags, err := s.at(id)
	if err != nil {
		return err
	}
	for _, e := range flags[:wanted] {
		if _, err := s.get(plumbing.BlobObject, e.ID.String()); err != nil {
			return err
		}
	}
	return nil
}

// history walks back from the head to the first commit, in search of those that
// changed a flag.
func (n *naive) history() error {
	s := n.open()
	id, err := s.head()
	for id != "" && err == nil {
		var c object.Commit
		if c, _, err = s.at(id); err == nil {
			if id = ""; len(c.Parents) > 0 {
				id = c.Parents[0].String()
			}
		}
	}
	return err
}

// measure does what clients of the service have asked for.
func (n *naive) measure(commits int) ([]row, error) {
	m := &measurements{service: n.service}
	m.add(aWrite, commits, func() error {
		n.serial++
		i := n.serial % n.documents
		return n.commit(n.open(), map[string][]byte{name(i) + ".json": document(i, n.serial)})
	})
	m.add(oneFlag, 10, func() error { return n.read(1) })
	m.add(allFlags, 1, func() error { return n.read(n.documents) })
	m.add(flagHistory, 1, n.history)
	return m.rows, m.err
}
