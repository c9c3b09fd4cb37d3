package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
)

// registry implements access.Store. Edits are made one after the other: each is written on condition of the access version that it saw.
type registry struct {
	table     *Table
	workspace access.ID
}

// stored is a state and the rows that it was read from.
type stored struct {
	access.State
	docs   map[string]string // the text of each row, by its sort key
	recent []change
	now    time.Time // the table's, when it was read
}

// Load implements access.Store.
func (r *registry) Load(ctx context.Context) (access.State, error) {
	s, err := r.read(ctx)
	return s.State, err
}

// read reads the head first: what changes afterwards changes its access
// version, so that an edit of what was read then fails.
func (r *registry) read(ctx context.Context) (stored, error) {
	head, now, err := r.table.headRow(ctx, r.workspace)
	if err != nil {
		return stored{}, err
	}
	s := stored{State: access.NewState(workspaceOf(r.workspace, head)), docs: map[string]string{}, now: now}
	s.Version = dynamo.NumberOf(head, "access")
	if s.recent, err = recentOf(head); err != nil {
		return stored{}, err
	}
	rows, err := r.table.readAccess(ctx, r.workspace)
	for _, i := range rows {
		if sort := dynamo.TextOf(i, dynamo.RangeKey); strings.HasPrefix(sort, "principal/") {
			err = cmp.Or(err, appendDoc(&s.Principals, i))
		} else {
			err = cmp.Or(err, appendDoc(&s.Keys, i))
		}
		s.docs[dynamo.TextOf(i, dynamo.RangeKey)] = dynamo.TextOf(i, "doc")
	}
	return s, err
}

func appendDoc[T any](list *[]T, i item) error {
	var document T
	err := decodeDoc(i, &document)
	*list = append(*list, document)
	return err
}

// Update implements access.Store.
func (r *registry) Update(ctx context.Context, edit func(access.State) (access.State, access.Entry, error)) error {
	const what = "changing keys and principals"
	var unknown error // how an earlier attempt ended
	for attempt := 1; ; attempt++ {
		before, err := r.read(ctx)
		if err != nil {
			return errors.Join(unknown, err)
		}
		after, entry, err := edit(before.State)
		if err != nil || after.Version == before.Version {
			return err
		}
		writes, err := r.writes(before, after, entry)
		if err != nil {
			return err
		}
		err = r.table.db.Transact(ctx, what, writes...)
		switch {
		case errors.Is(err, dynamo.ErrRefused):
			unknown = nil // whatever became of it shows now
		case errors.Is(err, dynamo.ErrUnknown):
			unknown = err
		case err == nil:
			return nil
		default:
			return errors.Join(unknown, err)
		}
		if err := r.table.db.Again(ctx, what, attempt, cmp.Or(unknown, repository.ErrMoved)); err != nil {
			return errors.Join(unknown, err)
		}
	}
}

// maxRecent bounds what the head tells of recent changes.
const maxRecent = 400

// writes are the rows that have changed, the head, and the entry.
func (r *registry) writes(before stored, after access.State, entry access.Entry) ([]dynamo.Write, error) {
	db := r.table.db
	recent := unexpired(before.recent, before.now)
	version := expression.Value(after.Version)
	var writes []dynamo.Write
	put := func(sort string, id access.ID, was, is any) error {
		doc, err := overlaid(before.docs[sort], was, is)
		writes = append(writes, db.Update(dynamo.Key(accessPartition(r.workspace), sort),
			expression.Set(expression.Name("doc"), expression.Value(doc)).Set(expression.Name("version"), version).
				Set(expression.Name("made"), expression.Name("made").IfNotExists(version))))
		recent = append(recent, change{ID: id, Version: after.Version})
		return err
	}
	// What was there has its place still, or what came for it has.
	for n, p := range after.Principals {
		var was access.Principal
		if n < len(before.Principals) {
			was = before.Principals[n]
		}
		if !reflect.DeepEqual(p, was) {
			if err := put("principal/"+string(p.ID), p.ID, was, p); err != nil {
				return nil, err
			}
		}
	}
	for n, k := range after.Keys {
		var was access.KeyRecord
		if n < len(before.Keys) {
			was = before.Keys[n]
		}
		if was.ID != "" && was.ID != k.ID {
			writes = append(writes, db.Delete(accessKeyKey(r.workspace, was.ID)))
			recent = slices.DeleteFunc(recent, func(c change) bool { return c.ID == was.ID })
			recent = append(recent, change{ID: was.ID, Version: after.Version, Gone: true})
			was = access.KeyRecord{}
		}
		if k != was {
			if err := put("key/"+string(k.ID), k.ID, was, k); err != nil {
				return nil, err
			}
		}
	}
	if len(recent) > maxRecent {
		return nil, fmt.Errorf("%d keys and principals were changed within a minute: %w", len(recent), repository.ErrBusy)
	}
	if name := after.Workspace.Name; name != before.Workspace.Name {
		writes = append(writes, db.Update(dynamo.Key(workspacesPartition, string(r.workspace)), dynamo.Set(item{"name": dynamo.Text(name)})))
	}
	list, _ := json.Marshal(recent) // ids and numbers
	head := item{"access": dynamo.Number(after.Version), "recent": dynamo.Text(string(list))}
	if !reflect.DeepEqual(after.Workspace, before.Workspace) { // not everybody may write it who may write keys
		putWorkspace(head, after.Workspace)
	}
	writes = append(writes, db.Update(headKey(r.workspace), dynamo.Set(head), dynamo.Is("access", dynamo.Number(before.Version)), isKnownFormat()))
	if len(entry.Changes) == 0 {
		return writes, nil
	}
	doc, err := json.Marshal(entry)
	row := dynamo.Key(auditPartition(r.workspace), auditSort(entry.Version))
	row["doc"] = dynamo.Text(string(doc))
	return append(writes, db.Put(row, dynamo.Missing(dynamo.HashKey))), err
}

// overlaid writes a document over the stored one, of which nothing is lost that
// this version does not know.
func overlaid(stored string, was, is any) (string, error) {
	if stored == "" {
		doc, err := json.Marshal(is)
		return string(doc), err
	}
	doc, err := jsontree.Overlay([]byte(stored), was, is)
	if err != nil {
		return "", err
	}
	return string(doc.Compact()), nil
}

// perTrail is how many entries are asked for at a time, where only the newest are wanted.
const perTrail = 1000

// Trail implements access.Store.
func (r *registry) Trail(ctx context.Context, newest int) ([]access.Entry, error) {
	var entries []access.Entry
	q := dynamo.Query{Partition: auditPartition(r.workspace)}
	if newest > 0 {
		q.Newest, q.Limit = true, min(newest, perTrail)
	}
	err := r.table.db.Query(ctx, "reading the audit trail", q, func(i item) (bool, error) {
		err := appendDoc(&entries, i)
		return len(entries) != newest, err
	})
	if newest > 0 {
		slices.Reverse(entries)
	}
	return entries, err
}
