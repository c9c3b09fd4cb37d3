package s3

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Object returns one object of any kind by its id; ErrNoObject if there is
// none. Whoever reads many takes a Reader.
func (o *Objects) Object(ctx context.Context, id string) (object.Kind, []byte, error) {
	return o.Reader(ctx).Read(id)
}

// Blob implements repository.Objects.
func (o *Objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	r := o.Reader(ctx)
	if object.IsID(touch.Pack) && touch.Offset > 0 {
		c, err := r.hinted(touch)
		if err == nil && c.kind == object.Blob {
			return c.text, nil
		}
		if errors.Is(err, repository.ErrBusy) || ctx.Err() != nil {
			return nil, err // it may well be there
		}
	}
	return r.readKind(touch.Blob, object.Blob)
}

// hinted reads an object from where it was said to lie. Packs are merged and
// swept: that it is not there is no error.
func (r *Reader) hinted(touch repository.Touch) (content, error) {
	p := r.objects.known.named(touch.Pack)
	if p == nil {
		p = &packIndex{name: touch.Pack} // another process has stored it
	}
	return r.at(p, touch.Blob, touch.Offset, touch.Length)
}

func (r *Reader) readKind(id string, kind object.Kind) ([]byte, error) {
	c, err := r.read(id)
	if err != nil {
		return nil, err
	}
	if c.kind != kind {
		return nil, fmt.Errorf("object %s is a %s where a %s belongs", id, c.kind, kind)
	}
	return c.text, nil
}

// Tree implements repository.Objects.
func (o *Objects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	tree := repository.Tree{Folders: map[string][]repository.TreeEntry{}, Files: map[string][]byte{}}
	if head.Commit == "" {
		return tree, ctx.Err()
	}
	r := o.Reader(ctx)
	text, err := r.readKind(head.Commit, object.CommitKind)
	if err != nil {
		return tree, err
	}
	commit, err := object.DecodeCommit(text)
	if err != nil {
		return tree, fmt.Errorf("commit %s: %w", head.Commit, err)
	}
	if tree.Root, err = r.entries(commit.Tree); err != nil {
		return tree, err
	}
	files, err := r.folders(&tree)
	if err == nil {
		err = r.files(&tree, files)
	}
	if err != nil {
		return tree, fmt.Errorf("the tree of %s: %w", head.Commit, err)
	}
	return tree, nil
}

// file is a file of the layout that is to be read.
type file struct{ path, blob string }

// folders reads the layout's folders and tells the files in them.
func (r *Reader) folders(tree *repository.Tree) ([]file, error) {
	var files []file
	for _, root := range tree.Root {
		if root.Name == workspace.File && root.IsFile() {
			files = append(files, file{root.Name, root.ID})
		}
		if !root.IsFolder() || !workspace.KnownFolder(root.Name) {
			continue
		}
		entries, err := r.entries(root.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", root.Name, err)
		}
		tree.Folders[root.Name] = entries
		for _, e := range entries {
			if path := root.Name + "/" + e.Name; e.IsFile() && repository.IsFile(path) {
				files = append(files, file{path, e.ID})
			}
		}
	}
	return files, nil
}

// atATime bounds the files that are fetched before they are read: half of
// what a Reader keeps, at the length of a large document.
const atATime = 2000

// files reads files, those that lie close together with one request.
func (r *Reader) files(tree *repository.Tree, files []file) error {
	for len(files) > 0 {
		some := files[:min(len(files), atATime)]
		files = files[len(some):]
		if err := r.prefetch(r.wanted(some)); err != nil {
			return err
		}
		for _, f := range some {
			text, err := r.readKind(f.blob, object.Blob)
			if err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
			tree.Files[f.path] = text
		}
	}
	return nil
}

func (r *Reader) wanted(files []file) []wanted {
	var all []wanted
	for _, f := range files {
		p, offset := r.objects.known.find(plumbing.NewHash(f.blob))
		if p == nil {
			continue
		}
		if length := p.length(offset); length > 0 {
			all = append(all, wanted{p.name, offset, length})
		}
	}
	return joined(all)
}

func (r *Reader) entries(id string) ([]repository.TreeEntry, error) {
	text, err := r.readKind(id, object.TreeKind)
	if err != nil {
		return nil, err
	}
	entries, err := object.DecodeTree(text)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	return entries, nil
}
