package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/turns"
	"svc.example/svc/shared/workspace"
)

// place is a position in the history: the commit has the say, and the sequence is where to
// look for it first.
func place(sequence int64, commit string) string {
	return strconv.FormatInt(sequence, 10) + " " + commit
}

// Commits are a workspace's repository, at a head.
type Commits interface {
	History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error)
	At(ctx context.Context, head repository.Head, path, revision string) (sha string, content []byte, err error)
}

// Feed makes the words of commits.
func Feed() *feed.Feed { return feed.New(1<<20, turns.Of(turns.Decoded, turns.Decoded)) }

// History are the commits of a workspace.
type History struct {
	Workspace string
	Head      repository.Head
	Commits   Commits
	Feed      *feed.Feed
}

var _ feed.Source = (*History)(nil)

// History implements feed.Source.
func (h *History) History(ctx context.Context, page repository.Page) ([]repository.Commit, error) {
	return h.Commits.History(ctx, h.Head, page)
}

// Text implements feed.Source.
func (h *History) Text(ctx context.Context, path, commit string) ([]byte, error) {
	if commit == "" {
		return nil, nil
	}
	_, text, err := h.Commits.At(ctx, h.Head, path, commit)
	if errors.Is(err, repository.ErrAbsent) || errors.Is(err, repository.ErrUnknownCommit) {
		return nil, nil
	}
	if errors.As(err, new(*workspace.Unread)) {
		return []byte{}, nil
	}
	return text, err
}

// KnowsEnvironment implements feed.Source. Nothing asks for one here.
func (h *History) KnowsEnvironment(context.Context, string) error { return nil }

// perPage is how many commits are looked at together.
const perPage = 32

// After implements Source. Where the history does not hold the commit of the position any
// more, it was replaced by force: the head alone is told then.
func (h *History) After(ctx context.Context, w *Webhook, position string) ([]Event, string, error) {
	at, commit, _ := strings.Cut(position, " ")
	sequence, _ := strconv.ParseInt(at, 10, 64)
	if commit == h.Head.Commit {
		return nil, position, nil
	}
	page := repository.Page{Before: sequence + perPage + 1, Limit: perPage + 1}
	commits, err := h.History(ctx, page)
	if err != nil {
		return nil, position, err
	}
	if i := slices.IndexFunc(commits, func(c repository.Commit) bool { return c.Sequence <= sequence }); commit != "" && (i < 0 || commits[i].SHA != commit) {
		found, err := feed.Find(ctx, h.History, commit, repository.Page{Limit: feed.MaxCommits})
		if err != nil {
			return nil, position, err
		}
		if found != nil {
			return nil, place(found.Sequence, commit), nil
		}
		if commits, err = h.History(ctx, repository.Page{Limit: 1}); err != nil {
			return nil, position, err
		}
		sequence = 0
	}
	slices.Reverse(commits)
	reached := position
	var events []Event
	for _, c := range commits {
		if c.Sequence <= sequence {
			continue
		}
		before := reached
		reached = place(c.Sequence, c.SHA)
		more, err := h.of(ctx, w, c)
		if err != nil {
			return nil, position, err
		}
		for i := range more { // what a commit is told as is told whole, or once more
			if more[i].Position = before; i == len(more)-1 {
				more[i].Position = reached
			}
		}
		events = append(events, more...)
	}
	if reached == position { // numbers that no commit has
		reached = place(min(sequence+perPage, h.Head.Sequence), commit)
	}
	return events, reached, nil
}

// of is what a commit is told as.
func (h *History) of(ctx context.Context, w *Webhook, c repository.Commit) (events []Event, err error) {
	if slices.Contains(w.Kinds, KindAudit) {
		if _, touched := c.Touch(workspace.File); touched {
			before, err := h.Text(ctx, workspace.File, c.Parent)
			if err != nil {
				return nil, err
			}
			after, err := h.Text(ctx, workspace.File, c.SHA)
			if err != nil {
				return nil, err
			}
			if told := audit.EnvironmentEvents(c, before, after); len(told) > 0 {
				events = append(events, auditEvent("audit/commit/"+c.SHA, told))
			}
		}
	}
	if !slices.Contains(w.Kinds, KindChange) {
		return events, nil
	}
	change, err := h.change(ctx, w, c)
	if err != nil || change == nil {
		return events, err
	}
	return append(events, *change), nil
}

// Entry is what a commit did to an item.
type Entry struct {
	Action   string             `json:"action"`
	Type     *string            `json:"type"`
	Key      *string            `json:"key"`
	Messages []activity.Message `json:"messages"`
	// Before and After name the contents of the item: the same for the same, and nothing else
	// can be told from them; null where there is none, and for a commit as a whole.
	Before *string `json:"before"`
	After  *string `json:"after"`
	// Omitted is how many messages were left out, where they would be too many.
	Omitted int `json:"messagesOmitted,omitempty"`
}

// changed is the data of a change.
type changed struct {
	Commit  string  `json:"commit"`
	Author  author  `json:"author"`
	Entries []Entry `json:"entries"`
	// Message is what whoever made the commit has said of it, and ChangeRequest that which it
	// has applied.
	Message       string         `json:"message,omitempty"`
	ChangeRequest *feed.Reviewed `json:"changeRequest,omitempty"`
}

type author struct {
	Name             string `json:"name"`
	Email            string `json:"email"`
	IsServiceAccount bool   `json:"isServiceAccount"`
}

// change is a commit as far as a webhook is told of it; nil for not at all.
func (h *History) change(ctx context.Context, w *Webhook, c repository.Commit) (*Event, error) {
	entries, touches, err := h.Feed.Of(access.Workspace{ID: h.Workspace}, "", h).Of(ctx, c)
	if err != nil {
		return nil, err
	}
	e := &Event{Kind: KindChange, ID: "change/" + c.SHA, At: c.Committer.When.UTC()}
	data := &changed{Commit: c.SHA, Author: author{Name: document.WordsWithin(c.Author.Name, 100), Email: document.WordsWithin(c.Author.Email, 100)}, Entries: []Entry{}}
	for i, a := range entries {
		passes, err := h.passes(ctx, w, c, a, touches[i])
		if err != nil {
			return nil, err
		}
		if !passes {
			continue
		}
		data.Author.IsServiceAccount, data.Message, data.ChangeRequest = a.IsServiceAccount, a.Message, a.ChangeRequest
		entry := Entry{Action: a.Action, Type: a.Type, Key: a.Key, Messages: a.Messages}
		if touch := touches[i]; touch == nil {
			e.Items = append(e.Items, Everything)
		} else {
			e.Items = append(e.Items, touch.Path)
			if entry.Before, entry.After, err = h.contents(ctx, c, *touch); err != nil {
				return nil, err
			}
		}
		data.Entries = append(data.Entries, entry)
	}
	if len(data.Entries) == 0 {
		return nil, nil
	}
	e.tell(data)
	e.change = data
	return e, nil
}

// contents name the file before and after a commit.
func (h *History) contents(ctx context.Context, c repository.Commit, t repository.Touch) (before, after *string, err error) {
	if t.Blob != "" {
		after = &t.Blob
	}
	if t.Created {
		return nil, after, nil
	}
	earlier, err := h.History(ctx, repository.Page{Path: t.Path, Before: c.Sequence, Limit: 1})
	if err != nil || len(earlier) == 0 {
		return nil, after, err
	}
	if touch, ok := earlier[0].Touch(t.Path); ok && touch.Blob != "" {
		before = &touch.Blob
	}
	return before, after, nil
}

// passes reports whether a filter lets an entry through. What is not known of a commit as a
// whole passes.
func (h *History) passes(ctx context.Context, w *Webhook, c repository.Commit, a feed.Activity, t *repository.Touch) (bool, error) {
	elsewhere := func(m activity.Message) bool {
		return m.Scope != "" && m.Scope != document.DefaultScope && !slices.Contains(w.Environments, m.Scope)
	}
	if len(w.Environments) > 0 && len(a.Messages) < activity.MaxMessages && !slices.ContainsFunc(a.Messages, func(m activity.Message) bool { return !elsewhere(m) }) {
		return false, nil
	}
	if t == nil {
		return len(w.Types) == 0 || slices.ContainsFunc(c.Touched, func(t repository.Touch) bool {
			folder, _, ok := workspace.SplitPath(t.Path)
			return ok && slices.Contains(w.Types, string(folder.ItemType()))
		}), nil
	}
	if len(w.Types) > 0 && (a.Type == nil || !slices.Contains(w.Types, *a.Type)) {
		return false, nil
	}
	if len(w.Tags) == 0 {
		return true, nil
	}
	for _, commit := range []string{c.SHA, c.Parent} {
		text, err := h.Text(ctx, t.Path, commit)
		if err != nil {
			return false, err
		}
		if text == nil {
			continue
		}
		if tree, _ := jsontree.Parse(text); tree != nil {
			for _, tag := range tree.Get("tags").Elements() {
				if name, ok := tag.Text(); ok && slices.Contains(w.Tags, name) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// views are the console's, by what they show.
var views = map[document.Type]string{document.Flag: "flags", document.Config: "configs", document.LogLevel: "log-levels", document.Segment: "segments"}

// linkTo is an item's place in the console; "" where it has none.
func linkTo(kind, key *string) string {
	if kind == nil || views[document.Type(*kind)] == "" {
		return ""
	}
	return "#/" + views[document.Type(*kind)] + "/" + url.PathEscape(*key)
}

// tell words the change for people.
func (e *Event) tell(data *changed) {
	who := data.Author.Name
	first := data.Entries[0]
	e.Link = "#/activity"
	switch {
	case len(data.Entries) > 1:
		e.Title = fmt.Sprintf("%s changed %d items", who, len(data.Entries))
	case first.Key == nil:
		e.Title = who + " changed the workspace"
	default:
		e.Title, e.Link = fmt.Sprintf("%s %s %s %s", who, first.Action, document.Type(*first.Type).Noun(), document.Words(*first.Key)), linkTo(first.Type, first.Key)
	}
	if data.Message != "" {
		e.Lines = append(e.Lines, "“"+document.Words(data.Message)+"”")
	}
	if r := data.ChangeRequest; r != nil {
		approved := ""
		if len(r.ApprovedBy) > 0 {
			approved = ", approved by " + strings.Join(r.ApprovedBy, ", ")
		}
		e.Lines = append(e.Lines, fmt.Sprintf("Change request %s, proposed by %s%s", r.ID, r.Author, approved))
	}
	for _, entry := range data.Entries {
		for _, m := range entry.Messages {
			line := m.Message
			if len(data.Entries) > 1 && entry.Key != nil {
				line = document.Words(*entry.Key) + ": " + line
			}
			e.Lines = append(e.Lines, line)
		}
	}
}
