package telemetrytest

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/database"
	"svc.example/svc/shared/table/bolt"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/telemetry/rows"
)

// Store is one in a file, for tests of what uses one. It counts what it records.
type Store struct {
	*rows.Store
	records atomic.Int64
}

// NewStore makes one of the test's own.
func NewStore(t testing.TB) *Store {
	return &Store{Store: rows.New(bolt.New(database.New(filepath.Join(t.TempDir(), "svc.db"))), 0)}
}

// Records is how often Record was called.
func (s *Store) Records() int { return int(s.records.Load()) }

// Record implements telemetry.Store.
func (s *Store) Record(ctx context.Context, workspace string, b telemetry.Batch) (telemetry.Recorded, error) {
	s.records.Add(1)
	return s.Store.Record(ctx, workspace, b)
}
