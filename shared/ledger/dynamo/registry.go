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

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
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
	made   map[string]bool   // the rows that tell when they were made
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
	s := stored{State: access.NewState(workspaceOf(r.workspace, head)), docs: map[string]string{}, made: map[string]bool{}, now: now}
	s.Version = head.Number("access")
	if s.recent, err = recentOf(head); err != nil {
		return stored{}, err
	}
	rows, err := r.table.readAccess(ctx, r.workspace)
	for _, i := range rows {
		if sort := i.Sort; strings.HasPrefix(sort, "principal/") {
			err = cmp.Or(err, appendDoc(&s.Principals, i))
		} else {
			err = cmp.Or(err, appendDoc(&s.Keys, i))
		}
		s.docs[i.Sort], s.made[i.Sort] = i.Text("doc"), i.Attributes["made"] != nil
	}
	return s, err
}

func appendDoc[T any](list *[]T, i item) error {
	var document T
	err := decodeDoc(i.Attributes, &document)
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
		err = r.table.db.Transact(ctx, writes...)
		switch {
		case errors.Is(err, table.ErrRefused):
			unknown = nil // whatever became of it shows now
		case errors.Is(err, table.ErrUnknown):
			unknown = err
		case err == nil:
			return nil
		default:
			return errors.Join(unknown, err)
		}
		if err := again(ctx, attempt, cmp.Or(unknown, repository.ErrMoved)); err != nil {
			return errors.Join(unknown, err)
		}
	}
}

// maxRecent bounds what the head tells of recent changes.
const maxRecent = 400

// writes are the rows that have changed, the head, and the entry.
func (r *registry) writes(before stored, after access.State, entry access.Entry) ([]table.Write, error) {
	recent := unexpired(before.recent, before.now)
	version := table.Number(after.Version)
	var writes []table.Write
	note := func(sort string, id access.ID, was, is any) error {
		doc, err := overlaid(before.docs[sort], was, is)
		row := table.Attributes{"doc": table.Text(doc), "version": version}
		if !before.made[sort] {
			row["made"] = version
		}
		writes = append(writes, set(keyOf(accessPartition(r.workspace), sort), row))
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
			if err := note("principal/"+string(p.ID), p.ID, was, p); err != nil {
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
			writes = append(writes, remove(accessKeyKey(r.workspace, was.ID)))
			recent = slices.DeleteFunc(recent, func(c change) bool { return c.ID == was.ID })
			recent = append(recent, change{ID: was.ID, Version: after.Version, Gone: true})
			was = access.KeyRecord{}
		}
		if k != was {
			if err := note("key/"+string(k.ID), k.ID, was, k); err != nil {
				return nil, err
			}
		}
	}
	if len(recent) > maxRecent {
		return nil, fmt.Errorf("%d keys and principals were changed within a minute: %w", len(recent), repository.ErrBusy)
	}
	if name := after.Workspace.Name; name != before.Workspace.Name {
		writes = append(writes, set(keyOf(workspacesPartition, string(r.workspace)), table.Attributes{"name": table.Text(name)}))
	}
	list, _ := json.Marshal(recent) // ids and numbers
	head := table.Attributes{"access": table.Number(after.Version), "recent": table.Text(string(list))}
	if !reflect.DeepEqual(after.Workspace, before.Workspace) { // not everybody may write it who may write keys
		putWorkspace(head, after.Workspace)
	}
	writes = append(writes, set(headKey(r.workspace), head, table.Is("access", table.Number(before.Version)), isKnownFormat()))
	if len(entry.Changes) == 0 {
		return writes, nil
	}
	doc, err := json.Marshal(entry)
	row := rowOf(keyOf(auditPartition(r.workspace), auditSort(entry.Version)))
	row.Attributes["doc"] = table.Text(string(doc))
	return append(writes, put(row, table.NoRow())), err
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
	q := table.Query{Partition: auditPartition(r.workspace)}
	if newest > 0 {
		q.Newest, q.Page = true, min(newest, perTrail)
	}
	err := r.table.db.Query(ctx, q, func(i item) (bool, error) {
		err := appendDoc(&entries, i)
		return len(entries) != newest, err
	})
	if newest > 0 {
		slices.Reverse(entries)
	}
	return entries, err
}
