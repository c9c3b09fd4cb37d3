package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"svc.example/svc/shared/table"
)

var _ table.Table = (*Table)(nil)

// Bounds of what one request reads or writes.
const (
	perPage   = 1000
	pageBytes = 1 << 20
)

// stored is a row as the database has it.
type stored struct{ partition, sort, attributes []byte }

func (s stored) row(only ...string) (table.Row, error) {
	k := table.Key{Partition: string(s.partition), Sort: string(s.sort)}
	a, err := table.DecodeBinary(s.attributes, only)
	if err != nil {
		return table.Row{}, fmt.Errorf("the row %q: %w", k, err)
	}
	return table.Row{Key: k, Attributes: a}, nil
}

func collect(found *[]stored) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var s stored
		*found = append(*found, stored{})
		err := rows.Scan(&s.partition, &s.sort, &s.attributes)
		(*found)[len(*found)-1] = s
		return err
	}
}

// read reads rows in a transaction of its own, in one round trip.
func (t *Table) read(ctx context.Context, sql string, arguments ...any) (found []stored, err error) {
	err = t.try(ctx, true, func(ctx context.Context, conn *pgx.Conn) error {
		found = nil
		var s steps
		s.begin(" READ ONLY")
		s.add(sql, arguments...)
		s.commit()
		_, err := s.send(ctx, conn, collect(&found))
		return err
	})
	return found, err
}

// byKeys reads rows, each by its key. OFFSET 0 keeps the planner from reading the whole
// index instead.
func (t *Table) byKeys() string {
	return `SELECT r.* FROM unnest($1::bytea[], $2::bytea[]) AS k (p, s),
		LATERAL (SELECT partition, sort, attributes FROM ` + t.rows + ` WHERE partition = k.p AND sort = k.s OFFSET 0) AS r`
}

func parts(keys []table.Key) (partitions, sorts [][]byte) {
	for _, k := range keys {
		partitions, sorts = append(partitions, []byte(k.Partition)), append(sorts, []byte(k.Sort))
	}
	return partitions, sorts
}

// Get implements table.Table.
func (t *Table) Get(ctx context.Context, keys []table.Key, only ...string) ([]table.Row, error) {
	rows, _, err := t.GetAt(ctx, keys, only...)
	return rows, err
}

// GetAt implements table.Table.
func (t *Table) GetAt(ctx context.Context, keys []table.Key, only ...string) (rows []table.Row, now time.Time, err error) {
	for chunk := range slices.Chunk(keys, 100) {
		var found []stored
		partitions, sorts := parts(chunk)
		err := t.try(ctx, true, func(ctx context.Context, conn *pgx.Conn) error {
			found = nil
			var s steps
			s.begin(" READ ONLY")
			s.add(t.byKeys(), partitions, sorts)
			s.commit()
			s.add("SELECT clock_timestamp()")
			_, err := s.send(ctx, conn, func(rows pgx.Rows) error {
				if len(rows.FieldDescriptions()) == 1 {
					return rows.Scan(&now)
				}
				return collect(&found)(rows)
			})
			return err
		})
		if err != nil {
			return nil, now, err
		}
		for _, s := range found {
			row, err := s.row(only...)
			if err != nil {
				return nil, now, err
			}
			rows = append(rows, row)
		}
	}
	return rows, now, nil
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
	order, beyond := "ASC", ">"
	if q.Newest {
		order, beyond = "DESC", "<"
	}
	limit := perPage
	if q.Page > 0 {
		limit = min(limit, q.Page)
	}
	var high, after []byte
	if q.Low != "" || q.High != "" {
		high = []byte(q.High)
	}
	sql := `SELECT partition, sort, attributes FROM (
		SELECT *, sum(octet_length(attributes)) OVER (ORDER BY sort ` + order + `) - octet_length(attributes) AS before FROM ` + t.rows + `
		WHERE partition = $1 AND sort >= $2 AND ($3::bytea IS NULL OR sort <= $3) AND ($4::bytea IS NULL OR sort ` + beyond + ` $4)
		ORDER BY sort ` + order + ` LIMIT $5) AS page WHERE before < $6 ORDER BY sort ` + order
	return t.pages(limit, q.Only, each, func() ([]stored, error) {
		return t.read(ctx, sql, []byte(q.Partition), []byte(q.Low), high, after, limit, pageBytes)
	}, func(last stored) { after = last.sort })
}

// Scan implements table.Table.
func (t *Table) Scan(ctx context.Context, prefix string, each func(table.Row) error) error {
	var after stored
	sql := `SELECT partition, sort, attributes FROM (
		SELECT *, sum(octet_length(attributes)) OVER (ORDER BY partition, sort) - octet_length(attributes) AS before FROM ` + t.rows + `
		WHERE partition >= $1 AND ($2::bytea IS NULL OR partition < $2) AND (partition, sort) > ($3, $4)
		ORDER BY partition, sort LIMIT $5) AS page WHERE before < $6 ORDER BY partition, sort`
	after.partition, after.sort = []byte(prefix), []byte{}
	return t.pages(perPage, nil, func(row table.Row) (bool, error) { return true, each(row) }, func() ([]stored, error) {
		return t.read(ctx, sql, []byte(prefix), beyond(prefix), after.partition, after.sort, perPage, pageBytes)
	}, func(last stored) { after = last })
}

// beyond is the first name that is greater than all that begin so; nil is none.
func beyond(prefix string) []byte {
	end := []byte(strings.TrimRight(prefix, "\xff"))
	if len(end) == 0 {
		return nil
	}
	end[len(end)-1]++
	return end
}

// pages calls each for the rows of pages, until one is shorter than it may be.
func (t *Table) pages(limit int, only []string, each func(table.Row) (bool, error), next func() ([]stored, error), goOn func(last stored)) error {
	for {
		found, err := next()
		if err != nil || len(found) == 0 {
			return err
		}
		size := 0
		for _, s := range found {
			size += len(s.attributes)
			row, err := s.row(only...)
			if err != nil {
				return err
			}
			if more, err := each(row); err != nil || !more {
				return err
			}
		}
		if len(found) < limit && size < pageBytes {
			return nil
		}
		goOn(found[len(found)-1])
	}
}

// Transact implements table.Table.
func (t *Table) Transact(ctx context.Context, writes ...table.Write) error {
	if err := table.CheckWrites(writes, table.MaxWrites); err != nil {
		return err
	}
	_, err := t.apply(ctx, writes, false)
	return err
}

// Update implements table.Table.
func (t *Table) Update(ctx context.Context, w table.Write) (table.Attributes, error) {
	if err := table.CheckWrites([]table.Write{w}, 1); err != nil {
		return nil, err
	}
	made, err := t.apply(ctx, []table.Write{w}, true)
	if err != nil {
		return nil, err
	}
	return w.Touched(made[0]), nil
}

// apply makes all of these changes or none, and returns what they make of the rows.
func (t *Table) apply(ctx context.Context, writes []table.Write, twice bool) (made []table.Attributes, err error) {
	if len(writes) == 0 {
		return nil, ctx.Err()
	}
	err = t.try(ctx, twice, func(ctx context.Context, conn *pgx.Conn) error {
		var s steps
		before, err := t.look(ctx, conn, writes)
		if err != nil {
			return err
		}
		if before == nil {
			s.begin("")
		}
		if made, err = changed(writes, before); err != nil {
			return err
		}
		t.write(&s, writes, made)
		s.commit()
		_, err = s.send(ctx, conn, nil)
		return err
	})
	return made, err
}

// look begins a transaction and reads the rows that its writes look at. It is nil, and
// does nothing, when there are none.
func (t *Table) look(ctx context.Context, conn *pgx.Conn, writes []table.Write) (map[table.Key]table.Attributes, error) {
	var keys []table.Key
	for _, w := range writes {
		if len(w.If) > 0 || w.Put == nil && !w.Delete {
			keys = append(keys, w.Key)
		}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var s steps
	var found []stored
	partitions, sorts := parts(keys)
	s.begin("")
	s.add(t.byKeys(), partitions, sorts)
	if _, err := s.send(ctx, conn, collect(&found)); err != nil {
		return nil, err
	}
	before := map[table.Key]table.Attributes{}
	for _, f := range found {
		row, err := f.row()
		if err != nil {
			return nil, err
		}
		before[row.Key] = row.Attributes
	}
	return before, nil
}

func changed(writes []table.Write, before map[table.Key]table.Attributes) ([]table.Attributes, error) {
	made := make([]table.Attributes, len(writes))
	refused := &table.Refused{}
	for i, w := range writes {
		holds := false
		if made[i], holds = w.Apply(before[w.Key]); !holds {
			refused.Add(i, w, before[w.Key])
		}
	}
	if len(refused.Writes) > 0 {
		return nil, refused
	}
	return made, nil
}

// write adds what makes the rows what they are to be; nil removes one. In the order of
// their keys, two transactions do not wait for each other.
func (t *Table) write(s *steps, writes []table.Write, made []table.Attributes) {
	order := make([]int, len(writes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return strings.Compare(writes[a].Partition+"\x00"+writes[a].Sort, writes[b].Partition+"\x00"+writes[b].Sort)
	})
	var put, gone []table.Key
	var attributes [][]byte
	var expires []*int64
	for _, i := range order {
		if writes[i].Check {
			continue
		}
		if made[i] == nil {
			gone = append(gone, writes[i].Key)
			continue
		}
		put, attributes = append(put, writes[i].Key), append(attributes, table.EncodeBinary(made[i]))
		var until *int64
		if n, expire := made[i][table.Expires].(table.Number); expire {
			seconds := int64(n)
			until = &seconds
		}
		expires = append(expires, until)
	}
	if len(put) > 0 {
		partitions, sorts := parts(put)
		s.add(`INSERT INTO `+t.rows+` (partition, sort, attributes, expires)
			SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[])
			ON CONFLICT (partition, sort) DO UPDATE SET attributes = excluded.attributes, expires = excluded.expires`, partitions, sorts, attributes, expires)
	}
	if len(gone) > 0 {
		partitions, sorts := parts(gone)
		s.add(`DELETE FROM `+t.rows+` WHERE ctid = ANY (ARRAY(
			SELECT r.place FROM unnest($1::bytea[], $2::bytea[]) AS k (p, s),
			LATERAL (SELECT ctid AS place FROM `+t.rows+` WHERE partition = k.p AND sort = k.s OFFSET 0) AS r))`, partitions, sorts)
	}
}

// Batch implements table.Table.
func (t *Table) Batch(ctx context.Context, writes []table.Write) error {
	if err := table.CheckWrites(writes, len(writes)); err != nil {
		return err
	}
	for len(writes) > 0 {
		n, size := 0, 0
		for n < len(writes) && n < perPage && size < pageBytes {
			size += table.Row{Key: writes[n].Key, Attributes: writes[n].Put}.Size()
			n++
		}
		chunk := make([]table.Write, n)
		for i, w := range writes[:n] {
			chunk[i] = table.Write{Key: w.Key, Put: w.Put, Delete: w.Put == nil}
		}
		if _, err := t.apply(ctx, chunk, true); err != nil {
			return err
		}
		writes = writes[n:]
	}
	return nil
}

// Together implements table.Table. Whoever held others up for that long would make them
// fail, so that there are no transactions that large.
func (t *Table) Together(_ context.Context, work func(table.Table) error) error { return work(t) }

// Wipe implements table.Table. The database's files are its own, and so is VACUUM.
func (t *Table) Wipe(context.Context) error { return nil }

// Tidy removes the rows whose time is over by the database's clock.
func (t *Table) Tidy(ctx context.Context) (removed int, err error) {
	for {
		var n int64
		err := t.try(ctx, true, func(ctx context.Context, conn *pgx.Conn) (err error) {
			var s steps
			s.begin("")
			s.add(`DELETE FROM `+t.rows+` WHERE ctid = ANY (ARRAY(
				SELECT ctid FROM `+t.rows+` WHERE expires < floor(extract(epoch FROM now())) ORDER BY expires LIMIT $1))`, perPage)
			s.commit()
			n, err = s.send(ctx, conn, nil)
			return err
		})
		removed += int(n)
		if err != nil || n < perPage {
			return removed, err
		}
	}
}
