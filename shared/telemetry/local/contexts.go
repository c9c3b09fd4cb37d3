package local

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
)

// record is a saved context as it is stored, under its key.
type record struct{ telemetry.Stored }

// save saves the contexts that the hour takes.
func (s *Store) save(root *bolt.Bucket, b telemetry.Batch, news *telemetry.Hourly) error {
	if len(b.Contexts) == 0 {
		return nil
	}
	all, err := root.CreateBucketIfNotExists(groups)
	if err != nil {
		return err
	}
	batch, err := all.NextSequence()
	if err != nil {
		return err
	}
	recent := map[string]*recency{} // by environment
	for _, c := range b.Contexts {
		if recent[c.Environment] == nil {
			recent[c.Environment] = typesOf(all, c.Environment)
		}
		if _, known := recent[c.Environment].batch[c.Type]; !news.TakeContext(c, !isSaved(all, c), !known) {
			continue
		}
		g, err := s.openGroup(all, recent[c.Environment], c, batch)
		if err == nil {
			err = g.put(c)
		}
		if err == nil {
			err = g.trim(s.kept)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isSaved reports whether a context has been saved, in whatever state.
func isSaved(all *bolt.Bucket, c telemetry.Saved) bool {
	bucket := all.Bucket(name(c.Environment, c.Type))
	return bucket != nil && bucket.Bucket(keys) != nil && bucket.Bucket(keys).Get([]byte(c.Key)) != nil
}

// hourly is what was new in an hour so far.
func hourly(root *bolt.Bucket, b telemetry.Batch) (h telemetry.Hourly) {
	text := root.Get(hourRow(b))
	if len(text) != 24 || int64(binary.BigEndian.Uint64(text)) != b.Hour() {
		return h // another one, also when the clock was set back
	}
	return telemetry.Hourly{Keys: int(binary.BigEndian.Uint64(text[8:])), Types: int(binary.BigEndian.Uint64(text[16:]))}
}

func putHourly(root *bolt.Bucket, b telemetry.Batch, h telemetry.Hourly) error {
	return root.Put(hourRow(b), slices.Concat(number(b.Hour()), number(int64(h.Keys)), number(int64(h.Types))))
}

func hourRow(b telemetry.Batch) []byte {
	if b.Secret {
		return newOfSecret
	}
	return newInHour
}

// recency is the types of an environment, and the number of the batch that each
// was last in.
type recency struct{ batch map[string]uint64 }

func typesOf(all *bolt.Bucket, environment string) *recency {
	r := &recency{map[string]uint64{}}
	prefix := name(environment)
	cursor := all.Cursor()
	for row, _ := cursor.Seek(prefix); bytes.HasPrefix(row, prefix); row, _ = cursor.Next() {
		if of := parts(row); len(of) == 2 && all.Bucket(row) != nil {
			r.batch[of[1]] = uint64(count(all.Bucket(row), lastBatch))
		}
	}
	return r
}

// oldest is the type that was longest in no batch.
func (r *recency) oldest() (found string) {
	first := uint64(math.MaxUint64)
	for contextType, batch := range r.batch {
		if batch < first || batch == first && contextType < found {
			found, first = contextType, batch
		}
	}
	return found
}

// group is the contexts of one environment and type.
type group struct{ bucket, keys, seen *bolt.Bucket }

// openGroup makes the group of a context, which another makes room for when
// there are too many.
func (s *Store) openGroup(all *bolt.Bucket, types *recency, c telemetry.Saved, batch uint64) (*group, error) {
	if _, known := types.batch[c.Type]; !known && len(types.batch) >= telemetry.MaxGroups {
		gone := types.oldest()
		delete(types.batch, gone)
		if err := all.DeleteBucket(name(c.Environment, gone)); err != nil {
			return nil, err
		}
	}
	bucket, err := all.CreateBucketIfNotExists(name(c.Environment, c.Type))
	if err != nil {
		return nil, err
	}
	if types.batch[c.Type] != batch {
		types.batch[c.Type] = batch
		if err := bucket.Put(lastBatch, number(int64(batch))); err != nil {
			return nil, err
		}
	}
	byKey, err := bucket.CreateBucketIfNotExists(keys)
	if err != nil {
		return nil, err
	}
	bySeen, err := bucket.CreateBucketIfNotExists(seen)
	return &group{bucket, byKey, bySeen}, err
}

func (g *group) put(c telemetry.Saved) error {
	old, there, err := g.get(c.Key)
	if err != nil || there && !c.Supersedes(old.saved(c).Sighting()) {
		return err
	}
	if there {
		if err := g.seen.Delete(position(time.UnixMilli(old.Seen), c.Key)); err != nil {
			return err
		}
	} else if _, err := add(g.bucket, size, 1); err != nil {
		return err
	}
	text, err := json.Marshal(telemetry.Stored{Seen: c.LastSeen.UnixMilli(), Properties: c.Properties})
	if err != nil {
		return err
	}
	if err := g.keys.Put([]byte(c.Key), text); err != nil {
		return err
	}
	return g.seen.Put(position(c.LastSeen, c.Key), nil)
}

func position(at time.Time, key string) []byte { return append(moment(at), key...) }

func (g *group) get(key string) (r record, there bool, err error) {
	text := g.keys.Get([]byte(key))
	if text == nil {
		return r, false, nil
	}
	return r, true, r.Decode(text)
}

// saved is the record as the context of the same environment, type and key.
func (r record) saved(of telemetry.Saved) telemetry.Saved {
	of.LastSeen, of.Properties = time.UnixMilli(r.Seen).UTC(), r.Properties
	return of
}

// trim forgets the contexts seen longest ago.
func (g *group) trim(kept int) error {
	for n := count(g.bucket, size); n > kept; n-- {
		row, _ := g.seen.Cursor().First()
		if row == nil {
			return nil
		}
		if err := g.remove(append([]byte(nil), row...)); err != nil {
			return err
		}
	}
	return nil
}

// Contexts implements telemetry.Store. It walks all groups that can match at
// once, from the context seen last, and no further than MaxSearched. One with a whole
// key it gets.
func (s *Store) Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	var found []telemetry.Saved
	m := q.Matcher()
	err := s.read(ctx, workspace, func(root *bolt.Bucket) error {
		if q.Key != "" {
			return eachGroup(root.Bucket(groups), func(of []string, g *group) error {
				if !m.Group(of[0], of[1]) {
					return nil
				}
				r, there, err := g.get(q.Key)
				if c := r.saved(telemetry.Saved{Environment: of[0], Type: of[1], Key: q.Key}); there && err == nil && m.Match(c) {
					found = append(found, c)
				}
				return err
			})
		}
		walk, err := newWalk(root.Bucket(groups), m)
		for looked := 0; err == nil && looked < s.searched; looked++ {
			at, more := walk.seen()
			if !more || q.Enough(found, at) {
				break
			}
			c, there, problem := walk.next()
			if err = cmp.Or(problem, ctx.Err()); there && err == nil && m.Match(c) {
				found = append(found, c)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("searching contexts: %w", err)
	}
	return telemetry.Newest(found, q.Limit), nil
}

// walk is a position in each of several groups; the one whose context was seen
// last comes first.
type walk struct{ groups []walked }

type walked struct {
	group
	of     telemetry.Saved
	cursor *bolt.Cursor
	row    []byte
}

func newWalk(all *bolt.Bucket, m telemetry.Matcher) (*walk, error) {
	w := &walk{}
	err := eachGroup(all, func(of []string, g *group) error {
		if !m.Group(of[0], of[1]) {
			return nil
		}
		cursor := g.seen.Cursor()
		if last, _ := cursor.Last(); last != nil {
			w.groups = append(w.groups, walked{*g, telemetry.Saved{Environment: of[0], Type: of[1]}, cursor, last})
		}
		return nil
	})
	heap.Init(w)
	return w, err
}

// seen is when the next context was seen.
func (w *walk) seen() (at time.Time, more bool) {
	if len(w.groups) == 0 {
		return at, false
	}
	return momentOf(w.groups[0].row), true
}

// next is the next context, and whether it is still there.
func (w *walk) next() (c telemetry.Saved, there bool, err error) {
	first := &w.groups[0]
	first.of.Key = string(first.row[min(8, len(first.row)):])
	r, there, err := first.get(first.of.Key)
	c = r.saved(first.of)
	if first.row, _ = first.cursor.Prev(); first.row == nil {
		heap.Pop(w)
	} else {
		heap.Fix(w, 0)
	}
	return c, there, err
}

// The methods of heap.Interface.

func (w *walk) Len() int           { return len(w.groups) }
func (w *walk) Less(i, j int) bool { return bytes.Compare(w.groups[i].row, w.groups[j].row) > 0 }
func (w *walk) Swap(i, j int)      { w.groups[i], w.groups[j] = w.groups[j], w.groups[i] }
func (w *walk) Push(any)           {} // none is added
func (w *walk) Pop() any {
	w.groups = w.groups[:len(w.groups)-1]
	return nil
}

// walkedAtOnce is how many contexts a walk reads at a time.
const walkedAtOnce = 1000

// Walk implements telemetry.Store. It lets go of the file between pages.
func (s *Store) Walk(ctx context.Context, workspace string, w telemetry.Walk, visit func(telemetry.Saved) bool) error {
	for left := w.Limit; ; left -= walkedAtOnce {
		most := walkedAtOnce
		if w.Limit > 0 {
			most = min(most, left)
		}
		var page []telemetry.Saved
		err := s.read(ctx, workspace, func(root *bolt.Bucket) (err error) {
			page, err = walkPage(root.Bucket(groups), w, most)
			return err
		})
		if err != nil {
			return fmt.Errorf("reading contexts: %w", err)
		}
		for i := range page {
			if !visit(page[i]) {
				return nil
			}
		}
		if len(page) < most || left == most {
			return ctx.Err()
		}
		w.After = &page[len(page)-1]
	}
}

func walkPage(all *bolt.Bucket, w telemetry.Walk, most int) (page []telemetry.Saved, err error) {
	if all == nil {
		return nil, nil
	}
	var types []string
	err = eachGroup(all, func(of []string, _ *group) error {
		if of[0] == w.Environment && (w.After == nil || of[1] >= w.After.Type) {
			types = append(types, of[1])
		}
		return nil
	})
	slices.Sort(types) // their rows are in the order of their lengths
	for _, contextType := range types {
		bucket := all.Bucket(name(w.Environment, contextType))
		g := group{bucket, bucket.Bucket(keys), bucket.Bucket(seen)}
		cursor := g.seen.Cursor()
		row, _ := cursor.Last()
		if w.After != nil && w.After.Type == contextType {
			if found, _ := cursor.Seek(position(w.After.LastSeen, w.After.Key)); found != nil {
				row, _ = cursor.Prev()
			}
		}
		for ; row != nil && err == nil && len(page) < most; row, _ = cursor.Prev() {
			var r record
			var there bool
			if r, there, err = g.get(string(row[min(8, len(row)):])); there && err == nil {
				page = append(page, r.saved(telemetry.Saved{Environment: w.Environment, Type: contextType, Key: string(row[8:])}))
			}
		}
	}
	return page, err
}

// Shapes implements telemetry.Store.
func (s *Store) Shapes(ctx context.Context, workspace string) ([]telemetry.KnownShape, error) {
	list := []telemetry.KnownShape{}
	err := s.read(ctx, workspace, func(root *bolt.Bucket) error {
		all := root.Bucket(shapes)
		if all == nil {
			return nil
		}
		return all.ForEach(func(row, text []byte) error {
			if of := parts(row); len(of) != 2 || of[0] != "type" {
				return nil
			}
			var shape telemetry.KnownShape
			err := json.Unmarshal(text, &shape)
			list = append(list, shape)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading shapes: %w", err)
	}
	return telemetry.SortShapes(list), nil
}

// Usage implements telemetry.Store.
func (s *Store) Usage(ctx context.Context, workspace string, month telemetry.Month) (telemetry.Usage, error) {
	byType, beyond := map[string]int{}, 0
	err := s.read(ctx, workspace, func(root *bolt.Bucket) error {
		all := root.Bucket(months)
		if all == nil || all.Bucket([]byte(month)) == nil {
			return nil
		}
		beyond = count(all.Bucket([]byte(month)), notCounted)
		if all.Bucket([]byte(month)).Bucket(counts) == nil {
			return nil
		}
		stored := all.Bucket([]byte(month)).Bucket(counts)
		return stored.ForEach(func(row, _ []byte) error {
			if of := parts(row); len(of) == 1 {
				byType[of[0]] = count(stored, row)
			}
			return nil
		})
	})
	if err != nil {
		return telemetry.Usage{}, fmt.Errorf("reading the usage of %s: %w", month, err)
	}
	return telemetry.NewUsage(month, byType, beyond), nil
}
