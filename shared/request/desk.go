package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// Desk is what somebody does with the requests of a workspace.
type Desk struct {
	Store     Store
	Workspace access.Workspace
	By        access.Principal
	Registry  *access.Registry // for the edits of By
	Now       func() time.Time
	// Writer makes changes, under what ledgers call an Idempotency-Key; "" for none.
	Writer func(once string) *change.Writer
	// Operations reads what a change set is made of.
	Operations func(list *jsontree.Node) ([]change.Operation, error)
	// ID is the id of what is being answered, and Once tells it from others that its client
	// may send; nil for one that is not sent again.
	ID   string
	Once *change.Idempotency
	// OnceID is what the Idempotency-Key is called.
	OnceID string
}

// The values of details.code.
const (
	codeNotOpen = "NOT_OPEN"
	codeDigest  = "DIGEST_CHANGED"
	codeAuthor  = "OWN_REQUEST"
)

// Draft is what a request is made of, or of what is to be different about it; nil stays.
type Draft struct {
	Malformed          []document.Issue
	Title, Description *string
	Operations         *jsontree.Node
	Expires            *string // "" for never
	DryRun, Impact     bool
}

const (
	maxTitle = 200
	maxText  = 10_000
)

func textIssue(field string, text *string, least, most int) []document.Issue {
	unprintable := func(r rune) bool {
		return r == unicode.ReplacementChar || r != '\n' && r != '\t' && !unicode.IsGraphic(r)
	}
	if text == nil {
		return nil
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(*text)); n < least || n > most || strings.ContainsFunc(*text, unprintable) {
		return []document.Issue{{Pointer: "/" + field, Message: fmt.Sprintf("%s is text of %d to %d characters", field, least, most)}}
	}
	return nil
}

func (d Draft) issues(now time.Time) (expires time.Time, issues []document.Issue) {
	issues = slices.Concat(d.Malformed, textIssue("title", d.Title, 1, maxTitle), textIssue("description", d.Description, 0, maxText))
	if d.Title != nil && strings.Contains(*d.Title, "\n") {
		issues = append(issues, document.Issue{Pointer: "/title", Message: "title is one line"})
	}
	if d.Expires != nil && *d.Expires != "" {
		var err error
		if expires, err = time.Parse(time.RFC3339, *d.Expires); err != nil || !expires.After(now) {
			issues = append(issues, document.Issue{Pointer: "/expires", Message: "expires is a time to come, such as 2026-12-24T18:00:00Z"})
		}
	}
	if d.Operations != nil {
		if n := len(d.Operations.Items); d.Operations.Kind == jsontree.Array && (n == 0 || n > change.MaxOperations) {
			issues = append(issues, document.Issue{Pointer: "/operations", Message: fmt.Sprintf("operations has 1 to %d entries, not %d", change.MaxOperations, n)})
		} else if d.Operations.EncodedSize() > MaxOperations {
			issues = append(issues, document.Issue{Pointer: "/operations", Message: "the operations take more than 1 MiB; make several change requests of them"})
		}
	}
	return expires.UTC().Truncate(time.Second), issues
}

// Create makes a request, of what would not be refused now to somebody who may do everything.
func (d *Desk) Create(ctx context.Context, draft Draft) (*Detail, error) {
	if err := d.replay(ctx); err != nil || d.answered() {
		return nil, err
	}
	expires, issues := draft.issues(d.Now())
	for name, missing := range map[string]bool{"title": draft.Title == nil, "operations": draft.Operations == nil} {
		if missing && !refusal.HasIssueAt(issues, "/"+name) {
			issues = append(issues, document.Issue{Pointer: "/" + name, Message: name + " is missing"})
		}
	}
	if err := refusal.Malformed(issues...); err != nil {
		return nil, err
	}
	r := &Request{State: Open, Title: strings.TrimSpace(*draft.Title), Author: PersonOf(d.By), CreatedAt: d.now(), UpdatedAt: d.now(), ExpiresAt: expires}
	if draft.Description != nil {
		r.Description = *draft.Description
	}
	a, err := d.propose(ctx, r, draft)
	if err != nil {
		return nil, err
	}
	if draft.DryRun {
		return d.detail(ctx, r, a)
	}
	if err = d.Store.Create(ctx, d.Workspace.ID, r, d.once()); err == nil {
		err = d.note(ctx, access.RequestProposed, r)
	}
	return d.told(r, err)
}

// told is the answer to a write.
func (d *Desk) told(r *Request, err error) (*Detail, error) {
	if err != nil {
		return nil, failed(err)
	}
	return &Detail{Row: d.row(r)}, nil
}

// propose notes what operations come to, or why they are refused.
func (d *Desk) propose(ctx context.Context, r *Request, draft Draft) (*change.Assessment, error) {
	r.Operations = string(draft.Operations.Compact())
	a, err := d.assess(ctx, r, draft.Impact)
	switch {
	case err != nil:
		return nil, err
	case a.Refused != nil:
		return nil, a.Refused
	case !a.Result.Changed:
		return nil, fault.New(fault.Unprocessable, "nothing would change: everything is as the operations say")
	}
	r.Touched, r.Parts = a.Touched, a.Parts
	return a, nil
}

func (d *Desk) changeSet(r *Request, impact bool) (change.ChangeSet, error) {
	c := change.ChangeSet{Request: change.Request{ID: d.ID, Impact: impact}, Message: r.words(), Canonical: r.Operations}
	list, err := jsontree.Parse([]byte(r.Operations))
	if err == nil {
		c.Operations, err = d.Operations(list)
	}
	return c, err
}

func (d *Desk) assess(ctx context.Context, r *Request, impact bool) (*change.Assessment, error) {
	c, err := d.changeSet(r, impact)
	if err != nil {
		return nil, err
	}
	return d.Writer("").Assess(ctx, c)
}

// Get reads a request, with what it would do now.
func (d *Desk) Get(ctx context.Context, id string, impact bool) (*Detail, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	var a *change.Assessment
	if r.State == Open {
		if a, err = d.assess(ctx, r, impact); err != nil {
			return nil, err
		}
	}
	return d.detail(ctx, r, a)
}

// find reads a request. One that somebody began to apply is told as what became of it.
func (d *Desk) find(ctx context.Context, id string) (*Request, error) {
	number := Number(id)
	if number == 0 {
		return nil, failed(ErrNotFound)
	}
	r, err := d.Store.Get(ctx, d.Workspace.ID, number)
	if err != nil {
		return nil, failed(err)
	}
	return d.settled(ctx, r)
}

// note tells the audit trail, which has all be decided again that is not committed yet.
func (d *Desk) note(ctx context.Context, action access.Action, r *Request) error {
	return d.Registry.Note(ctx, access.Change{Action: action, Subject: ID(r.Number), Name: r.Title})
}

// open finds a request that is open.
func (d *Desk) open(ctx context.Context, id string) (*Request, error) {
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return r, d.isOpen(r)
}

func (d *Desk) isOpen(r *Request) error {
	if state := d.stateOf(r); state != Open {
		f := fault.New(fault.Conflict, "the change request %s is not open any more: it is %s", ID(r.Number), state)
		details := map[string]any{"code": codeNotOpen, "state": string(state)}
		if r.Commit != "" {
			details["commitSha"] = r.Commit
		}
		return f.With(details)
	}
	return nil
}

func (d *Desk) stateOf(r *Request) State {
	if r.State == Open && !r.ExpiresAt.IsZero() && !d.Now().Before(r.ExpiresAt) {
		return Expired
	}
	return r.State
}

// Change changes what a request says or does. Only its author may.
func (d *Desk) Change(ctx context.Context, id string, draft Draft) (*Detail, error) {
	if err := d.replay(ctx); err != nil || d.answered() {
		return nil, err
	}
	expires, issues := draft.issues(d.Now())
	if err := refusal.Malformed(issues...); err != nil {
		return nil, err
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Author.ID != d.By.ID {
		return nil, fault.New(fault.Forbidden, "only its author, %s, changes a change request; comment on it, or make another", r.Author.Name).With(map[string]any{"code": refusal.CodePermission})
	}
	if state := d.stateOf(r); state != Expired {
		if err := d.isOpen(r); err != nil {
			return nil, err
		}
	}
	next := *r
	if draft.Operations != nil {
		if _, err = d.propose(ctx, &next, draft); err != nil {
			return nil, err
		}
	}
	edit := func(r *Request) error {
		if r.State != Open {
			return d.isOpen(r)
		}
		if draft.Title != nil {
			r.Title = strings.TrimSpace(*draft.Title)
		}
		if draft.Description != nil {
			r.Description = *draft.Description
		}
		if draft.Expires != nil {
			r.ExpiresAt = expires
		}
		if draft.Operations != nil {
			if r.Begun != nil && r.BegunOperations == "" {
				r.BegunOperations = r.Operations
			}
			r.Operations, r.Touched, r.Parts = next.Operations, next.Touched, next.Parts
		}
		r.UpdatedAt = d.now()
		return nil
	}
	if draft.DryRun {
		if err = edit(&next); err != nil {
			return nil, err
		}
		a, err := d.assess(ctx, &next, draft.Impact)
		if err != nil {
			return nil, err
		}
		return d.detail(ctx, &next, a)
	}
	if r, err = d.update(ctx, r, WasChanged, edit); err == nil && draft.Operations != nil {
		err = d.note(ctx, access.RequestChanged, r)
	}
	return d.told(r, err)
}

func (d *Desk) update(ctx context.Context, r *Request, kind Kind, edit func(*Request) error) (*Request, error) {
	return d.Store.Update(ctx, d.Workspace.ID, r.Number, kind, d.mark(), d.once(), edit)
}

// Close ends a request without applying it: its author, and who may edit anything.
func (d *Desk) Close(ctx context.Context, id string, malformed []document.Issue) (*Detail, error) {
	if err := cmp.Or(d.replay(ctx), refusal.Malformed(malformed...)); err != nil || d.answered() {
		return nil, err
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Author.ID != d.By.ID && len(access.Permissions(d.By.EffectiveRoles())) == 0 {
		return nil, fault.New(fault.Forbidden, "its author closes a change request, or who may edit").With(map[string]any{"code": refusal.CodePermission})
	}
	r, err = d.update(ctx, r, WasClosed, func(r *Request) error {
		if r.State != Open {
			return d.isOpen(r)
		}
		mark := d.mark()
		r.State, r.Ended, r.UpdatedAt = Closed, &mark, mark.At
		return nil
	})
	if err == nil {
		err = d.note(ctx, access.RequestClosed, r)
	}
	if err == nil { // the same
		r, err = d.find(ctx, id)
	}
	return d.told(r, err)
}

// Comment adds a comment.
func (d *Desk) Comment(ctx context.Context, id, text string, malformed []document.Issue) (*Detail, error) {
	if err := d.replay(ctx); err != nil || d.answered() {
		return nil, err
	}
	if err := refusal.Malformed(slices.Concat(malformed, textIssue("text", &text, 1, 2000))...); err != nil {
		return nil, err
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err = d.update(ctx, r, WasCommented, func(r *Request) error {
		if len(r.Comments) >= MaxComments {
			return fault.New(fault.Unprocessable, "a change request has at most %d comments", MaxComments)
		}
		r.Comments = append(r.Comments, Comment{PersonOf(d.By), d.now(), strings.TrimSpace(text)})
		return nil
	})
	return d.told(r, err)
}

// failed words what the store refuses.
func failed(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound):
		return fault.New(fault.NotFound, "%v", ErrNotFound)
	case errors.Is(err, ErrFull), errors.Is(err, ErrTooMany):
		return fault.New(fault.Unprocessable, "%v", err)
	case errors.Is(err, ErrTooLarge):
		return fault.New(fault.PayloadTooLarge, "%v", err)
	case errors.Is(err, table.ErrBusy), errors.Is(err, table.ErrUnknown):
		return fault.New(fault.Unavailable, "the storage did not answer in time; look at the change request before you repeat this").Because(err)
	}
	return repository.Fault(err)
}

func (d *Desk) now() time.Time { return d.Now().UTC().Truncate(time.Second) }

func (d *Desk) mark() Mark { return Mark{PersonOf(d.By), d.now()} }

func (d *Desk) once() *Once {
	if d.Once == nil {
		return nil
	}
	return &Once{ID: d.OnceID, Request: d.Once.Request, Until: d.Now().Add(change.Remembered), Answer: func(r *Request) ([]byte, error) {
		answer, err := d.Once.Encode(d.row(r))
		if err == nil {
			d.Once.Answer = &answer
		}
		return answer.Body, err
	}}
}

// answered reports whether the request was answered before.
func (d *Desk) answered() bool { return d.Once != nil && d.Once.Replayed }

func (d *Desk) replay(ctx context.Context) error {
	if d.Once == nil {
		return nil
	}
	body, same, err := d.Store.Answered(ctx, d.Workspace.ID, &Once{ID: d.OnceID, Request: d.Once.Request})
	switch {
	case err != nil:
		return failed(err)
	case !same:
		return fault.New(fault.Unprocessable, "another request was answered under this Idempotency-Key: send each request under a key of its own, and the same request again byte for byte").
			With(map[string]any{"code": refusal.CodeMismatch})
	case body != nil:
		d.Once.Answer, d.Once.Replayed = &change.Answer{Status: 200, Body: body}, true
	}
	return nil
}
