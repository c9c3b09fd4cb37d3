package feed

import (
	"context"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// History is the commits that touched an item, newest first.
type History struct {
	History    []HistoryEntry `json:"history"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

// HistoryEntry is one commit, without anything of what it changed.
type HistoryEntry struct {
	SHA              string    `json:"sha"`
	Message          string    `json:"message"`
	AuthorName       string    `json:"authorName"`
	AuthorEmail      string    `json:"authorEmail"`
	CommitterName    string    `json:"committerName"`
	CommitterEmail   string    `json:"committerEmail"`
	Date             string    `json:"date"`
	IsServiceAccount bool      `json:"isServiceAccount"`
	Guard            string    `json:"guard,omitempty"`         // who may take it back
	Undoes           []string  `json:"undoes,omitempty"`        // commits that it takes back
	ChangeRequest    *Reviewed `json:"changeRequest,omitempty"` // that it has applied
}

// History returns an item's history: all of it, or the page asked for. An item
// that was deleted still has one.
func (r *Reader) History(ctx context.Context, t document.Type, key string, q PageQuery) (*History, error) {
	b, issues := r.cursors.placeBounds("history "+string(t)+" "+key, q)
	if err := refusal.Malformed(issues...); err != nil {
		return nil, err
	}
	path, ok := workspace.PathOf(t, key)
	if !ok {
		return nil, refusal.NoSuch(t, key)
	}
	page := repository.Page{Path: path}
	if b.Limit > 0 {
		page.Limit = b.Limit + 1 // one more tells whether there is a next page
	}
	if b.After != "" {
		if b.Limit > 0 {
			page.Limit++ // the commit of the place comes first
		}
		_, commits, err := r.from(ctx, b.place, page)
		if err != nil {
			return nil, err
		}
		return r.historyPage(commits[1:], b), nil
	}
	commits, err := r.source.History(ctx, page)
	if err != nil {
		return nil, err
	}
	if len(commits) == 0 {
		return nil, refusal.NoSuch(t, key)
	}
	return r.historyPage(commits, b), nil
}

func (r *Reader) historyPage(commits []repository.Commit, b Bounds) *History {
	h := &History{History: []HistoryEntry{}}
	if b.Limit > 0 && len(commits) > b.Limit {
		commits = commits[:b.Limit]
		last := commits[b.Limit-1]
		h.NextCursor = r.cursors.To(b.List, place{sequence: last.Sequence, sha: last.SHA}.String())
	}
	for _, c := range commits {
		guarded := GuardedBy(c)
		h.History = append(h.History, HistoryEntry{
			SHA:              c.SHA,
			Message:          MessageOf(c),
			AuthorName:       c.Author.Name,
			AuthorEmail:      c.Author.Email,
			CommitterName:    c.Committer.Name,
			CommitterEmail:   c.Committer.Email,
			Date:             project.Date(c.Author.When),
			IsServiceAccount: byServiceAccount(c),
			Guard:            guarded.Guard,
			Undoes:           guarded.Undoes,
			ChangeRequest:    ReviewedBy(c),
		})
	}
	return h
}

const (
	maxChanges = 20  // that are told since a commit
	farChanges = 200 // how far back it is looked for
)

// Since are the newest changes of a file: back to a commit or, when that did not touch
// the file, to the content of a blob, "" for none, that it had there. It reports whether
// there are more.
func (r *Reader) Since(ctx context.Context, path, sha, blob string) (changes []Activity, more bool, err error) {
	commits, err := r.source.History(ctx, repository.Page{Path: path, Limit: farChanges})
	if err != nil {
		return nil, false, err
	}
	end := slices.IndexFunc(commits, func(c repository.Commit) bool { return c.SHA == sha })
	if end < 0 {
		end = slices.IndexFunc(commits, func(c repository.Commit) bool {
			touch, ok := c.Touch(path)
			return ok && touch.Blob == blob
		})
	}
	if end < 0 {
		end = len(commits)
	}
	traces := make([]trace, 0, maxChanges)
	for _, c := range commits[:min(end, maxChanges)] {
		if touch, ok := c.Touch(path); ok {
			traces = append(traces, trace{commit: c, touch: &touch})
		}
	}
	changes, err = r.describe(ctx, traces)
	return changes, end > maxChanges || len(changes) < len(traces), err
}
