package repository

import (
	"context"
	"fmt"
	"slices"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// AtATime bounds the files that are announced before they are read.
const AtATime = 2000

// ReadTree is Tree for Objects that can read any object by its id. If announce
// is not nil, it is told which blobs are read next, at most AtATime, so that
// those that lie close together can be fetched together.
func ReadTree(ctx context.Context, head Head, read object.Read, announce func(blobs []string)) (Tree, error) {
	tree := Tree{Folders: map[string][]TreeEntry{}, Files: map[string][]byte{}}
	if head.Commit == "" {
		return tree, ctx.Err()
	}
	commit, err := object.ReadCommit(read, head.Commit)
	if err != nil {
		return tree, err
	}
	if tree.Root, err = object.ReadTree(read, commit.Tree); err != nil {
		return tree, err
	}
	files, err := tree.readFolders(read)
	if err == nil {
		err = tree.readFiles(ctx, files, read, announce)
	}
	if err != nil {
		return tree, fmt.Errorf("the tree of %s: %w", head.Commit, err)
	}
	return tree, nil
}

// unread is a file of the layout whose content is to be read.
type unread struct{ path, blob string }

// readFolders reads the layout's folders and returns the files in them.
func (t *Tree) readFolders(read object.Read) ([]unread, error) {
	var files []unread
	for _, root := range t.Root {
		if root.Name == workspace.File && root.IsFile() {
			files = append(files, unread{root.Name, root.ID})
		}
		if !root.IsFolder() || !workspace.KnownFolder(root.Name) {
			continue
		}
		entries, err := object.ReadTree(read, root.ID)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", root.Name, err)
		}
		t.Folders[root.Name] = entries
		for _, e := range entries {
			if path := root.Name + "/" + e.Name; e.IsFile() && IsFile(path) {
				files = append(files, unread{path, e.ID})
			}
		}
	}
	return files, nil
}

func (t *Tree) readFiles(ctx context.Context, files []unread, read object.Read, announce func(blobs []string)) error {
	for some := range slices.Chunk(files, AtATime) {
		if announce != nil {
			announce(idsOf(some))
		}
		for _, f := range some {
			if err := ctx.Err(); err != nil {
				return err
			}
			text, err := object.ReadAs(read, f.blob, object.Blob)
			if err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
			t.Files[f.path] = text
		}
	}
	return nil
}

func idsOf(files []unread) []string {
	ids := make([]string, len(files))
	for i, f := range files {
		ids[i] = f.blob
	}
	return ids
}
