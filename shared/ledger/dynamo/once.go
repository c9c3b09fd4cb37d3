package dynamo

import (
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/repository"
)

// onceRow is the row that a commit leaves of its repository.Once.
func (l *Ledger) onceRow(to repository.Head, o *repository.Once) dynamo.Write {
	row := onceKey(l.workspace, o.ID)
	row["c"], row["q"] = dynamo.Text(to.Commit), dynamo.Text(o.Request)
	row["n"], row["i"] = dynamo.Number(to.Sequence), dynamo.Text(to.Index)
	row["expires"] = dynamo.Number(o.Until.Unix())
	free := dynamo.Missing(dynamo.HashKey)
	if o.Instead != "" {
		free = free.Or(dynamo.Is("c", dynamo.Text(o.Instead)))
	}
	return l.table.db.Put(row, free)
}

// landedOf reads such a row. One that the head does not know yet, as it was read a
// moment earlier, is left out: what is decided without it cannot land.
func landedOf(i item, head repository.Head) *control.Landed {
	landed := &control.Landed{
		Commit: dynamo.TextOf(i, "c"), Request: dynamo.TextOf(i, "q"), Sequence: dynamo.NumberOf(i, "n"),
		Until: time.Unix(dynamo.NumberOf(i, "expires"), 0),
	}
	if dynamo.TextOf(i, "i") == head.Index && landed.Sequence > head.Sequence {
		return nil
	}
	return landed
}
