package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Head returns the head as it is now.
func (l *Ledger) Head(ctx context.Context) (repository.Head, error) {
	e, err := l.Current(ctx)
	return e.Head, err
}

// Authenticate implements control.Authenticator.
func (l *Ledger) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	e, err := l.Find(ctx, key.ID())
	if err == nil && once != "" {
		e.Landed, err = l.landed(ctx, e.Head, once)
	}
	return e, err
}

// landed is the commit up to a head that was made for the id of a repository.Once;
// nil for none. One that has come since is left out: what is decided without it
// cannot land.
func (l *Ledger) landed(ctx context.Context, head repository.Head, id string) (*repository.Landed, error) {
	r, err := l.answers.Find(ctx, id)
	if err != nil || r == nil {
		return nil, err
	}
	h := l.history.Load()
	number, found := h.find(object.ParseID(r.Commit))
	if sequence := h.base + int64(number); found && sequence <= head.Sequence {
		return &repository.Landed{Commit: r.Commit, Request: r.Request, Answer: r.Answer, Sequence: sequence, Until: time.Unix(r.Until, 0)}, nil
	}
	return nil, nil
}

// Find implements control.Directory.
func (l *Ledger) Find(ctx context.Context, id access.ID) (control.Entry, error) {
	return l.entry(ctx, func(found *registryFile) (access.KeyRecord, access.Principal, error) { return found.find(id) })
}

// FindKey implements control.KeyFinder. There is one workspace here.
func (l *Ledger) FindKey(ctx context.Context, _, id access.ID) (control.Entry, error) {
	return l.Find(ctx, id)
}

// Current implements control.Directory.
func (l *Ledger) Current(ctx context.Context) (control.Entry, error) {
	return l.entry(ctx, func(*registryFile) (k access.KeyRecord, p access.Principal, err error) { return k, p, nil })
}

func (l *Ledger) entry(ctx context.Context, find func(*registryFile) (access.KeyRecord, access.Principal, error)) (control.Entry, error) {
	if err := l.CheckLock(); err != nil {
		return control.Entry{}, err
	}
	found, err := l.registry.current()
	if err != nil {
		return control.Entry{}, err
	}
	record, principal, err := find(found)
	if err != nil {
		return control.Entry{}, err
	}
	head, u, err := l.head(ctx, found.Version)
	if err != nil {
		return control.Entry{}, err
	}
	e := control.Entry{Key: record, Principal: principal, Workspace: found.Workspace, Head: head}
	if u != nil {
		e.Unreadable = &control.UnreadableHead{Commit: u.commit, Message: u.reason.Message}
	}
	return e, nil
}

// head reads the branch, and catches up when it is not where it was. When what the
// branch names cannot be used, the head is the one before.
func (l *Ledger) head(ctx context.Context, access int64) (repository.Head, *unreadable, error) {
	commit, err := l.branch.current()
	if err == nil && commit == "" {
		if err := l.noBranch(); err != nil {
			return repository.Head{}, nil, err
		}
	}
	head := headOf(l.history.Load())
	head.Access = access
	if err == nil && head.Commit == commit {
		return head, nil, nil
	}
	if u := l.stillUnreadable(commit); err == nil && u != nil && head.Commit != "" {
		return head, u, nil
	}
	// The branch has moved, perhaps by an Advance that is still flushing.
	if err := l.writing.Acquire(ctx, 1); err != nil {
		return repository.Head{}, nil, err
	}
	defer l.writing.Release(1)
	u := l.stillUnreadable(commit) // if somebody has looked meanwhile
	if err != nil || u == nil || head.Commit == "" {
		// Others wait for it too, so it goes on when this caller gives up.
		if err = l.catchUp(context.WithoutCancel(ctx)); err != nil {
			u = l.unreadable.Load()
		}
	}
	head = headOf(l.history.Load())
	head.Access = access
	if err != nil && (u == nil || head.Commit == "" || !errors.Is(err, u.reason)) {
		return repository.Head{}, nil, err
	}
	return head, u, nil
}

func headOf(h *history) repository.Head {
	id, sequence := h.head()
	head := repository.Head{Sequence: sequence}
	if id != (object.ID{}) {
		head.Commit = id.String()
	}
	return head
}

// view returns the history up to a head.
func (l *Ledger) view(ctx context.Context, head repository.Head) (view, error) {
	if err := ctx.Err(); err != nil {
		return view{}, err
	}
	if v, ok := l.history.Load().at(head); ok {
		return v, nil
	}
	// It may come from another process that has seen more.
	if _, _, err := l.head(ctx, head.Access); err != nil {
		return view{}, err
	}
	if v, ok := l.history.Load().at(head); ok {
		return v, nil
	}
	return view{}, fmt.Errorf("commit %s is not at %d in the history: %w", head.Commit, head.Sequence, repository.ErrMoved)
}

// Since implements repository.Ledger. From a sequence of a history that was
// replaced all commits of the new one are returned.
func (l *Ledger) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	v, err := l.view(ctx, head)
	if err != nil {
		return nil, err
	}
	return v.since(after), nil
}

// History implements repository.Ledger.
func (l *Ledger) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	v, err := l.view(ctx, head)
	if err != nil {
		return nil, err
	}
	if page.Path == "" {
		return v.page(page), nil
	}
	return v.pageOf(page), nil
}

// At implements repository.Ledger.
func (l *Ledger) At(ctx context.Context, head repository.Head, path, revision string) (string, repository.Touch, error) {
	v, err := l.view(ctx, head)
	if err != nil {
		return "", repository.Touch{}, err
	}
	number, err := v.resolve(revision)
	if err != nil {
		return "", repository.Touch{}, err
	}
	sha := v.rows[number].id().String()
	blob, exists, err := l.blobIn(ctx, v, path, number)
	if err != nil {
		return "", repository.Touch{}, err
	}
	if !exists {
		return sha, repository.Touch{}, repository.ErrAbsent
	}
	return sha, repository.Touch{Path: path, Blob: blob.String()}, nil
}

// blobIn finds a file in the commit of a row.
func (l *Ledger) blobIn(ctx context.Context, v view, path string, number uint32) (object.ID, bool, error) {
	if blob, exists, known := v.blob(path, number); known {
		return blob, exists, nil
	}
	reader := l.objects.Reader(ctx)
	defer reader.Close()
	t := revwalk.NewTrees(reader)
	root, err := rootOf(t, v.rows[number])
	if err != nil {
		return object.ID{}, false, err
	}
	return t.Find(root, path)
}

// LastTouches implements repository.Ledger. Where histories were merged, the
// last commit of a path may be one whose content the merge did not take. So
// there the last one that gave the file the content it has at the head counts.
func (l *Ledger) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	v, err := l.view(ctx, head)
	if err != nil {
		return nil, err
	}
	if len(v.rows) == 0 {
		return map[string]repository.Commit{}, nil
	}
	reader := l.objects.Reader(ctx)
	defer reader.Close()
	t := revwalk.NewTrees(reader)
	root, err := rootOf(t, v.rows[len(v.rows)-1])
	if err != nil {
		return nil, err
	}
	blobs, err := t.All(root)
	if err != nil {
		return nil, err
	}
	return v.lastTouches(blobs), nil
}
