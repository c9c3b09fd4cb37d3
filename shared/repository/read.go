package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// atATime bounds the files that are announced before they are read.
const atATime = 2000

// ReadTree is Tree for Objects that can read any object by its id. If announce
// is not nil, it is told which blobs are read next, at most atATime, so that
// those that lie close together can be fetched together. Files of more than max
// bytes together are TooLarge; 0 is MaxTexts.
func ReadTree(ctx context.Context, head Head, read object.Read, announce func(blobs []object.ID), max int64) (Tree, error) {
	if head.Commit == "" {
		return Tree{Folders: map[string][]TreeEntry{}, Files: map[string][]byte{}, Unread: map[string]*workspace.Unread{}}, ctx.Err()
	}
	if !object.IsID(head.Commit) {
		return Tree{}, fmt.Errorf("the tree of %q: it is no object id", head.Commit)
	}
	tree, err := ReadFolders(read, object.ParseID(head.Commit))
	if err == nil {
		err = tree.readFiles(ctx, read, announce, max)
	}
	if err != nil {
		return tree, fmt.Errorf("the tree of %s: %w", head.Commit, err)
	}
	return tree, nil
}

// ReadFolders is ReadTree without the contents of the files.
func ReadFolders(read object.Read, commit object.ID) (Tree, error) {
	tree := Tree{Folders: map[string][]TreeEntry{}, Files: map[string][]byte{}, Unread: map[string]*workspace.Unread{}}
	c, err := object.ReadCommit(read, commit)
	if err != nil {
		return tree, err
	}
	if tree.Root, err = object.ReadTree(read, c.Tree); err != nil {
		return tree, err
	}
	for _, e := range tree.Root {
		if !e.IsFolder() || !workspace.KnownFolder(e.Name) {
			continue
		}
		if tree.Folders[e.Name], err = object.ReadTree(read, e.ID); err != nil {
			return tree, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return tree, nil
}

func (t *Tree) readFiles(ctx context.Context, read object.Read, announce func(blobs []object.ID), max int64) error {
	left := cmp.Or(max, MaxTexts)
	for some := range slices.Chunk(LayoutFiles(*t), atATime) {
		ids := make([]object.ID, len(some))
		for i, f := range some {
			ids[i] = object.ParseID(f.Blob)
		}
		if announce != nil {
			announce(ids)
		}
		for i, f := range some {
			if err := ctx.Err(); err != nil {
				return err
			}
			text, unread, err := textOf(object.ReadAs(read, ids[i], object.Blob))
			if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			if unread != nil {
				t.Unread[f.Path] = unread
				continue
			}
			if left -= int64(len(text)); left < 0 {
				most := cmp.Or(max, MaxTexts)
				return &TooLarge{most - left, most}
			}
			t.Files[f.Path] = text
		}
	}
	return nil
}

// MaxTexts bounds the bytes of all files of the layout together. 10,000 flags
// have some 20 MB.
const MaxTexts = 128 << 20

// TooLarge says that the files of a workspace have more bytes together than
// the reader can hold. They were not read.
type TooLarge struct {
	Bytes int64 // together, at least
	Max   int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the documents of the workspace have more than %d bytes together, which is the most that is read", e.Max)
}

// textOf tells why a text cannot be had that is too large to be read, or was lost since
// it was committed.
func textOf(text []byte, err error) ([]byte, *workspace.Unread, error) {
	large, lost := (*object.TooLarge)(nil), (*object.Lost)(nil)
	switch {
	case errors.As(err, &lost):
		return nil, &workspace.Unread{Why: lost.Why() + "; git fsck tells more", Lost: true}, nil
	case errors.Is(err, object.ErrMalformed):
		return nil, &workspace.Unread{Why: "what git names there is no file"}, nil
	case !errors.As(err, &large):
		return text, nil, err
	case large.Size == 0:
		return nil, &workspace.Unread{Why: "git stores it as too long or too large a chain of deltas to be read; git repack -adf --depth=50 mends that"}, nil
	}
	return nil, workspace.TooLarge(large.Size), nil
}
