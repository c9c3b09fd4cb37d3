package dynamo

import (
	"context"
	"errors"

	"svc.example/svc/shared/dynamo"
	"svc.example/svc/shared/repository"
)

// maxWaiting bounds the rows of a queue that are read to be committed together.
const maxWaiting = 100

// maxTextsTogether bounds the texts of commits that are made in one step, so that
// a reader still finds what follows a base in one answer.
const maxTextsTogether = 128 << 10

func (l *Ledger) waitingKey(w repository.Waiting) item {
	return dynamo.Key(queuePartition(l.workspace), w.Place)
}

// Enqueue implements repository.Queue. All its attempts have one token: none that
// was late puts a row back which was removed.
func (l *Ledger) Enqueue(ctx context.Context, w repository.Waiting) error {
	row := l.waitingKey(w)
	row["t"], row["expires"] = dynamo.Text(w.Token), dynamo.Number(w.Until.Unix())
	if w.Draft != nil {
		row["w"] = dynamo.Bytes(zip().EncodeAll(w.Draft, nil))
	}
	err := l.table.db.Transact(ctx, "queuing a write", l.table.db.Put(row, dynamo.Missing(dynamo.HashKey)))
	if errors.Is(err, dynamo.ErrRefused) && errors.Is(err, dynamo.ErrUnknown) {
		return nil // nobody else has the place
	}
	return err
}

// Look implements repository.Queue.
func (l *Ledger) Look(ctx context.Context, w repository.Waiting) (head repository.Head, waits bool, err error) {
	if w.Place == "" {
		head, err = l.Head(ctx)
		return head, false, err
	}
	wanted := []item{headKey(l.workspace), l.waitingKey(w)}
	found, _, err := l.table.db.GetAll(ctx, "waiting in the queue", wanted, append([]string{"t"}, openAttributes...)...)
	if err != nil {
		return head, false, err
	}
	err = errRow // there is no head
	for _, i := range found {
		if dynamo.TextOf(i, dynamo.RangeKey) == w.Place {
			waits = dynamo.TextOf(i, "t") == w.Token
			continue
		}
		head, err = headOf(i), l.table.check(l.workspace, i)
	}
	return head, waits, err
}

// Waiting implements repository.Queue.
func (l *Ledger) Waiting(ctx context.Context) ([]repository.Waiting, error) {
	var all []repository.Waiting
	q := dynamo.Query{Partition: queuePartition(l.workspace), Limit: maxWaiting}
	err := l.table.db.Query(ctx, "reading the queue", q, func(i item) (bool, error) {
		w := repository.Waiting{Place: dynamo.TextOf(i, dynamo.RangeKey), Token: dynamo.TextOf(i, "t")}
		if draft := dynamo.BytesOf(i, "w"); draft != nil {
			w.Draft, _ = unzip().DecodeAll(draft, nil) // what cannot be read is its owner's to commit
		}
		all = append(all, w)
		return len(all) < maxWaiting, nil
	})
	return all, err
}

// removal removes a row of the queue, if it is there still.
func (l *Ledger) removal(w repository.Waiting) dynamo.Write {
	return l.table.db.Delete(l.waitingKey(w), dynamo.Is("t", dynamo.Text(w.Token)))
}

// TakeTurn implements repository.Queue.
func (l *Ledger) TakeTurn(ctx context.Context, from, to string, w repository.Waiting) error {
	was := dynamo.Is("turn", dynamo.Text(from))
	if from == "" {
		was = was.Or(dynamo.Missing("turn"))
	}
	writes := []dynamo.Write{l.table.db.Update(headKey(l.workspace), dynamo.Set(item{"turn": dynamo.Text(to)}), was, l.table.isOurs())}
	if w.Place != "" {
		writes = append(writes, l.removal(w))
	}
	return moved(l.table.db.Transact(ctx, "taking the turn", writes...))
}

// Leave implements repository.Queue.
func (l *Ledger) Leave(ctx context.Context, w repository.Waiting) error {
	return moved(l.table.db.Transact(ctx, "leaving the queue", l.removal(w)))
}

func moved(err error) error {
	if errors.Is(err, dynamo.ErrRefused) {
		return repository.ErrMoved
	}
	return err
}

// Holds implements repository.Queue.
func (l *Ledger) Holds(chain []repository.Commit, removed int) bool {
	rows, texts := 1+removed, 0 // with the head
	for _, c := range chain {
		rows += 2 + len(c.Touched) // log, ids
		if c.Once != nil {
			rows++
		}
		for _, t := range c.Touched {
			texts += len(t.Text)
		}
	}
	return rows <= dynamo.MaxWrites && texts <= maxTextsTogether
}

// AdvanceAll implements repository.Queue.
func (l *Ledger) AdvanceAll(ctx context.Context, from repository.Head, chain []repository.Commit, removed []repository.Waiting, turn string) (repository.Head, error) {
	var beside []dynamo.Write
	for _, w := range removed {
		beside = append(beside, l.removal(w))
	}
	return l.advance(ctx, from, chain, turn, beside)
}
