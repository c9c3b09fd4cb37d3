package revwalk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// LargestFile bounds a file outside the layout, which is read to be copied.
const LargestFile = 64 << 20

// Reach goes through all objects that a commit reaches: commits, trees, blobs,
// also those that the layout does not know. Each is told once.
type Reach struct {
	Objects Reader
	// Have are blobs that need not be read, and are not told; nil: none.
	Have func(object.ID) bool
	// Tell is called for every object, the parts before the whole, with the
	// content that was read.
	Tell func(pack.Object) error
	// Progress hears of commits; it may be nil.
	Progress func(done, total int)
	// Flaws gathers what git fsck calls an error of commits and trees; nil: nobody asks.
	Flaws *Flaws

	withoutLarge bool // files of more than LargestFile are passed over
	seen         map[object.ID]bool
	depth        int
	commitID     object.ID // where it is
	path         []string
}

// Any goes through whatever a reference names: a commit with its history, an
// annotated tag and what it stands for, or a tree or a blob alone. What an
// earlier call went through is not told again.
func (r *Reach) Any(ctx context.Context, id object.ID) error {
	for range maxNested {
		if r.seen[id] {
			return nil
		}
		kind, content, err := r.Objects.Read(id)
		if err != nil {
			return err
		}
		switch kind {
		case object.CommitKind:
			return r.History(ctx, id)
		case object.TreeKind:
			return r.tree(id)
		}
		r.see(id)
		if err := r.Tell(pack.Object{ID: id, Kind: kind, Content: content}); err != nil || kind != object.Tag {
			return err
		}
		line, _, _ := bytes.Cut(content, []byte("\n"))
		named, ok := bytes.CutPrefix(line, []byte("object "))
		if !ok || !object.IsID(string(named)) {
			return fmt.Errorf("tag %s: it names no object: %w", id, object.ErrMalformed)
		}
		id = object.ParseID(string(named))
	}
	return fmt.Errorf("tag %s: there are more than %d tags of tags: %w", id, maxNested, object.ErrMalformed)
}

// Verify reads all that references name, which holds each object against its id. Files
// that are larger than LargestFile are left out: of those only the header is read. Flaws
// may be nil.
func Verify(ctx context.Context, objects interface {
	Reader
	MaxBlob(most int64)
}, flaws *Flaws, references ...object.ID) error {
	objects.MaxBlob(LargestFile)
	r := &Reach{Objects: objects, Flaws: flaws, Tell: func(pack.Object) error { return nil }, withoutLarge: true}
	for _, id := range references {
		if err := r.Any(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// maxNested is how deep trees and tags may nest.
const maxNested = 1000

func (r *Reach) see(id object.ID) {
	if r.seen == nil {
		r.seen = map[object.ID]bool{}
	}
	r.seen[id] = true
}

// History goes through what a commit reaches, the oldest commits first.
func (r *Reach) History(ctx context.Context, commit object.ID) error {
	commits, err := r.commits(ctx, commit)
	if err != nil {
		return err
	}
	slices.Reverse(commits)
	for i, id := range commits {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.commit(id); err != nil {
			return fmt.Errorf("commit %s: %w", id, err)
		}
		if r.Progress != nil {
			r.Progress(i+1, len(commits))
		}
	}
	return nil
}

// commits lists what a commit reaches, children before their first parents.
func (r *Reach) commits(ctx context.Context, head object.ID) ([]object.ID, error) {
	var found []object.ID
	met := map[object.ID]bool{}
	for open := []object.ID{head}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if met[id] || r.seen[id] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		met[id] = true
		c, err := object.ReadCommit(r.Objects.Read, id)
		if err != nil && (r.Flaws == nil || !errors.Is(err, object.ErrMalformed)) {
			return nil, err
		}
		found = append(found, id) // a malformed one is told when its turn comes
		for _, parent := range slices.Backward(c.Parents) {
			open = append(open, parent)
		}
	}
	return found, nil
}

func (r *Reach) commit(id object.ID) error {
	content, err := object.ReadAs(r.Objects.Read, id, object.CommitKind)
	if err != nil {
		return err
	}
	c, err := object.DecodeCommit(content)
	if r.Flaws != nil {
		r.commitID = id
		object.CheckCommit(content, func(what string) { r.flaw("", what) })
		if err != nil {
			return nil // told
		}
	}
	if err == nil {
		err = r.tree(c.Tree)
	}
	if err != nil {
		return err
	}
	r.see(id)
	return r.Tell(pack.Object{ID: id, Kind: object.CommitKind, Content: content})
}

func (r *Reach) tree(id object.ID) error {
	if r.seen[id] {
		return nil
	}
	if r.depth >= maxNested {
		return fmt.Errorf("tree %s: there are more than %d folders in one another: %w", id, maxNested, object.ErrMalformed)
	}
	r.depth++
	defer func() { r.depth-- }()
	r.see(id)
	content, err := object.ReadAs(r.Objects.Read, id, object.TreeKind)
	if err != nil {
		return err
	}
	entries, err := object.DecodeTree(content)
	if r.Flaws != nil {
		object.CheckTree(content, r.flaw)
		if err != nil {
			return nil // told
		}
	}
	if err != nil {
		return fmt.Errorf("tree %s: %w", id, err)
	}
	for _, e := range entries {
		r.path = append(r.path, e.Name)
		err := r.entry(e)
		r.path = r.path[:len(r.path)-1]
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return r.Tell(pack.Object{ID: id, Kind: object.TreeKind, Content: content})
}

func (r *Reach) entry(e object.TreeEntry) error {
	switch {
	case e.IsFolder():
		return r.tree(e.ID)
	case e.Mode == object.ModeSubmodule || r.seen[e.ID]:
		return nil // a submodule's commit lies in its own repository
	}
	r.see(e.ID)
	if r.Have != nil && r.Have(e.ID) {
		return nil
	}
	content, err := object.ReadAs(r.Objects.Read, e.ID, object.Blob)
	large := (*object.TooLarge)(nil)
	if errors.As(err, &large) {
		if r.withoutLarge && large.Size > LargestFile {
			return nil
		}
		return fmt.Errorf("%w: git filter-repo --strip-blobs-bigger-than %dM takes such files out of a history", err, LargestFile>>20)
	}
	if err != nil {
		return err
	}
	return r.Tell(pack.Object{ID: e.ID, Kind: object.Blob, Content: content})
}
