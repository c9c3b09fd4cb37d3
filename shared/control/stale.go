package control

import (
	"context"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/terminal"
)

// stale refuses a write whose token names other content than the item's. What
// has become of the item since is told once the state that the refusal rests on
// has landed.
type stale struct {
	attempt *attempt
	seen    []byte // what the token names; nil when that is nothing
	made    bool   // the token names a commit at which there was no such item
}

func (s *stale) Error() string { return "the item has changed since the token" }

func (a *stale) fault(ctx context.Context, changes bool) error {
	details := map[string]any{"code": refusal.CodeStale, "currentCommitSha": a.attempt.last}
	if (a.seen != nil || a.made) && changes {
		a.attempt.tellChanges(ctx, details, *a.attempt.write.token, object.Hash(object.Blob, a.seen).String())
	}
	if a.made {
		return fault.New(fault.Conflict,
			"the %s %s has been created since the commit in expectedCommitSha; read it and decide again", a.attempt.write.t.Noun(), terminal.Quote(a.attempt.write.key)).With(details)
	}
	if a.seen == nil {
		return fault.New(fault.Conflict,
			"expectedCommitSha names no commit that holds the %s %s; send the whole commitSha (40 hexadecimal digits) of a fresh read", a.attempt.write.t.Noun(), terminal.Quote(a.attempt.write.key)).With(details)
	}
	return fault.New(fault.Conflict,
		"the %s %s has changed since the commit in expectedCommitSha; read it again and decide again", a.attempt.write.t.Noun(), terminal.Quote(a.attempt.write.key)).With(details)
}

// tellChanges adds the newest changes of an item to the details of a conflict. Nothing
// is added when they cannot be read.
func (a *attempt) tellChanges(ctx context.Context, details map[string]any, sha, blob string) {
	changes, more, err := a.batch.session.feed().Since(ctx, a.path, sha, blob)
	if err != nil || len(changes) == 0 {
		return
	}
	details["changes"] = changes
	if more {
		details["changesTruncated"] = true
	}
}
