package request

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

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
	if len(at.Environments) == 0 {
		return r.approver(by, "", workspace.Review{})
	}
	var why error
	for _, environment := range at.Environments {
		if why = r.approver(by, environment, at.Reviews[environment]); why == nil {
			return nil
		}
	}
	return why
}

// approver says why somebody who may make the change cannot approve it in an environment.
func (r *Request) approver(by access.Principal, environment string, review workspace.Review) error {
	if r.Author.ID == by.ID && !review.AuthorMayApprove {
		return fault.New(fault.Forbidden, "nobody approves what they have proposed themselves; somebody else does").With(map[string]any{"code": codeAuthor})
	}
	if len(review.Roles) > 0 && !slices.ContainsFunc(by.EffectiveRoles(), func(role string) bool { return slices.Contains(review.Roles, role) }) {
		return fault.New(fault.Forbidden, "who approves changes of %s has the role %s", environment, strings.Join(review.Roles, " or ")).With(map[string]any{"code": refusal.CodePermission})
	}
	return nil
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
			if c.why[i] == "" && r.approver(p, environment, review) == nil {
				q.Given++
			}
		}
		c.requirements = append(c.requirements, q)
	}
	return c, nil
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
