// Package answers keeps what requests under an Idempotency-Key were answered, in a
// database (see package database), for those who keep a workspace in files.
//
//	answers    by id       a repository.Answered, as JSON
//	until      by second (8) and id, so that what is over is found
//
// A record is written before what it tells of: who reads it asks whether that happened.
package answers

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/repository"
)

// Store is records in a file.
type Store struct{ File *database.File }

var (
	byID   = []byte("answers")
	byTime = []byte("until")
)

// Put writes records, each in the place of what its id had before, and removes some that
// are over.
func (s Store) Put(ctx context.Context, now time.Time, records ...repository.Answered) error {
	return s.File.Update(ctx, func(tx *bolt.Tx) error {
		all, err := tx.CreateBucketIfNotExists(byID)
		if err != nil {
			return err
		}
		order, err := tx.CreateBucketIfNotExists(byTime)
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := put(all, order, r); err != nil {
				return err
			}
		}
		return expire(all, order, now)
	})
}

func put(all, order *bolt.Bucket, r repository.Answered) error {
	if err := remove(all, order, []byte(r.ID)); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := order.Put(timeKey(r.Until, []byte(r.ID)), nil); err != nil {
		return err
	}
	return all.Put([]byte(r.ID), text)
}

func remove(all, order *bolt.Bucket, id []byte) error {
	text := all.Get(id)
	if text == nil {
		return nil
	}
	was, err := read(text)
	if err != nil {
		return err
	}
	if err := order.Delete(timeKey(was.Until, id)); err != nil {
		return err
	}
	return all.Delete(id)
}

// maxExpired is how many records one that is put takes along.
const maxExpired = 100

func expire(all, order *bolt.Bucket, now time.Time) error {
	var over [][]byte
	c := order.Cursor()
	for key, _ := c.First(); key != nil && len(over) < maxExpired; key, _ = c.Next() {
		if int64(binary.BigEndian.Uint64(key)) > now.Unix() {
			break
		}
		over = append(over, append([]byte{}, key[8:]...))
	}
	for _, id := range over {
		if err := remove(all, order, id); err != nil {
			return err
		}
	}
	return nil
}

func timeKey(until int64, id []byte) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(until)), id...)
}

func read(text []byte) (r repository.Answered, err error) {
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("what is remembered of a request is damaged: %w", err)
	}
	return r, nil
}

// Find is the record of an id; nil for none.
func (s Store) Find(ctx context.Context, id string) (found *repository.Answered, err error) {
	err = s.File.View(ctx, func(tx *bolt.Tx) error {
		all := tx.Bucket(byID)
		if all == nil {
			return nil
		}
		text := all.Get([]byte(id))
		if text == nil {
			return nil
		}
		r, err := read(text)
		found = &r
		return err
	})
	return found, err
}

// All are the records, but for those that are over.
func (s Store) All(ctx context.Context, now time.Time) (records []repository.Answered, err error) {
	err = s.File.View(ctx, func(tx *bolt.Tx) error {
		all := tx.Bucket(byID)
		if all == nil {
			return nil
		}
		return all.ForEach(func(_, text []byte) error {
			r, err := read(text)
			if err == nil && r.Until > now.Unix() {
				records = append(records, r)
			}
			return err
		})
	})
	return records, err
}
