package disk

import (
	"context"
	"fmt"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Object returns one object of any kind by its id. One that is not there is
// ErrNoObject. Whoever reads many takes a Reader.
func (o *Objects) Object(ctx context.Context, id string) (object.Kind, []byte, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	s := o.Reader()
	defer s.Close()
	return s.Read(id)
}

// Blob implements repository.Objects.
func (o *Objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := o.Reader()
	defer s.Close()
	if c, ok := s.hinted(touch); ok {
		return c.text, nil
	}
	return s.blob(touch.Blob)
}

// hinted reads an object from where it was said to lie. Packs are merged and
// collected: that it is not there is no error.
func (s *Reader) hinted(touch repository.Touch) (content, bool) {
	if !object.IsID(touch.Pack) {
		return content{}, false
	}
	p := s.objects.named(touch.Pack)
	if p == nil {
		p = &packFile{name: touch.Pack} // another process has stored it
	}
	c, err := s.at(p, touch.Blob, touch.Offset, touch.Length)
	return c, err == nil && c.kind == object.Blob
}

func (s *Reader) blob(id string) ([]byte, error) { return s.readKind(id, object.Blob) }

func (s *Reader) readKind(id string, kind object.Kind) ([]byte, error) {
	c, err := s.read(id)
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
	s := o.Reader()
	defer s.Close()
	text, err := s.readKind(head.Commit, object.CommitKind)
	if err != nil {
		return tree, err
	}
	commit, err := object.DecodeCommit(text)
	if err != nil {
		return tree, fmt.Errorf("commit %s: %w", head.Commit, err)
	}
	if tree.Root, err = s.entries(commit.Tree); err != nil {
		return tree, err
	}
	for _, e := range tree.Root {
		if err := s.descend(ctx, &tree, e); err != nil {
			return tree, fmt.Errorf("%s at %s: %w", e.Name, head.Commit, err)
		}
	}
	return tree, nil
}

// descend reads what the root's entry has of the layout.
func (s *Reader) descend(ctx context.Context, tree *repository.Tree, root repository.TreeEntry) error {
	if root.Name == workspace.File && root.IsFile() {
		text, err := s.blob(root.ID)
		tree.Files[root.Name] = text
		return err
	}
	if !root.IsFolder() || !workspace.KnownFolder(root.Name) {
		return nil
	}
	entries, err := s.entries(root.ID)
	if err != nil {
		return err
	}
	tree.Folders[root.Name] = entries
	for _, e := range entries {
		path := root.Name + "/" + e.Name
		if !e.IsFile() || !repository.IsFile(path) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if tree.Files[path], err = s.blob(e.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *Reader) entries(id string) ([]repository.TreeEntry, error) {
	text, err := s.readKind(id, object.TreeKind)
	if err != nil {
		return nil, err
	}
	entries, err := object.DecodeTree(text)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	return entries, nil
}
