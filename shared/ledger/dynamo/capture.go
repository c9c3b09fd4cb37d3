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
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
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

// rereadAfter is how long reading keys and principals may take: the head tells for a
// minute what was changed.
const rereadAfter = remember - 10*time.Second

// Capture reads a workspace beside its writers. What it returns is of the moment of
// one read of the head, which is after the call began.
//
// No transaction keeps the read of the head and that of the rows together. So the head
// is read after the rows, and tells which of them were changed since: all are read again
// until they are as the head says, and none is newer than it.
func (t *Table) Capture(ctx context.Context, ws access.ID) (Captured, error) {
	for attempt := 1; ; attempt++ {
		began := time.Now()
		rows, err := t.readAccess(ctx, ws)
		if err != nil {
			return Captured{}, err
		}
		head, _, err := t.headRow(ctx, ws)
		if err != nil {
			return Captured{}, err
		}
		same, err := areOf(head, rows)
		if err != nil {
			return Captured{}, err
		}
		if same && time.Since(began) < rereadAfter {
			c := Captured{Workspace: workspaceOf(ws, head), Head: headOf(head), Principals: []json.RawMessage{}, Keys: []json.RawMessage{}}
			for _, i := range rows {
				list := &c.Keys
				if strings.HasPrefix(i.Sort, "principal/") {
					list = &c.Principals
				}
				if err := appendDoc(list, i); err != nil {
					return c, err
				}
			}
			return c, nil
		}
		if err := again(ctx, attempt, errMoving); err != nil {
			return Captured{}, err
		}
	}
}

const readingAccess = "reading keys and principals"

// readAccess reads the rows of keys and principals, in the order in which these were made.
func (t *Table) readAccess(ctx context.Context, ws access.ID) (rows []item, err error) {
	q := table.Query{Partition: accessPartition(ws), Low: "key/", High: "principal0"}
	err = t.db.Query(ctx, q, func(i item) (bool, error) {
		rows = append(rows, i)
		return true, nil
	})
	slices.SortStableFunc(rows, func(a, b item) int { return cmp.Compare(a.Number("made"), b.Number("made")) })
	return rows, err
}

// areOf reports whether rows are as a head tells that was read after them.
func areOf(head table.Attributes, rows []item) (bool, error) {
	recent, err := recentOf(head)
	if err != nil {
		return false, err
	}
	byID := map[string]item{}
	for _, i := range rows {
		_, id, _ := strings.Cut(i.Sort, "/")
		if byID[id] = i; i.Number("version") > head.Number("access") {
			return false, nil
		}
	}
	return !slices.ContainsFunc(recent, func(c change) bool { return !c.shows(byID[string(c.ID)].Attributes) }), nil
}

// EachAudit calls for the entries of the audit trail up to an access version, oldest
// first, as they are stored.
func (t *Table) EachAudit(ctx context.Context, ws access.ID, version int64, each func(doc []byte) error) error {
	q := table.Query{Partition: auditPartition(ws), Low: "0", High: auditSort(version)}
	return t.db.Query(ctx, q, func(i item) (bool, error) {
		return true, each([]byte(i.Text("doc")))
	})
}

func auditSort(version int64) string { return fmt.Sprintf("%012d", version) }
