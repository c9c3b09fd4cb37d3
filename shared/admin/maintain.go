package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
)

// Maintenance says how Maintain works.
type Maintenance struct {
	// Reserve is how much of the time is left for the end; 0 is 30 seconds.
	Reserve time.Duration
	Logger  *slog.Logger // nil: silent
	Dir     string       // for temporary files; "" is the system's
	commits int          // that are checked before that is noted; 0 is checkAtOnce
}

// Maintained is what a run has done.
type Maintained struct {
	Workspaces []MaintainedWorkspace `json:"workspaces"`
	// Complete says that all workspaces were reached.
	Complete bool `json:"complete"`
}

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

// Err is not nil when something is wrong with a workspace.
func (m Maintained) Err() error {
	var all []error
	for _, w := range m.Workspaces {
		if w.Error != "" {
			all = append(all, fmt.Errorf("workspace %s: %s", w.ID, w.Error))
		}
		if n := len(w.Problems); n > 0 {
			all = append(all, fmt.Errorf("workspace %s has %d problems, the first: %s; svcadmin fsck tells more", w.ID, n, w.Problems[0]))
		}
	}
	return errors.Join(all...)
}

const (
	defaultReserve = 30 * time.Second
	// compactFrom is how many small packs are worth while merging by the way.
	compactFrom = 64
	checkEvery  = 24 * time.Hour
	bookmark    = "maintenance.json"
)

// Maintain looks after all workspaces: it compacts them, and checks each once a
// day that it was written to. It begins after the workspace that the run before
// began last, and begins none when the time is nearly over, so that every one
// has its turn however many there are.
func (s *Stores) Maintain(ctx context.Context, o Maintenance) (Maintained, error) {
	o = o.complete()
	ctx, cancel := o.limit(ctx)
	defer cancel()
	report := Maintained{Workspaces: []MaintainedWorkspace{}}
	all, newer := s.turn(ctx)
	if newer != nil && !errors.Is(newer, repository.ErrNewer) {
		return report, newer
	}
	for _, w := range all {
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= 0 {
			return report, nil
		}
		// The bookmark first: should this one take all the time, the next run
		// begins with another.
		if err := s.mark(ctx, w.ID); err != nil {
			return report, err
		}
		done, err := s.workspace(w).maintain(ctx, o, &Resume{})
		if err != nil {
			done.Error = err.Error()
		}
		report.Workspaces = append(report.Workspaces, done)
		o.log(done)
	}
	report.Complete = newer == nil
	return report, newer
}

func (o Maintenance) complete() Maintenance {
	if o.Reserve == 0 {
		o.Reserve = defaultReserve
	}
	if o.commits == 0 {
		o.commits = checkAtOnce
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// limit ends the work before the time is over.
func (o Maintenance) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		return context.WithDeadline(ctx, deadline.Add(-o.Reserve))
	}
	return context.WithCancel(ctx)
}

func (o Maintenance) log(w MaintainedWorkspace) {
	o.Logger.Info("maintained", "workspace", w.ID, "merged", w.Merged, "removed", w.Removed, "rows", w.Rows, "checked", w.Checked)
	for _, problem := range w.Problems {
		o.Logger.Error("problem", "workspace", w.ID, "problem", problem)
	}
	if w.Error != "" {
		o.Logger.Error("maintenance failed", "workspace", w.ID, "error", w.Error)
	}
}

// turn lists the workspaces, beginning with the one whose turn it is. Errors are
// those of Workspaces.
func (s *Stores) turn(ctx context.Context) ([]access.Workspace, error) {
	all, newer := s.table.Workspaces(ctx)
	if newer != nil && !errors.Is(newer, repository.ErrNewer) {
		return nil, newer
	}
	slices.SortFunc(all, func(a, b access.Workspace) int { return strings.Compare(a.ID, b.ID) })
	var last struct{ Last access.ID }
	if text, _, err := s.bucket.Get(ctx, bookmark); err == nil {
		_ = json.Unmarshal(text, &last) // begun again when it cannot be read
	}
	i := slices.IndexFunc(all, func(w access.Workspace) bool { return w.ID > string(last.Last) })
	if i < 0 {
		return all, newer
	}
	return slices.Concat(all[i:], all[:i]), newer
}

func (s *Stores) mark(ctx context.Context, id string) error {
	text, err := json.Marshal(map[string]string{"last": id})
	if err == nil {
		_, err = s.bucket.Put(ctx, bookmark, bucket.Bytes(text))
	}
	return err
}

// maintain does what is left to do for a workspace, and notes how far it came.
func (w *Workspace) maintain(ctx context.Context, o Maintenance, at *Resume) (done MaintainedWorkspace, err error) {
	done = MaintainedWorkspace{ID: w.ID, Problems: []string{}}
	if idle, err := w.idle(ctx); err != nil || idle {
		return done, err
	}
	snapshots := 0
	for err == nil && !at.Compacted {
		var compacted Compacted
		compacted, err = w.Compact(ctx, Compacting{From: compactFrom})
		done.Merged += compacted.Merged
		done.Removed += compacted.Removed
		done.Rows += compacted.Rows
		snapshots += compacted.Snapshots
		at.Compacted = err == nil && !compacted.More
	}
	// The check tells most when something is wrong.
	if ctx.Err() == nil {
		nothing := err == nil && done.Merged+done.Removed+done.Rows+snapshots == 0
		err = errors.Join(err, w.checkDaily(ctx, o, at, nothing, &done))
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
	book, _, _, err := w.readBook(ctx)
	return book.Idle == idleAt(head) && len(book.Retired)+len(book.Rows) == 0, err
}

func idleAt(head repository.Head) string { return head.Commit + " " + head.Index }

// checkDaily checks a workspace that was written to since it was found clean,
// once a day; one that was not clean every time. Where the run has found nothing to do
// for a workspace that was found clean more than a day ago, it notes that: what writers
// had left over by then was to be seen.
func (w *Workspace) checkDaily(ctx context.Context, o Maintenance, at *Resume, nothing bool, done *MaintainedWorkspace) error {
	head, err := w.ledger.Head(ctx)
	if err != nil {
		return err
	}
	now, err := w.now(ctx)
	if err != nil {
		return err
	}
	book, err := w.keepBook(ctx, now, func(u *upkeep) {
		if nothing && u.Checked == head.Commit && now.Sub(u.CheckedAt) > s3.Day+time.Hour && len(u.Retired)+len(u.Rows) == 0 {
			u.Idle = idleAt(head)
		}
	})
	if err != nil || book.Checked != "" && (book.Checked == head.Commit || now.Sub(book.CheckedAt) < checkEvery) {
		return err
	}
	found, err := w.checkFrom(ctx, at, o.commits, Checking{Dir: o.Dir})
	done.Checked = found.Commits
	for _, p := range found.Problems {
		done.Problems = append(done.Problems, p.What)
	}
	if err != nil {
		return err
	}
	_, err = w.keepBook(ctx, now, func(u *upkeep) {
		if u.Checked, u.CheckedAt = head.Commit, now.UTC(); len(found.Problems) > 0 {
			u.Checked = ""
		}
	})
	return err
}
