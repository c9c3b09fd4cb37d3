package admin

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// Problem is one thing that is wrong with a workspace's stores.
type Problem struct {
	What string
	// Repairable says that git has all that is needed to mend it.
	Repairable bool
}

// Checked is what a check has found.
type Checked struct {
	Commits  int // that the head reaches
	Objects  int // that they are made of
	Packs    int
	Problems []Problem
	// Orphans are packs that no commit of the history needs: what lost races
	// have left, and what was merged. They are no problem; Compact removes them
	// after a day.
	Orphans int
}

// Checking says how a check is done.
type Checking struct {
	Dir      string // for temporary files; "" is the system's
	Progress Progress
}

// maxProblems bounds what is told: of ten thousand rows that are missing a few
// say enough.
const maxProblems = 200

// Check compares everything that is stored with git: that the packs are there
// and whole, that the head's history is complete in them, that the rows and the
// snapshot say what git says. It changes nothing.
func (w *Workspace) Check(ctx context.Context, o Checking) (Checked, error) {
	c, err := w.examine(ctx, o)
	if c == nil {
		return Checked{}, err
	}
	defer c.close()
	return c.Checked, err
}

// checker is a check on its way.
type checker struct {
	Checked
	*Workspace
	head   repository.Head
	mirror *mirror
	dir    string
	known  []string // packs that the ledger names
	stored []string // packs that are in the bucket
	whole  bool     // git has all that the head reaches
	// unreadable: there are rows of which nobody can make sense.
	unreadable bool
	needed     map[string]bool
	expected   []repository.Commit // the history as git tells it
	progress   Progress
}

func (c *checker) close() { os.RemoveAll(c.dir) }

func (c *checker) report(mends bool, format string, args ...any) {
	if len(c.Problems) == maxProblems {
		c.Problems = append(c.Problems, Problem{"and more; mend these first", false})
	}
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, Problem{fmt.Sprintf(format, args...), mends})
	}
}

// examine does the work of a check. The caller closes what it returns.
func (w *Workspace) examine(ctx context.Context, o Checking) (*checker, error) {
	c, err := w.collect(ctx, "", o)
	if err == nil && c.whole { // else there is nothing to compare the rows with
		err = c.checkRows(ctx)
	}
	if err == nil {
		err = c.checkSnapshot(ctx)
	}
	if err == nil {
		c.reportPacks()
	}
	return c, err
}

// collect gets the packs and goes through git; with a commit as if that were the head.
// The head is read first: what it needs was stored before.
func (w *Workspace) collect(ctx context.Context, commit string, o Checking) (*checker, error) {
	dir, err := os.MkdirTemp(o.Dir, "svcadmin-")
	if err != nil {
		return nil, err
	}
	c := &checker{Workspace: w, dir: dir, progress: o.Progress, needed: map[string]bool{}}
	if c.head, err = c.ledger.Head(ctx); err != nil {
		return c, err
	}
	c.head.Commit = cmp.Or(commit, c.head.Commit)
	if c.known, err = c.ledger.Packs(ctx); err != nil {
		c.known = nil
		c.report(true, "the list of packs cannot be read from the table: %v", err)
	}
	if c.stored, err = c.objects.List(ctx); err != nil {
		return c, err
	}
	c.Packs = len(c.stored)
	if c.mirror, err = c.copyPacks(ctx, filepath.Join(c.dir, "git"), c.known, c.known, c.progress.begin("copying", "packs")); err != nil {
		return c, err
	}
	return c, c.checkGit(ctx)
}

// checkGit goes through everything that the head reaches. What the packs that the table
// names do not hold may lie in others.
func (c *checker) checkGit(ctx context.Context) error {
	if c.head.Commit == "" {
		c.whole = true
		return nil
	}
	err := c.walkGit(ctx)
	if err != nil && ctx.Err() == nil {
		more, failed := c.catchUp(ctx)
		if failed != nil {
			return failed
		}
		if more {
			err = c.walkGit(ctx)
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if c.whole = err == nil; !c.whole {
		c.report(false, "git lacks what the head %s needs: %v", c.head.Commit, err)
	}
	return nil
}

func (c *checker) walkGit(ctx context.Context) error {
	reader := c.mirror.objects.Reader(ctx)
	defer reader.Close()
	reader.MaxBlob(revwalk.LargestFile)
	c.Objects = 0
	r := &revwalk.Reach{Objects: reader, Progress: c.progress.begin("checking git", "commits"), Tell: func(o pack.Object) error {
		c.Objects++
		if name, _, ok := c.mirror.packs.of(o.ID); ok {
			c.needed[name] = true
		}
		return nil
	}}
	err := r.History(ctx, object.ParseID(c.head.Commit))
	if err == nil {
		c.expected, err = c.expect(ctx)
		c.Commits = len(c.expected)
	}
	return err
}

// reportPacks reports what is wrong with packs, now that it is known which are needed.
func (c *checker) reportPacks() {
	inLedger := map[string]bool{}
	for _, name := range c.known {
		inLedger[name] = true
		if err := c.mirror.broken[name]; err != nil {
			c.report(c.whole, "%v", err)
		}
	}
	for name := range c.needed {
		if !inLedger[name] {
			c.report(true, "the table does not name the pack %s, which the history needs", name)
		}
	}
	for _, name := range c.stored {
		if !inLedger[name] && !c.needed[name] {
			c.Orphans++
		}
	}
}
