package disk_test

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/repositorytest"
)

// filled is a store with documents, imported as one commit.
func filled(b *testing.B, documents int) (*store, *repository.Snapshot) {
	b.Helper()
	s := &store{dir: b.TempDir(), ledger: repositorytest.NewMemory()}
	var err error
	if s.objects, err = disk.Init(s.dir); err != nil {
		b.Fatal(err)
	}
	s.repo = repository.New(s.ledger, s.objects)
	imported := draft("svc.json", "{}\n")
	for i := range documents {
		path := fmt.Sprintf("feature-flags/some-team.some-flag-%05d.json", i)
		imported.Changes = append(imported.Changes, repository.Change{Path: path, Content: []byte(document(i, 0)[:1500])})
	}
	base, err := s.repo.Snapshot(ctx, repository.Head{})
	if err != nil {
		b.Fatal(err)
	}
	landed, err := s.repo.Commit(ctx, base, imported)
	if err != nil {
		b.Fatal(err)
	}
	return s, landed
}

var sizes = []int{100, 1000, 10_000}

func BenchmarkCommit(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n, " documents"), func(b *testing.B) {
			s, at := filled(b, n)
			i := 0
			for b.Loop() {
				i++
				path := fmt.Sprintf("feature-flags/some-team.some-flag-%05d.json", i%n)
				next, err := s.repo.Commit(ctx, at, draft(path, document(i, i)[:1500]))
				if err != nil {
					b.Fatal(err)
				}
				if at = next; i%100 == 0 {
					if _, err := s.objects.Compact(ctx); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkColdRead(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n, " documents"), func(b *testing.B) {
			s, at := filled(b, n)
			for b.Loop() {
				if _, err := repository.New(s.ledger, s.objects).Snapshot(ctx, at.Head); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
