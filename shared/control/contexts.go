package control

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/document/project"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/terminal"
)

// ContextQuery narrows the list of saved contexts; what is empty does not.
type ContextQuery struct {
	Type        string
	Key         string // as a whole
	Query       string // looked for in the key and in text properties, ignoring case
	Environment string
	Limit       *int // nil is 20
	Properties  bool // are told
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
	// Context is as a request to evaluate has it, where it was asked for.
	Context *jsontree.Node `json:"context,omitempty"`
}

const contextsUsually = 20

// Contexts searches the saved contexts.
func (s *Session) Contexts(ctx context.Context, q ContextQuery) (*ContextList, error) {
	if err := refusal.Malformed(q.issues()...); err != nil {
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
	found, err := search.Contexts(ctx, s.caller.entry.Workspace.ID,
		telemetry.Query{Environment: q.Environment, Type: q.Type, Key: q.Key, Text: q.Query, Limit: limit})
	if err != nil {
		return nil, telemetry.Fault(err)
	}
	for _, c := range found {
		row := ContextRow{Type: c.Type, Key: c.Key, Email: c.Text("email"), Environment: c.Environment, LastSeenAt: project.Date(c.LastSeen)}
		if name := c.Text("name"); name != "" {
			row.Name = &name
		}
		if q.Properties {
			row.Context = nodeOf(&c)
		}
		list.Contexts = append(list.Contexts, row)
	}
	return list, nil
}

func (q ContextQuery) issues() []document.Issue {
	var issues []document.Issue
	if q.Limit != nil {
		issues = feed.LimitIssues(*q.Limit)
	}
	for _, text := range []struct {
		name, content string
		most          int
	}{{"type", q.Type, telemetry.MaxName}, {"key", q.Key, telemetry.MaxKey}, {"query", q.Query, telemetry.MaxKey}} {
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
	o, err := s.Open(ctx)
	if err != nil {
		return err
	}
	if _, known := o.View.Workspace().Environment(name); !known {
		return refusal.NoEnvironment(name)
	}
	return nil
}

// ExportedContexts is a page of the saved contexts of an environment.
type ExportedContexts struct {
	Contexts   []ExportedContext `json:"contexts"`
	NextCursor string            `json:"nextCursor,omitempty"`
}

// ExportedContext is one saved context with its properties.
type ExportedContext struct {
	Type       string `json:"type"`
	Key        string `json:"key"`
	LastSeenAt string `json:"lastSeenAt"`
	// Context is as a request to evaluate has it: the properties below the type.
	Context *jsontree.Node `json:"context"`
}

const (
	exportedUsually = 100
	maxExported     = 500 // of up to 8 KiB, and some more in JSON
)

// ExportContexts is a page of the saved contexts of an environment, type by type,
// each most recently seen first.
func (s *Session) ExportContexts(ctx context.Context, environment string, q feed.PageQuery) (*ExportedContexts, error) {
	list := "contexts\x00" + environment
	limit, page := exportedUsually, feed.PageQuery{Cursor: q.Cursor}
	b, issues := s.cursors().Bounds(list, page)
	if q.Limit != nil {
		if limit = *q.Limit; limit < 1 || limit > maxExported {
			issues = append(issues, document.Issue{Pointer: "?limit", Message: fmt.Sprintf("limit is a whole number from 1 to %d", maxExported)})
		}
	}
	if environment == "" {
		issues = append(issues, document.Issue{Pointer: "?environment", Message: refusal.NoEnvironmentNamed})
	}
	walk := telemetry.Walk{Environment: environment, Limit: limit}
	if b.After != "" {
		var after walkedTo
		if err := json.Unmarshal([]byte(b.After), &after); err != nil {
			issues = append(issues, feed.NotOurs)
		}
		walk.After = &telemetry.Saved{Environment: environment, Type: after.Type, Key: after.Key, LastSeen: time.UnixMilli(after.Seen).UTC()}
	}
	if err := refusal.Malformed(issues...); err != nil {
		return nil, err
	}
	if err := s.knownEnvironment(ctx, environment); err != nil {
		return nil, err
	}
	exported := &ExportedContexts{Contexts: []ExportedContext{}}
	saved := s.service.settings.Contexts
	if saved == nil {
		return exported, nil
	}
	var last telemetry.Saved
	err := saved.Walk(ctx, s.caller.entry.Workspace.ID, walk, func(c telemetry.Saved) bool {
		exported.Contexts, last = append(exported.Contexts, ExportedContext{c.Type, c.Key, project.Date(c.LastSeen), nodeOf(&c)}), c
		return true
	})
	if err != nil {
		return nil, telemetry.Fault(err)
	}
	if len(exported.Contexts) == limit {
		position, _ := json.Marshal(walkedTo{last.Type, last.Key, last.LastSeen.UnixMilli()}) // of texts and a number: it cannot fail
		exported.NextCursor = s.cursors().To(list, string(position))
	}
	return exported, nil
}

// walkedTo is where a page of exported contexts ended.
type walkedTo struct {
	Type, Key string
	Seen      int64 // in milliseconds since 1970
}

// nodeOf is a saved context as a request to evaluate has it.
func nodeOf(c *telemetry.Saved) *jsontree.Node {
	properties := jsontree.NewObject()
	for i := range c.Properties {
		p := &c.Properties[i]
		switch p.Kind {
		case telemetry.String:
			properties.Set(p.Name, jsontree.NewString(p.Text))
		case telemetry.StringList:
			list := jsontree.NewArray()
			for _, text := range p.List {
				list.Items = append(list.Items, jsontree.NewString(text))
			}
			properties.Set(p.Name, list)
		default: // the spelling of a number or a bool is JSON's
			if n, err := jsontree.Parse([]byte(p.Text)); err == nil {
				properties.Set(p.Name, n)
			}
		}
	}
	return jsontree.NewObject(jsontree.Field(c.Type, properties))
}

// Forgetting is a request to forget a person, or whatever else a context is.
type Forgetting struct {
	Malformed []document.Issue // what the reader of the request has found wrong already
	Type, Key string
}

// Forgotten says who was forgotten.
type Forgotten struct {
	Type string `json:"type"`
	Key  string `json:"key"`
}

// ForgetContext deletes whatever is saved of a context type and key, in all
// environments.
func (s *Session) ForgetContext(ctx context.Context, f Forgetting) (*Forgotten, error) {
	if s.use != Write {
		return nil, change.ErrReads
	}
	if err := refusal.Malformed(f.Malformed...); err != nil {
		return nil, err
	}
	o, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := refusal.Forbidden(s.caller.entry.Principal, "forgetting a context: ", access.Edit(access.TierStandard, o.View.Scopes().Metadata())); err != nil {
		return nil, err
	}
	var environments []string
	for _, e := range o.View.Workspace().Environments {
		environments = append(environments, e.Name)
	}
	found := false
	if saved := s.service.settings.Contexts; saved != nil {
		found, err = saved.Forget(ctx, s.caller.entry.Workspace.ID, environments, f.Type, f.Key, s.service.settings.Now())
	}
	if err != nil {
		return nil, telemetry.Fault(err)
	}
	if !found {
		return nil, fault.New(fault.NotFound, "there is no saved context of the type %s with the key %s; GET /contexts finds them", terminal.Quote(f.Type), terminal.Quote(f.Key))
	}
	return &Forgotten{f.Type, f.Key}, nil
}
