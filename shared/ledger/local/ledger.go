package local

import (
	"context"
	"errors"
	"fmt"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository"
)

// Head returns the head as it is now.
func (l *Ledger) Head(ctx context.Context) (repository.Head, error) {
	found, err := l.registry.current()
	if err != nil {
		return repository.Head{}, err
	}
	head, _, err := l.head(ctx, found.Version)
	return head, err
}

// Enter implements control.Gate.
func (l *Ledger) Enter(ctx context.Context, key access.Key) (control.Entry, error) {
	found, err := l.registry.current()
	if err != nil {
		return control.Entry{}, err
	}
	record, principal, err := found.find(key)
	if err != nil {
		return control.Entry{}, err
	}
	head, u, err := l.head(ctx, found.Version)
	if err != nil {
		return control.Entry{}, err
	}
	e := control.Entry{Key: record, Principal: principal, Workspace: found.Workspace.workspace(), Head: head}
	if u != nil {
		e.Unreadable = &control.UnreadableHead{Commit: u.commit, Message: u.trouble.Message}
	}
	return e, nil
}

// head reads the branch and, when it is not where it was, catches up. When what
// the branch names cannot be used, the head is the one before.
func (l *Ledger) head(ctx context.Context, version int64) (repository.Head, *unfit, error) {
	commit, err := l.branch.read()
	if err == nil && commit == "" {
		if err := l.noBranch(); err != nil {
			return repository.Head{}, nil, err
		}
	}
	head := headOf(l.history.Load())
	head.Access = version
	if err == nil && head.Commit == commit {
		return head, nil, nil
	}
	if u := l.isUnfit(commit); err == nil && head.Commit != "" && u != nil && !u.isDue() {
		return head, u, nil
	}
	// The branch has moved, perhaps by an Advance that is still flushing.
	if err := l.writing.acquire(ctx); err != nil {
		return repository.Head{}, nil, err
	}
	defer l.writing.release()
	// Whoever asked may give up; what others wait for as well goes on.
	err = l.catchUp(context.WithoutCancel(ctx))
	head = headOf(l.history.Load())
	head.Access = version
	u := l.unfit.Load()
	switch {
	case err == nil:
		return head, nil, nil
	case u == nil || head.Commit == "" || !errors.Is(err, u.trouble):
		return repository.Head{}, nil, err
	}
	return head, u, nil
}

func headOf(h *history) repository.Head {
	id, sequence := h.head()
	head := repository.Head{Sequence: sequence}
	if id != (oid{}) {
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
	blob, exists, err := l.blobIn(v, path, number)
	if err != nil {
		return "", repository.Touch{}, err
	}
	if !exists {
		return sha, repository.Touch{}, repository.ErrAbsent
	}
	return sha, repository.Touch{Path: path, Blob: blob.String()}, nil
}

// blobIn finds a file in the commit of a row.
func (l *Ledger) blobIn(v view, path string, number uint32) (oid, bool, error) {
	if blob, exists, known := v.blob(path, number); known {
		return blob, exists, nil
	}
	reader := l.objects.Reader()
	defer reader.Close()
	t := revwalk.NewTrees(reader)
	root, err := rootOf(t, v.rows[number])
	if err != nil {
		return oid{}, false, err
	}
	return t.Find(root, path)
}

// LastTouches implements repository.Index. Where histories were merged, the
// last commit of a path may be one whose content the merge did not take. So
// there the last one that gave the file the content it has at the head counts.
func (l *Ledger) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	v, err := l.view(ctx, head)
	if err != nil {
		return nil, err
	}
	if v.isLine() {
		return v.lastTouches(), nil
	}
	reader := l.objects.Reader()
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
	return v.lastTouchesOf(blobs), nil
}

// Advance implements repository.Ledger. A commit onto no head may bring a
// history of its own; every other one has the head as its parent.
func (l *Ledger) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	return l.AdvanceLine(ctx, from, []repository.Commit{c})
}

// AdvanceLine implements repository.Lined.
func (l *Ledger) AdvanceLine(ctx context.Context, from repository.Head, line []repository.Commit) (repository.Head, error) {
	if err := checkLine(from, line); err != nil {
		return repository.Head{}, err
	}
	last := line[len(line)-1]
	if err := l.writing.acquire(ctx); err != nil {
		return repository.Head{}, err
	}
	defer l.writing.release()
	release, err := l.files.lockForWriting(ctx, l.dir)
	if err != nil {
		return repository.Head{}, repository.Unwritten(fmt.Errorf("moving the head: %w", err))
	}
	defer release()
	found, err := l.registry.current()
	if err != nil {
		return repository.Head{}, repository.Unwritten(err)
	}
	head, err := l.landed(ctx, last)
	if err != nil {
		return repository.Head{}, err
	}
	if head.Commit != "" {
		head.Access = found.Version
		return head, nil
	}
	if found.Version != from.Access || headOf(l.history.Load()).Commit != from.Commit {
		return repository.Head{}, repository.ErrMoved
	}
	swap := l.branch.swap
	if l.prepared == last.SHA {
		swap = l.branch.swapIn
	}
	l.prepared = ""
	if err := swap(ctx, from.Commit, last.SHA, entryOf(last)); err != nil {
		return repository.Head{}, err
	}
	return l.record(ctx, from, line, found.Version)
}

// Prepare implements repository.Preparing. Only the process that serves the
// directory moves the head, so that this needs no lock against others.
func (l *Ledger) Prepare(ctx context.Context, commit string) {
	if !isID(commit) || l.writing.acquire(ctx) != nil {
		return
	}
	defer l.writing.release()
	l.prepared = ""
	if l.branch.prepare(commit) == nil {
		l.prepared = commit
	}
}

func checkLine(from repository.Head, line []repository.Commit) error {
	if len(line) == 0 {
		return errors.New("advance: there is no commit to advance to")
	}
	for _, c := range line {
		if err := checkCommit(from, c); err != nil {
			return err
		}
		from.Commit = c.SHA
	}
	return nil
}

// checkCommit reports mistakes of the caller, which would damage the index.
func checkCommit(from repository.Head, c repository.Commit) error {
	switch {
	case !isID(c.SHA):
		return fmt.Errorf("advance: %q is no commit id of 40 hexadecimal digits", c.SHA)
	case c.Tree != "" && !isID(c.Tree):
		return fmt.Errorf("advance: %q is no tree id of 40 hexadecimal digits", c.Tree)
	case from.Commit != "" && c.Parent != from.Commit:
		return fmt.Errorf("advance: the commit's parent is %q and the head %q: they must be the same", c.Parent, from.Commit)
	}
	for _, touch := range c.Touched {
		if touch.Blob != "" && !isID(touch.Blob) {
			return fmt.Errorf("advance: %s: %q is no object id of 40 hexadecimal digits", touch.Path, touch.Blob)
		}
	}
	return nil
}

// landed returns the commit as a head when the history holds it already,
// because an earlier attempt moved the head and failed afterwards. It is made
// durable again, since that may be what failed.
func (l *Ledger) landed(ctx context.Context, c repository.Commit) (repository.Head, error) {
	if err := l.catchUp(context.WithoutCancel(ctx)); err != nil {
		return repository.Head{}, repository.Unwritten(err)
	}
	h := l.history.Load()
	number, ok := h.find(parseID(c.SHA))
	if !ok {
		return repository.Head{}, nil
	}
	if err := l.branch.flush(); err != nil {
		return repository.Head{}, err
	}
	return repository.Head{Commit: c.SHA, Sequence: h.base + int64(number)}, nil
}

// record adds the commits that have become the head to the history.
func (l *Ledger) record(ctx context.Context, from repository.Head, line []repository.Commit, version int64) (repository.Head, error) {
	if line[0].Parent != from.Commit || headOf(l.history.Load()).Commit != from.Commit {
		if err := l.catchUp(context.WithoutCancel(ctx)); err != nil {
			return repository.Head{}, err
		}
	} else {
		l.begun.Store(true)
		l.extend(rowsOf(line))
	}
	head := headOf(l.history.Load())
	head.Access = version
	return head, nil
}

func rowsOf(line []repository.Commit) []row {
	rows := make([]row, len(line))
	for i, c := range line {
		rows[i] = rowOf(c).asHead(i == len(line)-1)
	}
	return rows
}

func rowOf(c repository.Commit) row {
	var parents []oid
	if c.Parent != "" {
		parents = []oid{parseID(c.Parent)}
	}
	return headerOf(c, parents).withTouches(c.Touched)
}

var (
	_ repository.Lined     = (*Ledger)(nil)
	_ repository.Preparing = (*Ledger)(nil)
)
