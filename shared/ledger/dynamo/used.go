package dynamo

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/dynamo"
)

func usedPartition(ws access.ID) string { return "used/" + string(ws) }

// MarkUsed is for a lastuse.Tracker: one request that is not repeated. The days
// lie apart from the keys, which the functions that read must not write.
func (t *Table) MarkUsed(ctx context.Context, workspace, key access.ID, day string) error {
	_, err := t.db.Write(ctx, "noting the use of a key",
		t.db.Update(dynamo.Key(usedPartition(workspace), string(key)), dynamo.Set(item{"d": dynamo.Text(day)}),
			dynamo.Missing("d").Or(expression.Name("d").LessThan(expression.Value(day)))), dynamo.Once)
	if errors.Is(err, dynamo.ErrRefused) {
		return nil
	}
	return err
}

// Uses implements access.Store.
func (r *registry) Uses(ctx context.Context) (map[access.ID]string, error) {
	days := map[access.ID]string{}
	q := dynamo.Query{Partition: usedPartition(r.workspace)}
	err := r.table.db.Query(ctx, "reading the last uses of keys", q, func(i item) (bool, error) {
		days[access.ID(dynamo.TextOf(i, dynamo.RangeKey))] = dynamo.TextOf(i, "d")
		return true, nil
	})
	return days, err
}
