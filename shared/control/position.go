package control

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
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

// errNoPlace refuses a cursor whose commit the history does not hold (any
// more), rather than to begin again or to leave something out.
func errNoPlace() error {
	return malformed(document.Issue{Pointer: "?cursor",
		Message: "the history that this cursor is from was replaced; start without"})
}

// from is the first page of a path's history that begins with a place's commit,
// and where that stands.
func (s *Session) from(ctx context.Context, p place, page repository.Page) (at place, commits []repository.Commit, err error) {
	page.Before = p.sequence + 1
	commits, err = s.history(ctx, page)
	if err != nil || len(commits) > 0 && commits[0].SHA == p.sha {
		return p, commits, err
	}
	if p.sequence, err = s.find(ctx, p.sha, page.Path); err != nil {
		return p, nil, err
	}
	if p.sequence == 0 {
		return p, nil, errNoPlace()
	}
	page.Before = p.sequence + 1
	commits, err = s.history(ctx, page)
	if err == nil && (len(commits) == 0 || commits[0].SHA != p.sha) {
		err = errNoPlace() // it was replaced between the two
	}
	return p, commits, err
}

// find looks for a commit among the newest of a path's history; 0 when it is none
// of them.
func (s *Session) find(ctx context.Context, sha, path string) (sequence int64, err error) {
	found, err := search(sha, repository.Page{Path: path, Limit: maxCommits}, func(page repository.Page) ([]repository.Commit, error) { return s.history(ctx, page) })
	if found == nil {
		return 0, err
	}
	return found.Sequence, nil
}

// search looks for a commit among the maxSearched newest of a history, page by page;
// nil when it is none of them.
func search(sha string, page repository.Page, read func(repository.Page) ([]repository.Commit, error)) (*repository.Commit, error) {
	for searched := 0; searched < maxSearched; searched += page.Limit {
		commits, err := read(page)
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
