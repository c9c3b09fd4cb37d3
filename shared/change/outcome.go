package change

import (
	"context"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
)

// outcome is what came of a write that is alone in its request.
type outcome struct {
	attempt *attempt
	result  *result
	written Written
	preview Preview
}

// carryOutOne carries a write out that is alone in its request: a change set of one
// operation. It is answered with what answer makes of what came of it.
func carryOutOne[T any](ctx context.Context, w *Writer, r Request, one write, answer func(*outcome) *T) (*T, error) {
	if len(one.issues) > 0 {
		return nil, refusal.Malformed(one.issues...)
	}
	done, err := w.carryOut(ctx, r, "", []write{one}, func(done *result) any { return answer(done.outcome(r.DryRun)) })
	if err != nil || done == nil {
		return nil, err
	}
	if refusals := done.plan.refusals; len(refusals) > 0 {
		return nil, writeFault(explain(ctx, refusals[0].err))
	}
	return answer(done.outcome(r.DryRun)), nil
}

// outcome is what came of the one write of a request.
func (r *result) outcome(dryRun bool) *outcome {
	a := r.plan.attempts[0]
	o := &outcome{attempt: a, result: r, written: Written{a.changed(), r.commit, r.previous}}
	if dryRun {
		o.preview = Preview{DryRun: true, Document: r.plan.shown(a.edited.Tree), Messages: a.messages, Impact: r.impact, ReviewRequired: r.plan.reviewed}
	}
	switch {
	case !a.changed():
		o.written.CommitSHA, o.written.PreviousCommitSHA = a.last, ""
	case dryRun && !a.creates():
		// There is no commit to name: the item's last one is as good as the token of
		// the real write.
		o.written.CommitSHA = a.last
	}
	return o
}

// rules are those of a scope after the write.
func (o *outcome) rules() []*jsontree.Node {
	rules := []*jsontree.Node{}
	for _, rule := range o.attempt.edited.Rules {
		rules = append(rules, o.result.plan.shown(rule))
	}
	return rules
}
