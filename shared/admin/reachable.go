package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// largestFile bounds a file outside the layout, which is read to be copied.
const largestFile = 64 << 20

// reach goes through all objects that a commit reaches: commits, trees, blobs,
// also those that the layout does not know. Each is told once.
type reach struct {
	objects revwalk.Reader
	seen    map[revwalk.ID]bool
	// tell is called for every object, the parts before the whole, with the
	// content that was read.
	tell     func(pack.Object) error
	progress func(done, total int)
}

// between goes through what a commit reaches, the oldest commits first, for some
// of the commits: those after the first lo, up to the first hi. What is told of
// several such parts is what is told of them all, and some of it more than once.
func (r *reach) between(ctx context.Context, commit string, lo, hi int) error {
	commits, err := r.commits(ctx, commit)
	if err != nil {
		return err
	}
	slices.Reverse(commits)
	hi = min(hi, len(commits))
	for i := lo; i < hi; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.commit(commits[i]); err != nil {
			return fmt.Errorf("commit %s: %w", commits[i], err)
		}
		r.progress(i+1, hi)
	}
	return nil
}

// commits lists what a commit reaches, children before their first parents.
func (r *reach) commits(ctx context.Context, head string) ([]revwalk.ID, error) {
	var found []revwalk.ID
	met := map[revwalk.ID]bool{}
	for open := []revwalk.ID{revwalk.ParseID(head)}; len(open) > 0; {
		id := open[len(open)-1]
		open = open[:len(open)-1]
		if met[id] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		met[id] = true
		c, err := object.ReadCommit(r.objects.Read, id.String())
		if err != nil {
			return nil, err
		}
		found = append(found, id)
		for _, parent := range slices.Backward(c.Parents) {
			open = append(open, revwalk.ParseID(parent))
		}
	}
	return found, nil
}

func (r *reach) commit(id revwalk.ID) error {
	content, err := object.ReadAs(r.objects.Read, id.String(), object.CommitKind)
	if err != nil {
		return err
	}
	c, err := object.DecodeCommit(content)
	if err == nil {
		err = r.tree(revwalk.ParseID(c.Tree))
	}
	if err != nil {
		return err
	}
	r.seen[id] = true
	return r.tell(pack.Object{ID: id.String(), Kind: object.CommitKind, Content: content})
}

func (r *reach) tree(id revwalk.ID) error {
	if r.seen[id] {
		return nil
	}
	r.seen[id] = true
	content, err := object.ReadAs(r.objects.Read, id.String(), object.TreeKind)
	if err != nil {
		return err
	}
	entries, err := object.DecodeTree(content)
	if err != nil {
		return fmt.Errorf("tree %s: %w", id, err)
	}
	for _, e := range entries {
		if err := r.entry(e); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return r.tell(pack.Object{ID: id.String(), Kind: object.TreeKind, Content: content})
}

func (r *reach) entry(e object.TreeEntry) error {
	id := revwalk.ParseID(e.ID)
	switch {
	case e.IsFolder():
		return r.tree(id)
	case e.Mode == object.ModeSubmodule || r.seen[id]:
		return nil // a submodule's commit lies in its own repository
	}
	r.seen[id] = true
	content, err := object.ReadAs(r.objects.Read, e.ID, object.Blob)
	if errors.As(err, new(*object.TooLarge)) {
		return fmt.Errorf("%w: git filter-repo --strip-blobs-bigger-than %dM takes such files out of a history", err, largestFile>>20)
	}
	if err != nil {
		return err
	}
	return r.tell(pack.Object{ID: e.ID, Kind: object.Blob, Content: content})
}
