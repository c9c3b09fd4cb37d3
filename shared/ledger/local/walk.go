package local

import (
	"context"
	"sync"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// walker finds the commits that came by another way than Advance.
type walker struct {
	trees *revwalk.Trees
	// beside makes trees for another goroutine.
	beside func() *revwalk.Trees
	// known are commits that need not be walked to, and are not wanted.
	known func(object.ID) bool
	// earlier gives the row of a commit that was in an earlier history, to
	// spare reading it again. It may be nil.
	earlier func(object.ID) (row, bool)
	// progress hears now and then how many commits have been read.
	progress func(commits int)
}

const progressStep = 1000

// rows returns the rows of all commits that a head reaches and that are not
// known, in the order in which they are told.
func (w *walker) rows(ctx context.Context, head object.ID) ([]row, error) {
	var counting sync.Mutex
	done := 0
	finish := func(r row, touched []repository.Touch) row {
		c, parents, _ := r.decode()
		c.Touched = touched
		r = rowOf(c, parents)
		counting.Lock()
		defer counting.Unlock()
		if done++; w.progress != nil && done%progressStep == 0 {
			w.progress(done)
		}
		return r
	}
	way := revwalk.Walk[row]{Trees: w.trees, Begin: rowOf, Known: w.known, Beside: w.beside, With: finish}
	if w.earlier != nil {
		way.Earlier = func(id object.ID) (revwalk.Node[row], bool) {
			r, ok := w.earlier(id)
			if !ok {
				return revwalk.Node[row]{}, false
			}
			c, parents, _ := r.decode()
			return revwalk.Node[row]{ID: id, Tree: object.ParseID(c.Tree), Date: c.Committer.When.Unix(), Parents: parents, Row: r}, true
		}
	}
	var rows []row
	err := way.Each(ctx, head, func(n *revwalk.Node[row], touched []repository.Touch) error {
		r := n.Row
		if !n.Whole {
			r = finish(r, touched)
		}
		rows = append(rows, r.asHead(false))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if last := len(rows) - 1; last >= 0 {
		rows[last] = rows[last].asHead(true)
	}
	return rows, nil
}

// rootOf returns the id of the root tree of a row's commit.
func rootOf(trees *revwalk.Trees, r row) (object.ID, error) {
	if tree := r.header(0).Tree; tree != "" {
		return object.ParseID(tree), nil
	}
	c, err := trees.Commit(r.id())
	return c.Tree, err
}
