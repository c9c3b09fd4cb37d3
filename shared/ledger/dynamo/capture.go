package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/repository"
)

// Captured is what a workspace was at one moment: its head, its record, and its
// principals and keys as they are stored, in the order in which they were made.
type Captured struct {
	Workspace        access.Workspace
	Head             repository.Head
	Principals, Keys []json.RawMessage
}

// errMoving: keys and principals change too fast to be read.
var errMoving = errors.New("keys and principals are being changed all the time")

// rereadAfter is when all keys and principals are read again: the head tells for a
// minute what was changed.
const rereadAfter = remember - 10*time.Second

// Capture reads a workspace beside its writers. What it returns is of the moment of
// one read of the head, which is after the call began.
//
// No transaction keeps the read of the head and that of the rows together. So the head
// is read after the rows, and tells which of them were changed since; these are read
// again, until all are as the head says, and none is newer than it.
func (t *Table) Capture(ctx context.Context, ws access.ID) (Captured, error) {
	const what = "reading keys and principals"
	for attempt := 1; ; attempt++ {
		c, err := t.capture(ctx, ws)
		if !errors.Is(err, errMoving) {
			return c, err
		}
		if err := t.db.Again(ctx, what, attempt, err); err != nil {
			return Captured{}, err
		}
	}
}

// maxRereads is how often single rows are read again before all are.
const maxRereads = 100

func (t *Table) capture(ctx context.Context, ws access.ID) (Captured, error) {
	began := time.Now()
	rows := map[string]item{}
	take := func(i item) { rows[dynamo.TextOf(i, dynamo.RangeKey)] = i }
	q := dynamo.Query{Partition: accessPartition(ws), Low: "key/", High: "principal0"}
	err := t.db.Query(ctx, "reading keys and principals", q, func(i item) (bool, error) {
		take(i)
		return true, nil
	})
	for range maxRereads {
		if err != nil {
			return Captured{}, err
		}
		var head item
		if head, err = t.headRow(ctx, ws); err != nil {
			return Captured{}, err
		}
		if time.Since(began) > rereadAfter {
			break
		}
		stale, newer, unread := staleIn(head, ws, rows)
		if err = unread; err != nil {
			return Captured{}, err
		}
		if len(stale) == 0 && !newer {
			return captured(ws, head, rows)
		}
		var again []item
		if again, _, err = t.db.GetAll(ctx, "reading keys and principals", stale); err == nil {
			for _, i := range again {
				take(i)
			}
		}
	}
	return Captured{}, errMoving
}

// staleIn are the keys of rows that are older than the head tells. Newer says that one
// is newer than the head itself.
func staleIn(head item, ws access.ID, rows map[string]item) (stale []item, newer bool, err error) {
	recent, err := recentOf(head)
	if err != nil {
		return nil, false, err
	}
	for _, c := range recent {
		is := max(dynamo.NumberOf(rows["principal/"+string(c.ID)], "version"), dynamo.NumberOf(rows["key/"+string(c.ID)], "version"))
		if is < c.Version {
			stale = append(stale, principalKey(ws, c.ID), accessKeyKey(ws, c.ID))
		}
	}
	version := dynamo.NumberOf(head, "access")
	for _, i := range rows {
		newer = newer || dynamo.NumberOf(i, "version") > version
	}
	return stale, newer, nil
}

func captured(ws access.ID, head item, rows map[string]item) (Captured, error) {
	c := Captured{Workspace: workspaceOf(ws, head), Head: headOf(head), Principals: []json.RawMessage{}, Keys: []json.RawMessage{}}
	var all []item
	for _, i := range rows {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b item) int {
		return cmp.Or(cmp.Compare(dynamo.NumberOf(a, "made"), dynamo.NumberOf(b, "made")),
			strings.Compare(dynamo.TextOf(a, dynamo.RangeKey), dynamo.TextOf(b, dynamo.RangeKey)))
	})
	for _, i := range all {
		sort, doc := dynamo.TextOf(i, dynamo.RangeKey), json.RawMessage(dynamo.TextOf(i, "doc"))
		if !json.Valid(doc) {
			return c, fmt.Errorf("%w: %s", errRow, sort)
		}
		if strings.HasPrefix(sort, "principal/") {
			c.Principals = append(c.Principals, doc)
		} else {
			c.Keys = append(c.Keys, doc)
		}
	}
	return c, nil
}

// EachAudit calls for the entries of the audit trail up to an access version, oldest
// first, as they are stored.
func (t *Table) EachAudit(ctx context.Context, ws access.ID, version int64, each func(doc []byte) error) error {
	q := dynamo.Query{Partition: auditPartition(ws), Low: "0", High: auditSort(version)}
	return t.db.Query(ctx, "reading the audit trail", q, func(i item) (bool, error) {
		return true, each([]byte(dynamo.TextOf(i, "doc")))
	})
}

func auditSort(version int64) string { return fmt.Sprintf("%012d", version) }
