package bolt

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/table"
)

var (
	rowsBucket  = []byte("rows")
	clockBucket = []byte("clock")
)

var _ table.Table = (*Table)(nil)

// rowKey is where a row lies; partitions have no NUL, so that they do not mix.
func rowKey(k table.Key) []byte { return []byte(k.Partition + "\x00" + k.Sort) }

func rowAt(key, value []byte, only []string) (table.Row, error) {
	partition, sort, _ := bytes.Cut(key, []byte{0})
	a, err := table.DecodeBinary(value, only)
	if err != nil {
		return table.Row{}, fmt.Errorf("the row %q: %w", key, err)
	}
	return table.Row{Key: table.Key{Partition: string(partition), Sort: string(sort)}, Attributes: a}, nil
}

// Get implements table.Table.
func (t *Table) Get(ctx context.Context, keys []table.Key, only ...string) (found []table.Row, err error) {
	err = t.view(ctx, func(rows *bolt.Bucket) error {
		for _, k := range keys {
			row, err := get(rows, k)
			if err != nil {
				return err
			}
			if row != nil {
				found = append(found, table.Row{Key: k, Attributes: row.Only(only...)})
			}
		}
		return nil
	})
	return found, err
}

// GetAt implements table.Table. The clock is this machine's.
func (t *Table) GetAt(ctx context.Context, keys []table.Key, only ...string) ([]table.Row, time.Time, error) {
	found, err := t.Get(ctx, keys, only...)
	return found, time.Now(), err
}

// GetOne implements table.Table.
func (t *Table) GetOne(ctx context.Context, key table.Key, only ...string) (table.Attributes, time.Time, error) {
	found, now, err := t.GetAt(ctx, []table.Key{key}, only...)
	if err != nil || len(found) == 0 {
		return nil, now, err
	}
	return found[0].Attributes, now, nil
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

// perPage is how many rows are read before the file is closed for a while: the callback
// may take its time, and may use this table.
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

// put writes what a row is from now on; nil removes it.
func put(rows *bolt.Bucket, k table.Key, after table.Attributes) error {
	if after == nil {
		return rows.Delete(rowKey(k))
	}
	return rows.Put(rowKey(k), table.EncodeBinary(after))
}

// get is what a row is; nil for none.
func get(rows *bolt.Bucket, k table.Key) (table.Attributes, error) {
	key := rowKey(k)
	stored := rows.Get(key)
	if stored == nil {
		return nil, nil
	}
	row, err := rowAt(key, stored, nil)
	return row.Attributes, err
}

// Transact implements table.Table.
func (t *Table) Transact(ctx context.Context, writes ...table.Write) error {
	if err := table.CheckWrites(writes, table.MaxWrites); err != nil {
		return err
	}
	_, err := t.apply(ctx, writes)
	return err
}

// apply makes all of these changes or none, and returns what they make of the rows.
func (t *Table) apply(ctx context.Context, writes []table.Write) (made []table.Attributes, err error) {
	made = make([]table.Attributes, len(writes))
	return made, t.change(ctx, func(rows *bolt.Bucket) error {
		refused := &table.Refused{}
		for i, w := range writes {
			before, err := get(rows, w.Key)
			if err != nil {
				return err
			}
			holds := false
			if made[i], holds = w.Apply(before); !holds {
				refused.Add(i, w, before)
			}
		}
		if len(refused.Writes) > 0 {
			return refused
		}
		for i, w := range writes {
			if err := put(rows, w.Key, made[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Update implements table.Table.
func (t *Table) Update(ctx context.Context, w table.Write) (table.Attributes, error) {
	if err := table.CheckWrites([]table.Write{w}, 1); err != nil {
		return nil, err
	}
	made, err := t.apply(ctx, []table.Write{w})
	if err != nil {
		return nil, err
	}
	return w.Touched(made[0]), nil
}

// Batch implements table.Table. It is one transaction here.
func (t *Table) Batch(ctx context.Context, writes []table.Write) error {
	if err := table.CheckWrites(writes, len(writes)); err != nil || len(writes) == 0 {
		return err
	}
	return t.change(ctx, func(rows *bolt.Bucket) error {
		for _, w := range writes {
			if err := put(rows, w.Key, w.Put); err != nil {
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
// left in the file. It reads the whole table, the first time that it is called on a day.
func (t *Table) Tidy(ctx context.Context, now time.Time) (removed int, err error) {
	if t.file.IsEmpty() {
		return 0, nil
	}
	own, moved, err := t.moveOn(ctx, now)
	if err != nil || !moved {
		return 0, err
	}
	var over []table.Key
	err = t.Scan(ctx, "", func(row table.Row) error {
		if isOver(row.Attributes, own) {
			over = append(over, row.Key)
		}
		return nil
	})
	for chunk := range slices.Chunk(over, perPage) {
		if err == nil {
			err = t.change(ctx, func(rows *bolt.Bucket) error { return removeOver(rows, chunk, own) })
		}
	}
	if err == nil && len(over) > 0 {
		err = t.Wipe(ctx)
	}
	return len(over), err
}

func isOver(row table.Attributes, own time.Time) bool {
	until, expires := row[table.Expires].(table.Number)
	return expires && until < table.Until(own)
}

// removeOver removes rows, but for those that have been renewed meanwhile.
func removeOver(rows *bolt.Bucket, keys []table.Key, own time.Time) error {
	for _, k := range keys {
		row, err := get(rows, k)
		if err == nil && isOver(row, own) {
			err = put(rows, k, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// moveOn notes that the table is tidied today, and returns its own time. It reports
// whether that has moved.
func (t *Table) moveOn(ctx context.Context, now time.Time) (own time.Time, moved bool, err error) {
	today := binary.BigEndian.AppendUint64(nil, uint64(now.Unix()/int64(day/time.Second)))
	err = t.Together(ctx, func(inner table.Table) error {
		in := inner.(*Table).within
		clock, err := in.tx.CreateBucketIfNotExists(clockBucket)
		if err != nil || bytes.Equal(clock.Get([]byte("day")), today) {
			return err
		}
		own, moved, in.wrote = now, true, true
		if at := clock.Get([]byte("time")); len(at) == 8 {
			last := time.Unix(int64(binary.BigEndian.Uint64(at)), 0)
			if most := last.Add(perDay); own.After(most) {
				own = most
			}
			if own.Before(last) {
				own = last
			}
		}
		if err := clock.Put([]byte("day"), today); err != nil {
			return err
		}
		return clock.Put([]byte("time"), binary.BigEndian.AppendUint64(nil, uint64(own.Unix())))
	})
	return own, moved, err
}
