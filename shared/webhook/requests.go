package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/request"
)

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
	Number      int64        `json:"number"`
	Title       string       `json:"title"`
	Kind        request.Kind `json:"kind"`
	Author      author       `json:"author"`                // of what happened
	Commit      *string      `json:"commit"`                // of one that was applied
	Description string       `json:"description,omitempty"` // the beginning of it
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
		data.Description = one.Description
		lines := []string{title}
		if one.Description != "" {
			lines = append(lines, one.Description)
		}
		if one.Commit != "" {
			data.Commit = &one.Commit
		}
		text, err := json.Marshal(data)
		events = append(events, Event{Kind: KindRequest, ID: "request/" + one.Nonce, At: one.At, Items: []string{"request " + request.ID(one.Number)}, Position: reached,
			Title: fmt.Sprintf("%s %s change request %d", by.Name, did, one.Number), Lines: lines, Link: "#/requests/" + request.ID(one.Number), Data: text})
		return len(events) < perPage, err
	})
	return events, reached, err
}
