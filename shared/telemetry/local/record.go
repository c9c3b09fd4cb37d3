package local

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
)

// Record implements telemetry.Store.
func (s *Store) Record(ctx context.Context, workspace string, b telemetry.Batch) (done telemetry.Recorded, err error) {
	err = s.change(ctx, workspace, func(root *bolt.Bucket) error {
		done = telemetry.Recorded{}
		fresh, err := remember(root, b.ID, b.Received)
		if err != nil {
			return err
		}
		if !fresh {
			return errNothing
		}
		b := b.Without(func(id [32]byte) bool {
			fresh := false
			if err == nil {
				fresh, err = remember(root, id, b.Received)
			}
			return !fresh
		})
		if err != nil {
			return err
		}
		news := hourly(root, b)
		if err := s.save(root, b, &news); err != nil {
			return err
		}
		counted, err := countPairs(root, b, &news)
		if err != nil {
			return err
		}
		if err := joinShapes(root, b.Shapes, &news); err != nil {
			return err
		}
		if err := countEvaluations(root, b.AllEvaluations()); err != nil {
			return err
		}
		done = news.Recorded(counted)
		return putHourly(root, b, news)
	})
	if err != nil {
		return telemetry.Recorded{}, fmt.Errorf("recording telemetry: %w", err)
	}
	return done, nil
}

// remember notes a batch or a report, forgets old ones, and reports whether this one is new.
func remember(root *bolt.Bucket, id [32]byte, now time.Time) (bool, error) {
	known, err := root.CreateBucketIfNotExists(batches)
	if err != nil {
		return false, err
	}
	byTime, err := root.CreateBucketIfNotExists(received)
	if err != nil {
		return false, err
	}
	if known.Get(id[:]) != nil {
		return false, nil
	}
	at := moment(now)
	if err := known.Put(id[:], at); err != nil {
		return false, err
	}
	if err := byTime.Put(append(at, id[:]...), nil); err != nil {
		return false, err
	}
	n, err := add(root, size, 1)
	if err != nil {
		return false, err
	}
	return true, forget(root, known, byTime, now, n)
}

// forgetAtOnce bounds what one batch has to clear away after others.
const forgetAtOnce = 100

func forget(root, known, byTime *bolt.Bucket, now time.Time, n int) error {
	limit := now.Add(-telemetry.Remembered)
	gone := 0
	cursor := byTime.Cursor()
	for row, _ := cursor.First(); row != nil && gone < forgetAtOnce; row, _ = cursor.First() {
		if n-gone <= telemetry.MaxBatches && !momentOf(row).Before(limit) {
			break
		}
		id := append([]byte(nil), row[8:]...)
		if err := cursor.Delete(); err != nil {
			return err
		}
		if err := known.Delete(id); err != nil {
			return err
		}
		gone++
	}
	if gone == 0 {
		return nil
	}
	_, err := add(root, size, -gone)
	return err
}

func countPairs(root *bolt.Bucket, b telemetry.Batch, news *telemetry.Hourly) (counted int, err error) {
	all, err := root.CreateBucketIfNotExists(months)
	if err != nil {
		return 0, err
	}
	for _, p := range b.Pairs {
		fresh, err := countPair(all, p, news.Beyond(p))
		if err != nil {
			return 0, err
		}
		if fresh {
			counted++
		}
	}
	return counted, closeMonths(all, b)
}

func countPair(all *bolt.Bucket, p telemetry.Pair, beyond bool) (bool, error) {
	month, err := all.CreateBucketIfNotExists([]byte(p.Month))
	if err != nil || month.Get(closed) != nil {
		return false, err
	}
	known, err := month.CreateBucketIfNotExists(pairs)
	if err != nil {
		return false, err
	}
	row := pairRow(p)
	if known.Get(row) != nil || known.Get(name(p.Type, p.Key)) != nil {
		return false, nil
	}
	if beyond {
		_, err := add(month, notCounted, 1)
		return false, err
	}
	byType, err := month.CreateBucketIfNotExists(counts)
	if err != nil {
		return false, err
	}
	if _, err := add(byType, name(p.Type), 1); err != nil {
		return false, err
	}
	return true, known.Put(row, []byte{1})
}

// longPair is up to where a pair is its own row. Of a longer one, which may be
// a kilobyte, the row is the SHA-256.
const longPair = 48

// pairRow is the row of a pair. No name of parts begins with 0xff, which would
// be the length of a type that is longer than types are.
func pairRow(p telemetry.Pair) []byte {
	row := name(p.Type, p.Key)
	if len(row) <= longPair {
		return row
	}
	sum := sha256.Sum256(row)
	return append([]byte{0xff}, sum[:]...)
}

// closeMonths drops the pairs of months that count no more.
func closeMonths(all *bolt.Bucket, b telemetry.Batch) error {
	var over [][]byte
	cursor := all.Cursor()
	for name, _ := cursor.First(); name != nil; name, _ = cursor.Next() {
		if telemetry.Month(name).Open(b.Received) {
			break // they are in order
		}
		if all.Bucket(name).Get(closed) == nil {
			over = append(over, append([]byte(nil), name...))
		}
	}
	for _, name := range over {
		month := all.Bucket(name)
		if month.Bucket(pairs) != nil {
			if err := month.DeleteBucket(pairs); err != nil {
				return err
			}
		}
		if err := month.Put(closed, moment(b.Received)); err != nil {
			return err
		}
	}
	return nil
}

func joinShapes(root *bolt.Bucket, reported []telemetry.KnownShape, news *telemetry.Hourly) error {
	if len(reported) == 0 {
		return nil
	}
	all, err := root.CreateBucketIfNotExists(shapes)
	if err != nil {
		return err
	}
	batch, err := all.NextSequence()
	if err != nil {
		return err
	}
	types, err := shapeTypes(all)
	if err != nil {
		return err
	}
	for _, shape := range reported {
		known := telemetry.KnownShape{Type: shape.Type}
		row := name("type", shape.Type)
		text := all.Get(row)
		if text != nil {
			if err := json.Unmarshal(text, &known); err != nil {
				return err
			}
		} else if !news.TakeType(shape.Type) {
			continue
		} else if len(types.batch) >= telemetry.MaxShapeTypes {
			gone := types.oldest()
			delete(types.batch, gone)
			if err := errors.Join(all.Delete(name("type", gone)), all.Delete(name("last", gone))); err != nil {
				return err
			}
		}
		types.batch[shape.Type] = batch
		if err := all.Put(name("last", shape.Type), number(int64(batch))); err != nil {
			return err
		}
		if !known.Join(shape) && text != nil {
			continue
		}
		if err := putShape(all, row, known); err != nil {
			return err
		}
	}
	return nil
}

// shapeTypes are the types that have a shape.
func shapeTypes(all *bolt.Bucket) (*recency, error) {
	r := &recency{map[string]uint64{}}
	err := all.ForEach(func(row, _ []byte) error {
		if of := parts(row); len(of) == 2 && of[0] == "type" {
			r.batch[of[1]] = uint64(count(all, name("last", of[1])))
		}
		return nil
	})
	return r, err
}

func putShape(all *bolt.Bucket, row []byte, shape telemetry.KnownShape) error {
	text, err := json.Marshal(shape)
	if err != nil {
		return err
	}
	return all.Put(row, text)
}
