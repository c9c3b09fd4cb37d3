package local

import (
	"context"
	"sync"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

const progressStep = 1000

// rowsOf returns the rows of all commits that a walk finds from a head, in the order in
// which they are told. Progress hears now and then how many there are; it may be nil.
func rowsOf(ctx context.Context, way revwalk.Walk[row], head object.ID, progress func(commits int)) (rows []row, err error) {
	var counting sync.Mutex
	done := 0
	way.Begin = rowOf
	way.With = func(r row, touched []repository.Touch) row {
		c, parents, _ := r.decode()
		c.Touched = touched
		counting.Lock()
		defer counting.Unlock()
		if done++; progress != nil && done%progressStep == 0 {
			progress(done)
		}
		return rowOf(c, parents)
	}
	err = way.Each(ctx, head, func(n *revwalk.Node[row], touched []repository.Touch) error {
		r := n.Row
		if !n.Whole {
			r = way.With(r, touched)
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
