package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/table"
)

var (
	rowsBucket   = []byte("rows")
	expiryBucket = []byte("expiry")
	clockBucket  = []byte("clock")
)

var _ table.Table = (*Table)(nil)

// rowKey is where a row lies; partitions have no NUL, so that they do not mix.
func rowKey(k table.Key) []byte { return []byte(k.Partition + "\x00" + k.Sort) }

func rowAt(key, value []byte, only []string) (table.Row, error) {
	partition, sort, _ := bytes.Cut(key, []byte{0})
	a, err := table.Decode(value)
	if err != nil {
		return table.Row{}, fmt.Errorf("the row %q: %w", key, err)
	}
	return table.Row{Key: table.Key{Partition: string(partition), Sort: string(sort)}, Attributes: a.Project(only)}, nil
}

// Get implements table.Table.
func (t *Table) Get(ctx context.Context, keys []table.Key, only ...string) (found []table.Row, err error) {
	err = t.view(ctx, func(rows *bolt.Bucket) error {
		for _, k := range keys {
			key := rowKey(k)
			if value := rows.Get(key); value != nil {
				row, err := rowAt(key, value, only)
				if err != nil {
					return err
				}
				found = append(found, row)
			}
		}
		return nil
	})
	return found, err
}

// Query implements table.Table.
func (t *Table) Query(ctx context.Context, q table.Query, each func(table.Row) (bool, error)) error {
	prefix := []byte(q.Partition + "\x00")
	r := span{prefix: prefix, newest: q.Newest}
	if q.Low != "" || q.High != "" {
		r.low, r.high = append(bytes.Clone(prefix), q.Low...), append(bytes.Clone(prefix), q.High...)
	}
	return t.walk(ctx, r, q.Only, each)
}

// Scan implements table.Table.
func (t *Table) Scan(ctx context.Context, prefix string, each func(table.Row) error) error {
	return t.walk(ctx, span{prefix: []byte(prefix)}, nil, func(row table.Row) (bool, error) { return true, each(row) })
}

// span is which keys are walked, and in which direction.
type span struct {
	prefix    []byte
	low, high []byte // both within; nil for all
	newest    bool
}

func (s span) holds(key []byte) bool {
	return bytes.HasPrefix(key, s.prefix) && (s.low == nil || bytes.Compare(key, s.low) >= 0) && (s.high == nil || bytes.Compare(key, s.high) <= 0)
}

// begin goes to the first key, or to the one that follows upon another.
func (s span) begin(c *bolt.Cursor, after []byte) (key, value []byte) {
	switch {
	case !s.newest && after != nil:
		if key, value = c.Seek(after); bytes.Equal(key, after) {
			key, value = c.Next()
		}
		return key, value
	case !s.newest:
		begin := s.prefix
		if s.low != nil {
			begin = s.low
		}
		return c.Seek(begin)
	}
	end := after
	if end == nil && s.high != nil {
		end = append(bytes.Clone(s.high), 0)
	}
	if end == nil { // beyond all that begin so: a prefix ends in NUL here
		end = append(bytes.Clone(s.prefix[:len(s.prefix)-1]), 1)
	}
	if key, _ = c.Seek(end); key == nil {
		return c.Last()
	}
	return c.Prev()
}

// perPage is how many rows are read before the file is closed for a while: whoever gets
// them may do anything, also ask this table something.
const perPage = 1000

func (t *Table) walk(ctx context.Context, s span, only []string, each func(table.Row) (bool, error)) error {
	var after []byte
	for more := true; more; {
		var rows []table.Row
		err := t.view(ctx, func(b *bolt.Bucket) error {
			c := b.Cursor()
			next := c.Next
			if s.newest {
				next = c.Prev
			}
			more = false
			for key, value := s.begin(c, after); key != nil && s.holds(key); key, value = next() {
				if more = len(rows) == perPage; more {
					return nil
				}
				row, err := rowAt(key, value, only)
				if err != nil {
					return err
				}
				rows = append(rows, row)
			}
			return nil
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if more, err := each(row); err != nil || !more {
				return err
			}
		}
		after = rowKey(rows[len(rows)-1].Key)
	}
	return nil
}

// tx is a transaction on rows and their expiry.
type tx struct{ rows, expiry, clock *bolt.Bucket }

func begin(inner *bolt.Tx) (*tx, error) {
	var t tx
	for name, b := range map[string]**bolt.Bucket{string(rowsBucket): &t.rows, string(expiryBucket): &t.expiry, string(clockBucket): &t.clock} {
		made, err := inner.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return nil, err
		}
		*b = made
	}
	return &t, nil
}

// write makes a change, and reports what the row is then and whether its conditions hold.
func (t *tx) write(w table.Write) (before, after table.Attributes, holds bool, err error) {
	key := rowKey(w.Key)
	stored := t.rows.Get(key)
	if stored != nil {
		if before, err = table.Decode(stored); err != nil {
			return nil, nil, false, fmt.Errorf("the row %q: %w", key, err)
		}
	}
	if after, holds = w.Apply(before); !holds || w.IsCheck() {
		return before, after, holds, nil
	}
	if was, ok := before[table.Expires].(table.Number); ok {
		err = t.expiry.Delete(expiryKey(was, key))
	}
	if until, ok := after[table.Expires].(table.Number); ok && err == nil {
		err = t.expiry.Put(expiryKey(until, key), nil)
	}
	switch {
	case err != nil:
	case after == nil:
		err = t.rows.Delete(key)
	default:
		err = t.rows.Put(key, table.Encode(after))
	}
	return before, after, true, err
}

func expiryKey(until table.Number, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(max(0, until))), key...)
}

// Transact implements table.Table.
func (t *Table) Transact(ctx context.Context, writes ...table.Write) error {
	if err := table.CheckWrites(writes, table.MaxWrites); err != nil {
		return err
	}
	return t.change(ctx, func(inner *tx) error {
		refused := &table.Refused{Found: map[int]table.Attributes{}}
		for i, w := range writes {
			before, _, holds, err := inner.write(w)
			if err != nil {
				return err
			}
			if holds {
				continue
			}
			refused.Writes = append(refused.Writes, i)
			if w.Tell && before != nil {
				refused.Found[i] = before
			}
		}
		if len(refused.Writes) > 0 {
			return refused
		}
		return nil
	})
}

// Update implements table.Table.
func (t *Table) Update(ctx context.Context, w table.Write) (touched table.Attributes, err error) {
	if err := table.CheckWrites([]table.Write{w}, 1); err != nil {
		return nil, err
	}
	err = t.change(ctx, func(inner *tx) error {
		_, after, holds, err := inner.write(w)
		if err == nil && !holds {
			return &table.Refused{Writes: []int{0}}
		}
		touched = w.Touched(after)
		return err
	})
	return touched, err
}

// Batch implements table.Table. It is one transaction here.
func (t *Table) Batch(ctx context.Context, writes []table.Write) error {
	if err := table.CheckWrites(writes, len(writes)); err != nil || len(writes) == 0 {
		return err
	}
	return t.change(ctx, func(inner *tx) error {
		for _, w := range writes {
			if _, _, _, err := inner.write(w); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	day = 24 * time.Hour
	// perDay is by how much the table's own time moves on for a day on which it is tidied.
	perDay = 2 * day
)

// Tidy removes rows whose time is over by the table's own time, and wipes what they have
// left in the file. It is to be called once a day at least, and may be called more often.
func (t *Table) Tidy(ctx context.Context, now time.Time) (removed int, err error) {
	if t.file.IsEmpty() {
		return 0, nil
	}
	err = t.change(ctx, func(inner *tx) error {
		removed = 0
		own, moved, err := inner.moveOn(now)
		if err != nil {
			return err
		}
		if !moved {
			return errUnchanged
		}
		end := expiryKey(table.Until(own), nil)
		for at, _ := inner.expiry.Cursor().First(); at != nil && bytes.Compare(at, end) < 0; at, _ = inner.expiry.Cursor().First() {
			key := bytes.Clone(at[8:])
			if err := inner.expiry.Delete(bytes.Clone(at)); err != nil {
				return err
			}
			if err := inner.rows.Delete(key); err != nil {
				return err
			}
			removed++
		}
		return nil
	})
	if err == nil && removed > 0 {
		err = t.file.Wipe(ctx)
	}
	return removed, err
}

// moveOn notes that the table is tidied today, and returns its own time. It reports
// whether that has moved.
func (t *tx) moveOn(now time.Time) (own time.Time, moved bool, err error) {
	today := binary.BigEndian.AppendUint64(nil, uint64(now.Unix()/int64(day/time.Second)))
	if bytes.Equal(t.clock.Get([]byte("day")), today) {
		return now, false, nil
	}
	own = now
	if at := t.clock.Get([]byte("time")); len(at) == 8 {
		last := time.Unix(int64(binary.BigEndian.Uint64(at)), 0)
		if most := last.Add(perDay); own.After(most) {
			own = most
		}
		if own.Before(last) {
			own = last
		}
	}
	if err := t.clock.Put([]byte("day"), today); err != nil {
		return own, false, err
	}
	return own, true, t.clock.Put([]byte("time"), binary.BigEndian.AppendUint64(nil, uint64(own.Unix())))
}
