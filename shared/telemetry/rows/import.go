package rows

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// Import writes what another store has of a workspace down as Archive would: contexts of
// one environment and type one after the other, those seen last at the end. Close tells
// what has failed.
type Import struct {
	archiver
	keep time.Duration
	err  error
}

// Import begins one.
func (s *Store) Import(workspace string, to io.Writer) *Import {
	return &Import{archiver: archiver{keys(workspace), bufio.NewWriterSize(to, 1<<20)}, keep: s.keep}
}

// Close ends it.
func (i *Import) Close() error { return errors.Join(i.err, i.to.Flush()) }

func (i *Import) add(at table.Key, row table.Attributes) {
	if i.err == nil {
		_, i.err = i.more(table.Row{Key: at, Attributes: row})
	}
}

func (i *Import) text(value any) table.Text {
	text, err := json.Marshal(value)
	i.err = errors.Join(i.err, err)
	return table.Text(text)
}

func (i *Import) packed(value any) table.Bytes {
	doc, err := pack(value)
	i.err = errors.Join(i.err, err)
	return doc
}

// Context adds a saved context.
func (i *Import) Context(c telemetry.Saved) {
	i.add(i.keys.position(c, c.LastSeen), table.Attributes{attrDoc: i.text(c), attrExpires: table.Until(c.LastSeen.Add(i.keep))})
}

// Types adds which types there are contexts of in an environment, or shapes if it is "",
// the one that was longest in no batch first. The last batch was at a time.
func (i *Import) Types(environment string, types []string, last time.Time) {
	hours := typesInUse{}
	for n, name := range types {
		hours[name] = last.Unix()/3600 - int64(len(types)-1-n)
	}
	at := i.keys.contextTypes(environment)
	if environment == "" {
		at = i.keys.shapeTypes()
	}
	i.add(at, table.Attributes{attrTypes: i.text(hours), attrOwner: table.Text(environment), attrVersion: table.Number(1)})
}

// Shape adds what is known of a type's properties.
func (i *Import) Shape(s telemetry.KnownShape) {
	i.add(i.keys.shape(s.Type), table.Attributes{attrFields: i.text(s.Fields), attrVersion: table.Number(1)})
}

// Pair adds one that was counted in its month.
func (i *Import) Pair(p telemetry.Pair) {
	i.add(i.keys.pair(p), table.Attributes{attrExpires: pairExpires(p.Month)})
}

// Keys adds how many keys of a type were counted in a month.
func (i *Import) Keys(month telemetry.Month, contextType string, n int) {
	i.add(keyOf(i.keys.usage(month), "0/"+contextType), table.Attributes{attrN: table.Number(int64(n))})
}

// NotCounted adds how often a pair came in a month that was too many.
func (i *Import) NotCounted(month telemetry.Month, n int) {
	i.add(i.keys.notCounted(month), table.Attributes{attrN: table.Number(int64(n))})
}

// Batch adds a batch or report that was received at a time.
func (i *Import) Batch(id [32]byte, received time.Time) {
	i.add(i.keys.batch(id), table.Attributes{attrExpires: batchExpires(received)})
}

// Tallies adds the counts of a day in an environment.
func (i *Import) Tallies(environment string, day telemetry.Day, all map[string]*telemetry.Tally) {
	rows := map[table.Key]tallies{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		at := i.keys.tallies(environment, day, key)
		if rows[at] == nil {
			rows[at] = tallies{}
		}
		rows[at][key] = all[key]
	}
	for at, items := range rows {
		row := tallyRow(environment, day, i.packed(tallied{Items: items}))
		row[attrVersion] = table.Number(1)
		i.add(at, row)
	}
}

// Evaluated adds on which days items were evaluated last.
func (i *Import) Evaluated(e *telemetry.Evaluated) {
	i.add(i.keys.evaluated(), table.Attributes{attrDoc: i.packed(lastDaysOf(e)), attrVersion: table.Number(1)})
}

// errFound ends a scan.
var errFound = errors.New("found")

// IsEmpty reports whether there is no telemetry of a workspace. It may scan the table.
func (s *Store) IsEmpty(ctx context.Context, workspace string) (bool, error) {
	err := s.table.Scan(ctx, keys(workspace).pk(""), func(table.Row) error { return errFound })
	if errors.Is(err, errFound) {
		return false, nil
	}
	return err == nil, err
}

// ErrDiffers: a row is not as an archive has it.
var ErrDiffers = errors.New("the telemetry is not as it was written down")

// Compare holds what is there against what Archive or Import has written down. When a row
// expires may differ.
func (s *Store) Compare(ctx context.Context, workspace string, from io.Reader) error {
	k, wanted := keys(workspace), map[table.Key]table.Attributes{}
	compare := func() error {
		found, err := s.rows(ctx, slices.Collect(maps.Keys(wanted)))
		for at, want := range wanted {
			delete(want, attrExpires)
			delete(found[at], attrExpires)
			if err == nil && (found[at] == nil || !maps.EqualFunc(want, found[at], table.Equal)) {
				err = fmt.Errorf("%w: the row %q", ErrDiffers, at)
			}
		}
		clear(wanted)
		return err
	}
	err := eachArchived(k, from, func(at table.Key, row table.Attributes) error {
		if wanted[at] = row; len(wanted) < restoredAtOnce {
			return nil
		}
		return compare()
	})
	if err == nil {
		err = compare()
	}
	return err
}
