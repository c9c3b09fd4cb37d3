package repository

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// AtATime bounds the files that are announced before they are read.
const AtATime = 2000

// ReadTree is Tree for Objects that can read any object by its id. If announce
// is not nil, it is told which blobs are read next, at most AtATime, so that
// those that lie close together can be fetched together. Files of more than most
// bytes together are TooLarge; 0 is no bound, and those after MaxTexts are left
// out.
func ReadTree(ctx context.Context, head Head, read object.Read, announce func(blobs []string), most int64) (Tree, error) {
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
		err = tree.readFiles(ctx, files, read, announce, most)
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

func (t *Tree) readFiles(ctx context.Context, files []unread, read object.Read, announce func(blobs []string), most int64) error {
	// The workspace file, which comes last in git's order, is never the one
	// that is too much.
	if i := slices.IndexFunc(files, func(f unread) bool { return f.path == workspace.File }); i > 0 {
		files = slices.Concat(files[i:i+1], files[:i], files[i+1:])
	}
	left := int64(MaxTexts)
	for some := range slices.Chunk(files, AtATime) {
		if announce != nil {
			announce(idsOf(some))
		}
		for _, f := range some {
			if err := ctx.Err(); err != nil {
				return err
			}
			if left < 0 {
				t.Files[f.path] = unreadTexts
				continue
			}
			text, err := textOf(object.ReadAs(read, f.blob, object.Blob))
			if err != nil {
				return fmt.Errorf("%s: %w", f.path, err)
			}
			left -= int64(len(text))
			if read := MaxTexts - left; most > 0 && read > most {
				return &TooLarge{read, most}
			}
			if left < 0 {
				text = unreadTexts
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

// MaxTexts bounds the bytes of all files of the layout together. 10,000 flags
// have some 20 MB.
const MaxTexts = 128 << 20

var unreadTexts = workspace.UnreadBecause(fmt.Sprintf("the files of the workspace have more than %d bytes together, which is as much as is read; this one is left out", MaxTexts))

// TooLarge says that the files of a workspace have more bytes together than
// whoever reads them can hold. They were not read.
type TooLarge struct {
	Bytes int64 // together, at least
	Max   int64
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("the files of the workspace have at least %d bytes together, and %d are the most that can be held", e.Bytes, e.Max)
}

// textOf puts a stand-in in the place of a text that cannot be had: it is too
// large to be read, or was lost since it was committed.
func textOf(text []byte, err error) ([]byte, error) {
	large, lost := (*object.TooLarge)(nil), (*object.Lost)(nil)
	switch {
	case errors.As(err, &lost):
		return workspace.UnreadBecause(lost.Why() + "; git fsck tells more"), nil
	case errors.Is(err, object.ErrMalformed):
		return workspace.UnreadBecause("what git names there is no file"), nil
	case !errors.As(err, &large):
		return text, err
	case large.Size == 0:
		return workspace.UnreadBecause("git stores it as too long or too large a chain of deltas to be read; git repack -adf --depth=50 mends that"), nil
	}
	return workspace.Unread(large.Size), nil
}
