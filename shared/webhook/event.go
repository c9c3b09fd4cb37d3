package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/request"
	"svc.example/svc/shared/turns"
	"svc.example/svc/shared/workspace"
)

// Event is something that happened, as a webhook is told of it.
type Event struct {
	Kind string    `json:"kind"`
	ID   string    `json:"id"` // among all of the workspace
	At   time.Time `json:"at"`
	// Items are what it is about: what is about one of them is told in order. Everything is
	// about everything.
	Items []string `json:"items"`
	// Title and Lines tell it to people, and Link leads there in the console (#/...).
	Title string          `json:"title"`
	Lines []string        `json:"lines"`
	Link  string          `json:"link"`
	Data  json.RawMessage `json:"data"`
	// change is what Data is made of, where that is still to be done.
	change *changed
	// Position is where its source stands behind it.
	Position string `json:"-"`
}

// Everything stands for all items.
const Everything = "*"

// Source is events in the order in which they happened. Positions are its own words.
type Source interface {
	// After are some events behind a position that a webhook is told of, and the position
	// up to which there are no others; the one that was given when it is the end.
	After(ctx context.Context, w *Webhook, position string) (events []Event, reached string, err error)
}

// The sources, by the attribute that holds their position.
const (
	SourceHistory  = "history" // of changes, and of what commits did to environments
	SourceAudit    = "audit"
	SourceRequests = "request"
)

// sourcesOf are those that a webhook is told of.
func sourcesOf(w *Webhook) (names []string) {
	if slices.Contains(w.Kinds, KindChange) || slices.Contains(w.Kinds, KindAudit) {
		names = append(names, SourceHistory)
	}
	if slices.Contains(w.Kinds, KindAudit) {
		names = append(names, SourceAudit)
	}
	if slices.Contains(w.Kinds, KindRequest) {
		names = append(names, SourceRequests)
	}
	return names
}

// Position is where the history or the audit trail ends.
type Position struct {
	Commit   string
	Access   int64
	Requests int64 // the last event of change requests
}

func (p Position) of(source string) string {
	switch source {
	case SourceHistory:
		return place(0, p.Commit)
	case SourceAudit:
		return strconv.FormatInt(p.Access, 10)
	}
	return strconv.FormatInt(p.Requests, 10)
}

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
		data.Author.IsServiceAccount = a.IsServiceAccount
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

// finish makes the data of a change: its contents get digests, and what would be too much is
// left out.
func (e *Event) finish(key []byte) (err error) {
	e.Lines = e.Lines[:min(len(e.Lines), maxLines+1)]
	for i, line := range e.Lines {
		e.Lines[i] = document.WordsWithin(line, maxLine)
	}
	if e.change == nil {
		return nil
	}
	for i := range e.change.Entries {
		entry := &e.change.Entries[i]
		entry.Before, entry.After = digest(key, entry.Before), digest(key, entry.After)
	}
	for most := activity.MaxMessages; ; most /= 2 {
		if e.Data, err = json.Marshal(e.change); err != nil || len(e.Data) <= maxData || most == 0 {
			return err
		}
		for i := range e.change.Entries {
			entry := &e.change.Entries[i]
			kept := min(most/2, len(entry.Messages))
			entry.Omitted += len(entry.Messages) - kept
			entry.Messages = entry.Messages[:kept]
		}
	}
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

// Audit is what was done to keys, principals and webhooks.
type Audit struct {
	Registry *access.Registry
	Access   int64 // its version
}

// After implements Source.
func (a Audit) After(ctx context.Context, _ *Webhook, position string) ([]Event, string, error) {
	at, _ := strconv.ParseInt(position, 10, 64)
	if at >= a.Access {
		return nil, position, nil
	}
	entries, err := a.Registry.Audit(ctx, int(a.Access-at)) // each edit has at most one
	if err != nil {
		return nil, position, err
	}
	var events []Event
	for _, entry := range entries {
		if entry.Version > at && entry.Version <= a.Access && len(entry.Changes) > 0 { // a workspace that was restored counts anew
			number := strconv.FormatInt(entry.Version, 10)
			e := auditEvent(fmt.Sprint("audit/", number, "/", entry.At.UnixNano()), audit.Events([]access.Entry{entry}, nil, 0))
			e.Position = number
			events = append(events, e)
		}
	}
	return events, strconv.FormatInt(a.Access, 10), nil
}

// Requests are what happened to a workspace's change requests.
type Requests struct {
	Store     request.Store
	Workspace string
}

// words are what somebody did, but for the number of the request.
var words = map[request.Kind]string{request.WasCreated: "proposed", request.WasChanged: "changed", request.WasApproved: "approved", request.WasWithdrawn: "no longer approves",
	request.WasCommented: "commented on", request.WasApplied: "applied", request.WasClosed: "closed"}

// requested is the data of such an event.
type requested struct {
	Number int64        `json:"number"`
	Title  string       `json:"title"`
	Kind   request.Kind `json:"kind"`
	Author author       `json:"author"` // of what happened
	Commit *string      `json:"commit"` // of one that was applied
}

// After implements Source. That somebody began to apply one is not told: it may come to nothing.
func (r Requests) After(ctx context.Context, _ *Webhook, position string) (events []Event, reached string, err error) {
	at, _ := strconv.ParseInt(position, 10, 64)
	reached = position
	err = r.Store.Events(ctx, r.Workspace, at, func(one request.Event) (bool, error) {
		reached = strconv.FormatInt(one.Sequence, 10)
		did, told := words[one.Kind]
		if !told {
			return true, nil
		}
		title, by := document.WordsWithin(one.Title, 100), author{document.WordsWithin(one.By.Name, 100), document.WordsWithin(one.By.Email, 100), one.By.Type == access.PrincipalServiceAccount}
		data := requested{Number: one.Number, Title: title, Kind: one.Kind, Author: by}
		if one.Commit != "" {
			data.Commit = &one.Commit
		}
		text, err := json.Marshal(data)
		events = append(events, Event{Kind: KindRequest, ID: "request/" + one.Nonce, At: one.At, Items: []string{"request " + request.ID(one.Number)}, Position: reached,
			Title: fmt.Sprintf("%s %s change request %d", by.Name, did, one.Number), Lines: []string{title}, Link: "#/requests/" + request.ID(one.Number), Data: text})
		return len(events) < perPage, err
	})
	return events, reached, err
}

// maxAudited is how many events of one edit are told, as of somebody with very many sessions.
const maxAudited = 50

// audited is an event of the trail, and that in words.
type audited struct {
	audit.Event
	Words string `json:"words"`
}

// auditEvent is one edit as it is told.
func auditEvent(id string, told []audit.Event) Event {
	e := Event{Kind: KindAudit, ID: id, At: told[0].At, Title: document.WordsWithin(told[0].By, 100) + ", in the audit trail", Link: "#/settings/audit"}
	var all []audited
	omitted := max(0, len(told)-maxAudited)
	for _, one := range told[:len(told)-omitted] {
		e.Items = append(e.Items, "audit "+one.Subject)
		e.Lines = append(e.Lines, one.Words())
		all = append(all, audited{one, one.Words()})
	}
	data := map[string]any{"events": all}
	if omitted > 0 {
		data["eventsOmitted"] = omitted
	}
	e.Data, _ = json.Marshal(data) // of texts and times
	return e
}
