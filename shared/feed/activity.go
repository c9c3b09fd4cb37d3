package feed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// ActivityQuery asks for a page of the feed. Type and key go together and
// ask for one item's entries. "" is no filter.
type ActivityQuery struct {
	PageQuery
	Type string
	Key  string
	// Since and Until are times (RFC 3339): entries have their date at Since or
	// after it, and before Until.
	Since, Until string
	// Author is who made the commit: a name or an address, whatever its case, or the
	// id of a principal.
	Author string
	// Environment is one that the entry's messages speak of, or default. Of a commit
	// as a whole it is not known which it has touched, so that passes.
	Environment string
}

// ActivityList is one page of the feed, newest first.
type ActivityList struct {
	Activity   []Activity `json:"activity"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

// Activity is what one commit did to one item. Type and Key are nil for a
// commit as a whole, and for what touched no item but the workspace file.
type Activity struct {
	SHA              string             `json:"sha"`
	Date             string             `json:"date"`
	AuthorName       string             `json:"authorName"`
	AuthorEmail      string             `json:"authorEmail"`
	IsServiceAccount bool               `json:"isServiceAccount"`
	Action           string             `json:"action"`
	Type             *string            `json:"type"`
	Key              *string            `json:"key"`
	Messages         []activity.Message `json:"messages"`
	Guard            string             `json:"guard,omitempty"`  // who may take the commit back
	Undoes           []string           `json:"undoes,omitempty"` // commits that it takes back
	// Message is what whoever made the commit has said of it.
	Message       string    `json:"message,omitempty"`
	ChangeRequest *Reviewed `json:"changeRequest,omitempty"` // that it has applied
	// Items are the first of those that a commit as a whole touched, and ItemCount how many
	// these are.
	Items     []Item `json:"items,omitempty"`
	ItemCount int    `json:"itemCount,omitempty"`
}

// Item names an item.
type Item struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// The actions.
const (
	actionCreated = "created"
	actionUpdated = "updated"
	actionDeleted = "deleted"
)

const (
	defaultActivity = 30
	// maxItems is how many items a commit may touch before it is one entry.
	maxItems = 20
)

// Activity returns a page of the feed.
func (r *Reader) Activity(ctx context.Context, q ActivityQuery) (*ActivityList, error) {
	b, issues := r.cursors.placeBounds("activity "+q.Type+" "+q.Key, q.PageQuery)
	filter, wrong := q.filter()
	issues = append(append(issues, q.issues()...), wrong...)
	if err := refusal.Malformed(issues...); err != nil {
		return nil, err
	}
	if b.Limit == 0 {
		b.Limit = defaultActivity
	}
	path, ok := "", true // of all files
	if q.Type != "" {
		path, ok = workspace.PathOf(document.Type(q.Type), q.Key)
	}
	if !ok {
		return nil, refusal.NoSuch(document.Type(q.Type), q.Key)
	}
	if q.Environment != document.DefaultScope {
		if err := r.source.KnowsEnvironment(ctx, q.Environment); err != nil {
			return nil, err
		}
	}
	traces, rest, exists, err := r.traces(ctx, path, b, filter)
	if err != nil {
		return nil, err
	}
	if !exists && path != "" && b.After == "" {
		return nil, refusal.NoSuch(document.Type(q.Type), q.Key)
	}
	described, err := r.describe(ctx, traces)
	if err != nil {
		return nil, err
	}
	if n := len(described); n < len(traces) {
		rest = traces[n-1].place().String()
	}
	list := &ActivityList{Activity: []Activity{}}
	for i, e := range described {
		if filter.speaksOf(e.Messages) || traces[i].touch == nil {
			list.Activity = append(list.Activity, e)
		}
	}
	if rest != "" {
		list.NextCursor = r.cursors.To(b.List, rest)
	}
	return list, nil
}

func (q ActivityQuery) issues() []document.Issue {
	var issues []document.Issue
	if (q.Type == "") != (q.Key == "") {
		issues = append(issues, document.Issue{Pointer: "?type", Message: "type and key go together: send both, or neither"})
	}
	if q.Type != "" && workspace.ItemFolder(document.Type(q.Type)) == "" {
		issues = append(issues, document.Issue{Pointer: "?type",
			Message: "type is one of feature_flag, config, log_level, segment, schema"})
	}
	return issues
}

// trace is an entry to be: a commit and one of the files it touched, or none
// for the commit as a whole.
type trace struct {
	commit repository.Commit
	index  int // among the commit's traces
	touch  *repository.Touch
}

func (t trace) place() place { return place{t.commit.Sequence, t.index, t.commit.SHA} }

// after reports whether the trace comes behind a place in the feed.
func (t trace) after(p place) bool {
	return t.commit.Sequence < p.sequence || t.commit.Sequence == p.sequence && t.index > p.index
}

const (
	// MaxCommits bounds what is read at once in search of a commit that
	// touched an item.
	MaxCommits = 1000
	// maxSearched bounds what is read for a page: in the history of a large
	// project few commits may have.
	maxSearched = 4000
)

// traces collects a page of traces that may pass a filter, and the position that
// the rest begins after, if there is more. Where many commits touch no item or do
// not pass, the page ends in it, even if it is not full. It reports whether there is
// any commit.
func (r *Reader) traces(ctx context.Context, path string, b Bounds, filter activityFilter) (found []trace, rest string, exists bool, err error) {
	// The commit of the position is read again: not all of it may have been
	// on the page before. With it and one for the next page, the first
	// question has all the answers as long as every commit touches an item.
	page := repository.Page{Path: path, Limit: b.Limit + 2}
	var begin place
	for searched := 0; ; {
		var commits []repository.Commit
		if b.After != "" && searched == 0 {
			begin, commits, err = r.from(ctx, b.place, page)
		} else {
			commits, err = r.source.History(ctx, page)
		}
		if err != nil {
			return nil, "", false, err
		}
		exists = exists || len(commits) > 0
		over := len(commits) < page.Limit
		for _, c := range commits {
			if over = over || filter.ends(c); filter.ended {
				break
			}
			if !filter.takes(c) {
				continue
			}
			for _, t := range tracesOf(c, path) {
				if (b.After == "" || t.after(begin)) && r.maySpeakOf(t, filter) {
					found = append(found, t)
				}
			}
		}
		if len(found) > b.Limit {
			return found[:b.Limit], found[b.Limit-1].place().String(), exists, nil
		}
		if over {
			return found, "", exists, nil
		}
		last := commits[len(commits)-1]
		if searched += len(commits); searched >= maxSearched {
			return found, place{last.Sequence, math.MaxInt32, last.SHA}.String(), exists, nil
		}
		page.Before = last.Sequence
		page.Limit = min(2*page.Limit, MaxCommits)
	}
}

// tracesOf are the entries that a commit makes.
func tracesOf(c repository.Commit, path string) []trace {
	if path != "" {
		touch, ok := c.Touch(path)
		if !ok {
			return nil
		}
		return []trace{{commit: c, touch: &touch}}
	}
	touched := slices.Clone(c.Touched)
	slices.SortStableFunc(touched, func(a, b repository.Touch) int { return strings.Compare(a.Path, b.Path) })
	var traces []trace
	items := 0
	for i := range touched {
		_, _, item := workspace.SplitPath(touched[i].Path)
		if item {
			items++
		}
		if item || touched[i].Path == workspace.File {
			traces = append(traces, trace{c, len(traces), &touched[i]})
		}
	}
	if items > maxItems {
		return []trace{{commit: c}}
	}
	return traces
}

// Of are the entries of one commit, and what it did to the file of each; nil for a commit as
// a whole.
func (r *Reader) Of(ctx context.Context, c repository.Commit) (entries []Activity, touches []*repository.Touch, err error) {
	traces := tracesOf(c, "")
	for len(entries) < len(traces) {
		more, err := r.describe(ctx, traces[len(entries):]) // the first at least
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, more...)
	}
	for _, t := range traces {
		touches = append(touches, t.touch)
	}
	return entries, touches, nil
}

// activity is a trace's entry without its messages.
func (t trace) activity() Activity {
	guarded := GuardedBy(t.commit)
	e := Activity{
		SHA:              t.commit.SHA,
		Date:             project.Date(t.commit.Author.When),
		AuthorName:       t.commit.Author.Name,
		AuthorEmail:      t.commit.Author.Email,
		IsServiceAccount: byServiceAccount(t.commit),
		Guard:            guarded.Guard,
		Undoes:           guarded.Undoes,
		Message:          Said(t.commit),
		ChangeRequest:    ReviewedBy(t.commit),
	}
	if t.touch == nil {
		e.Action, e.Messages = wholeCommit(t.commit)
		e.Items, e.ItemCount = itemsOf(t.commit)
		return e
	}
	e.Action = actionOf(*t.touch)
	if folder, key, ok := workspace.SplitPath(t.touch.Path); ok {
		kind := string(folder.ItemType())
		e.Type, e.Key = &kind, &key
	}
	return e
}

func actionOf(touch repository.Touch) string {
	switch {
	case touch.Blob == "":
		return actionDeleted
	case touch.Created:
		return actionCreated
	}
	return actionUpdated
}

// itemsOf are the first items that a commit touched, by their paths, and how many there are.
func itemsOf(c repository.Commit) (first []Item, count int) {
	var paths []string
	for _, touch := range c.Touched {
		paths = append(paths, touch.Path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		folder, key, item := workspace.SplitPath(path)
		if !item {
			continue
		}
		if count++; count <= maxItems {
			first = append(first, Item{string(folder.ItemType()), key})
		}
	}
	return first, count
}

// wholeCommit counts what a commit of many items did.
func wholeCommit(c repository.Commit) (action string, messages []activity.Message) {
	counts := map[string]int{}
	total := 0
	for _, touch := range c.Touched {
		if _, _, item := workspace.SplitPath(touch.Path); item {
			counts[actionOf(touch)]++
			total++
		}
	}
	action = actionUpdated
	var parts []string
	for _, done := range []string{actionCreated, actionUpdated, actionDeleted} {
		if counts[done] == total {
			action = done
		}
		if counts[done] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[done], done))
		}
	}
	messages = []activity.Message{{Message: fmt.Sprintf("%d items in one commit: %s", total, strings.Join(parts, ", "))}}
	if subject, _, _ := strings.Cut(c.Message, "\n"); ours(c) && subject != itemsChanged(total) {
		messages = append([]activity.Message{{Message: subject}}, messages...)
	}
	return action, messages
}
