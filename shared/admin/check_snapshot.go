package admin

import (
	"context"
	"errors"

	"svc.example/svc/shared/repository"
)

// checkSnapshot reads the workspace as an instance does that starts cold, and
// compares it with git's tree.
func (c *checker) checkSnapshot(ctx context.Context) error {
	if !c.whole || c.unreadable || c.head.Commit == "" {
		return nil
	}
	if name := c.head.Base.Name; name != "" {
		content, err := c.objects.Snapshot(ctx, name)
		if err == nil {
			_, err = repository.DecodeSnapshot(name, content)
		}
		if errors.Is(err, repository.ErrBusy) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err != nil {
			c.report(true, "the snapshot that readers begin with: %v", err)
			return nil
		}
	}
	tree, err := c.mirror.objects.Tree(ctx, c.head)
	if err != nil {
		return err
	}
	s, err := repository.New(c.ledger, c.objects).Snapshot(ctx, c.head)
	if errors.Is(err, repository.ErrBusy) || errors.Is(err, repository.ErrMoved) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		c.report(true, "the workspace cannot be read at its head: %v", err)
		return nil
	}
	for _, f := range s.Files {
		if string(tree.Files[f.Path]) != string(f.Text) {
			c.report(true, "%s is read from the snapshot with another content than git has", f.Path)
		}
	}
	if n := len(tree.Files) + len(tree.Unread); len(s.Files) != n {
		c.report(true, "the snapshot leads to %d files, and git has %d", len(s.Files), n)
	}
	return nil
}
