package dynamo

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/repository"
)

// onceRow is the row that a commit leaves of its repository.Once.
func (l *Ledger) onceRow(to repository.Head, o *repository.Once) dynamo.Write {
	row := rowOfAnswer(l.workspace, repository.Answered{ID: o.ID, Request: o.Request, Answer: o.Answer, Commit: to.Commit, Until: o.Until.Unix()})
	row["n"], row["i"] = dynamo.Number(to.Sequence), dynamo.Text(to.Index)
	free := dynamo.Missing(dynamo.HashKey)
	if o.Instead != "" {
		free = free.Or(dynamo.Is("c", dynamo.Text(o.Instead)))
	}
	return l.table.db.Put(row, free)
}

func rowOfAnswer(ws access.ID, r repository.Answered) item {
	row := onceKey(ws, r.ID)
	row["c"], row["q"] = dynamo.Text(r.Commit), dynamo.Text(r.Request)
	if len(r.Answer) > 0 {
		row["a"] = dynamo.Bytes(r.Answer)
	}
	row["expires"] = dynamo.Number(r.Until)
	return row
}

// Answers are what requests were answered that may be sent again.
func (t *Table) Answers(ctx context.Context, ws access.ID, now time.Time) (records []repository.Answered, err error) {
	q := dynamo.Query{Partition: oncePartition(ws)}
	err = t.db.Query(ctx, "reading what requests were answered", q, func(i item) (bool, error) {
		r := repository.Answered{ID: dynamo.TextOf(i, dynamo.RangeKey), Request: dynamo.TextOf(i, "q"), Answer: dynamo.BytesOf(i, "a"),
			Commit: dynamo.TextOf(i, "c"), Until: dynamo.NumberOf(i, "expires")}
		if r.Until > now.Unix() {
			records = append(records, r)
		}
		return true, nil
	})
	return records, err
}

// landedOf reads such a row. One that the head does not know yet, as it was read a
// moment earlier, is left out: what is decided without it cannot land.
func landedOf(i item, head repository.Head) *repository.Landed {
	landed := &repository.Landed{
		Commit: dynamo.TextOf(i, "c"), Request: dynamo.TextOf(i, "q"), Sequence: dynamo.NumberOf(i, "n"),
		Answer: dynamo.BytesOf(i, "a"), Until: time.Unix(dynamo.NumberOf(i, "expires"), 0),
	}
	if dynamo.TextOf(i, "i") == head.Index && landed.Sequence > head.Sequence {
		return nil
	}
	return landed
}
