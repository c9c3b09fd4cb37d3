package repositorytest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"svc.example/svc/shared/repository"
)

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
