package request

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
)

// settled is a request with what became of the last try to apply it.
func (d *Desk) settled(ctx context.Context, r *Request) (*Request, error) {
	if r.State == Applied || r.Begun == nil {
		return r, nil
	}
	commit := applying(r)
	if err := d.Writer(onceOf(r)).Replay(ctx, commit); err != nil || !commit.Replayed {
		return r, err
	}
	return d.ended(ctx, r, *r.Begun, commit.Answer, nil)
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

// Apply makes the request's commit, if it is approved as what it is about stands by then.
// One that was applied is told as such. What it has been asked as names the guard.
func (d *Desk) Apply(ctx context.Context, id string, asked change.Request) (*Detail, error) {
	if err := cmp.Or(d.replay(ctx), refusal.Malformed(asked.Malformed...)); err != nil || d.answered() {
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
	c.Idempotency, c.Guard = applying(r), asked.Guard
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
