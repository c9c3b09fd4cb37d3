package change

import (
	"context"
	"errors"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
)

// MaxTries bounds how often a request starts over. Each time somebody else's
// commit was first, so only a crowd comes near it.
const MaxTries = 24

// result is what came of a request: its plan, and the commit that was made of it or, of
// a dry run, that the plan is true of.
type result struct {
	plan     *plan
	commit   string
	previous string // that it was made on, as the answer names it
	when     time.Time
	impact   Impact // of a dry run that was asked for it
}

// carryOut carries writes out as one commit. Where that lost the race for the
// head, all begins again with authentication, pinned or not: whether a token still
// holds is a question of the item's content, which the next try asks.
//
// It makes the answer by tell, which is asked before there is a commit where the answer
// is remembered with that. A request that has landed already has no result.
func (w *Writer) carryOut(ctx context.Context, r Request, message string, writes []write, tell func(*result) any) (*result, error) {
	if err := refusal.Malformed(r.guardIssues(w.service.settings.Files)...); err != nil {
		return nil, err
	}
	state, err := w.begin(ctx, false)
	if err != nil {
		return nil, err
	}
	if state.Reads {
		return nil, ErrReads
	}
	if w.service.writing != nil && !r.DryRun {
		leave, err := w.service.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		if state, err = w.begin(ctx, true); err != nil {
			return nil, err
		}
	}
	turn := &repository.Turn{Now: state.Now}
	defer turn.Leave(ctx)
	for try := range MaxTries {
		// The first retry comes at once: the faster writer is done. Later ones wait a
		// little, unless the request waits in a queue.
		if try > 1 && !turn.Waited() {
			if err := w.service.Pause(ctx, try-1); err != nil {
				return nil, repository.Fault(err)
			}
		}
		if try > 0 {
			if state, err = w.begin(ctx, true); err != nil {
				return nil, err
			}
		}
		done, err := w.try(ctx, state, r, turn, message, writes, tell)
		if !isStale(err) {
			return done, writeFault(err)
		}
	}
	return nil, fault.New(fault.Unavailable, "too many others are writing at the moment; the request can be repeated")
}

// isStale reports whether an error is one of a head that has moved or is gone.
func isStale(err error) bool {
	return errors.Is(err, repository.ErrMoved) || errors.Is(err, repository.ErrUnknownCommit)
}

// writeFault is repository.Fault for a write: one that certainly did not land says
// so.
func writeFault(err error) error {
	f := repository.Fault(err)
	if known, ok := errors.AsType[*fault.Fault](f); ok && known.Kind == fault.Internal && errors.Is(err, repository.ErrFailed) {
		return fault.New(fault.Internal, "something went wrong on our side, and nothing was written").Because(err)
	}
	return f
}

// open reads the head of a state, and how it is served.
func (s *Service) open(ctx context.Context, state *State) (base *repository.Snapshot, head *served.Head, err error) {
	if base, err = state.Repository.Snapshot(ctx, state.Head); err == nil {
		head, err = s.served.Open(ctx, state.Workspace.ID, state.Repository, base)
	}
	return base, head, err
}

// try is one try of a request: it plans at a head, and commits.
func (w *Writer) try(ctx context.Context, state *State, r Request, turn *repository.Turn, message string, writes []write, tell func(*result) any) (*result, error) {
	if !r.DryRun {
		if err := w.service.replay(ctx, state, r.Idempotency); err != nil || r.Idempotency != nil && r.Idempotency.Replayed {
			return nil, err
		}
	}
	base, head, err := w.service.open(ctx, state)
	if err != nil {
		return nil, err
	}
	p, err := w.service.plan(ctx, state, head, r.DryRun, writes)
	if err != nil {
		return nil, err
	}
	done := &result{plan: p, commit: base.Head.Commit, previous: p.versionBefore(nil)}
	switch {
	case len(p.refusals) > 0:
	case r.DryRun && r.Impact:
		done.impact, err = w.service.impact(ctx, state, p)
	case !r.DryRun && (len(p.final) > 0 || len(p.reviewed) > 0 || r.approve != nil):
		var trailers []string
		if trailers, err = w.approval(ctx, state, p, r); err == nil && len(p.final) > 0 {
			err = w.service.land(ctx, state, done, r, turn, message, trailers, writes, tell)
		}
	}
	return done, err
}

// land commits a plan.
func (s *Service) land(ctx context.Context, state *State, done *result, r Request, turn *repository.Turn, message string, trailers []string, writes []write, tell func(*result) any) error {
	p := done.plan
	done.when = s.settings.Now()
	draft := p.draft(state, r, message, done.when)
	for _, trailer := range trailers {
		draft.Message += trailer + "\n"
	}
	draft.Approved, draft.Turn = len(trailers) > 0, turn
	draft.Intent = func() []byte { return intentOf(state, r, message, writes, done.when) }
	draft.Decide = s.decider(state)
	remembered, err := s.remember(state, done, r.Idempotency, &draft, tell)
	if err != nil {
		return err
	}
	landed, err := state.Repository.Commit(ctx, p.head.Snapshot, draft)
	switch {
	case errors.Is(err, repository.ErrOccupied):
		p.occupied(err)
		return nil
	case errors.Is(err, repository.ErrUnknownOutcome) && remembered != nil:
		return fault.New(fault.Unavailable, "the storage did not say whether the change was made; send the same request again, under the same Idempotency-Key").Because(err)
	case err != nil:
		return err
	}
	if turn.On != nil { // others have made commits in between; what has landed is told at any rate
		if p, err = s.planOn(ctx, state, turn.On, writes); err == nil && p.commits() {
			done.plan = p
		}
		p = done.plan
	}
	done.commit, done.previous = landed.Head.Commit, p.versionBefore(landed)
	if file, found := landed.File(p.path); found {
		done.commit = file.Last.SHA
	}
	if remembered != nil {
		r.Idempotency.Answer = remembered.fill(done.commit, done.previous)
	}
	return nil
}
