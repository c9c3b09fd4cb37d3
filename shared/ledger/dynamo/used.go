package dynamo

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/table"
)

func usedPartition(ws access.ID) string { return "used/" + string(ws) }

// MarkUsed is for a lastuse.Tracker. The days
// lie apart from the keys, which the functions that read must not write.
func (t *Table) MarkUsed(ctx context.Context, workspace, key access.ID, day string) error {
	_, err := t.db.Update(ctx, set(keyOf(usedPartition(workspace), string(key)), table.Attributes{"d": table.Text(day)},
		table.Any(table.Lacks("d"), table.Less("d", table.Text(day)))))
	if errors.Is(err, table.ErrRefused) {
		return nil
	}
	return err
}

// Uses implements access.Store.
func (r *registry) Uses(ctx context.Context) (map[access.ID]string, error) {
	days := map[access.ID]string{}
	q := table.Query{Partition: usedPartition(r.workspace)}
	err := r.table.db.Query(ctx, q, func(i item) (bool, error) {
		days[access.ID(i.Sort)] = i.Text("d")
		return true, nil
	})
	return days, err
}
