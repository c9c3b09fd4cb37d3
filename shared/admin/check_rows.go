package admin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// expect is the history as git tells it, oldest first, numbered up to the head.
func (c *checker) expect(ctx context.Context) ([]repository.Commit, error) {
	if c.head.Commit == "" {
		return nil, nil
	}
	reader := c.mirror.objects.Reader(ctx)
	defer reader.Close()
	way := revwalk.Walk[repository.Commit]{
		Trees: revwalk.NewTrees(reader),
		Begin: func(c repository.Commit, _ []object.ID) repository.Commit { return c },
	}
	var all []repository.Commit
	err := way.Each(ctx, object.ParseID(c.head.Commit), func(n *revwalk.Node[repository.Commit], touched []repository.Touch) error {
		one := n.Row
		one.Touched = touched
		all = append(all, one)
		return nil
	})
	for i := range all {
		all[i].Sequence = c.head.Sequence - int64(len(all)-1-i)
	}
	return all, err
}

// rowsAtOnce bounds the rows of the log that are read at a time.
const rowsAtOnce = 500

// checkLog compares commits' rows, from the newest to the oldest. Before the
// first commit of all there must be no rows.
func (c *checker) checkLog(ctx context.Context, expected []repository.Commit, first bool) error {
	left := len(expected)
	if left == 0 {
		return nil
	}
	step := c.progress.begin("checking the rows", "commits")
	oldest := expected[0].Sequence
	for before := expected[left-1].Sequence + 1; ; {
		rows, err := c.ledger.History(ctx, c.head, repository.Page{Before: before, Limit: rowsAtOnce})
		if err != nil {
			if damaged(err) {
				c.unreadable = true
				c.report(true, "the rows of the history cannot be read: %v", err)
				return nil
			}
			return err
		}
		for _, row := range rows {
			if !first && row.Sequence < oldest {
				return c.missing(expected[:left])
			}
			for left > 0 && expected[left-1].Sequence > row.Sequence {
				left--
				c.report(true, "the row of commit %s is missing", expected[left].SHA)
			}
			if left == 0 || expected[left-1].Sequence != row.Sequence {
				c.report(true, "there is a row of commit %s, which is not in the history", row.SHA)
				continue
			}
			left--
			c.compare(ctx, expected[left], row)
		}
		step(len(expected)-left, len(expected))
		if len(rows) < rowsAtOnce {
			break
		}
		before = rows[len(rows)-1].Sequence
	}
	return c.missing(expected[:left])
}

// missing tells of commits whose rows are missing.
func (c *checker) missing(commits []repository.Commit) error {
	for _, commit := range slices.Backward(commits) {
		c.report(true, "the row of commit %s is missing", commit.SHA)
	}
	return nil
}

// compare holds a row against the commit that it should tell of. Where its
// files lie is not compared: those are hints that age, and who looks for an old
// document asks the rows of the file.
func (c *checker) compare(ctx context.Context, want, row repository.Commit) {
	if want.SHA != row.SHA {
		c.report(true, "the row at %d is of commit %s, where %s belongs", row.Sequence, row.SHA, want.SHA)
		return
	}
	var wrong []string
	note := func(what string, differs bool) {
		if differs {
			wrong = append(wrong, what)
		}
	}
	note("parent", want.Parent != row.Parent)
	note("author", !sameSignature(want.Author, row.Author))
	note("committer", !sameSignature(want.Committer, row.Committer))
	note("message", want.Message != row.Message)
	note("tree", row.Tree != "" && want.Tree != row.Tree)
	note("touched files", !sameTouches(want.Touched, row.Touched))
	note("pack", row.Pack != "" && !c.holds(ctx, row.Pack, row.SHA))
	if len(wrong) > 0 {
		c.report(true, "the row of commit %s is wrong about its %s", row.SHA, strings.Join(wrong, ", "))
	}
}

func sameSignature(a, b repository.Signature) bool {
	return a.Name == b.Name && a.Email == b.Email && a.When.Equal(b.When)
}

func sameTouches(want, have []repository.Touch) bool {
	by := func(a, b repository.Touch) int { return strings.Compare(a.Path, b.Path) }
	want, have = slices.SortedFunc(slices.Values(want), by), slices.SortedFunc(slices.Values(have), by)
	return slices.EqualFunc(want, have, func(a, b repository.Touch) bool {
		return a.Path == b.Path && a.Blob == b.Blob && a.Created == b.Created
	})
}

// holds reports whether a pack that is in the bucket holds an object. A pack that
// was made since the copy, by a compaction beside this check, is copied too.
func (c *checker) holds(ctx context.Context, name, id string) bool {
	if c.mirror.packs.named(name) == nil && c.mirror.broken[name] == nil && !c.lookedFor[name] {
		c.lookedFor[name] = true
		_, _ = c.catchUp(ctx) // that it failed shows in what is missing
	}
	m := c.mirror.packs.named(name)
	if m == nil {
		return false
	}
	_, found := m.Place(object.ParseID(id))
	return found
}

// checkNames asks for every commit by its id, as the parameter at does.
func (c *checker) checkNames(ctx context.Context, expected []repository.Commit) error {
	missing := make([]bool, len(expected))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range expected {
		group.Go(func() error {
			if expected[i].SHA == c.head.Commit {
				return nil
			}
			sha, _, err := c.ledger.At(within, c.head, unusedPath, expected[i].SHA)
			missing[i] = errors.Is(err, repository.ErrUnknownCommit) || err == nil && sha != expected[i].SHA
			if errors.Is(err, repository.ErrAbsent) || missing[i] {
				return nil
			}
			return err
		})
	}
	err := group.Wait()
	for i, gone := range missing {
		if gone {
			c.report(true, "the commit %s is not found by its id", expected[i].SHA)
		}
	}
	return err
}

// atOnce bounds the requests of one task that are under way at a time.
const atOnce = 16

// unusedPath is a file that no commit has: what is asked for is the commit.
const unusedPath = "svc.json/none"

// checkTrails compares the history of every file.
func (c *checker) checkTrails(ctx context.Context, expected []repository.Commit) error {
	trails := map[string][]repository.Commit{}
	for _, commit := range slices.Backward(expected) {
		for _, t := range commit.Touched {
			one := commit
			one.Touched = []repository.Touch{t}
			trails[t.Path] = append(trails[t.Path], one)
		}
	}
	paths := make([]string, 0, len(trails))
	for path := range trails {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	found := make([][]repository.Commit, len(paths))
	broken := make([]error, len(paths))
	step := c.progress.begin("checking the histories", "files")
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range paths {
		group.Go(func() (err error) {
			found[i], err = c.ledger.History(within, c.head, repository.Page{Path: paths[i]})
			if damaged(err) {
				broken[i], err = err, nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, path := range paths {
		if broken[i] != nil {
			c.report(true, "the history of %s cannot be read: %v", path, broken[i])
			continue
		}
		c.compareTrail(ctx, path, trails[path], found[i])
		step(i+1, len(paths))
	}
	return nil
}

func (c *checker) compareTrail(ctx context.Context, path string, want, have []repository.Commit) {
	same := slices.EqualFunc(want, have, func(a, b repository.Commit) bool {
		return a.SHA == b.SHA && a.Sequence == b.Sequence && sameTouches(a.Touched, b.Touched) && sameSignature(a.Author, b.Author) && a.Message == b.Message
	})
	if !same {
		c.report(true, "the history of %s has %d commits in the table and %d in git, or they differ", path, len(have), len(want))
		return
	}
	for _, commit := range have {
		for _, t := range commit.Touched {
			if t.Pack != "" && t.Blob != "" && !c.holds(ctx, t.Pack, t.Blob) {
				c.report(true, "the history of %s looks for its content at %s in the pack %s, which does not hold it", path, commit.SHA, t.Pack)
				return
			}
		}
	}
}

// damaged reports whether an error is about what a row holds, and not about
// reaching the table.
func damaged(err error) bool {
	var asking *smithy.OperationError
	return err != nil && !errors.As(err, &asking) && !errors.Is(err, repository.ErrBusy) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
