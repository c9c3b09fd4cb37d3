package control

import (
	"context"
	"slices"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/terminal"
)

// History is the commits that touched an item, newest first.
type History struct {
	History    []HistoryEntry `json:"history"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

// HistoryEntry is one commit, without anything of what it changed.
type HistoryEntry struct {
	SHA              string `json:"sha"`
	Message          string `json:"message"`
	AuthorName       string `json:"authorName"`
	AuthorEmail      string `json:"authorEmail"`
	CommitterName    string `json:"committerName"`
	CommitterEmail   string `json:"committerEmail"`
	Date             string `json:"date"`
	IsServiceAccount bool   `json:"isServiceAccount"`
}

// History returns an item's history: all of it, or the page asked for. An item
// that was deleted still has one.
func (s *Session) History(ctx context.Context, t document.Type, key string, q PageQuery) (*History, error) {
	b, issues := s.placeBounds("history "+string(t)+" "+key, q)
	if err := malformed(issues...); err != nil {
		return nil, err
	}
	path, ok := pathOf(t, key)
	if !ok {
		return nil, noSuch(t, key)
	}
	page := repository.Page{Path: path}
	if b.limit > 0 {
		page.Limit = b.limit + 1 // one more says whether there is a next page
	}
	if b.after != "" {
		if b.limit > 0 {
			page.Limit++ // the commit of the place comes first
		}
		_, commits, err := s.from(ctx, b.place, page)
		if err != nil {
			return nil, err
		}
		return s.historyPage(commits[1:], b), nil
	}
	commits, err := s.history(ctx, page)
	if err != nil {
		return nil, err
	}
	if len(commits) == 0 {
		return nil, noSuch(t, key)
	}
	return s.historyPage(commits, b), nil
}

func (s *Session) historyPage(commits []repository.Commit, b bounds) *History {
	h := &History{History: []HistoryEntry{}}
	if b.limit > 0 && len(commits) > b.limit {
		commits = commits[:b.limit]
		last := commits[b.limit-1]
		h.NextCursor = s.cursor(b.list, place{sequence: last.Sequence, sha: last.SHA}.String())
	}
	for _, c := range commits {
		h.History = append(h.History, HistoryEntry{
			SHA:              c.SHA,
			Message:          messageOf(c),
			AuthorName:       c.Author.Name,
			AuthorEmail:      c.Author.Email,
			CommitterName:    c.Committer.Name,
			CommitterEmail:   c.Committer.Email,
			Date:             date(c.Author.When),
			IsServiceAccount: byServiceAccount(c),
		})
	}
	return h
}

// stale refuses a write whose token names other content than the item's. What
// has become of the item since is told once the state that the refusal rests on
// has landed.
type stale struct {
	*attempt
	seen []byte // what the token names; nil when that is nothing
	made bool   // the token names a commit at which there was no such item
}

func (s *stale) Error() string { return "the item has changed since the token" }

func (a *stale) fault(ctx context.Context, changes bool) error {
	details := map[string]any{"code": codeStale, "currentCommitSha": a.last}
	if (a.seen != nil || a.made) && changes {
		a.tellChanges(ctx, details, *a.token, blobID(a.seen))
	}
	if a.made {
		return fault.New(fault.Conflict,
			"the %s %s has been created since the commit in expectedCommitSha; read it and decide again", a.t.Noun(), terminal.Quote(a.key)).With(details)
	}
	if a.seen == nil {
		return fault.New(fault.Conflict,
			"expectedCommitSha names no commit that holds the %s %s; send the whole commitSha (40 hexadecimal digits) of a fresh read", a.t.Noun(), terminal.Quote(a.key)).With(details)
	}
	return fault.New(fault.Conflict,
		"the %s %s has changed since the commit in expectedCommitSha; read it again and decide again", a.t.Noun(), terminal.Quote(a.key)).With(details)
}

const (
	maxChanges = 20  // that a conflict tells of
	farChanges = 200 // how far back the token is looked for
)

// tellChanges adds the newest changes of an item to the details of a conflict:
// back to a commit or, when that did not touch the item, to the content that
// it had there. Nothing is added when they cannot be read.
func (a *attempt) tellChanges(ctx context.Context, details map[string]any, sha, blob string) {
	commits, err := a.history(ctx, repository.Page{Path: a.path, Limit: farChanges})
	if err != nil {
		return
	}
	end := a.standing(commits, sha, blob)
	traces := make([]trace, 0, maxChanges)
	for _, c := range commits[:min(end, maxChanges)] {
		if touch, ok := touchOf(c, a.path); ok {
			traces = append(traces, trace{commit: c, touch: &touch})
		}
	}
	changes, err := a.describe(ctx, traces)
	if err != nil || len(changes) == 0 {
		return
	}
	details["changes"] = changes
	if end > maxChanges || len(changes) < len(traces) {
		details["changesTruncated"] = true
	}
}

// standing is where in an item's history, newest first, a token stands.
func (a *attempt) standing(commits []repository.Commit, token, blob string) int {
	if i := slices.IndexFunc(commits, func(c repository.Commit) bool { return c.SHA == token }); i >= 0 {
		return i
	}
	same := func(c repository.Commit) bool {
		touch, ok := touchOf(c, a.path)
		return ok && touch.Blob == blob
	}
	if i := slices.IndexFunc(commits, same); i >= 0 {
		return i
	}
	return len(commits)
}

func touchOf(c repository.Commit, path string) (repository.Touch, bool) {
	for _, touch := range c.Touched {
		if touch.Path == path {
			return touch, true
		}
	}
	return repository.Touch{}, false
}
