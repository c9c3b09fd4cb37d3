package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
)

// MaintainedWorkspace is what was done for one workspace.
type MaintainedWorkspace struct {
	ID       string   `json:"id"`
	Merged   int      `json:"merged"`
	Removed  int      `json:"removed"`
	Rows     int      `json:"rows"`
	Checked  int      `json:"checked"`
	Problems []string `json:"problems"`
	Error    string   `json:"error,omitempty"`
}

// Err is not nil when something is wrong with the workspace.
func (w MaintainedWorkspace) Err() error {
	var failed, wrong error
	if w.Error != "" {
		failed = fmt.Errorf("workspace %s: %s", w.ID, w.Error)
	}
	if n := len(w.Problems); n > 0 {
		wrong = fmt.Errorf("workspace %s has %d problems, the first: %s; svcadmin fsck tells more", w.ID, n, w.Problems[0])
	}
	return errors.Join(failed, wrong)
}

const (
	reserve = 30 * time.Second // of a run's time, which is left for its end
	// compactFrom is how many small packs are worth while merging by the way.
	compactFrom = 64
	checkEvery  = 24 * time.Hour
)

// WorkspaceIDs lists the ids of all workspaces.
func (s *Stores) WorkspaceIDs(ctx context.Context) ([]access.ID, error) {
	return s.table.WorkspaceIDs(ctx)
}

// Maintain looks after all workspaces, one after the other, in a process that may take its time.
func (s *Stores) Maintain(ctx context.Context, logger *slog.Logger) ([]MaintainedWorkspace, error) {
	all := []MaintainedWorkspace{}
	ids, err := s.WorkspaceIDs(ctx)
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		done, _, _ := s.MaintainWorkspace(ctx, id, logger) // done has the error
		all = append(all, done)
	}
	return all, err
}

// MaintainWorkspace looks after one workspace: it compacts it, and checks it once a day that
// it was written to. When the time is nearly over it stops. That is no error if packs or rows
// are fewer by then: more says that another run is to go on, which finds them so.
func (s *Stores) MaintainWorkspace(ctx context.Context, id access.ID, logger *slog.Logger) (done MaintainedWorkspace, more bool, err error) {
	limited, cancel := context.WithCancel(ctx)
	if deadline, ok := ctx.Deadline(); ok {
		limited, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
	}
	defer cancel()
	done, err = s.workspace(access.Workspace{ID: string(id)}).maintain(limited)
	if err != nil && errors.Is(limited.Err(), context.DeadlineExceeded) && done.Merged+done.Removed+done.Rows > 0 {
		more, err = true, nil
	}
	logger.InfoContext(ctx, "maintained", "workspace", done.ID, "merged", done.Merged, "removed", done.Removed, "rows", done.Rows, "checked", done.Checked, "more", more)
	for _, problem := range done.Problems {
		logger.ErrorContext(ctx, "problem", "workspace", done.ID, "problem", problem)
	}
	if err != nil {
		done.Error = err.Error()
		logger.ErrorContext(ctx, "maintenance failed", "workspace", done.ID, "error", done.Error)
	}
	return done, more, err
}

// maintain does what there is to do for a workspace.
func (w *Workspace) maintain(ctx context.Context) (done MaintainedWorkspace, err error) {
	done = MaintainedWorkspace{ID: w.ID, Problems: []string{}}
	if idle, err := w.idle(ctx); err != nil || idle {
		return done, err
	}
	snapshots := 0
	for compacted := (Compacted{More: true}); compacted.More && err == nil; {
		compacted, err = w.Compact(ctx, Compacting{From: compactFrom})
		done.Merged += compacted.Merged
		done.Removed += compacted.Removed
		done.Rows += compacted.Rows
		snapshots += compacted.Snapshots
	}
	// The check tells most when something is wrong.
	if ctx.Err() == nil {
		nothing := err == nil && done.Merged+done.Removed+done.Rows+snapshots == 0
		err = errors.Join(err, w.checkDaily(ctx, nothing, &done))
	}
	return done, err
}

// idle reports whether the workspace is what it was when a run found nothing to do. Most
// are, most of the time, and each costs two reads a run.
func (w *Workspace) idle(ctx context.Context) (bool, error) {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return false, err
	}
	book, _, _, err := w.readUpkeep(ctx)
	return book.Idle == idleAt(head) && len(book.Retired)+len(book.Rows) == 0, err
}

func idleAt(head repository.Head) string { return head.Commit + " " + head.Index }

// checkDaily checks a workspace that was written to since it was found clean,
// once a day; one that was not clean every time. Where the run has found nothing to do
// for a workspace that was found clean more than a day ago, it notes that: what writers
// had left over by then was to be seen.
func (w *Workspace) checkDaily(ctx context.Context, nothing bool, done *MaintainedWorkspace) error {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return err
	}
	now, err := w.now(ctx)
	if err != nil {
		return err
	}
	book, err := w.editUpkeep(ctx, now, func(u *upkeep) {
		if nothing && u.Checked == head.Commit && now.Sub(u.CheckedAt) > s3.Day+time.Hour && len(u.Retired)+len(u.Rows) == 0 {
			u.Idle = idleAt(head)
		}
	})
	if err != nil || book.Checked != "" && (book.Checked == head.Commit || now.Sub(book.CheckedAt) < checkEvery) {
		return err
	}
	found, err := w.Check(ctx, Checking{})
	done.Checked = found.Commits
	for _, p := range found.Problems {
		done.Problems = append(done.Problems, p.What)
	}
	if err != nil {
		return err
	}
	_, err = w.editUpkeep(ctx, now, func(u *upkeep) {
		if u.Checked, u.CheckedAt = head.Commit, now.UTC(); len(found.Problems) > 0 {
			u.Checked = ""
		}
	})
	return err
}
