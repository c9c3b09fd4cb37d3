package rows

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

// recording is a batch on its way into the table.
type recording struct {
	*Store
	keys  keys
	batch telemetry.Batch
	found map[table.Key]table.Attributes
	news  telemetry.Hourly
}

// Record implements telemetry.Store.
func (s *Store) Record(ctx context.Context, workspace string, b telemetry.Batch) (done telemetry.Recorded, err error) {
	r := recording{keys: keys(workspace), batch: b}
	err = s.together(ctx, func(s *Store) error {
		r.Store = s
		done, err = r.record(ctx)
		return err
	})
	if err != nil {
		return telemetry.Recorded{}, err
	}
	if len(r.batch.AllEvaluations()) > 0 { // last, so that a batch that is repeated counts once
		done.Behind = s.writeAll(ctx, s.counters.take(r.keys, r.batch))
	}
	return done, nil
}

// record applies the batch but for its evaluations, of which it leaves none that are
// counted already.
func (r *recording) record(ctx context.Context) (done telemetry.Recorded, err error) {
	b := r.batch
	if r.found, err = r.rows(ctx, r.addresses()); err != nil {
		return done, err
	}
	isKnown := func(id [32]byte) bool { return r.found[r.keys.batch(id)] != nil }
	if isKnown(b.ID) {
		r.batch = telemetry.Batch{}
		return done, nil
	}
	r.batch = b.Without(isKnown)
	if err := r.admit(ctx); err != nil {
		return done, err
	}
	counted, err := r.count(ctx)
	if err != nil {
		return done, err
	}
	if err := r.save(ctx); err != nil {
		return done, err
	}
	if err := r.joinShapes(ctx); err != nil {
		return done, err
	}
	return r.news.Recorded(counted), r.remember(ctx)
}

// addresses are all rows that a batch is about.
func (r *recording) addresses() []table.Key {
	list := []table.Key{r.keys.newInHour(r.batch)}
	for _, id := range r.batch.IDs() {
		list = append(list, r.keys.batch(id))
	}
	for _, p := range r.batch.Pairs {
		list = append(list, r.keys.pair(p))
	}
	environments := map[string]bool{}
	for _, c := range r.batch.Contexts {
		list = append(list, r.keys.context(c))
		if !environments[c.Environment] {
			environments[c.Environment] = true
			list = append(list, r.keys.contextTypes(c.Environment))
		}
	}
	for i, s := range r.batch.Shapes {
		list = append(list, r.keys.shape(s.Type))
		if i == 0 {
			list = append(list, r.keys.shapeTypes())
		}
	}
	return list
}

// remember writes that the batch and its reports were applied, the batch last: what came
// before it may come again.
func (r *recording) remember(ctx context.Context) error {
	var writes []table.Write
	for _, id := range r.batch.IDs() {
		writes = append(writes, table.Write{Key: r.keys.batch(id), Put: table.Attributes{attrExpires: batchExpires(r.batch.Received)}})
	}
	if err := r.table.Batch(ctx, writes[1:]); err != nil {
		return err
	}
	return r.update(ctx, writes[0])
}

// count counts the pairs that are new, as many at a time as a transaction holds
// together with their counters, and those that are not counted.
func (r *recording) count(ctx context.Context) (counted int, err error) {
	var chunk []telemetry.Pair
	counters := map[counter]int{}
	flush := func() error {
		n, err := r.countTogether(ctx, chunk)
		counted += n
		chunk, counters = nil, map[counter]int{}
		return err
	}
	notCounted := map[telemetry.Month]int{}
	for _, p := range r.batch.Pairs {
		if _, known := r.found[r.keys.pair(p)]; known {
			continue
		}
		if r.news.Beyond(p) {
			notCounted[p.Month]++
			continue
		}
		chunk = append(chunk, p)
		if counters[counter{p.Month, p.Type}]++; len(chunk)+len(counters) >= table.MaxWrites-1 {
			if err := flush(); err != nil {
				return counted, err
			}
		}
	}
	for month, n := range notCounted {
		if err := r.update(ctx, table.Write{Key: r.keys.notCounted(month), Add: map[string]int64{attrN: int64(n)}}); err != nil {
			return counted, err
		}
	}
	return counted, flush()
}

// counter is what a pair is counted in.
type counter struct {
	month       telemetry.Month
	contextType string
}

// countTogether counts pairs in one transaction. Those that others were first
// with are left out of the next try.
func (r *recording) countTogether(ctx context.Context, pairs []telemetry.Pair) (int, error) {
	for len(pairs) > 0 {
		err := r.table.Transact(ctx, r.counting(pairs)...)
		if err == nil {
			return len(pairs), nil
		}
		refused, is := errors.AsType[*table.Refused](err)
		if !is {
			return 0, busy(err)
		}
		var left []telemetry.Pair
		for i, p := range pairs {
			if !slices.Contains(refused.Writes, i) {
				left = append(left, p)
			}
		}
		pairs = left
	}
	return 0, nil
}

// shards is how many rows a counter has.
const shards = 8

func (r *recording) counting(pairs []telemetry.Pair) []table.Write {
	var writes []table.Write
	counters := map[counter]int64{}
	for _, p := range pairs {
		counters[counter{p.Month, p.Type}]++
		writes = append(writes, table.Write{Key: r.keys.pair(p), If: []table.Condition{table.NoRow()},
			Put: table.Attributes{attrExpires: pairExpires(p.Month)}})
	}
	shard := strconv.Itoa(rand.N(shards))
	for c, n := range counters {
		writes = append(writes, table.Write{Key: keyOf(r.keys.usage(c.month), shard+"/"+c.contextType), Add: map[string]int64{attrN: n}})
	}
	return writes
}

func pairExpires(month telemetry.Month) table.Number {
	return table.Until(month.End().AddDate(0, 0, 7))
}

func batchExpires(received time.Time) table.Number {
	return table.Until(received.Add(telemetry.Remembered + time.Hour))
}

func (r *recording) joinShapes(ctx context.Context) error {
	if len(r.batch.Shapes) == 0 {
		return nil
	}
	var names []string
	for _, s := range r.batch.Shapes {
		names = append(names, s.Type)
	}
	types, gone, err := r.noteTypes(ctx, r.keys.shapeTypes(), "", names, telemetry.MaxShapeTypes)
	if err != nil {
		return err
	}
	for _, s := range r.batch.Shapes {
		if _, there := types[s.Type]; there {
			if err := r.joinShape(ctx, s); err != nil {
				return err
			}
		}
	}
	for _, contextType := range gone {
		if err := r.update(ctx, table.Write{Key: r.keys.shape(contextType), Delete: true}); err != nil {
			return err
		}
	}
	return nil
}

func (r *recording) joinShape(ctx context.Context, news telemetry.KnownShape) error {
	return r.replace(ctx, r.keys.shape(news.Type), func(row table.Attributes) (table.Attributes, error) {
		known := telemetry.KnownShape{Type: news.Type}
		if row != nil {
			if err := json.Unmarshal([]byte(row.Text(attrFields)), &known.Fields); err != nil {
				return nil, fmt.Errorf("reading the shape of a context type: %w", err)
			}
		}
		if !known.Join(news) && row != nil {
			return nil, nil
		}
		fields, err := json.Marshal(known.Fields)
		return table.Attributes{attrFields: table.Text(string(fields))}, err
	})
}

func (r *recording) replace(ctx context.Context, at table.Key, change func(table.Attributes) (table.Attributes, error)) error {
	return r.Store.replace(ctx, at, r.found[at], change)
}

// replace writes what change makes of a row that has a version, nil when it is
// not there, or nothing when it makes nil of it. When somebody else was faster,
// it is read and changed again.
func (s *Store) replace(ctx context.Context, at table.Key, row table.Attributes, change func(table.Attributes) (table.Attributes, error)) error {
	for attempt := 1; ; attempt++ {
		next, err := change(row)
		if err != nil || next == nil {
			return err
		}
		version := row.Number(attrVersion)
		next[attrVersion] = table.Number(version + 1)
		err = s.update(ctx, table.Write{Key: at, Put: next, If: []table.Condition{table.Any(table.NoRow(), table.Is(attrVersion, table.Number(version)))}})
		if !errors.Is(err, table.ErrRefused) {
			return err
		}
		if err := again(ctx, attempt, err); err != nil {
			return err
		}
		again, err := s.rows(ctx, []table.Key{at})
		if err != nil {
			return err
		}
		row = again[at]
	}
}
