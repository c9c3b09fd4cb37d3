package control

import (
	"context"

	"svc.example/svc/shared/refusal"
)

// outcome is what came of a write that is alone in its request.
type outcome struct {
	attempt  *attempt
	commit   string
	previous string // "" when nothing was written
}

// carryOutOne carries a write out that is alone in its request: a change set of one
// operation. It is answered with what result makes of what came of it.
func carryOutOne[T any](ctx context.Context, s *Session, r Request, w write, result func(*outcome) *T) (*T, error) {
	if len(w.issues) > 0 {
		return nil, refusal.Malformed(w.issues...)
	}
	b, err := s.carryOut(ctx, r, "", []write{w}, func(b *batch) any { return result(b.outcome()) })
	if err != nil || b == nil {
		return nil, err
	}
	if len(b.refusals) > 0 {
		return nil, writeFault(explain(ctx, b.refusals[0].err))
	}
	return result(b.outcome()), nil
}

// outcome is what came of the one write of a batch.
func (b *batch) outcome() *outcome {
	a := b.attempts[0]
	switch {
	case !a.changed():
		return &outcome{attempt: a, commit: a.last}
	case b.request.DryRun && !a.creates():
		// There is no commit to name: the item's last one is as good as the token of
		// the real write.
		return &outcome{attempt: a, commit: a.last, previous: b.versionBefore()}
	case b.request.DryRun:
		return &outcome{attempt: a, commit: b.commit, previous: b.head.Snapshot.Head.Commit}
	}
	return &outcome{attempt: a, commit: b.commit, previous: b.previous}
}

// preview is what a dry run's answer has in addition.
func (o *outcome) preview() Preview {
	if !o.attempt.batch.request.DryRun {
		return Preview{}
	}
	return Preview{DryRun: true, Document: o.attempt.batch.shown(o.attempt.edited.Tree), Messages: o.attempt.messages, Impact: o.attempt.batch.impact}
}
