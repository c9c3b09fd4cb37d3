package admin

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// atOnce bounds the requests of one task that are under way at a time.
const atOnce = 16

// checkRows compares the rows of all commits, of each file, and of the commits' ids with
// what git tells.
func (c *checker) checkRows(ctx context.Context) error {
	trails := map[string][]repository.Commit{"": nil} // by file; "" is the log
	for _, commit := range slices.Backward(c.expected) {
		trails[""] = append(trails[""], commit)
		for _, t := range commit.Touched {
			commit.Touched = []repository.Touch{t}
			trails[t.Path] = append(trails[t.Path], commit)
		}
	}
	paths := slices.Sorted(maps.Keys(trails))
	step := c.progress.begin("checking the rows", "files")
	for some := range slices.Chunk(paths, atOnce) {
		found := make([][]repository.Commit, len(some))
		broken := make([]error, len(some))
		group, within := errgroup.WithContext(ctx)
		for i, path := range some {
			group.Go(func() (err error) {
				if found[i], err = c.ledger.History(within, c.head, repository.Page{Path: path}); damaged(err) {
					broken[i], err = err, nil
				}
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return err
		}
		for i, path := range some {
			if broken[i] != nil {
				c.unreadable = c.unreadable || path == ""
				c.report(true, "the history%s cannot be read: %v", of(path), broken[i])
				continue
			}
			c.compare(ctx, path, trails[path], found[i])
		}
	}
	step(len(paths), len(paths))
	numbers, err := c.ledger.Numbers(ctx, c.head)
	for _, commit := range c.expected {
		if err == nil && numbers[commit.SHA] != commit.Sequence {
			c.report(true, "the commit %s is not found by its id", commit.SHA)
		}
	}
	return err
}

func of(path string) string {
	if path == "" {
		return ""
	}
	return " of " + path
}

// compare holds rows against the commits that they should tell of, the newest first: of
// the log, or of one file.
func (c *checker) compare(ctx context.Context, path string, want, have []repository.Commit) {
	for len(want)+len(have) > 0 {
		switch {
		case len(have) == 0 || len(want) > 0 && want[0].Sequence > have[0].Sequence:
			c.report(true, "the row of commit %s%s is missing", want[0].SHA, of(path))
			want = want[1:]
		case len(want) == 0 || want[0].Sequence < have[0].Sequence:
			c.report(true, "there is a row of commit %s%s, which is not in the history", have[0].SHA, of(path))
			have = have[1:]
		default:
			c.compareRow(ctx, path, want[0], have[0])
			want, have = want[1:], have[1:]
		}
	}
}

// compareRow holds a row against its commit. Where the files of a commit lie is not
// compared in the log: those are hints that age, and who looks for an old document asks
// the rows of the file.
func (c *checker) compareRow(ctx context.Context, path string, want, row repository.Commit) {
	if want.SHA != row.SHA {
		c.report(true, "the row%s at %d is of commit %s, where %s belongs", of(path), row.Sequence, row.SHA, want.SHA)
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
	if path == "" {
		note("pack", row.Pack != "" && !c.holds(ctx, row.Pack, row.SHA))
	} else {
		note("pack", slices.ContainsFunc(row.Touched, func(t repository.Touch) bool {
			return t.Pack != "" && t.Blob != "" && !c.holds(ctx, t.Pack, t.Blob)
		}))
	}
	if len(wrong) > 0 {
		c.report(true, "the row of commit %s%s is wrong about its %s", row.SHA, of(path), strings.Join(wrong, ", "))
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
	m := c.mirror.packs.named(name)
	if m == nil && c.mirror.broken[name] == nil {
		_, _ = c.catchUp(ctx) // that it failed shows in what is missing
		m = c.mirror.packs.named(name)
	}
	if m == nil {
		if c.mirror.broken[name] == nil { // it is looked for once
			c.mirror.broken[name] = fmt.Errorf("%s is not in the bucket", name)
		}
		return false
	}
	_, found := m.Place(object.ParseID(id))
	return found
}

// damaged reports whether an error is about what a row holds, and not about
// reaching the table.
func damaged(err error) bool {
	return err != nil && !errors.As(err, new(*smithy.OperationError)) && !errors.Is(err, repository.ErrBusy) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}
