package admin

import (
	"context"
	"errors"
	"fmt"

	"svc.example/svc/shared/access"
)

// Resume is where the maintenance of a workspace goes on. One that names a
// workspace and nothing else begins it.
type Resume struct {
	Workspace access.ID `json:"workspace"`
	// Compacted: the packs are merged; what is left is the check.
	Compacted bool `json:"compacted,omitempty"`
	// Checked is how many commits are checked, from the oldest on, with the rows
	// of Index.
	Checked int    `json:"checked,omitempty"`
	Index   string `json:"index,omitempty"`
	// Parts counts the runs that it took so far, Stalled the last ones among them
	// that came no further.
	Parts   int `json:"parts,omitempty"`
	Stalled int `json:"stalled,omitempty"`
}

// ErrStalled: the maintenance of a workspace does not come to its end in the
// time that its runs have. Another run would not either.
var ErrStalled = errors.New("maintenance has not ended")

const (
	// checkAtOnce is how many commits are checked before that is noted.
	checkAtOnce = 5000
	// maxParts and maxStalled end the maintenance of a workspace that does not
	// come to its end.
	maxParts   = 200
	maxStalled = 3
)

// WorkspaceIDs lists the ids of all workspaces.
func (s *Stores) WorkspaceIDs(ctx context.Context) ([]access.ID, error) {
	return s.table.WorkspaceIDs(ctx)
}

// MaintainPart looks after one workspace, from where an earlier part stopped: it compacts
// it, and checks it once a day that it was written to. When the time is nearly over it stops, which is no error: what is
// left is for another part, which begins at next. next is nil when all is done.
func (s *Stores) MaintainPart(ctx context.Context, from Resume, o Maintenance) (done MaintainedWorkspace, next *Resume, err error) {
	o = o.complete()
	limited, cancel := context.WithCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		limited, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
	}
	defer cancel()
	at := from
	done, err = s.workspace(access.Workspace{ID: string(from.Workspace)}).maintain(limited, o, &at)
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		next, err = at.after(from, done)
	}
	if err != nil {
		done.Error = err.Error()
	}
	o.log(done)
	return done, next, err
}

// after is where the next part begins, if there may be one.
func (r Resume) after(from Resume, done MaintainedWorkspace) (*Resume, error) {
	r.Parts++
	if r.Stalled++; r.Compacted != from.Compacted || r.Checked != from.Checked || done.Merged+done.Removed+done.Rows > 0 {
		r.Stalled = 0
	}
	if r.Stalled >= maxStalled || r.Parts >= maxParts {
		return nil, fmt.Errorf("%w after %d runs, the last %d of which came no further; by hand svcadmin compact and svcadmin fsck take as long as they need", ErrStalled, r.Parts, r.Stalled)
	}
	return &r, nil
}

// checkFrom checks a workspace from the commits on that earlier parts have
// checked. It ends early when it has found problems.
func (w *Workspace) checkFrom(ctx context.Context, at *Resume, commits int, o Checking) (Checked, error) {
	c, err := w.newChecker(o)
	if err != nil {
		return Checked{}, err
	}
	defer c.close()
	if err := c.copy(ctx); err != nil {
		return c.Checked, err
	}
	if at.Index != c.head.Index {
		at.Index, at.Checked = c.head.Index, 0 // these are other rows
	}
	step := max(commits>>(3*at.Stalled), 1) // fewer, if so many were too many
	for {
		if err := c.checkCommits(ctx, at.Checked, at.Checked+step); err != nil {
			return c.Checked, err
		}
		if len(c.Problems) > 0 || at.Checked+step >= len(c.expected) {
			return c.Checked, c.finish(ctx)
		}
		at.Checked += step
	}
}
