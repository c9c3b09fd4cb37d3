package disk_test

import (
	"fmt"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
)

// filled is a store with documents, imported as one commit.
func filled(b *testing.B, documents int) (*store, *repository.Snapshot) {
	b.Helper()
	s := &store{dir: b.TempDir(), ledger: repositorytest.NewMemory()}
	s.objects = must.Get(disk.Init(s.dir))(b)
	s.repo = repository.New(s.ledger, s.objects)
	imported := draft("svc.json", "{}\n")
	for i := range documents {
		path := fmt.Sprintf("feature-flags/some-team.some-flag-%05d.json", i)
		imported.Changes = append(imported.Changes, repository.Change{Path: path, Content: []byte(document(i, 0)[:1500])})
	}
	base := must.Get(s.repo.Snapshot(ctx, repository.Head{}))(b)
	landed := must.Get(s.repo.Commit(ctx, base, imported))(b)
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
				next := must.Get(s.repo.Commit(ctx, at, draft(path, document(i, i)[:1500])))(b)
				if at = next; i%100 == 0 {
					must.Get(s.objects.Compact(ctx))(b)
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
				must.Get(repository.New(s.ledger, s.objects).Snapshot(ctx, at.Head))(b)
			}
		})
	}
}
