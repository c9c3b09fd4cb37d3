package local

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
)

// record is a saved context as it is stored, under its key.
type record struct {
	Seen       int64                `json:"seen"`
	Properties []telemetry.Property `json:"properties"`
}

func (s *Store) save(root *bolt.Bucket, contexts []telemetry.Saved) error {
	all, err := root.CreateBucketIfNotExists(groups)
	if err != nil {
		return err
	}
	for _, c := range contexts {
		g, err := openGroup(all, c)
		if err != nil {
			return err
		}
		if g == nil { // there are too many
			continue
		}
		if err := g.put(c); err != nil {
			return err
		}
		if err := g.trim(s.kept); err != nil {
			return err
		}
	}
	return nil
}

// group is the contexts of one environment and type.
type group struct{ bucket, keys, seen *bolt.Bucket }

// openGroup makes the group of a context when there is room for another.
func openGroup(all *bolt.Bucket, c telemetry.Saved) (*group, error) {
	row := name(c.Environment, c.Type)
	bucket := all.Bucket(row)
	if bucket == nil {
		if count(all, size) >= telemetry.MaxGroups {
			return nil, nil
		}
		if _, err := add(all, size, 1); err != nil {
			return nil, err
		}
		var err error
		if bucket, err = all.CreateBucket(row); err != nil {
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
	text, err := json.Marshal(record{c.LastSeen.UnixMilli(), c.Properties})
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
	return r, true, json.Unmarshal(text, &r)
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
		row = append([]byte(nil), row...)
		if err := g.seen.Delete(row); err != nil {
			return err
		}
		if err := g.keys.Delete(row[8:]); err != nil {
			return err
		}
		if _, err := add(g.bucket, size, -1); err != nil {
			return err
		}
	}
	return nil
}

// Contexts implements telemetry.Store.
func (s *Store) Contexts(ctx context.Context, workspace string, q telemetry.Query) ([]telemetry.Saved, error) {
	var found []telemetry.Saved
	m := q.Matcher()
	err := s.read(ctx, workspace, func(root *bolt.Bucket) error {
		all := root.Bucket(groups)
		if all == nil {
			return nil
		}
		return all.ForEachBucket(func(row []byte) error {
			of := parts(row)
			if len(of) != 2 || !m.Group(of[0], of[1]) {
				return nil
			}
			more, err := search(ctx, all.Bucket(row), telemetry.Saved{Environment: of[0], Type: of[1]}, m, q.Limit)
			found = append(found, more...)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("searching contexts: %w", err)
	}
	return telemetry.Newest(found, q.Limit), nil
}

// search walks a group from the context seen last.
func search(ctx context.Context, bucket *bolt.Bucket, of telemetry.Saved, m telemetry.Matcher, limit int) ([]telemetry.Saved, error) {
	g := group{bucket, bucket.Bucket(keys), bucket.Bucket(seen)}
	if g.keys == nil || g.seen == nil {
		return nil, nil
	}
	var found []telemetry.Saved
	cursor := g.seen.Cursor()
	for row, _ := cursor.Last(); row != nil && !enough(found, limit, momentOf(row)); row, _ = cursor.Prev() {
		of.Key = string(row[min(8, len(row)):])
		r, there, err := g.get(of.Key)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if c := r.saved(of); there && m.Match(c) {
			found = append(found, c)
		}
	}
	return found, nil
}

// enough says whether no later find can come into the answer: of those seen at
// one moment the order is another than the file's.
func enough(found []telemetry.Saved, limit int, next time.Time) bool {
	return len(found) >= limit && found[limit-1].LastSeen.After(next)
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
			if string(row) == string(size) {
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
	byType := map[string]int{}
	err := s.read(ctx, workspace, func(root *bolt.Bucket) error {
		all := root.Bucket(months)
		if all == nil || all.Bucket([]byte(month)) == nil || all.Bucket([]byte(month)).Bucket(counts) == nil {
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
	return telemetry.NewUsage(month, byType), nil
}
