package webhook

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/activity"
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
