package request

import (
	"cmp"
	"context"
	"encoding/json"
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
	"svc.example/svc/shared/feed"
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
	return d.told(r, d.Store.Create(ctx, d.Workspace.ID, r, d.once()))
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
	c := change.ChangeSet{Request: change.Request{ID: d.ID, Impact: impact}, Message: r.Title, Canonical: r.Operations}
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

func (d *Desk) settled(ctx context.Context, r *Request) (*Request, error) {
	if r.State == Applied || r.Begun == nil {
		return r, nil
	}
	landed := applying(r)
	if err := d.Writer(onceOf(r)).Replay(ctx, landed); err != nil || !landed.Replayed {
		return r, err
	}
	return d.ended(ctx, r, *r.Begun, landed.Answer, nil)
}

// applying is the Idempotency-Key of a request's one commit.
func applying(r *Request) *change.Idempotency {
	return &change.Idempotency{Request: change.Digest([]byte("apply"), []byte(ID(r.Number))), For: keptApplied,
		Encode: func(result any) (change.Answer, error) {
			text, err := json.Marshal(landed{result.(*change.ChangeSetResult).CommitSHA})
			return change.Answer{Status: 200, Body: text}, err
		}}
}

func onceOf(r *Request) string {
	return change.Digest([]byte("change request"), []byte(ID(r.Number)))
}

// keptApplied is for how long a ledger knows which request a commit was made for. By then
// somebody has looked.
const keptApplied = 10 * 365 * 24 * time.Hour

type landed struct {
	Commit string `json:"commitSha"`
}

// ended notes that a request's commit has landed.
func (d *Desk) ended(ctx context.Context, r *Request, by Mark, answer *change.Answer, once *Once) (*Request, error) {
	var l landed
	if err := json.Unmarshal(answer.Body, &l); err != nil {
		return nil, err
	}
	updated, err := d.Store.Update(ctx, d.Workspace.ID, r.Number, WasApplied, by, once, func(r *Request) error {
		if r.State == Applied {
			return ErrUnchanged
		}
		r.State, r.Commit, r.Ended, r.UpdatedAt = Applied, l.Commit, &by, by.At
		if r.BegunOperations != "" { // which others have replaced meanwhile
			r.Operations, r.BegunOperations = r.BegunOperations, ""
		}
		return nil
	})
	if errors.Is(err, ErrUnchanged) {
		return updated, nil
	}
	if err == nil {
		err = d.note(ctx, access.RequestApplied, updated)
	}
	return updated, failed(err)
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

// Approve approves what a digest stands for, if that is what the request would do now.
func (d *Desk) Approve(ctx context.Context, id, digest string, malformed []document.Issue) (*Detail, error) {
	if err := d.replay(ctx); err != nil || d.answered() {
		return nil, err
	}
	if digest == "" && !refusal.HasIssueAt(malformed, "/digest") {
		malformed = append(malformed, document.Issue{Pointer: "/digest", Message: "digest is missing: preview.digest of the change request, as it was looked at"})
	}
	if err := refusal.Malformed(malformed...); err != nil {
		return nil, err
	}
	r, err := d.open(ctx, id)
	if err != nil {
		return nil, err
	}
	a, err := d.assess(ctx, r, false)
	if err != nil {
		return nil, err
	}
	if err := d.mayApprove(ctx, r, a.Decided, d.By); err != nil {
		return nil, err
	}
	if a.Refused != nil {
		return nil, a.Refused
	}
	if a.Digest != digest {
		return nil, fault.New(fault.Conflict, "the digest is not that of what the change request would do now: look at it again").
			With(map[string]any{"code": codeDigest, "digest": a.Digest})
	}
	r, err = d.update(ctx, r, WasApproved, func(r *Request) error {
		if err := d.isOpen(r); err != nil {
			return err
		}
		mine := func(a Approval) bool { return a.By.ID == d.By.ID }
		if slices.ContainsFunc(r.Approvals, func(a Approval) bool { return mine(a) && a.Digest == digest }) {
			return ErrUnchanged
		}
		r.Approvals = append(slices.DeleteFunc(slices.Clone(r.Approvals), mine), Approval{PersonOf(d.By), d.now(), digest, a.Parts})
		return nil
	})
	if err == nil {
		err = d.note(ctx, access.RequestApproved, r)
	} else if errors.Is(err, ErrUnchanged) {
		err = nil
	}
	return d.told(r, err)
}

// mayApprove says why somebody's approval cannot count in any environment.
func (d *Desk) mayApprove(ctx context.Context, r *Request, at *change.Decided, by access.Principal) error {
	if by.Type != access.PrincipalUser {
		return fault.New(fault.Forbidden, "people approve, and no service account does").With(map[string]any{"code": refusal.CodePermission})
	}
	if err := at.Permits(ctx, by); err != nil {
		return err
	}
	why := fault.New(fault.Forbidden, "nobody approves what they have proposed themselves; somebody else does").With(map[string]any{"code": codeAuthor})
	for _, environment := range at.Environments {
		review := at.Reviews[environment]
		if len(review.Roles) > 0 && !slices.ContainsFunc(by.EffectiveRoles(), func(role string) bool { return slices.Contains(review.Roles, role) }) {
			why = fault.New(fault.Forbidden, "who approves changes of %s has the role %s", environment, strings.Join(review.Roles, " or ")).With(map[string]any{"code": refusal.CodePermission})
			continue
		}
		if r.Author.ID != by.ID || review.AuthorMayApprove {
			return nil
		}
	}
	if r.Author.ID != by.ID && len(at.Environments) == 0 {
		return nil
	}
	return why
}

// Withdraw takes one's own approval back.
func (d *Desk) Withdraw(ctx context.Context, id string, malformed []document.Issue) (*Detail, error) {
	if err := cmp.Or(d.replay(ctx), refusal.Malformed(malformed...)); err != nil || d.answered() {
		return nil, err
	}
	r, err := d.open(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err = d.update(ctx, r, WasWithdrawn, func(r *Request) error {
		if err := d.isOpen(r); err != nil {
			return err
		}
		n := len(r.Approvals)
		r.Approvals = slices.DeleteFunc(slices.Clone(r.Approvals), func(a Approval) bool { return a.By.ID == d.By.ID })
		if len(r.Approvals) == n {
			return fault.New(fault.NotFound, "you have not approved the change request %s", ID(r.Number))
		}
		return nil
	})
	if err == nil {
		err = d.note(ctx, access.RequestWithdrawn, r)
	}
	if err == nil { // it may have been applied before that was noted
		r, err = d.find(ctx, id)
	}
	return d.told(r, err)
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

// Apply makes the request's commit, if it is approved as what it is about stands by then.
// One that was applied is told as such.
func (d *Desk) Apply(ctx context.Context, id string, malformed []document.Issue) (*Detail, error) {
	if err := cmp.Or(d.replay(ctx), refusal.Malformed(malformed...)); err != nil || d.answered() {
		return nil, err
	}
	r, err := d.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.State == Applied {
		return d.told(r, nil)
	}
	if err := d.isOpen(r); err != nil {
		return nil, err
	}
	mark := d.mark()
	c, err := d.changeSet(r, false)
	if err != nil {
		return nil, err
	}
	c.Idempotency = applying(r)
	_, err = d.Writer(onceOf(r)).Carry(ctx, c, func(ctx context.Context, state *change.State, at *change.Decided) ([]string, error) {
		return d.approved(ctx, r.Number, c.Canonical, mark, at)
	})
	if err != nil && fault.Of(err).Kind == fault.Conflict { // somebody else was faster, perhaps
		if now, lost := d.find(ctx, id); lost == nil && now.State == Applied {
			return d.told(now, nil)
		}
	}
	switch {
	case err != nil:
		return nil, err
	case c.Idempotency.Answer == nil:
		return nil, fault.New(fault.Conflict, "nothing is left to change: everything is as the change request says; close it")
	}
	return d.told(d.ended(ctx, r, mark, c.Idempotency.Answer, d.once()))
}

// approved are the lines that a commit's message ends in, for a request that is approved as
// it stands now.
func (d *Desk) approved(ctx context.Context, number int64, operations string, mark Mark, at *change.Decided) ([]string, error) {
	r, err := d.Store.Get(ctx, d.Workspace.ID, number)
	if err != nil {
		return nil, failed(err)
	}
	if err := d.isOpen(r); err != nil {
		return nil, err
	}
	counted, err := d.count(ctx, r, at)
	if err != nil {
		return nil, err
	}
	var lacking []string
	for _, q := range counted.requirements {
		if q.Given < q.Approvals {
			lacking = append(lacking, q.Environment)
		}
	}
	trailers := []string{feed.ChangeRequest + ID(r.Number), feed.RequestedBy + r.Author.line()}
	for i, a := range r.Approvals {
		if counted.why[i] == "" {
			trailers = append(trailers, feed.ApprovedBy+a.By.line())
		}
	}
	unreviewed := error(nil)
	if len(lacking) > 0 {
		unreviewed = &repository.Unreviewed{Environments: lacking}
	}
	if unreviewed == nil || access.BypassesReview(d.By.EffectiveRoles()) {
		err = d.begin(ctx, number, operations, mark)
	}
	return trailers, cmp.Or(err, unreviewed)
}

// begin notes that a request is being applied, so that whoever finds it asks what became of
// that.
func (d *Desk) begin(ctx context.Context, number int64, operations string, mark Mark) error {
	_, err := d.Store.Update(ctx, d.Workspace.ID, number, WasBegun, mark, nil, func(r *Request) error {
		if r.Operations != operations {
			return fault.New(fault.Conflict, "the change request was changed meanwhile; look at it again").With(map[string]any{"code": codeDigest})
		}
		r.Begun, r.BegunOperations = &mark, ""
		return d.isOpen(r)
	})
	return failed(err)
}

func (p Person) line() string {
	if p.Email == "" {
		return p.Name + " (" + string(p.ID) + ")"
	}
	return p.Name + " <" + p.Email + ">"
}

// Requirement is what an environment that a request reaches asks for.
type Requirement struct {
	Environment      string   `json:"environment"`
	Approvals        int      `json:"approvals"`
	Given            int      `json:"given"` // that count
	Roles            []string `json:"roles"` // of which who approves has one; none is any
	AuthorMayApprove bool     `json:"authorMayApprove"`
}

type counted struct {
	requirements []Requirement
	why          []string // each approval does not count; "" for one that does
}

// count counts the approvals of a request.
func (d *Desk) count(ctx context.Context, r *Request, at *change.Decided) (*counted, error) {
	c := &counted{requirements: []Requirement{}, why: make([]string, len(r.Approvals))}
	var principals []access.Principal
	if len(r.Approvals) > 0 {
		var err error
		if principals, err = d.Registry.Principals(ctx); err != nil {
			return nil, repository.Fault(err)
		}
	}
	valid := make([]access.Principal, len(r.Approvals))
	for i, a := range r.Approvals {
		k := slices.IndexFunc(principals, func(p access.Principal) bool { return p.ID == a.By.ID })
		switch {
		case a.Digest != at.Digest:
			c.why[i] = "it was for something else: since then " + differs(a.Parts, at.Parts)
		case k < 0 || principals[k].Disabled:
			c.why[i] = "who gave it is no longer here"
		default:
			if err := d.mayApprove(ctx, r, at, principals[k]); err != nil {
				if fault.Of(err).Kind != fault.Forbidden {
					return nil, err
				}
				c.why[i] = fault.Of(err).Message
			}
			valid[i] = principals[k]
		}
	}
	for _, environment := range at.Environments {
		review := at.Reviews[environment]
		q := Requirement{Environment: environment, Approvals: review.Approvals, Roles: append([]string{}, review.Roles...), AuthorMayApprove: review.AuthorMayApprove}
		for i, p := range valid {
			only := *at
			only.Environments = []string{environment}
			if c.why[i] == "" && d.mayApproveIn(r, &only, p) {
				q.Given++
			}
		}
		c.requirements = append(c.requirements, q)
	}
	return c, nil
}

// mayApproveIn is mayApprove of somebody who may make the change, for one environment.
func (d *Desk) mayApproveIn(r *Request, at *change.Decided, by access.Principal) bool {
	review := at.Reviews[at.Environments[0]]
	return (r.Author.ID != by.ID || review.AuthorMayApprove) &&
		(len(review.Roles) == 0 || slices.ContainsFunc(by.EffectiveRoles(), func(role string) bool { return slices.Contains(review.Roles, role) }))
}

// differs says what of the parts of two digests differs.
func differs(then, now map[string]string) string {
	var changed []string
	for _, name := range moved(then, now) {
		changed = append(changed, change.PartInWords(name))
	}
	if more := len(changed) - 5; more > 0 {
		changed = append(changed[:5:5], fmt.Sprintf("%d more", more))
	}
	return strings.Join(changed, ", ") + " changed"
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
