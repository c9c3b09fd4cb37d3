package repositorytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"svc.example/svc/shared/repository"
)

// Memory is a ledger in memory. It forgets no row, but shows only those that
// the head it is asked through names.
type Memory struct {
	lock sync.Mutex
	head repository.Head
	rows map[string]repository.Commit
}

// NewMemory makes an empty ledger.
func NewMemory() *Memory { return &Memory{rows: map[string]repository.Commit{}} }

// Head returns the head.
func (m *Memory) Head(ctx context.Context) (repository.Head, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.head, ctx.Err()
}

// Bump raises the access version, as a revocation does.
func (m *Memory) Bump() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.head.Access++
}

// Force makes a commit the head whatever the head was, as git push -f does.
// Rows that are new come with it.
func (m *Memory) Force(sha string, rows ...repository.Commit) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, c := range rows {
		m.rows[c.SHA] = c
	}
	m.head.Commit, m.head.Sequence = sha, m.rows[sha].Sequence
}

// line returns the history of a commit, oldest first.
func (m *Memory) line(commit string) ([]repository.Commit, error) {
	var line []repository.Commit
	for at := commit; at != ""; {
		c, ok := m.rows[at]
		if !ok {
			return nil, fmt.Errorf("%s: %w", at, repository.ErrUnknownCommit)
		}
		line, at = append(line, c), c.Parent
	}
	slices.Reverse(line)
	return line, nil
}

func (m *Memory) read(ctx context.Context, head repository.Head) ([]repository.Commit, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.line(head.Commit)
}

// Since implements repository.Ledger.
func (m *Memory) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	line, err := m.read(ctx, head)
	if err != nil {
		return nil, err
	}
	return line[min(int(after), len(line)):], nil
}

// LastTouches implements repository.Ledger.
func (m *Memory) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	line, err := m.read(ctx, head)
	last := map[string]repository.Commit{}
	for _, c := range line {
		for _, t := range c.Touched {
			if last[t.Path] = c; t.Blob == "" {
				delete(last, t.Path)
			}
		}
	}
	return last, err
}

// History implements repository.Ledger.
func (m *Memory) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	line, err := m.read(ctx, head)
	if err != nil {
		return nil, err
	}
	var commits []repository.Commit
	for _, c := range slices.Backward(line) {
		if page.Before > 0 && c.Sequence >= page.Before {
			continue
		}
		if page.Path != "" {
			c.Touched = slices.DeleteFunc(slices.Clone(c.Touched), func(t repository.Touch) bool { return t.Path != page.Path })
			if len(c.Touched) == 0 {
				continue
			}
		}
		if commits = append(commits, c); len(commits) == page.Limit {
			break
		}
	}
	return commits, nil
}

// At implements repository.Ledger.
func (m *Memory) At(ctx context.Context, head repository.Head, path, revision string) (string, repository.Touch, error) {
	line, err := m.read(ctx, head)
	if err != nil {
		return "", repository.Touch{}, err
	}
	named := slices.DeleteFunc(slices.Clone(line), func(c repository.Commit) bool { return !strings.HasPrefix(c.SHA, revision) })
	switch len(named) {
	case 0:
		return "", repository.Touch{}, repository.ErrUnknownCommit
	case 1:
	default:
		return "", repository.Touch{}, repository.ErrAmbiguous
	}
	for _, c := range slices.Backward(line[:named[0].Sequence]) {
		for _, t := range c.Touched {
			if t.Path == path && t.Blob != "" {
				return named[0].SHA, t, nil
			}
			if t.Path == path {
				return named[0].SHA, repository.Touch{}, repository.ErrAbsent
			}
		}
	}
	return named[0].SHA, repository.Touch{}, repository.ErrAbsent
}

// Advance implements repository.Ledger.
func (m *Memory) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	if err := ctx.Err(); err != nil {
		return repository.Head{}, err
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	past, err := m.line(m.head.Commit)
	if err != nil {
		return repository.Head{}, err
	}
	if slices.ContainsFunc(past, func(row repository.Commit) bool { return row.SHA == c.SHA }) {
		return repository.Head{Commit: c.SHA, Sequence: c.Sequence, Access: m.head.Access}, nil
	}
	if m.head != from {
		return repository.Head{}, repository.ErrMoved
	}
	c.Touched = slices.Clone(c.Touched)
	for i := range c.Touched {
		c.Touched[i].Text = nil // so that a follower fetches it
	}
	m.rows[c.SHA] = c
	m.head.Commit, m.head.Sequence = c.SHA, c.Sequence
	return m.head, nil
}

// calls counts the calls on a store, by method.
type calls struct {
	lock sync.Mutex
	made []string
}

func (c *calls) note(call string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.made = append(c.made, call)
}

// take returns the calls since the last time, sorted.
func (c *calls) take() []string {
	c.lock.Lock()
	defer c.lock.Unlock()
	made := c.made
	c.made = nil
	slices.Sort(made)
	return made
}

// counted is a store whose calls are counted.
func counted(s Store) (Store, *calls) {
	c := &calls{}
	s.Ledger, s.Objects = countedLedger(s.Ledger, c), &countedObjects{s.Objects, c}
	return s, c
}

type ledgerCalls struct {
	repository.Ledger
	calls *calls
}

type basedCalls struct {
	ledgerCalls
	repository.Checkpointed
}

// countedLedger keeps what a ledger has beside the Ledger.
func countedLedger(l repository.Ledger, c *calls) repository.Ledger {
	counted := ledgerCalls{l, c}
	if based, is := l.(repository.Checkpointed); is {
		return basedCalls{counted, based}
	}
	return counted
}

func (l ledgerCalls) Since(ctx context.Context, head repository.Head, after int64) ([]repository.Commit, error) {
	l.calls.note("Since")
	return l.Ledger.Since(ctx, head, after)
}

func (l ledgerCalls) History(ctx context.Context, head repository.Head, page repository.Page) ([]repository.Commit, error) {
	l.calls.note("History")
	return l.Ledger.History(ctx, head, page)
}

func (l ledgerCalls) At(ctx context.Context, head repository.Head, path, revision string) (string, repository.Touch, error) {
	l.calls.note("At")
	return l.Ledger.At(ctx, head, path, revision)
}

func (l ledgerCalls) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	l.calls.note("Advance")
	return l.Ledger.Advance(ctx, from, c)
}

func (l ledgerCalls) LastTouches(ctx context.Context, head repository.Head) (map[string]repository.Commit, error) {
	l.calls.note("LastTouches")
	return l.Ledger.LastTouches(ctx, head)
}

type countedObjects struct {
	repository.Objects
	calls *calls
}

func (o *countedObjects) PutPack(ctx context.Context, name string, pack, index []byte) error {
	o.calls.note("PutPack")
	return o.Objects.PutPack(ctx, name, pack, index)
}

func (o *countedObjects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	o.calls.note("Blob")
	return o.Objects.Blob(ctx, touch)
}

func (o *countedObjects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	o.calls.note("Tree")
	return o.Objects.Tree(ctx, head)
}

// advancing is a ledger whose Advance goes through a function, which gets the
// number of the call, from 1, and the real Advance.
type advancing struct {
	repository.Ledger
	lock    sync.Mutex
	count   int
	through func(n int, advance func() (repository.Head, error)) (repository.Head, error)
	offered []repository.Commit
}

func (l *advancing) Advance(ctx context.Context, from repository.Head, c repository.Commit) (repository.Head, error) {
	l.lock.Lock()
	l.count++
	n := l.count
	l.offered = append(l.offered, c)
	l.lock.Unlock()
	return l.through(n, func() (repository.Head, error) { return l.Ledger.Advance(ctx, from, c) })
}

// errLost stands for whatever a broken connection says.
var errLost = fmt.Errorf("the response was lost")
