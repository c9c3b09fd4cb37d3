package dynamo

import (
	"context"
	"fmt"
	"strings"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/table"
)

// Since implements repository.Ledger.
func (l *Ledger) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	if head.Commit == "" || after >= head.Sequence {
		return nil, ctx.Err()
	}
	var commits []repository.Commit
	q := table.Query{Partition: l.rows(head.Index).log(), Low: first(after + 1), High: last(head.Sequence)}
	err := l.table.db.Query(ctx, q, func(i item) (bool, error) {
		c, _, err := l.commit(ctx, head.Index, i)
		if texts := i.Bytes("b"); err == nil && texts != nil {
			err = unpackTexts(c.Touched, texts)
		}
		commits = append(commits, c)
		return true, err
	})
	if err != nil {
		return nil, err
	}
	if n := len(commits); n == 0 || commits[n-1].SHA != head.Commit {
		return nil, fmt.Errorf("commit %s is not at %d in the history: %w", head.Commit, head.Sequence, repository.ErrMoved)
	}
	return commits, nil
}

// commit reads a row of the log with all its touches and shifts, without its texts.
func (l *Ledger) commit(ctx context.Context, index string, i item) (c repository.Commit, shifts []repository.Touch, err error) {
	if c, err = decodeCommit(i.Bytes("c")); err != nil {
		return c, nil, fmt.Errorf("%w: commit %s", errRow, i.Sort)
	}
	if p := i.Text("p"); p != "" {
		c.Pack = p
	}
	if parts := i.Number("n"); parts > 0 {
		c.Touched, shifts, err = l.parts(ctx, index, c.SHA, int(parts))
	} else if b := i.Bytes("x"); b != nil {
		var shifted repository.Commit
		shifted, err = decodeCommit(b)
		shifts = shifted.Touched
	}
	return c, shifts, err
}

// parts reads touches that were too many for a row.
func (l *Ledger) parts(ctx context.Context, index, sha string, parts int) (touched, shifts []repository.Touch, err error) {
	read := 0
	q := table.Query{Partition: l.rows(index).rest(), Low: partSort(sha, 0), High: partSort(sha, parts-1)}
	err = l.table.db.Query(ctx, q, func(i item) (bool, error) {
		read++
		for name, to := range map[string]*[]repository.Touch{"c": &touched, "x": &shifts} {
			if b := i.Bytes(name); b != nil {
				part, err := decodeCommit(b)
				if err != nil {
					return false, err
				}
				*to = append(*to, part.Touched...)
			}
		}
		return true, nil
	})
	if err == nil && read != parts {
		err = fmt.Errorf("%w: commit %s has %d parts, and %d are there", errRow, sha, parts, read)
	}
	return touched, shifts, err
}

// History implements repository.Ledger.
func (l *Ledger) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	upper := head.Sequence
	if page.Before > 0 {
		upper = min(upper, page.Before-1)
	}
	if head.Commit == "" || upper < 1 {
		return nil, ctx.Err()
	}
	if page.Path != "" {
		return l.trail(ctx, head.Index, page, upper)
	}
	var commits []repository.Commit
	q := table.Query{Partition: l.rows(head.Index).log(), Low: first(0), High: last(upper), Newest: true, Page: page.Limit, Only: withoutTexts}
	err := l.table.db.Query(ctx, q, func(i item) (bool, error) {
		c, _, err := l.commit(ctx, head.Index, i)
		commits = append(commits, c)
		return len(commits) != page.Limit, err
	})
	return commits, err
}

// trail is a page of the history of a path.
func (l *Ledger) trail(ctx context.Context, index string, page repository.Page, upper int64) ([]repository.Commit, error) {
	var commits []repository.Commit
	check := l.newCheck(index)
	q := table.Query{Partition: l.rows(index).item(page.Path), Low: first(0), High: last(upper), Newest: true, Page: page.Limit}
	err := l.table.db.Query(ctx, q, func(i item) (bool, error) {
		if i.Truth("s") {
			return true, nil
		}
		if visible, err := check.visible(ctx, i); err != nil || !visible {
			return true, err
		}
		c, err := commitOfItem(i, page.Path)
		commits = append(commits, c)
		return len(commits) != page.Limit, err
	})
	return commits, err
}

// check tells rows that a large commit wrote before it landed from those of
// one that never did.
type check struct {
	ledger *Ledger
	index  string
	known  map[string]bool
}

func (l *Ledger) newCheck(index string) check {
	return check{ledger: l, index: index, known: map[string]bool{}}
}

func (c check) visible(ctx context.Context, i item) (bool, error) {
	if !i.Truth("u") {
		return true, nil
	}
	_, sha, _ := strings.Cut(i.Sort, "/") // see place
	if visible, known := c.known[sha]; known {
		return visible, nil
	}
	row, _, err := c.ledger.table.db.GetOne(ctx, keyOf(c.ledger.rows(c.index).ids(), sha))
	c.known[sha] = row != nil
	return row != nil, err
}

// At implements repository.Ledger.
func (l *Ledger) At(ctx context.Context, head repository.Head, path, revision string) (string, repository.Touch, error) {
	sha, sequence, err := l.resolve(ctx, head, revision)
	if err != nil {
		return "", repository.Touch{}, err
	}
	touch := repository.Touch{}
	check := l.newCheck(head.Index)
	q := table.Query{Partition: l.rows(head.Index).item(path), Low: first(0), High: last(sequence), Newest: true, Page: 1}
	err = l.table.db.Query(ctx, q, func(i item) (bool, error) {
		if visible, err := check.visible(ctx, i); err != nil || !visible {
			return true, err
		}
		c, err := commitOfItem(i, path)
		if err == nil {
			touch = c.Touched[0]
		}
		return false, err
	})
	if err != nil {
		return "", repository.Touch{}, err
	}
	if touch.Blob == "" {
		return sha, repository.Touch{}, repository.ErrAbsent
	}
	return sha, touch, nil
}

// resolve finds the commit that a full id or an abbreviation names.
func (l *Ledger) resolve(ctx context.Context, head repository.Head, revision string) (sha string, sequence int64, err error) {
	if head.Commit == "" || !object.IsRevision(revision) {
		return "", 0, repository.ErrUnknownCommit
	}
	if revision == head.Commit {
		return head.Commit, head.Sequence, nil
	}
	hits := 0
	q := table.Query{Partition: l.rows(head.Index).ids(), Low: revision, High: revision + "g"}
	err = l.table.db.Query(ctx, q, func(i item) (bool, error) {
		if n := i.Number("n"); n <= head.Sequence {
			sha, sequence = i.Sort, n
			hits++
		}
		return hits < 2, nil
	})
	switch {
	case err != nil:
		return "", 0, err
	case hits == 0:
		return "", 0, repository.ErrUnknownCommit
	case hits > 1:
		return "", 0, fmt.Errorf("%s names several commits: %w", revision, repository.ErrAmbiguous)
	}
	return sha, sequence, nil
}

// Numbers are the sequences of all commits by their ids, as At finds them.
func (l *Ledger) Numbers(ctx context.Context, head repository.Head) (map[string]int64, error) {
	found := map[string]int64{}
	err := l.table.db.Query(ctx, table.Query{Partition: l.rows(head.Index).ids()}, func(i item) (bool, error) {
		found[i.Sort] = i.Number("n")
		return true, nil
	})
	return found, err
}

// LastTouches implements repository.Ledger, for when a base is lost. It reads
// the whole history. Where histories were merged, the last commit of a path
// may be one whose content the merge did not take: the last one that gave the
// file the content it has at the head counts.
func (l *Ledger) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	t := newTouches()
	err := l.log(ctx, head, 0, func(c repository.Commit, shifts []repository.Touch) error {
		t.add(c, shifts)
		return nil
	})
	return t.last(), err
}

// touches works out the last touches of a history whose rows come one by one,
// oldest first.
type touches struct {
	blobs map[string]string                       // what each file holds now
	by    map[string]map[string]repository.Commit // the last commit that gave a path a blob
}

func newTouches() touches {
	return touches{blobs: map[string]string{}, by: map[string]map[string]repository.Commit{}}
}

func (t touches) add(c repository.Commit, shifts []repository.Touch) {
	by := c
	by.Touched = nil
	for _, touch := range c.Touched {
		t.set(touch)
		if t.by[touch.Path] == nil {
			t.by[touch.Path] = map[string]repository.Commit{}
		}
		t.by[touch.Path][touch.Blob] = by
	}
	for _, touch := range shifts {
		t.set(touch)
	}
}

func (t touches) set(touch repository.Touch) {
	if touch.Blob == "" {
		delete(t.blobs, touch.Path)
		return
	}
	t.blobs[touch.Path] = touch.Blob
}

func (t touches) last() map[string]repository.Commit {
	found := make(map[string]repository.Commit, len(t.blobs))
	for path, blob := range t.blobs {
		if c, known := t.by[path][blob]; known {
			found[path] = c
		}
	}
	return found
}
