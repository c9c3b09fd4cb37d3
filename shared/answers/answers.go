// Package answers keeps what requests under an Idempotency-Key were answered, in a table,
// for those who keep a workspace in files:
//
//	answer  <id>  commit, previous, request S; answer B; expires N
//
// A record is written before what it tells of: who reads it asks whether that happened.
package answers

import (
	"context"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// Store is records in a table.
type Store struct{ Table table.Table }

const partition = "answer"

// Put writes records, each in the place of what its id had before.
func (s Store) Put(ctx context.Context, records ...repository.Answered) error {
	var writes []table.Write
	for _, r := range records {
		writes = append(writes, table.Write{Key: table.Key{Partition: partition, Sort: r.ID}, Put: table.Attributes{
			"commit": table.Text(r.Commit), "previous": table.Text(r.Previous), "request": table.Text(r.Request),
			"answer": table.Bytes(r.Answer), table.Expires: table.Number(r.Until)}})
	}
	return s.Table.Batch(ctx, writes)
}

// Find is the record of an id; nil for none.
func (s Store) Find(ctx context.Context, id string) (*repository.Answered, error) {
	rows, err := s.Table.Get(ctx, []table.Key{{Partition: partition, Sort: id}})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	r := recordOf(rows[0])
	return &r, nil
}

// All are the records, but for those that are over.
func (s Store) All(ctx context.Context, now time.Time) (records []repository.Answered, err error) {
	err = s.Table.Query(ctx, table.Query{Partition: partition}, func(row table.Row) (bool, error) {
		if r := recordOf(row); r.Until > now.Unix() {
			records = append(records, r)
		}
		return true, nil
	})
	return records, err
}

func recordOf(row table.Row) repository.Answered {
	return repository.Answered{ID: row.Sort, Commit: row.Text("commit"), Previous: row.Text("previous"), Request: row.Text("request"),
		Answer: row.Bytes("answer"), Until: row.Number(table.Expires)}
}
