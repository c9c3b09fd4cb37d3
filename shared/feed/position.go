package feed

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// place is where in the history a page ended: a commit, and an entry of it. The
// sequence says where to look for the commit. It may stand elsewhere by now,
// since an index of the history can be made again, so the commit has the say.
type place struct {
	sequence int64
	index    int
	sha      string
}

func (p place) String() string {
	return strconv.FormatInt(p.sequence, 10) + "." + strconv.Itoa(p.index) + "." + p.sha
}

// readPlace reads a position that a cursor carried.
func readPlace(position string) (p place, ok bool) {
	parts := strings.Split(position, ".")
	if len(parts) != 3 || len(parts[2]) != object.IDLength {
		return p, false
	}
	var err, failed error
	p.sequence, err = strconv.ParseInt(parts[0], 10, 64)
	p.index, failed = strconv.Atoi(parts[1])
	p.sha = parts[2]
	return p, err == nil && failed == nil && p.sequence > 0
}

// from is the first page of a path's history that begins with a place's commit,
// and where that stands. A place that the history does not hold (any more) is refused,
// rather than to begin again or to leave something out.
func (r *Reader) from(ctx context.Context, p place, page repository.Page) (at place, commits []repository.Commit, err error) {
	commits, err = From(ctx, r.source.History, p.sha, p.sequence, page)
	if err == nil && commits == nil {
		err = refusal.Malformed(document.Issue{Pointer: "?cursor", Message: "the history that this cursor is from was replaced; start without"})
	}
	if err == nil {
		p.sequence = commits[0].Sequence
	}
	return p, commits, err
}

// reader reads a page of a history.
type reader = func(context.Context, repository.Page) ([]repository.Commit, error)

// From is a page of a history that begins with a commit, which once had a sequence; nil
// when the history does not hold it.
func From(ctx context.Context, history reader, sha string, sequence int64, page repository.Page) ([]repository.Commit, error) {
	for range 2 {
		page.Before = sequence + 1
		commits, err := history(ctx, page)
		if err != nil || len(commits) > 0 && commits[0].SHA == sha {
			return commits, err
		}
		found, err := Find(ctx, history, sha, repository.Page{Path: page.Path, Limit: MaxCommits})
		if err != nil || found == nil {
			return nil, err
		}
		sequence = found.Sequence
	}
	return nil, nil // it was replaced between the two
}

// Find looks for a commit among the maxSearched newest of a history, page by page; nil
// when it is none of them.
func Find(ctx context.Context, history reader, sha string, page repository.Page) (*repository.Commit, error) {
	for searched := 0; searched < maxSearched; searched += page.Limit {
		commits, err := history(ctx, page)
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(commits, func(c repository.Commit) bool { return c.SHA == sha }); i >= 0 {
			return &commits[i], nil
		}
		if len(commits) < page.Limit {
			break
		}
		page.Before = commits[len(commits)-1].Sequence
	}
	return nil, nil
}
