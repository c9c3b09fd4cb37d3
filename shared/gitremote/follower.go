package gitremote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/odb"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/table"
)

// Follower keeps a branch of a remote in step with a workspace.
type Follower struct {
	Remote *Remote
	Branch string
	// Path is the directory in the remote that the workspace is; "" for all of it.
	Path string
	// Table keeps how far it is.
	Table table.Table
	// Head is the workspace's, asked for twice a second: it reads nothing.
	Head func(ctx context.Context) (repository.Head, error)
	// Objects are the workspace's.
	Objects interface {
		Reader(ctx context.Context) *odb.Reader
	}
	// Take makes a commit the head that was made elsewhere, with a pack of what is new in it,
	// if it keeps to the rules of a push; else it is a Refusal. It is repository.ErrMoved where
	// from is the head no more. What it needs is read with read.
	Take func(ctx context.Context, from repository.Head, to object.ID, made *pack.Pack, read object.Read) error
	// Requests have decided what cannot be brought in; nil for a person with git.
	Requests Requests
	Logger   *slog.Logger

	mu     sync.Mutex
	status Status
	stored position
	base   spine // what the remote was left at, for Path
}

// Status is how a remote is doing.
type Status struct {
	Address, Branch, Path string
	// Pushed is the newest commit that is there, "" before the first; Remote is what it is
	// called there.
	Pushed, Remote string
	// Behind is how many commits it lacks.
	Behind int
	// Since is when it was in step last; zero for not since this process began.
	Since time.Time
	// Error says in words why it is not; "" for no reason. Person says that waiting does not
	// help: somebody has to do what it says.
	Error  string
	Person bool
	// Request is the number of the change request that decides it; 0 for none.
	Request int64
}

const (
	lookEvery  = 500 * time.Millisecond
	checkEvery = time.Minute // also when nothing has happened here
	turnTime   = 30 * time.Minute
	// A push brings so many commits at most, or so many bytes.
	maxCommits = 1000
	maxBytes   = 16 << 20
)

// Status is how it is now.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Run goes on until the context ends.
func (f *Follower) Run(ctx context.Context) {
	f.mu.Lock()
	f.status.Address, f.status.Branch, f.status.Path = f.Remote.Address.String(), f.Branch, f.Path
	f.mu.Unlock()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	retry := backoff.Retry{Backoff: backoff.Backoff{First: time.Second, Max: 5 * time.Minute}}
	var done string // the head that the remote has
	var checked time.Time
	for ctx.Err() == nil {
		head, err := f.Head(ctx)
		now := time.Now()
		if err == nil && head.Commit != "" {
			f.look(head)
			waits, decided := f.decision(ctx)
			if (head.Commit != done || now.Sub(checked) >= checkEvery || decided) && (retry.Due(now) || waits) {
				err := f.turn(ctx, head)
				if checked = time.Now(); ctx.Err() == nil {
					f.ended(err)
					if f.Status().Request != 0 { // the remote is there, and somebody decides
						err = nil
					}
					retry.Ended(checked, err)
				}
				if err == nil {
					done = head.Commit
				}
			}
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// look counts what the remote lacks of a head.
func (f *Follower) look(head repository.Head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.Behind = int(max(head.Sequence-f.stored.sequence, 0))
	if f.status.Pushed == head.Commit {
		f.status.Behind = 0
	}
}

// ended notes how a turn has ended, and logs what is new.
func (f *Follower) ended(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.status.Error
	if err == nil {
		f.status.Error, f.status.Person, f.status.Request, f.status.Since = "", false, 0, time.Now()
		if before != "" {
			f.Logger.Info("the remote is in step again", "remote", f.status.Address)
		}
		return
	}
	refusal := (*Refusal)(nil)
	f.status.Error, f.status.Person, f.status.Request = err.Error(), errors.As(err, &refusal), 0
	if refusal != nil {
		f.status.Request = refusal.Request
	}
	if f.status.Error != before {
		f.Logger.Error("the remote is not in step", "remote", f.status.Address, "behind", f.status.Behind, "error", f.status.Error)
	}
}

// reached notes that the remote has a commit.
func (f *Follower) reached(ctx context.Context, p position) error {
	if err := f.save(ctx, p); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stored = p
	if p.pushed != (object.ID{}) {
		f.status.Pushed, f.status.Remote = p.pushed.String(), p.remote.String()
	}
	return nil
}

// turn brings the remote to a head.
func (f *Follower) turn(ctx context.Context, head repository.Head) error {
	ctx, cancel := context.WithTimeoutCause(ctx, turnTime, errors.New("the remote has taken too long"))
	defer cancel()
	p, err := f.load(ctx)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.stored = p
	f.mu.Unlock()
	reader := f.Objects.Reader(ctx)
	defer reader.Close()
	reader.MaxBlob(maxFile)
	t := &turn{Follower: f, read: reader.Read, head: object.ParseID(head.Commit), sequence: head.Sequence, at: p}
	if f.Path != "" {
		t.names = strings.Split(f.Path, "/")
	}
	secret, _ := f.Remote.secret()
	for {
		if err := t.asked(ctx); err != nil {
			return err
		}
		more, err := true, error(nil)
		for more && err == nil {
			more, err = t.step(ctx)
		}
		if !errors.Is(err, ErrDecided) {
			return f.Remote.inWords(err, secret)
		}
	}
}

// maxFile bounds a file outside the layout, as an import does.
const maxFile = 64 << 20

// turn is the way of a remote to one head.
type turn struct {
	*Follower
	read     object.Read
	head     object.ID
	sequence int64
	at       position
	names    []string    // of the path
	pending  []object.ID // what is to be pushed on top of at
	question question
}

// step pushes some commits, and reports whether there are more.
func (t *turn) step(ctx context.Context) (more bool, err error) {
	x, err := t.Remote.open(ctx, receivePack)
	if err != nil {
		return false, err
	}
	defer x.close()
	tip := x.tip(t.Branch)
	if tip == (object.ID{}) && t.at.pushed != (object.ID{}) {
		return false, refuse("the branch %s is gone at the remote, where commit %s was: push that there again, or name another branch with --remote-branch", t.Branch, t.at.remote)
	}
	if t.names == nil && tip != (object.ID{}) && !t.has(tip) {
		x.close()
		return true, t.bring(ctx, tip)
	}
	if err := t.answered(ctx); err != nil {
		return false, err
	}
	switch {
	case len(t.pending) > 0 && tip == t.at.remote: // as the step before has left it
	case t.names == nil:
		t.pending, err = t.whole(ctx, tip)
	default:
		t.pending, err = t.below(ctx, tip)
	}
	if err != nil {
		return false, err
	}
	if len(t.pending) == 0 {
		return false, t.reached(ctx, t.at)
	}
	g := newGathering(t.read)
	next, n, err := t.gather(ctx, g, t.pending)
	if err != nil {
		return false, err
	}
	if err := t.save(ctx, next); err != nil {
		return false, err
	}
	packed, err := g.pack()
	if err != nil {
		return false, err
	}
	if err := t.Remote.push(x, t.Branch, tip, next.nextRemote, packed); err != nil {
		return false, err
	}
	t.pending = t.pending[n:]
	t.at = position{pushed: next.next, sequence: next.nextSequence, remote: next.nextRemote}
	if t.names != nil {
		if t.base, err = t.base.prune(t.names); err != nil {
			return false, err
		}
	}
	return len(t.pending) > 0, t.reached(ctx, t.at)
}

// has reports whether a commit is here.
func (t *turn) has(id object.ID) bool {
	_, err := object.ReadCommit(t.read, id)
	return !absent(err)
}

// absent reports whether an error means that an object is not there.
func absent(err error) bool {
	return errors.Is(err, odb.ErrNoObject) || errors.As(err, new(*object.Lost))
}

// whole are the commits that the remote lacks, which has all of the workspace's files.
func (t *turn) whole(ctx context.Context, tip object.ID) ([]object.ID, error) {
	pending, err := missing(ctx, t.read, t.head, tip)
	if errors.Is(err, errUnrelated) {
		return nil, refuse("the branch %s of the remote is at %s, which is not in the history here any more: one of the two was rewritten by force. Bring them together by hand", t.Branch, tip)
	}
	if err != nil {
		return nil, err
	}
	if was := t.at.pushed; was != (object.ID{}) && was != tip {
		if back, err := missing(ctx, t.read, was, tip); err == nil && len(back) > 0 {
			return nil, refuse("the branch %s of the remote was taken back from %s to %s: nothing is pushed. Push %s there again; to take changes back, undo them in svc", t.Branch, was, tip, was)
		}
	}
	t.at = position{pushed: tip, remote: tip, sequence: t.sequence - int64(len(pending))}
	return pending, nil
}

// below are the commits that a directory of the remote lacks.
func (t *turn) below(ctx context.Context, tip object.ID) ([]object.ID, error) {
	if tip == t.at.nextRemote && tip != (object.ID{}) { // nobody heard how that push ended
		t.at = position{pushed: t.at.next, sequence: t.at.nextSequence, remote: tip}
	}
	if t.base.commit != tip || tip == (object.ID{}) {
		t.base = spine{trees: map[object.ID][]byte{}}
	}
	if tip != t.base.commit {
		var err error
		if t.base, err = t.Remote.spine(ctx, t.Branch, t.names); err != nil {
			return nil, err
		}
		if t.base.commit != tip {
			return nil, errors.New("the branch moved at the same time")
		}
	}
	there, err := t.base.below(t.names)
	if err != nil {
		return nil, err
	}
	if t.at.pushed == (object.ID{}) {
		now, err := object.ReadCommit(t.read, t.head)
		switch {
		case err != nil:
			return nil, err
		case there == now.Tree:
			t.at = position{pushed: t.head, sequence: t.sequence, remote: tip}
			return nil, nil
		case there != object.ID{}:
			return nil, refuse("%s in the remote holds other files than the workspace: begin with a workspace that was imported from them (svc api --import), or name another --remote-path", t.Path)
		}
		return []object.ID{t.head}, nil
	}
	was, err := object.ReadCommit(t.read, t.at.pushed)
	if err != nil {
		return nil, err
	}
	if there != was.Tree {
		return nil, refuse("%s was changed in the remote, at commit %s or before: nothing is pushed. Make the change in svc, and take it back there", t.Path, tip)
	}
	t.at.remote = tip
	return t.line(ctx)
}

// line are the commits since the one that was pushed last, by first parents; where those do not
// lead there, the head alone.
func (t *turn) line(ctx context.Context) ([]object.ID, error) {
	var back []object.ID
	for id := t.head; id != t.at.pushed; {
		c, err := object.ReadCommit(t.read, id)
		if err = errors.Join(err, ctx.Err()); err != nil {
			return nil, err
		}
		back = append(back, id)
		if len(c.Parents) == 0 {
			if _, err := missing(ctx, t.read, t.head, t.at.pushed); err != nil {
				return nil, refuse("commit %s, which was pushed last, is not in the history here any more: it was rewritten by force. Bring the two together by hand", t.at.pushed)
			}
			return []object.ID{t.head}, nil
		}
		id = c.Parents[0]
	}
	for i, j := 0, len(back)-1; i < j; i, j = i+1, j-1 {
		back[i], back[j] = back[j], back[i]
	}
	return back, nil
}

// gather takes as many commits as one push brings, and says what they lead to, and how many
// they are.
func (t *turn) gather(ctx context.Context, g *gathering, pending []object.ID) (next position, n int, err error) {
	next, before := t.at, object.ID{}
	if t.names != nil && t.at.pushed != (object.ID{}) {
		c, err := object.ReadCommit(t.read, t.at.pushed)
		if err != nil {
			return next, 0, err
		}
		before = c.Tree
	}
	for i, id := range pending {
		if err := ctx.Err(); err != nil {
			return next, n, err
		}
		if i > 0 && (i == maxCommits || g.bytes > maxBytes) {
			break
		}
		next.next, next.nextRemote, next.nextSequence = id, id, t.sequence-int64(len(pending)-1-i)
		if t.names == nil {
			err = g.commit(id)
		} else if t.base, err = g.export(t.base, t.names, id, before); err == nil {
			next.nextRemote = t.base.commit
			var c object.Commit
			c, err = object.ReadCommit(t.read, id)
			before = c.Tree
		}
		if err != nil {
			return next, n, fmt.Errorf("reading what is to be pushed: %w", err)
		}
		n++
	}
	return next, n, nil
}
