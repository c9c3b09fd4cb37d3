package dynamo

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// onceRow is the row that a commit leaves of its repository.Once.
func (l *Ledger) onceRow(to repository.Head, o *repository.Once) table.Write {
	row := rowOfAnswer(l.workspace, repository.Answered{ID: o.ID, Request: o.Request, Answer: o.Answer, Commit: to.Commit, Until: o.Until.Unix()})
	row.Attributes["n"], row.Attributes["i"] = table.Number(to.Sequence), table.Text(to.Index)
	free := table.NoRow()
	if o.Instead != "" {
		free = table.Any(free, table.Is("c", table.Text(o.Instead)))
	}
	return put(row, free)
}

func rowOfAnswer(ws access.ID, r repository.Answered) item {
	row := rowOf(onceKey(ws, r.ID))
	row.Attributes["c"], row.Attributes["q"] = table.Text(r.Commit), table.Text(r.Request)
	if len(r.Answer) > 0 {
		row.Attributes["a"] = table.Bytes(r.Answer)
	}
	row.Attributes["expires"] = table.Number(r.Until)
	return row
}

// Answers are what requests were answered that may be sent again.
func (t *Table) Answers(ctx context.Context, ws access.ID, now time.Time) (records []repository.Answered, err error) {
	q := table.Query{Partition: oncePartition(ws)}
	err = t.db.Query(ctx, q, func(i item) (bool, error) {
		r := repository.Answered{ID: i.Sort, Request: i.Text("q"), Answer: i.Bytes("a"),
			Commit: i.Text("c"), Until: i.Number("expires")}
		if r.Until > now.Unix() {
			records = append(records, r)
		}
		return true, nil
	})
	return records, err
}

// landedOf reads such a row. One that the head does not know yet, as it was read a
// moment earlier, is left out: what is decided without it cannot land.
func landedOf(i table.Attributes, head repository.Head) *repository.Landed {
	landed := &repository.Landed{
		Commit: i.Text("c"), Request: i.Text("q"), Sequence: i.Number("n"),
		Answer: i.Bytes("a"), Until: time.Unix(i.Number("expires"), 0),
	}
	if i.Text("i") == head.Index && landed.Sequence > head.Sequence {
		return nil
	}
	return landed
}
