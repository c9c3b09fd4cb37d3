package local

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
)

// Forget implements telemetry.Store. It finds all environments by itself.
func (s *Store) Forget(ctx context.Context, workspace string, _ []string, contextType, key string, _ time.Time) (found bool, err error) {
	if s.IsEmpty() {
		return false, nil
	}
	err = s.change(ctx, workspace, func(root *bolt.Bucket) error {
		found = false
		err := eachGroup(root.Bucket(groups), func(of []string, g *group) error {
			if of[1] != contextType {
				return nil
			}
			r, there, err := g.get(key)
			if err != nil || !there {
				return err
			}
			found = true
			return g.remove(position(time.UnixMilli(r.Seen), key))
		})
		if all := root.Bucket(months); err == nil && all != nil {
			err = all.ForEachBucket(func(month []byte) error {
				known := all.Bucket(month).Bucket(pairs)
				if known == nil {
					return nil
				}
				p := telemetry.Pair{Type: contextType, Key: key}
				for _, row := range [][]byte{pairRow(p), name(p.Type, p.Key)} {
					if known.Get(row) == nil {
						continue
					}
					found = true
					if err := known.Delete(row); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err == nil && !found {
			return errNothing
		}
		return err
	})
	if err == nil && found {
		err = s.Wipe(ctx)
	}
	if err != nil {
		return false, fmt.Errorf("forgetting a context: %w", err)
	}
	return found, nil
}

// eachGroup visits the groups of contexts, with their environment and type.
func eachGroup(all *bolt.Bucket, visit func(of []string, g *group) error) error {
	if all == nil {
		return nil
	}
	return all.ForEachBucket(func(row []byte) error {
		bucket := all.Bucket(row)
		g := &group{bucket, bucket.Bucket(keys), bucket.Bucket(seen)}
		if of := parts(row); len(of) == 2 && g.keys != nil && g.seen != nil {
			return visit(of, g)
		}
		return nil
	})
}

// remove deletes the context at a position.
func (g *group) remove(row []byte) error {
	if err := g.seen.Delete(row); err != nil {
		return err
	}
	if err := g.keys.Delete(row[8:]); err != nil {
		return err
	}
	_, err := add(g.bucket, size, -1)
	return err
}

// Expire forgets the contexts that were last seen more than so many days ago, and the
// counts of evaluations of more than telemetry.EvaluationDays ago. A day
// counts when it was called on it: no clock that is wrong for a while deletes what
// is in use. It is to be called once a day at least, and may be called more often.
func (s *Store) Expire(ctx context.Context, workspace string, now time.Time, days int) (gone int, err error) {
	if s.IsEmpty() {
		return 0, nil
	}
	err = s.change(ctx, workspace, func(root *bolt.Bucket) error {
		gone = 0
		noted, news, err := countDay(root, now, days)
		if err != nil {
			return err
		}
		if !news {
			return errNothing
		}
		if err := expireEvaluations(root, daysAgo(noted, telemetry.EvaluationDays)); err != nil {
			return err
		}
		first := daysAgo(noted, days)
		return eachGroup(root.Bucket(groups), func(_ []string, g *group) error {
			for row, _ := g.seen.Cursor().First(); row != nil && momentOf(row).Before(first); row, _ = g.seen.Cursor().First() {
				if err := g.remove(append([]byte(nil), row...)); err != nil {
					return err
				}
				gone++
			}
			return nil
		})
	})
	if err == nil && gone > 0 {
		err = s.Wipe(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("forgetting contexts of long ago: %w", err)
	}
	return gone, nil
}

const day = 24 * time.Hour

// countDay notes today, and says which days are noted and whether today is news.
func countDay(root *bolt.Bucket, now time.Time, days int) (noted *bolt.Bucket, news bool, err error) {
	if noted, err = root.CreateBucketIfNotExists(upkeepDays); err != nil {
		return noted, false, err
	}
	today := moment(now.UTC().Truncate(day))
	if last := root.Get(keptDays); noted.Get(today) != nil && bytes.Equal(last, number(int64(days))) {
		return noted, false, nil
	}
	return noted, true, cmp.Or(noted.Put(today, []byte{1}), root.Put(keptDays, number(int64(days))))
}

// daysAgo is the day that so many noted ones came after, zero where there are not as
// many.
func daysAgo(noted *bolt.Bucket, days int) time.Time {
	cursor := noted.Cursor()
	at, _ := cursor.Last()
	for n := 0; at != nil && n < days; n++ {
		at, _ = cursor.Prev()
	}
	return momentOf(at)
}
