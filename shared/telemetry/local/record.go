package local

import (
	"context"
	"encoding/json"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
)

// Record implements telemetry.Store.
func (s *Store) Record(ctx context.Context, workspace string, b telemetry.Batch) (counted int, err error) {
	err = s.change(ctx, workspace, func(root *bolt.Bucket) error {
		counted = 0
		fresh, err := remember(root, b)
		if err != nil {
			return err
		}
		if !fresh {
			return errNothing
		}
		if counted, err = countPairs(root, b); err != nil {
			return err
		}
		if err := s.save(root, b.Contexts); err != nil {
			return err
		}
		return joinShapes(root, b.Shapes)
	})
	if err != nil {
		return 0, fmt.Errorf("recording telemetry: %w", err)
	}
	return counted, nil
}

// remember notes a batch, forgets old ones, and says whether this one is new.
func remember(root *bolt.Bucket, b telemetry.Batch) (bool, error) {
	known, err := root.CreateBucketIfNotExists(batches)
	if err != nil {
		return false, err
	}
	byTime, err := root.CreateBucketIfNotExists(received)
	if err != nil {
		return false, err
	}
	if known.Get(b.ID[:]) != nil {
		return false, nil
	}
	at := moment(b.Received)
	if err := known.Put(b.ID[:], at); err != nil {
		return false, err
	}
	if err := byTime.Put(append(at, b.ID[:]...), nil); err != nil {
		return false, err
	}
	n, err := add(root, size, 1)
	if err != nil {
		return false, err
	}
	return true, forget(root, known, byTime, b, n)
}

// forgetAtOnce bounds what one batch has to clear away after others.
const forgetAtOnce = 100

func forget(root, known, byTime *bolt.Bucket, b telemetry.Batch, n int) error {
	limit := b.Received.Add(-telemetry.Remembered)
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

func countPairs(root *bolt.Bucket, b telemetry.Batch) (counted int, err error) {
	all, err := root.CreateBucketIfNotExists(months)
	if err != nil {
		return 0, err
	}
	for _, p := range b.Pairs {
		fresh, err := countPair(all, p)
		if err != nil {
			return 0, err
		}
		if fresh {
			counted++
		}
	}
	return counted, closeMonths(all, b)
}

func countPair(all *bolt.Bucket, p telemetry.Pair) (bool, error) {
	month, err := all.CreateBucketIfNotExists([]byte(p.Month))
	if err != nil || month.Get(closed) != nil {
		return false, err
	}
	known, err := month.CreateBucketIfNotExists(pairs)
	if err != nil {
		return false, err
	}
	row := name(p.Type, p.Key)
	if known.Get(row) != nil {
		return false, nil
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

func joinShapes(root *bolt.Bucket, news []telemetry.KnownShape) error {
	all, err := root.CreateBucketIfNotExists(shapes)
	if err != nil {
		return err
	}
	for _, shape := range news {
		known := telemetry.KnownShape{Type: shape.Type}
		row := name("type", shape.Type)
		text := all.Get(row)
		if text != nil {
			if err := json.Unmarshal(text, &known); err != nil {
				return err
			}
		} else if count(all, size) >= telemetry.MaxShapeTypes {
			continue
		}
		if !known.Join(shape) && text != nil {
			continue
		}
		if err := putShape(all, row, known, text == nil); err != nil {
			return err
		}
	}
	return nil
}

func putShape(all *bolt.Bucket, row []byte, shape telemetry.KnownShape, first bool) error {
	text, err := json.Marshal(shape)
	if err != nil {
		return err
	}
	if first {
		if _, err := add(all, size, 1); err != nil {
			return err
		}
	}
	return all.Put(row, text)
}
