package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
)

// Registry is the keys, principals and the record of a workspace. Edits are
// made one after the other, whoever makes them: each is written on condition
// of the access version that it saw.
type Registry struct {
	table     *Table
	workspace access.ID
	by        string // whose edits these are, for the audit trail
}

// Workspace returns the workspace's record.
func (r *Registry) Workspace(ctx context.Context) (control.Workspace, error) {
	i, err := r.table.headRow(ctx, r.workspace)
	if err != nil {
		return control.Workspace{}, err
	}
	return workspaceOf(r.workspace, i), nil
}

// Principals lists the principals in the order in which they were made.
func (r *Registry) Principals(ctx context.Context) ([]access.Principal, error) {
	s, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return documents(s.principals), nil
}

// Keys lists the records of all keys, revoked ones too, in the order in which
// they were made.
func (r *Registry) Keys(ctx context.Context) ([]access.KeyRecord, error) {
	s, err := r.read(ctx)
	if err != nil {
		return nil, err
	}
	return documents(s.keys), nil
}

// entry is a principal or a key as it is stored.
type entry[T any] struct {
	document T
	stored   string // the row's text; "" for one that is new
	was      T      // what the text says
	made     int64  // the access version of its making
	changed  bool
}

// encode writes the document over the stored one, of which nothing is lost that
// this version does not know.
func (e *entry[T]) encode() (string, error) {
	if e.stored == "" {
		doc, err := json.Marshal(e.document)
		return string(doc), err
	}
	doc, err := jsontree.Overlay([]byte(e.stored), e.was, e.document)
	if err != nil {
		return "", err
	}
	return string(doc.Compact()), nil
}

func entryOf[T any](i item) (*entry[T], error) {
	e := &entry[T]{made: numberOf(i, "made"), stored: textOf(i, "doc")}
	if err := decodeDoc(i, &e.document); err != nil {
		return nil, err
	}
	return e, decodeDoc(i, &e.was)
}

func documents[T any](entries []*entry[T]) []T {
	list := make([]T, len(entries))
	for n, e := range entries {
		list[n] = e.document
	}
	return list
}

// state is everything that has to do with access, at one access version.
type state struct {
	version    int64
	now        time.Time // the table's, when it was read
	recent     []change
	workspace  control.Workspace
	principals []*entry[access.Principal]
	keys       []*entry[access.KeyRecord]
}

// read reads the head first: what changes afterwards changes its access
// version, so that an edit of what was read then fails.
func (r *Registry) read(ctx context.Context) (*state, error) {
	head, now, err := r.table.headRowTimed(ctx, r.workspace)
	if err != nil {
		return nil, err
	}
	s := &state{version: numberOf(head, "access"), now: now, workspace: workspaceOf(r.workspace, head)}
	if s.recent, err = recentOf(head); err != nil {
		return nil, err
	}
	q := question{partition: accessPartition(r.workspace), low: "key/", high: "principal0"}
	if err := r.table.query(ctx, "reading keys and principals", q, func(i item) (bool, error) { return true, s.add(i) }); err != nil {
		return nil, err
	}
	slices.SortStableFunc(s.principals, func(a, b *entry[access.Principal]) int { return cmp.Compare(a.made, b.made) })
	slices.SortStableFunc(s.keys, func(a, b *entry[access.KeyRecord]) int { return cmp.Compare(a.made, b.made) })
	return s, nil
}

func (s *state) add(i item) error {
	if strings.HasPrefix(textOf(i, rangeKey), "principal/") {
		e, err := entryOf[access.Principal](i)
		s.principals = append(s.principals, e)
		return err
	}
	e, err := entryOf[access.KeyRecord](i)
	s.keys = append(s.keys, e)
	return err
}

func (s *state) principal(id access.ID) *entry[access.Principal] {
	for _, e := range s.principals {
		if e.document.ID == id {
			return e
		}
	}
	return nil
}

func (s *state) key(id access.ID) *entry[access.KeyRecord] {
	for _, e := range s.keys {
		if e.document.ID == id {
			return e
		}
	}
	return nil
}

// mostRecent bounds what the head tells of recent changes.
const mostRecent = 400

// edit changes the state by one transaction. It begins again as long as
// somebody else was faster. A change may be asked for several times; one that
// finds everything as it is to be writes nothing.
func (r *Registry) edit(ctx context.Context, change func(*state) error) error {
	const what = "changing keys and principals"
	for try := 0; ; try++ {
		s, err := r.read(ctx)
		if err != nil {
			return err
		}
		before, state := s.workspace, s.auditState()
		if err := change(s); err != nil {
			return err
		}
		writes, err := r.writes(s, before)
		if err != nil || len(writes) == 0 {
			return err
		}
		if writes, err = r.tell(writes, state, s); err != nil {
			return err
		}
		v, err := r.table.transact(ctx, what, writes)
		switch {
		case v == open && ctx.Err() == nil:
			// Whether it was done shows when the change is tried once more: it
			// finds its own work, or does it.
		case v != refused:
			return err
		}
		if !pause(ctx, try) {
			return gaveUp(ctx, what, repository.ErrMoved)
		}
	}
}

// writes are the rows that have changed, and the head with them.
func (r *Registry) writes(s *state, before control.Workspace) ([]types.TransactWriteItem, error) {
	version := s.version + 1
	recent := still(s.recent, s.now)
	var writes []types.TransactWriteItem
	put := func(key item, id access.ID, made int64, encode func() (string, error)) error {
		if made == 0 {
			made = version
		}
		doc, err := encode()
		u := newUpdate()
		u.set("doc", text(doc))
		u.set("version", number(version))
		u.set("made", number(made))
		writes = append(writes, types.TransactWriteItem{Update: &types.Update{
			TableName: &r.table.name, Key: key, UpdateExpression: u.expression(),
			ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		}})
		recent = append(recent, change{ID: id, Version: version})
		return err
	}
	for _, e := range s.principals {
		if e.changed {
			if err := put(principalKey(r.workspace, e.document.ID), e.document.ID, e.made, e.encode); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range s.keys {
		if e.changed {
			if err := put(accessKeyKey(r.workspace, e.document.ID), e.document.ID, e.made, e.encode); err != nil {
				return nil, err
			}
		}
	}
	if len(writes) == 0 && sameWorkspace(before, s.workspace) {
		return nil, nil
	}
	if len(recent) > mostRecent {
		return nil, fmt.Errorf("%d keys and principals were changed within a minute: %w", len(recent), repository.ErrBusy)
	}
	if s.workspace.Name != before.Name {
		u := newUpdate()
		u.set("name", text(s.workspace.Name))
		writes = append(writes, types.TransactWriteItem{Update: &types.Update{
			TableName: &r.table.name, Key: keyOf(workspacesPartition, string(r.workspace)), UpdateExpression: u.expression(),
			ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
		}})
	}
	return append(writes, r.headUpdate(s, version, recent)), nil
}

func sameWorkspace(a, b control.Workspace) bool {
	return a.Name == b.Name && a.BillingInactive == b.BillingInactive && a.Provisioning == b.Provisioning && slices.Equal(a.Secret, b.Secret)
}

func (r *Registry) headUpdate(s *state, version int64, recent []change) types.TransactWriteItem {
	u := newUpdate()
	list, _ := json.Marshal(recent) // ids and numbers
	set := item{"access": number(version), "recent": text(string(list))}
	putWorkspace(set, s.workspace)
	for _, name := range sorted(set) {
		u.set(name, set[name])
	}
	u.require("access", number(s.version))
	u.requireFormat()
	return types.TransactWriteItem{Update: &types.Update{
		TableName: &r.table.name, Key: headKey(r.workspace),
		UpdateExpression: u.expression(), ConditionExpression: u.condition(),
		ExpressionAttributeNames: u.names, ExpressionAttributeValues: u.values,
	}}
}
