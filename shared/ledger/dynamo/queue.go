package dynamo

import (
	"context"
	"errors"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/table"
)

// maxWaiting bounds the rows of a queue that are read to be committed together.
const maxWaiting = 100

// maxTextsTogether bounds the texts of commits that are made in one step, so that
// a reader still finds what follows a base in one answer.
const maxTextsTogether = 128 << 10

func (l *Ledger) waitingKey(w repository.Waiting) table.Key {
	return keyOf(queuePartition(l.workspace), w.Place)
}

// Enqueue implements repository.Queue. All its attempts have one token: none that
// was late puts a row back which was removed.
func (l *Ledger) Enqueue(ctx context.Context, w repository.Waiting) error {
	row := rowOf(l.waitingKey(w))
	row.Attributes["t"], row.Attributes["expires"] = table.Text(w.Token), table.Number(w.Until.Unix())
	if w.Draft != nil {
		row.Attributes["w"] = table.Bytes(zip().EncodeAll(w.Draft, nil))
	}
	err := l.table.db.Transact(ctx, put(row, table.NoRow()))
	if errors.Is(err, table.ErrRefused) && errors.Is(err, table.ErrUnknown) {
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
	wanted := []table.Key{headKey(l.workspace), l.waitingKey(w)}
	found, _, err := l.table.db.GetAt(ctx, wanted, append([]string{"t"}, openAttributes...)...)
	if err != nil {
		return head, false, err
	}
	err = errRow // there is no head
	for _, i := range found {
		if i.Sort == w.Place {
			waits = i.Text("t") == w.Token
			continue
		}
		head, err = headOf(i.Attributes), l.table.check(l.workspace, i.Attributes)
	}
	return head, waits, err
}

// Waiting implements repository.Queue.
func (l *Ledger) Waiting(ctx context.Context) ([]repository.Waiting, error) {
	var all []repository.Waiting
	q := table.Query{Partition: queuePartition(l.workspace), Page: maxWaiting}
	err := l.table.db.Query(ctx, q, func(i item) (bool, error) {
		w := repository.Waiting{Place: i.Sort, Token: i.Text("t")}
		if draft := i.Bytes("w"); draft != nil {
			w.Draft, _ = unzip().DecodeAll(draft, nil) // what cannot be read is its owner's to commit
		}
		all = append(all, w)
		return len(all) < maxWaiting, nil
	})
	return all, err
}

// removal removes a row of the queue, if it is there still.
func (l *Ledger) removal(w repository.Waiting) table.Write {
	return remove(l.waitingKey(w), table.Is("t", table.Text(w.Token)))
}

// TakeTurn implements repository.Queue.
func (l *Ledger) TakeTurn(ctx context.Context, from, to string, w repository.Waiting) error {
	was := table.Is("turn", table.Text(from))
	if from == "" {
		was = table.Any(was, table.Lacks("turn"))
	}
	writes := []table.Write{set(headKey(l.workspace), table.Attributes{"turn": table.Text(to)}, was, l.table.isOurs())}
	if w.Place != "" {
		writes = append(writes, l.removal(w))
	}
	return moved(l.table.db.Transact(ctx, writes...))
}

// Leave implements repository.Queue.
func (l *Ledger) Leave(ctx context.Context, w repository.Waiting) error {
	return moved(l.table.db.Transact(ctx, l.removal(w)))
}

func moved(err error) error {
	if errors.Is(err, table.ErrRefused) {
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
	return rows <= table.MaxWrites && texts <= maxTextsTogether
}

// AdvanceAll implements repository.Queue.
func (l *Ledger) AdvanceAll(ctx context.Context, from repository.Head, chain []repository.Commit, removed []repository.Waiting, turn string) (repository.Head, error) {
	var beside []table.Write
	for _, w := range removed {
		beside = append(beside, l.removal(w))
	}
	return l.advance(ctx, from, chain, turn, beside)
}
