package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/table"
)

// Once is a request that its client may send again.
type Once struct {
	ID, Request string
	Until       time.Time
	Answer      func(r *Request) ([]byte, error)
}

// Store keeps the requests of workspaces.
type Store struct {
	Table table.Table
	// Changed is called after something has happened; nil for nobody.
	Changed func()
}

func partition(workspace string) string { return "requests/" + workspace }

func place(folder string, number int64) string { return fmt.Sprintf("%s/%010d", folder, number) }

const (
	openFolder, doneFolder, eventFolder, onceFolder = "open", "done", "event", "once"
	countRow                                        = "count"
)

// count is what is counted of a workspace's requests.
type count struct {
	row            table.Attributes // nil for none
	sequence, last int64
	open           map[access.ID]int
}

// Get reads a request.
func (s Store) Get(ctx context.Context, workspace string, number int64) (*Request, error) {
	r, _, _, err := s.read(ctx, workspace, number, "")
	return r, err
}

// Answered is the answer of a request that was sent before; nil for none, and false where
// another one was.
func (s Store) Answered(ctx context.Context, workspace string, once *Once) (answer []byte, same bool, err error) {
	rows, err := s.Table.Get(ctx, []table.Key{{Partition: partition(workspace), Sort: onceFolder + "/" + once.ID}})
	if err != nil || len(rows) == 0 {
		return nil, true, err
	}
	answer, err = encoding.Gunzip(rows[0].Bytes("answer"), maxUnzipped)
	return answer, rows[0].Text("request") == once.Request, err
}

func (s Store) read(ctx context.Context, workspace string, number int64, nonceAt string) (r *Request, c count, nonce string, err error) {
	at := func(sort string) table.Key { return table.Key{Partition: partition(workspace), Sort: sort} }
	keys := []table.Key{at(countRow)}
	if number > 0 {
		keys = append(keys, at(place(openFolder, number)), at(place(doneFolder, number)))
	}
	if nonceAt != "" {
		keys = append(keys, at(nonceAt))
	}
	rows, err := s.Table.Get(ctx, keys)
	if err != nil {
		return nil, c, "", err
	}
	for _, row := range rows {
		switch {
		case row.Sort == countRow:
			c.row, c.sequence, c.last = row.Attributes, row.Number("sequence"), row.Number("last")
			err = errors.Join(err, decode(row.Bytes("open"), &c.open))
		case row.Sort == nonceAt:
			var e Event
			err = errors.Join(err, decode(row.Bytes("event"), &e))
			nonce = e.Nonce
		default:
			var found *Request
			found, e := requestOf(row)
			if r, err = found, errors.Join(err, e); err == nil {
				var operations []byte
				operations, err = encoding.Gunzip(row.Bytes("operations"), maxUnzipped)
				r.Operations = string(operations)
			}
		}
	}
	if err == nil && r == nil && number > 0 {
		err = ErrNotFound
	}
	return r, c, nonce, err
}

func requestOf(row table.Row) (*Request, error) {
	r := &Request{}
	return r, decode(row.Bytes("request"), r)
}

// Create keeps a new request, and gives it its number.
func (s Store) Create(ctx context.Context, workspace string, r *Request, once *Once) error {
	return s.change(ctx, workspace, 0, WasCreated, r.Author, r.CreatedAt, once, func(fresh *Request, c *count) error {
		open := 0
		for _, n := range c.open {
			open += n
		}
		switch {
		case open >= MaxOpen:
			return ErrFull
		case c.open[r.Author.ID] >= MaxOpenOfOne:
			return ErrTooMany
		}
		r.Number, r.State = c.last+1, Open
		*fresh = *r
		return nil
	})
}

// Update changes a request as it is by now, and returns it. Edit may be called again.
func (s Store) Update(ctx context.Context, workspace string, number int64, kind Kind, by Mark, once *Once, edit func(*Request) error) (updated *Request, err error) {
	err = s.change(ctx, workspace, number, kind, by.By, by.At, once, func(r *Request, _ *count) error {
		updated = r
		return edit(r)
	})
	return updated, err
}

// ErrUnchanged is for an edit that finds all as it is to be.
var ErrUnchanged = errors.New("this is so already")

const maxSaid = 300 // characters

func (s Store) change(ctx context.Context, workspace string, number int64, kind Kind, by Person, at time.Time, once *Once, edit func(*Request, *count) error) (err error) {
	defer func() {
		if err == nil && s.Changed != nil {
			s.Changed()
		}
	}()
	nonce, nonceAt := requestid.New(), ""
	for range maxTries {
		r, c, written, err := s.read(ctx, workspace, number, nonceAt)
		if err != nil || written == nonce {
			return err
		}
		if r == nil {
			r = &Request{}
		}
		was := r.State
		if err := edit(r, &c); err != nil {
			return err
		}
		writes, err := c.writes(workspace, was, r, Event{Sequence: c.sequence + 1, Kind: kind, Number: r.Number, Title: r.Title, Description: document.WordsWithin(r.Description, maxSaid), Commit: r.Commit, By: by, At: at, Nonce: nonce}, once)
		if err != nil {
			return err
		}
		switch err := s.Table.Transact(ctx, writes...); {
		case errors.Is(err, table.ErrUnknown):
			nonceAt = place(eventFolder, c.sequence+1)
		case !errors.Is(err, table.ErrRefused):
			return err
		}
	}
	return table.ErrBusy
}

// writes are what one event changes.
func (c count) writes(workspace string, was State, r *Request, e Event, once *Once) ([]table.Write, error) {
	at := func(sort string) table.Key { return table.Key{Partition: partition(workspace), Sort: sort} }
	if c.open == nil {
		c.open = map[access.ID]int{}
	}
	folder := openFolder
	switch {
	case was == "":
		c.open[r.Author.ID]++
		c.last = r.Number
	case was == Open && r.State != Open:
		if c.open[r.Author.ID]--; c.open[r.Author.ID] <= 0 {
			delete(c.open, r.Author.ID)
		}
	}
	if r.State != Open {
		folder = doneFolder
	}
	counting := table.Write{Key: at(countRow), Put: table.Attributes{"sequence": table.Number(e.Sequence), "last": table.Number(c.last), "open": encode(c.open)},
		If: []table.Condition{table.NoRow()}}
	if c.row != nil {
		counting.If = []table.Condition{table.Is("sequence", table.Number(c.sequence))}
	}
	row := table.Row{Key: at(place(folder, r.Number)), Attributes: table.Attributes{"request": encode(r), "operations": table.Bytes(encoding.Gzip([]byte(r.Operations)))}}
	if row.Size() > table.MaxRow {
		return nil, ErrTooLarge
	}
	writes := []table.Write{counting, {Key: row.Key, Put: row.Attributes}, {Key: at(place(eventFolder, e.Sequence)), Put: table.Attributes{"event": encode(e)}}}
	if was == Open && folder == doneFolder {
		writes = append(writes, table.Write{Key: at(place(openFolder, r.Number)), Delete: true})
	}
	if once != nil {
		answer, err := once.Answer(r)
		if err != nil {
			return nil, err
		}
		writes = append(writes, table.Write{Key: at(onceFolder + "/" + once.ID), Put: table.Attributes{
			"request": table.Text(once.Request), "answer": table.Bytes(encoding.Gzip(answer)), table.Expires: table.Until(once.Until)}})
	}
	return writes, nil
}

// List calls each for the requests of a folder, open ones or the others, those with the
// highest numbers first, from below one (0 for all) until it has enough. Operations are not
// read.
func (s Store) List(ctx context.Context, workspace string, open bool, below int64, each func(*Request) (more bool, err error)) error {
	folder := doneFolder
	if open {
		folder = openFolder
	}
	high := folder + "/~"
	if below > 0 {
		high = place(folder, below-1)
	}
	return s.Table.Query(ctx, table.Query{Partition: partition(workspace), Low: folder + "/", High: high, Newest: true, Only: []string{"request"}}, func(row table.Row) (bool, error) {
		r, err := requestOf(row)
		if err != nil {
			return false, err
		}
		return each(r)
	})
}

// Last is the sequence of what happened last; 0 for nothing.
func (s Store) Last(ctx context.Context, workspace string) (int64, error) {
	_, c, _, err := s.read(ctx, workspace, 0, "")
	return c.sequence, err
}

// Events calls each for what happened after a sequence, in order.
func (s Store) Events(ctx context.Context, workspace string, after int64, each func(Event) (more bool, err error)) error {
	return s.Table.Query(ctx, table.Query{Partition: partition(workspace), Low: place(eventFolder, after+1), High: eventFolder + "/~"}, func(row table.Row) (bool, error) {
		var e Event
		if err := decode(row.Bytes("event"), &e); err != nil {
			return false, err
		}
		return each(e)
	})
}

func encode(v any) table.Bytes {
	text, _ := json.Marshal(v) // of strings, numbers and times
	return encoding.Gzip(text)
}

const maxUnzipped = 8 << 20 // more than any row has

func decode(text []byte, into any) error {
	plain, err := encoding.Gunzip(text, maxUnzipped)
	if err != nil {
		return err
	}
	if plain == nil {
		return nil
	}
	return json.Unmarshal(plain, into)
}
