package rows

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/table"
	"svc.example/svc/shared/telemetry"
)

const (
	// tallyRows is how many rows hold the tallies of an environment's day.
	tallyRows = 8
	// maxDoc is how large a row's document may be; the table takes 400 KB.
	maxDoc = 350 << 10
	// attempts is how many of those who wrote a row last it names.
	attempts = 16
	// maxEnvironments is of how many environments counts wait in this process, and
	// maxWaiting how many parts of rows wait in each that could not be written.
	maxEnvironments = 64
	maxWaiting      = 64
	// maxCounted is how many counts this process knows to be in an environment's rows.
	maxCounted = 50_000
)

// tallies are by item.
type tallies map[string]*telemetry.Tally

// part is what is to be added to a row, once: the row names the attempt then.
type part struct {
	attempt string
	at      table.Key
	day     telemetry.Day
	more    tallies
}

// count is an item's value on a day.
type count struct {
	day        telemetry.Day
	key, value string
}

// counting is what waits to be counted in an environment of a workspace. Requests come
// by the hundred a second, and write rows by the minute.
type counting struct {
	written time.Time // by the batches' time
	counted map[count]bool
	more    map[telemetry.Day]tallies
	noted   []telemetry.Evaluation // of items that were not counted on their day before
	failed  []*part
}

type counters struct {
	mu  sync.Mutex
	all map[[2]string]*counting // by workspace and environment
}

// add has an evaluation wait, and reports whether this process has counted its value on that
// day before.
func (c *counting) add(e telemetry.Evaluation) (before bool) {
	day := telemetry.DayOf(e.At)
	if c.more[day] == nil {
		if c.more == nil {
			c.more = map[telemetry.Day]tallies{}
		}
		c.more[day] = tallies{}
	}
	tally := c.more[day][e.Key]
	if tally == nil {
		tally = &telemetry.Tally{}
		c.more[day][e.Key] = tally
	}
	tally.Add(e)
	if c.counted == nil || len(c.counted) > maxCounted {
		c.counted = map[count]bool{}
	}
	item, value := count{day, e.Key, ""}, count{day, e.Key, e.Value}
	if !c.counted[item] {
		c.noted = append(c.noted, e)
	}
	before = c.counted[item] && c.counted[value]
	c.counted[item], c.counted[value] = true, true
	return before
}

// take adds a batch's evaluations to what waits, and takes out what is to be written
// now: in the environments of the batch, and in one more that is behind.
func (c *counters) take(k keys, b telemetry.Batch) (due map[[2]string]*counting) {
	c.mu.Lock()
	defer c.mu.Unlock()
	due = map[[2]string]*counting{}
	for _, e := range b.AllEvaluations() {
		id := [2]string{string(k), e.Environment}
		is := c.all[id]
		if is == nil {
			is = &counting{}
			c.all[id] = is
		}
		if before := is.add(e); !before || is.late(b.Received) {
			due[id] = is
		}
	}
	if id, is := c.longest(b.Received, due); is != nil {
		due[id] = is
		delete(c.all, id)
	}
	for id, is := range due {
		due[id] = is.take(b.Received)
	}
	return due
}

// longest is what has waited longest of all else that is late, or that is one too many.
func (c *counters) longest(now time.Time, due map[[2]string]*counting) (id [2]string, found *counting) {
	for at, is := range c.all {
		if due[at] == nil && (is.late(now) || len(c.all) > maxEnvironments) && (found == nil || is.written.Before(found.written)) {
			id, found = at, is
		}
	}
	return id, found
}

// late reports whether what waits has waited for long enough.
func (c *counting) late(now time.Time) bool {
	since := now.Sub(c.written)
	return since >= telemetry.EvaluationsLate || since < 0
}

// giveBack has what could not be written wait again. What it is about is written as
// soon as another batch comes.
func (c *counters) giveBack(id [2]string, failed []*part, noted []telemetry.Evaluation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	is := c.all[id]
	if is == nil {
		is = &counting{}
		c.all[id] = is
	}
	is.failed = append(is.failed, failed...)
	is.failed = is.failed[max(0, len(is.failed)-maxWaiting):]
	is.noted = append(is.noted, noted...)
	is.noted = is.noted[max(0, len(is.noted)-telemetry.MaxEvaluated):]
	is.written = time.Time{}
}

func (s *Store) writeAll(ctx context.Context, due map[[2]string]*counting) (behind error) {
	for id, is := range due {
		if err := s.write(ctx, id, is); err != nil {
			behind = err
		}
	}
	return behind
}

// Flush writes the counts that wait. A process that has a background does so now and then,
// and before it ends.
func (s *Store) Flush(ctx context.Context) error {
	c := s.counters
	c.mu.Lock()
	due := map[[2]string]*counting{}
	for id, is := range c.all {
		if len(is.more)+len(is.noted)+len(is.failed) > 0 {
			due[id] = is.take(is.written)
		}
	}
	c.mu.Unlock()
	return s.writeAll(ctx, due)
}

// take takes out what waits, which is written at a batch's time.
func (c *counting) take(written time.Time) *counting {
	taken := *c
	c.written, c.more, c.noted, c.failed = written, nil, nil, nil
	return &taken
}

// write adds what was taken to the rows.
func (s *Store) write(ctx context.Context, id [2]string, is *counting) error {
	k, environment := keys(id[0]), id[1]
	parts := is.failed
	for _, day := range slices.Sorted(maps.Keys(is.more)) {
		rows := map[table.Key]*part{}
		for key, tally := range is.more[day] {
			at := k.tallies(environment, day, key)
			if rows[at] == nil {
				rows[at] = &part{rand.Text()[:12], at, day, tallies{}}
				parts = append(parts, rows[at])
			}
			rows[at].more[key] = tally
		}
	}
	err := s.together(ctx, func(s *Store) error { return s.writeParts(ctx, k, environment, parts, is.noted) })
	if err != nil {
		s.counters.giveBack(id, parts, is.noted) // a part that was added is not added again
	}
	if len(is.noted) > 0 {
		s.last.Delete(id[0])
	}
	return err
}

// writeParts adds parts to their rows, and notes on which day items were evaluated.
func (s *Store) writeParts(ctx context.Context, k keys, environment string, parts []*part, noted []telemetry.Evaluation) error {
	var wanted []table.Key
	for _, p := range parts {
		wanted = append(wanted, p.at)
	}
	if len(noted) > 0 {
		wanted = append(wanted, k.evaluated())
	}
	slices.SortFunc(wanted, func(a, b table.Key) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Sort, b.Sort))
	})
	found, err := s.rows(ctx, slices.Compact(wanted))
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, p := range parts {
		group.Go(func() error { return s.addTo(ctx, environment, p, found[p.at]) })
	}
	if len(noted) > 0 {
		group.Go(func() error { return s.note(ctx, k, noted, found[k.evaluated()]) })
	}
	return group.Wait()
}

// tallied is the document of a row of tallies.
type tallied struct {
	By    []string `json:"by"` // the attempts that wrote it last
	Items tallies  `json:"items"`
}

// addTo adds a part to its row, unless the row says that it was added.
func (s *Store) addTo(ctx context.Context, environment string, p *part, row table.Attributes) error {
	return s.replace(ctx, p.at, row, func(row table.Attributes) (table.Attributes, error) {
		is := tallied{Items: tallies{}}
		if err := unpack(row, &is); err != nil || slices.Contains(is.By, p.attempt) {
			return nil, err
		}
		is.By = append(is.By, p.attempt)
		is.By = is.By[max(0, len(is.By)-attempts):]
		for key, more := range p.more {
			if is.Items[key] == nil {
				is.Items[key] = &telemetry.Tally{}
			}
			is.Items[key].Join(*more)
		}
		doc, err := pack(is)
		if len(doc) > maxDoc { // by values that are long and many
			for _, tally := range is.Items {
				tally.Values = nil
			}
			doc, err = pack(is)
		}
		if err != nil || len(doc) > maxDoc {
			return nil, err
		}
		return tallyRow(environment, p.day, doc), nil
	})
}

func tallyRow(environment string, day telemetry.Day, doc table.Bytes) table.Attributes {
	return table.Attributes{attrDoc: doc, attrOwner: table.Text(environment),
		attrExpires: table.Until(day.Begin().AddDate(0, 0, telemetry.EvaluationDays+2))}
}

// lastDays is the document of the row that tells when items were evaluated last.
type lastDays struct {
	Since telemetry.Day              `json:"since"`
	Days  map[telemetry.Day][]string `json:"days"` // the items of each
}

func (l lastDays) evaluated() *telemetry.Evaluated {
	e := &telemetry.Evaluated{Since: l.Since, Days: map[string]telemetry.Day{}}
	for day, keys := range l.Days {
		for _, key := range keys {
			e.Days[key] = day
		}
	}
	return e
}

func lastDaysOf(e *telemetry.Evaluated) lastDays {
	l := lastDays{e.Since, map[telemetry.Day][]string{}}
	for _, key := range slices.Sorted(maps.Keys(e.Days)) {
		l.Days[e.Days[key]] = append(l.Days[e.Days[key]], key)
	}
	return l
}

// note notes on which day items were evaluated.
func (s *Store) note(ctx context.Context, k keys, evaluations []telemetry.Evaluation, row table.Attributes) error {
	return s.replace(ctx, k.evaluated(), row, func(row table.Attributes) (table.Attributes, error) {
		var was lastDays
		if err := unpack(row, &was); err != nil {
			return nil, err
		}
		e := was.evaluated()
		if !e.See(evaluations) {
			return nil, nil
		}
		is := lastDaysOf(e)
		doc, err := pack(is)
		for len(doc) > maxDoc && err == nil {
			delete(is.Days, slices.Min(slices.Collect(maps.Keys(is.Days))))
			doc, err = pack(is)
		}
		return table.Attributes{attrDoc: table.Bytes(doc)}, err
	})
}

// pack compresses JSON.
func pack(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.DefaultCompression) // fails for another level alone
	if _, err = w.Write(text); err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// unpack reads what pack has made; of no row, nothing.
func unpack(row table.Attributes, into any) error {
	if row == nil {
		return nil
	}
	const most = 64 << 20
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(row.Bytes(attrDoc))), most))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("reading counts of evaluations: %w", err)
	}
	return nil
}

// Evaluations implements telemetry.Store. It reads one range of a partition, which
// holds an eighth of the items.
func (s *Store) Evaluations(ctx context.Context, workspace, key string, first, last telemetry.Day) (map[string][]telemetry.EvaluatedDay, error) {
	found := map[string][]telemetry.EvaluatedDay{}
	q := table.Query{Partition: keys(workspace).tallies("", "", key).Partition, Low: string(first), High: string(last) + "/~", Newest: true}
	err := s.table.Query(ctx, q, func(row table.Row) (bool, error) {
		var is tallied
		if err := unpack(row.Attributes, &is); err != nil {
			return false, err
		}
		if tally := is.Items[key]; tally != nil {
			environment, day := row.Text(attrOwner), row.Sort[:len(time.DateOnly)]
			found[environment] = append(found[environment], telemetry.EvaluatedDay{Day: telemetry.Day(day), Tally: *tally})
		}
		return true, nil
	})
	return found, err
}

// lastRead is when items were evaluated last, as it was read some time ago.
type lastRead struct {
	is      *telemetry.Evaluated
	version int64
	read    time.Time
}

// lastReadBytes is for some 30,000 items.
const lastReadBytes = 4 << 20

// Evaluated implements telemetry.Store. It reads a row at most once a minute.
func (s *Store) Evaluated(ctx context.Context, workspace string) (*telemetry.Evaluated, error) {
	now := time.Now()
	known, found := s.last.Get(workspace)
	if found && now.Sub(known.read) < telemetry.EvaluationsLate {
		return known.is, nil
	}
	at := keys(workspace).evaluated()
	rows, err := s.rows(ctx, []table.Key{at})
	if err != nil {
		return nil, err
	}
	row := rows[at]
	if version := row.Number(attrVersion); !found || version != known.version {
		var is lastDays
		if err := unpack(row, &is); err != nil {
			return nil, err
		}
		known = lastRead{is: is.evaluated(), version: version}
		known.is.Renew()
	}
	known.read = now
	const perItem = 96
	s.last.Put(workspace, known, int64(512+perItem*len(known.is.Days)))
	return known.is, nil
}

// tallies is the row that holds the tally of an item.
func (k keys) tallies(environment string, day telemetry.Day, key string) table.Key {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return keyOf(k.pk(fmt.Sprintf("tallies/%d", h.Sum32()%tallyRows)), string(day)+"/"+hash(environment))
}

// evaluated is the row that tells when items were evaluated last.
func (k keys) evaluated() table.Key { return keyOf(k.pk("evaluated"), "evaluated") }
