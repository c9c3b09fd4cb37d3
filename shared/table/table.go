// Package table is what svc needs of a store for everything that is not git: rows under
// two-part keys, read consistently and written by transactions that hold or do not. The
// terms are DynamoDB's, since that is the narrowest store it has to fit; package bolt
// keeps a table in one file, package dynamo in a DynamoDB table. What the rows mean is
// their callers' business. Package tabletest holds every Table to this.
//
// What must stay true:
//
//   - A read sees every write that was answered before it began.
//   - A transaction changes all of its rows or none, and its caller knows which, or is
//     told that it is not known: ErrRefused and ErrBusy say that nothing was changed,
//     ErrUnknown that it may have been.
//   - Expiry only tidies up: a row whose time is over may still be there, and a reader
//     to whom that matters looks at the attribute itself. No decision rests on it.
//   - Conditions, updates and the order of keys mean the same in every engine: Key's
//     parts are compared as bytes.
package table

import (
	"context"
	"errors"
	"time"
)

// Limits that callers keep to; they are DynamoDB's.
const (
	// MaxWrites is how many writes a transaction has at most.
	MaxWrites = 100
	// MaxRow is how many bytes a row has at most, by Row.Size.
	MaxRow = 400 << 10
)

// Expires is the attribute, a Number of seconds since 1970, after which a row is of no
// use to anybody and may be removed.
const Expires = "expires"

var (
	// ErrRefused: a condition does not hold, and nothing was written. The error is a
	// *Refused where the engine can tell which.
	ErrRefused = errors.New("a condition of the write does not hold")
	// ErrUnknown: no answer tells how a transaction ended.
	ErrUnknown = errors.New("no answer tells how it ended")
	// ErrBusy: not now. Nothing was changed, and the same may succeed later.
	ErrBusy = errors.New("the table is busy")
)

// Table is a table. It is safe for concurrent use, also by several processes.
type Table interface {
	// Get reads rows by their keys: those that are there, in no order, with all
	// attributes or only some. Up to 100 are one request.
	Get(ctx context.Context, keys []Key, only ...string) ([]Row, error)
	// GetAt is Get and tells the time by the table's own clock, which is zero when the
	// answer does not tell it.
	GetAt(ctx context.Context, keys []Key, only ...string) ([]Row, time.Time, error)
	// GetOne is GetAt of one row, nil when it is not there.
	GetOne(ctx context.Context, key Key, only ...string) (Attributes, time.Time, error)
	// Query calls each for the rows of a partition, in the order of their sort keys,
	// until there are no more or it says so.
	Query(ctx context.Context, q Query, each func(Row) (more bool, err error)) error
	// Scan calls each for the rows of all partitions whose names begin so, in no order.
	// It may read the whole table for that: it is for an operator and for no request.
	Scan(ctx context.Context, prefix string, each func(Row) error) error
	// Transact makes all of these changes or none. Each is of another row, and there are
	// at most MaxWrites.
	Transact(ctx context.Context, writes ...Write) error
	// Update makes one change by itself and returns the attributes that it has set or
	// added to, as they are now. It may be made twice, when an answer gets lost: use it
	// for what does no harm then. Its refusal is ErrRefused.
	Update(ctx context.Context, w Write) (Attributes, error)
	// Batch writes and deletes any number of rows without conditions, in any order and
	// not together. Doing it once more does no harm.
	Batch(ctx context.Context, writes []Write) error
	// Together runs work as one transaction, where the engine has any that are as large:
	// nobody else writes meanwhile, and an error leaves everything as it was. Elsewhere
	// each operation stands by itself, so that work must be right either way.
	Together(ctx context.Context, work func(Table) error) error
	// Wipe overwrites what deletions have left in the engine's files, if it has any.
	Wipe(ctx context.Context) error
}

// Query is about rows of one partition.
type Query struct {
	Partition string
	Low, High string // sort keys, both within; without Low and High all
	Newest    bool   // begin with the highest
	Page      int    // rows that one request reads; 0 for as many as fit
	Only      []string
}

// Refused says which writes of a transaction were refused, in their order, and of those
// that ask for it what was found instead; nothing where there was no row.
type Refused struct {
	Writes []int
	Found  map[int]Attributes
}

// Add notes that a write was refused.
func (r *Refused) Add(n int, w Write, found Attributes) {
	r.Writes = append(r.Writes, n)
	if w.Tell && found != nil {
		if r.Found == nil {
			r.Found = map[int]Attributes{}
		}
		r.Found[n] = found
	}
}

func (r *Refused) Error() string { return ErrRefused.Error() }

// Unwrap makes it ErrRefused.
func (r *Refused) Unwrap() error { return ErrRefused }

// Clear deletes the rows that a query finds, of which only names need be read.
func Clear(ctx context.Context, t Table, q Query) error {
	var gone []Write
	err := t.Query(ctx, q, func(row Row) (bool, error) {
		gone = append(gone, Write{Key: row.Key, Delete: true})
		return true, nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	return t.Batch(ctx, gone)
}
