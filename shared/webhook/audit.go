package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/document"
)

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
