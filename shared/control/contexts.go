package control

import (
	"context"
	"fmt"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/terminal"
)

// ContextQuery narrows the list of saved contexts; what is empty does not.
type ContextQuery struct {
	Type        string
	Query       string // looked for in the key and in text properties, ignoring case
	Environment string
	Limit       *int // nil is 20
}

// ContextList is saved example contexts, most recently seen first.
type ContextList struct {
	Contexts []ContextRow `json:"contexts"`
}

// ContextRow is one saved context.
type ContextRow struct {
	Type        string  `json:"type"`
	Key         string  `json:"key"`
	Name        *string `json:"name"`
	Email       string  `json:"email,omitempty"`
	Environment string  `json:"environment"`
	LastSeenAt  string  `json:"lastSeenAt"`
}

const contextsUsually = 20

// Contexts searches the saved contexts.
func (s *Session) Contexts(ctx context.Context, q ContextQuery) (*ContextList, error) {
	if err := malformed(q.issues()...); err != nil {
		return nil, err
	}
	if err := s.knownEnvironment(ctx, q.Environment); err != nil {
		return nil, err
	}
	list := &ContextList{[]ContextRow{}}
	search := s.service.settings.Contexts
	if search == nil {
		return list, nil
	}
	limit := contextsUsually
	if q.Limit != nil {
		limit = *q.Limit
	}
	found, err := search.Contexts(ctx, s.entry.Workspace.ID,
		telemetry.Query{Environment: q.Environment, Type: q.Type, Text: q.Query, Limit: limit})
	if err != nil {
		return nil, telemetry.Fault(err)
	}
	for _, c := range found {
		list.Contexts = append(list.Contexts, contextRow(c))
	}
	return list, nil
}

func (q ContextQuery) issues() []document.Issue {
	var issues []document.Issue
	if q.Limit != nil {
		issues = limitIssues(*q.Limit)
	}
	for _, text := range []struct {
		name, content string
		most          int
	}{{"type", q.Type, telemetry.MaxName}, {"query", q.Query, telemetry.MaxKey}} {
		if len(text.content) > text.most {
			issues = append(issues, document.Issue{Pointer: "?" + text.name,
				Message: fmt.Sprintf("%s has at most %d bytes, this one has %d", text.name, text.most, len(text.content))})
		}
	}
	return issues
}

// knownEnvironment refuses a slip in an environment's name, which would look
// as if nothing had been seen there. An archived one may be searched.
func (s *Session) knownEnvironment(ctx context.Context, name string) error {
	if name == "" {
		return nil
	}
	o, err := s.open(ctx)
	if err != nil {
		return err
	}
	if _, known := o.view.ws.Environment(name); !known {
		return fault.New(fault.NotFound, "there is no environment %s; GET /environments lists them", terminal.Quote(name))
	}
	return nil
}

func contextRow(c telemetry.Saved) ContextRow {
	row := ContextRow{Type: c.Type, Key: c.Key, Email: c.Text("email"), Environment: c.Environment,
		LastSeenAt: date(c.LastSeen)}
	if name := c.Text("name"); name != "" {
		row.Name = &name
	}
	return row
}
