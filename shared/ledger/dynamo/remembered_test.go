package dynamo_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
)

// stored hands out snapshots as a bucket does: each time in memory of their own.
type stored struct{ *snapshotStore }

func (s stored) Snapshot(ctx context.Context, name string) ([]byte, error) {
	content, err := s.snapshotStore.Snapshot(ctx, name)
	return bytes.Clone(content), err
}

// TestSnapshotsThatShareNothingAreNotKept: an instance beside others that write
// reads every other head from its base. A workspace of 3 MB must not take 30.
func TestSnapshotsThatShareNothingAreNotKept(t *testing.T) {
	table := newTable(t)
	dir, _ := gitDir(t)
	onDisk, err := disk.Open(dir)
	must.Do(t, err)
	objects := stored{keeper(onDisk)}
	ledger := eager{table.Ledger(newWorkspace(t, table))}
	writer, reader := repository.New(ledger, objects), repository.New(ledger, objects)
	random := rand.New(rand.NewPCG(1, 2))
	document := func(i int) repository.Change {
		text := make([]byte, 600<<10)
		for j := range text {
			text[j] = "0123456789abcdef"[random.IntN(16)]
		}
		return repository.Change{Path: fmt.Sprintf("configs/c%d.json", i%5), Content: fmt.Appendf(nil, `{"key": "c%d", "value": %q}`, i%5, text)}
	}
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Unix(1_700_000_000, 0)}
	head, err := ledger.Head(background)
	must.Do(t, err)
	at, err := writer.Snapshot(background, head)
	must.Do(t, err)
	var heads []repository.Head
	for i := range 25 {
		at, err = writer.Commit(background, at, repository.Draft{Author: by, Committer: by, Message: "m", Changes: []repository.Change{document(i)}})
		must.Do(t, err)
		head, err := ledger.Head(background)
		must.Do(t, err)
		heads = append(heads, head)
	}
	before := memory.InUse()
	for i := 6; i < len(heads); i += 2 {
		_, err := reader.Snapshot(background, heads[i])
		must.Do(t, err)
	}
	if held := memory.InUse() - before; held > 10<<20 {
		t.Errorf("%d MB are held, and %d MB are told", held>>20, reader.Bytes()>>20)
	}
	runtime.KeepAlive(reader)
	runtime.KeepAlive(writer)
	runtime.KeepAlive(objects)
}
