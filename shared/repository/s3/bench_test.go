package s3_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/standin"
)

// BenchmarkMerge merges the packs of many commits to a workspace of 500
// documents, and says how much memory that took at most.
func BenchmarkMerge(b *testing.B) {
	const documents, commits = 500, 3000
	client := standin.S3Client(b)
	objects := s3.New(bucket.New(client, standin.Bucket(b, client)), prefix, nil)
	ledger := repositorytest.NewMemory()
	repo := repository.New(ledger, objects)
	at, err := repo.Snapshot(ctx, repository.Head{})
	if err != nil {
		b.Fatal(err)
	}
	path := func(i int) string { return fmt.Sprintf("feature-flags/some-team.some-flag-%05d.json", i%documents) }
	text := func(i int) string {
		return fmt.Sprintf("{\n  \"n\": %d\n}\n%s", i, strings.Repeat("  \"some\": \"line\",\n", 60))
	}
	var all []repository.Change
	for i := range documents {
		all = append(all, change(path(i), text(-i)))
	}
	if at, err = repo.Commit(ctx, at, draft(all...)); err != nil {
		b.Fatal(err)
	}
	packs := []string{}
	for i := range commits {
		if at, err = repo.Commit(ctx, at, draft(change(path(i*7), text(i)))); err != nil {
			b.Fatal(err)
		}
	}
	rows, err := ledger.Since(ctx, at.Head, 0)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range rows {
		packs = append(packs, c.Pack)
	}
	peak, stop := watchMemory()
	defer stop()
	for b.Loop() {
		merged, err := objects.Merge(ctx, packs, 0, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(merged.Size)/1e6, "MB-written")
		b.ReportMetric(float64(len(packs)), "packs")
	}
	b.ReportMetric(float64(peak.Load())/1e6, "MB-heap")
}

func watchMemory() (peak *atomic.Uint64, stop func()) {
	peak, done := &atomic.Uint64{}, make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapInuse))
			}
		}
	}()
	return peak, func() { close(done) }
}
