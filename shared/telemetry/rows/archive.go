package rows

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// archivedRow is a line of an archive: a row, with its partition within the workspace.
type archivedRow struct {
	Partition string          `json:"pk"`
	Sort      string          `json:"sk"`
	Row       json.RawMessage `json:"row"`
}

const (
	seenFolder    = "seen/"
	contextFolder = "context/"

	// maxLine is more than the longest row has, 400 KB, as JSON and base64.
	maxLine = 4 << 20
	// restoredAtOnce is how many rows are collected before they are written.
	restoredAtOnce = 1000
)

// Archive writes the rows of a workspace down, a line of JSON each, while others record:
//
//   - The counts of the months that still count are read before their pairs. So no pair
//     is counted twice after a restore; those that came meanwhile are not counted.
//   - The contexts are read in the order in which they were seen, the oldest first. One that
//     is seen again meanwhile comes twice, and the later one counts.
//   - The rows of single contexts are left out: Restore makes them of the others.
//
// Pairs have partitions of their own, so that the whole table is read for them.
func (s *Store) Archive(ctx context.Context, workspace string, now time.Time, to io.Writer) error {
	a := &archiver{keys: keys(workspace), to: bufio.NewWriterSize(to, 1<<20)}
	counting := map[string]bool{}
	for _, at := range []time.Time{now.AddDate(0, 0, -31), now.AddDate(0, 0, -8), now, now.AddDate(0, 0, 2)} {
		partition := a.keys.usage(telemetry.MonthOf(at))
		if counting[partition] {
			continue
		}
		counting[partition] = true
		if err := s.table.Query(ctx, table.Query{Partition: partition}, a.more); err != nil {
			return err
		}
	}
	groups, err := s.groups(ctx, a.keys, telemetry.Query{})
	if err != nil {
		return err
	}
	slices.SortFunc(groups, func(x, y group) int {
		return strings.Compare(x.environment+"\x00"+x.contextType, y.environment+"\x00"+y.contextType)
	})
	for _, g := range groups {
		if err := s.table.Query(ctx, table.Query{Partition: a.keys.seen(g.environment, g.contextType)}, a.more); err != nil {
			return err
		}
	}
	err = s.table.Scan(ctx, a.keys.pk(""), func(row table.Row) error {
		partition := row.Partition
		if counting[partition] || strings.HasPrefix(partition, a.keys.pk(seenFolder)) || strings.HasPrefix(partition, a.keys.pk(contextFolder)) {
			return nil
		}
		_, err := a.more(row)
		return err
	})
	return errors.Join(err, a.to.Flush())
}

type archiver struct {
	keys keys
	to   *bufio.Writer
}

func (a *archiver) more(row table.Row) (bool, error) {
	line, err := json.Marshal(archivedRow{strings.TrimPrefix(row.Partition, a.keys.pk("")), row.Sort, table.Encode(row.Attributes)})
	if err == nil {
		_, err = a.to.Write(append(line, '\n'))
	}
	return true, err
}

// decodeArchived reads a line of an archive.
func (k keys) decodeArchived(line []byte) (at table.Key, row table.Attributes, err error) {
	var r archivedRow
	if err := json.Unmarshal(line, &r); err != nil {
		return at, nil, err
	}
	if r.Partition == "" || r.Sort == "" || strings.HasPrefix(r.Partition, contextFolder) {
		return at, nil, errors.New("there is no such row of telemetry")
	}
	row, err = table.Decode(r.Row)
	return keyOf(k.pk(r.Partition), r.Sort), row, err
}

// CheckArchive says what is wrong with what Archive has written down, before anything of it
// is restored.
func CheckArchive(from io.Reader) error {
	return eachArchived("any", from, func(table.Key, table.Attributes) error { return nil })
}

// Restore writes what Archive has written down, under a workspace that has no telemetry.
// In memory it has a few rows, and the names of the contexts of one type in one
// environment, some 100 bytes each.
func (s *Store) Restore(ctx context.Context, workspace string, from io.Reader) error {
	r := &restoring{Store: s, keys: keys(workspace)}
	err := eachArchived(r.keys, from, func(at table.Key, row table.Attributes) error { return r.take(ctx, at, row) })
	if err == nil {
		err = r.flush(ctx)
	}
	return err
}

func eachArchived(k keys, from io.Reader, take func(table.Key, table.Attributes) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for number := 1; lines.Scan(); number++ {
		at, row, err := k.decodeArchived(lines.Bytes())
		if err == nil && strings.HasPrefix(at.Partition, k.pk(seenFolder)) {
			_, err = k.contextAt(at, row)
		}
		if err == nil {
			err = take(at, row)
		}
		if err != nil {
			return fmt.Errorf("line %d of the telemetry: %w", number, err)
		}
	}
	return lines.Err()
}

// contextAt is the saved context of a row, which has to stand in its place.
func (k keys) contextAt(at table.Key, row table.Attributes) (c telemetry.Saved, err error) {
	if c, err = savedOf(row); err == nil && k.position(c, c.LastSeen) != at {
		err = errors.New("a saved context stands in the place of another")
	}
	return c, err
}

type restoring struct {
	*Store
	keys keys
	// rows are those to be written, by their keys: no request may have one twice. Places
	// are those of the partition that is being read, by their contexts' hashes.
	rows      map[table.Key]table.Attributes
	partition string
	places    map[string]string
}

// take has a row written. Of that of a context's place it makes the context's own, and
// lets go of an earlier place.
func (r *restoring) take(ctx context.Context, at table.Key, row table.Attributes) error {
	if len(r.rows) >= restoredAtOnce {
		if err := r.flush(ctx); err != nil {
			return err
		}
	}
	if r.rows == nil {
		r.rows = map[table.Key]table.Attributes{}
	}
	r.rows[at] = row
	if !strings.HasPrefix(at.Partition, r.keys.pk(seenFolder)) {
		return nil
	}
	c, err := r.keys.contextAt(at, row)
	if err != nil {
		return err
	}
	if at.Partition != r.partition {
		r.partition, r.places = at.Partition, map[string]string{}
	}
	_, name, _ := strings.Cut(at.Sort, "/")
	if before := r.places[name]; before != "" {
		earlier := keyOf(at.Partition, min(before, at.Sort))
		if delete(r.rows, earlier); earlier == at {
			return nil
		}
		if err := r.table.Batch(ctx, []table.Write{{Key: earlier, Delete: true}}); err != nil {
			return err
		}
	}
	r.places[name] = at.Sort
	version := c.Version()
	known := table.Attributes{attrSeen: table.Number(version.Seen.UnixMilli()), attrDigest: table.Bytes(version.Digest[:])}
	if expires := row[attrExpires]; expires != nil {
		known[attrExpires] = expires
	}
	r.rows[r.keys.context(c)] = known
	return nil
}

func (r *restoring) flush(ctx context.Context) error {
	var rows []table.Write
	for at, row := range r.rows {
		rows = append(rows, table.Write{Key: at, Put: row})
	}
	r.rows = nil
	return r.table.Batch(ctx, rows)
}

// Remove removes all telemetry of a workspace, of which it reads the whole table. Nobody
// may record any meanwhile.
func (s *Store) Remove(ctx context.Context, workspace string) error {
	var rows []table.Write
	flush := func() error {
		err := s.table.Batch(ctx, rows)
		rows = nil
		return err
	}
	err := s.table.Scan(ctx, keys(workspace).pk(""), func(row table.Row) error {
		if rows = append(rows, table.Write{Key: row.Key, Delete: true}); len(rows) < restoredAtOnce {
			return nil
		}
		return flush()
	})
	return errors.Join(err, flush())
}
