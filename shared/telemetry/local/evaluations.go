package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/telemetry"
)

// countEvaluations counts what a batch tells of evaluations.
func countEvaluations(root *bolt.Bucket, reported []telemetry.Evaluation) error {
	if len(reported) == 0 {
		return nil
	}
	all, err := root.CreateBucketIfNotExists(evaluations)
	if err != nil {
		return err
	}
	type row struct{ environment, day, key string }
	more := map[row]*telemetry.Tally{}
	for _, e := range reported {
		at := row{e.Environment, string(telemetry.DayOf(e.At)), e.Key}
		if more[at] == nil {
			more[at] = &telemetry.Tally{}
		}
		more[at].Add(e)
	}
	for at, tally := range more {
		days, err := all.CreateBucketIfNotExists(name(at.environment))
		if err != nil {
			return err
		}
		day, err := days.CreateBucketIfNotExists([]byte(at.day))
		if err != nil {
			return err
		}
		var is telemetry.Tally
		if text := day.Get([]byte(at.key)); text != nil {
			if err := json.Unmarshal(text, &is); err != nil {
				return err
			}
		}
		is.Join(*tally)
		text, err := json.Marshal(is)
		if err == nil {
			err = day.Put([]byte(at.key), text)
		}
		if err != nil {
			return err
		}
	}
	return noteEvaluated(root, reported)
}

// noteEvaluated notes on which day items were evaluated last. It reads the items that are
// reported, and all when there are too many.
func noteEvaluated(root *bolt.Bucket, reported []telemetry.Evaluation) error {
	last, err := root.CreateBucketIfNotExists(lastEvaluated)
	if err != nil {
		return err
	}
	news, n := false, count(root, evaluatedItems)
	for _, e := range reported {
		day := telemetry.DayOf(e.At)
		if since := telemetry.Day(root.Get(evaluatedSince)); since == "" || day < since {
			news = true
			if err := root.Put(evaluatedSince, []byte(day)); err != nil {
				return err
			}
		}
		before := last.Get(name(e.Key))
		if string(before) >= string(day) {
			continue
		}
		if news = true; before == nil {
			n++
		}
		if err := last.Put(name(e.Key), []byte(day)); err != nil {
			return err
		}
	}
	if !news {
		return nil
	}
	if n > telemetry.MaxEvaluated {
		all, err := evaluatedIn(root)
		if err != nil {
			return err
		}
		for _, key := range all.Trim() {
			if err := last.Delete(name(key)); err != nil {
				return err
			}
		}
		n = len(all.Days)
	}
	if err := root.Put(evaluatedItems, number(int64(n))); err != nil {
		return err
	}
	_, err = last.NextSequence()
	return err
}

// evaluatedIn reads when items were evaluated last.
func evaluatedIn(root *bolt.Bucket) (*telemetry.Evaluated, error) {
	e := &telemetry.Evaluated{Since: telemetry.Day(root.Get(evaluatedSince)), Days: map[string]telemetry.Day{}}
	last := root.Bucket(lastEvaluated)
	if last == nil {
		return e, nil
	}
	return e, last.ForEach(func(row, day []byte) error {
		if of := parts(row); len(of) == 1 {
			e.Days[of[0]] = telemetry.Day(day)
		}
		return nil
	})
}

// Evaluations implements telemetry.Store.
func (s *Store) Evaluations(ctx context.Context, workspace, key string, first, last telemetry.Day) (map[string][]telemetry.EvaluatedDay, error) {
	found := map[string][]telemetry.EvaluatedDay{}
	err := s.read(ctx, workspace, func(root *bolt.Bucket) error {
		all := root.Bucket(evaluations)
		if all == nil {
			return nil
		}
		return all.ForEachBucket(func(row []byte) error {
			of := parts(row)
			if len(of) != 1 {
				return nil
			}
			days := all.Bucket(row).Cursor()
			for day, _ := days.Seek([]byte(first)); day != nil && string(day) <= string(last); day, _ = days.Next() {
				text := days.Bucket().Bucket(day).Get([]byte(key))
				if text == nil {
					continue
				}
				is := telemetry.EvaluatedDay{Day: telemetry.Day(day)}
				if err := json.Unmarshal(text, &is.Tally); err != nil {
					return err
				}
				found[of[0]] = append(found[of[0]], is)
			}
			telemetry.NewestDays(found[of[0]])
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading evaluations: %w", err)
	}
	return found, nil
}

// expireEvaluations forgets the counts of days before one.
func expireEvaluations(root *bolt.Bucket, first time.Time) error {
	all := root.Bucket(evaluations)
	if all == nil {
		return nil
	}
	return all.ForEachBucket(func(row []byte) error {
		days := all.Bucket(row)
		for {
			day, _ := days.Cursor().First()
			if day == nil || string(day) >= string(telemetry.DayOf(first)) {
				return nil
			}
			if err := days.DeleteBucket(slices.Clone(day)); err != nil {
				return err
			}
		}
	})
}

// known is what was read last of when items were evaluated, and of which state of the
// file.
type known struct {
	mu        sync.Mutex
	workspace string
	file      fs.FileInfo
	read      time.Time
	sequence  uint64
	is        *telemetry.Evaluated
}

// settled is how long after a file was written its time tells of a later write.
const settled = time.Second

// Evaluated implements telemetry.Store. It opens the file when it has changed.
func (s *Store) Evaluated(ctx context.Context, workspace string) (*telemetry.Evaluated, error) {
	k := &s.known
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	file, err := os.Stat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return &telemetry.Evaluated{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading when items were evaluated last: %w", err)
	}
	if k.is != nil && k.workspace == workspace && k.file.ModTime().Equal(file.ModTime()) && k.file.Size() == file.Size() && k.read.Sub(file.ModTime()) > settled {
		return k.is, nil
	}
	is, sequence := &telemetry.Evaluated{}, uint64(0)
	err = s.read(ctx, workspace, func(root *bolt.Bucket) (err error) {
		if last := root.Bucket(lastEvaluated); last != nil {
			sequence = last.Sequence()
		}
		if k.is != nil && k.workspace == workspace && k.sequence == sequence && os.SameFile(k.file, file) {
			is = k.is
			return nil
		}
		is, err = evaluatedIn(root)
		is.Renew()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading when items were evaluated last: %w", err)
	}
	k.workspace, k.file, k.read, k.sequence, k.is = workspace, file, now, sequence, is
	return is, nil
}
