package gitremote

import (
	"context"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/table"
)

// position is how far a remote was pushed.
type position struct {
	pushed   object.ID // the commit here; zero before the first push
	sequence int64     // of pushed, as far as is known
	remote   object.ID // what it is there
	// next and nextRemote are what a push was begun for whose end is not noted yet.
	next, nextRemote object.ID
	nextSequence     int64
}

const partition = "remote"

func (f *Follower) key() table.Key {
	return table.Key{Partition: partition, Sort: f.Remote.Address.String() + " " + f.Branch + " " + f.Path}
}

func (f *Follower) load(ctx context.Context) (p position, err error) {
	rows, err := f.Table.Get(ctx, []table.Key{f.key()})
	if err != nil || len(rows) == 0 {
		return p, err
	}
	a := rows[0].Attributes
	return position{
		pushed: object.ParseID(a.Text("pushed")), sequence: a.Number("sequence"), remote: object.ParseID(a.Text("remote")),
		next: object.ParseID(a.Text("next")), nextRemote: object.ParseID(a.Text("nextRemote")), nextSequence: a.Number("nextSequence"),
	}, nil
}

func (f *Follower) save(ctx context.Context, p position) error {
	return f.Table.Transact(ctx, table.Write{Key: f.key(), Put: table.Attributes{
		"pushed": table.Text(p.pushed.String()), "sequence": table.Number(p.sequence), "remote": table.Text(p.remote.String()),
		"next": table.Text(p.next.String()), "nextRemote": table.Text(p.nextRemote.String()), "nextSequence": table.Number(p.nextSequence),
	}})
}
