package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/repository/s3"
)

// Repair checks a workspace and, when git has all that is needed, makes its rows
// and its snapshot again. It returns what was found, and what is left.
func (w *Workspace) Repair(ctx context.Context, o Checking) (found, left Checked, err error) {
	c, err := w.examine(ctx, o)
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return Checked{}, Checked{}, err
	}
	if !slices.ContainsFunc(c.Problems, func(p Problem) bool { return p.Repairable }) || !c.whole {
		return c.Checked, c.Checked, nil
	}
	if _, err := c.rebuild(ctx); err != nil {
		return c.Checked, c.Checked, err
	}
	left, err = w.Check(ctx, o)
	return c.Checked, left, err
}

// Reindex makes all rows and the snapshot again from git alone, whatever the rows
// say. With a commit, that one becomes the head: the way back when git has lost
// what the head needs. It returns the head that the rows lead to.
func (w *Workspace) Reindex(ctx context.Context, commit string, o Checking) (repository.Head, error) {
	if commit != "" && !object.IsID(commit) {
		return repository.Head{}, fmt.Errorf("%q is not a commit: give all 40 hexadecimal digits", commit)
	}
	c, err := w.collect(ctx, commit, o)
	if c != nil {
		defer c.close()
	}
	if err != nil {
		return repository.Head{}, err
	}
	if c.head.Commit == "" {
		return c.head, nil
	}
	if !c.whole {
		return repository.Head{}, fmt.Errorf("%s%w", c.Problems[len(c.Problems)-1].What, errLacks)
	}
	if commit == "" {
		return c.rebuild(ctx)
	}
	// It may turn out to be the wrong head: the packs that it does not need stay for a
	// day, as those that were merged.
	if err := c.retire(ctx, slices.DeleteFunc(slices.Clone(c.stored), func(name string) bool { return c.needed[name] })); err != nil {
		return repository.Head{}, err
	}
	return w.ledger.Import(ctx, c.reader(ctx), commit, c.options())
}

// errLacks marks, without a word, that git has not all that a head needs.
var errLacks = errors.New("")

// rebuild makes the rows again from the copy of the packs, and strikes those
// packs off the list that are gone and that nothing needs. It returns the head
// that they were made for, which others may have moved since the copy.
func (c *checker) rebuild(ctx context.Context) (repository.Head, error) {
	head, err := c.ledger.Reindex(ctx, c.reader(ctx), c.options())
	if err != nil {
		return repository.Head{}, err
	}
	useless := slices.DeleteFunc(slices.Clone(c.known), func(name string) bool { return c.mirror.broken[name] == nil })
	if len(useless) == 0 || len(c.needed) == 0 {
		return head, nil
	}
	return head, c.ledger.Compacted(ctx, dynamo.Compaction{
		Retired: useless, Pack: slices.Min(slices.Collect(maps.Keys(c.needed))), Fence: c.head.Fence,
	})
}

func (c *checker) options() dynamo.ImportOptions {
	return dynamo.ImportOptions{
		Objects: rebuilt{c.objects, c.mirror.objects}, Packs: slices.Sorted(maps.Keys(c.needed)), Fence: c.head.Fence,
		Place:    func(id object.ID) (string, pack.Place, bool) { return c.mirror.packs.of(id) },
		Progress: c.progress.begin("telling the history", "commits"),
	}
}

// reader reads from the copy. What writers have stored since is copied when it
// is asked for.
func (c *checker) reader(ctx context.Context) revwalk.Reader {
	return &catchingUp{ctx, c, c.mirror.objects.Reader(ctx)}
}

type catchingUp struct {
	ctx   context.Context
	check *checker
	copy  *odb.Reader
}

// Read implements revwalk.Reader.
func (l *catchingUp) Read(id object.ID) (object.Kind, []byte, error) {
	kind, content, err := l.copy.Read(id)
	if !errors.Is(err, odb.ErrNoObject) {
		return kind, content, err
	}
	if more, failed := l.check.catchUp(l.ctx); failed != nil || !more {
		return kind, content, errors.Join(err, failed)
	}
	return l.copy.Read(id)
}

// catchUp copies the packs that were stored since the copy was made.
func (c *checker) catchUp(ctx context.Context) (more bool, err error) {
	stored, err := c.objects.List(ctx)
	if err != nil {
		return false, err
	}
	have := c.mirror.packs.names()
	stored = slices.DeleteFunc(stored, func(name string) bool { return slices.Contains(have, name) || c.mirror.broken[name] != nil })
	if len(stored) == 0 {
		return false, nil
	}
	m, err := c.copyPacks(ctx, c.mirror.git, stored, c.known, func(int, int) {})
	if err != nil {
		return false, err
	}
	maps.Copy(c.mirror.broken, m.broken)
	c.mirror.packs = m.packs
	return true, nil
}

// rebuilt stores what is made again in the bucket, and reads from the copy: the
// table may name the wrong packs.
type rebuilt struct {
	*s3.Objects
	copy *disk.Objects
}

// Tree implements repository.Objects.
func (r rebuilt) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	return r.copy.Tree(ctx, head)
}
