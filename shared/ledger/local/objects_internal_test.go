package local

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-billy/v5/osfs"

	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// beside is a file system with somebody else at work beside the first rename.
type beside struct {
	billy.Filesystem
	work func()
}

func (b *beside) Rename(from, to string) error {
	if work := b.work; work != nil {
		b.work = nil
		work()
	}
	return b.Filesystem.Rename(from, to)
}

// TestAPackIsStoredOnce: a reader that needs what is only in memory, while the
// ledger stores it, does not store it once more, under another name that nobody
// would release.
func TestAPackIsStoredOnce(t *testing.T) {
	for _, releasing := range []bool{false, true} {
		storesOnce(t, releasing)
	}
}

// storesOnce has a pack released while it is stored, or afterwards.
func storesOnce(t *testing.T, releasing bool) {
	ctx := context.Background()
	dir := t.TempDir()
	if _, err := disk.Init(dir); err != nil {
		t.Fatal(err)
	}
	fs := &beside{Filesystem: osfs.New(dir, osfs.WithBoundOS())}
	opened, err := disk.OpenIn(fs)
	if err != nil {
		t.Fatal(err)
	}
	o := &Objects{Objects: opened, held: map[string]*heldPack{}}
	var names []string
	var ids []object.ID
	for _, text := range []string{"one", "two"} {
		id := object.Hash(object.Blob, []byte(text))
		p, err := pack.Encode([]pack.Object{{ID: id, Kind: object.Blob, Content: []byte(text)}})
		if err == nil {
			err = o.PutPack(ctx, p.Name, p.Bytes, p.Index)
		}
		if err != nil {
			t.Fatal(err)
		}
		names, ids = append(names, p.Name), append(ids, id)
	}
	done := make(chan error, 1)
	fs.work = func() {
		if releasing {
			o.Release(names[0])
		}
		go func() { done <- o.storeHolding(ctx, ids[0]) }()
		select { // it either stores at once, or waits
		case err := <-done:
			done <- err
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := o.store(ctx, names[0]); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !releasing {
		o.Release(names[0])
	}
	o.Release(names[1])
	if left, err := filepath.Glob(filepath.Join(dir, "objects/pack/*.keep")); err != nil || len(left) > 0 {
		t.Errorf("released meanwhile %v: %q is left, %v", releasing, left, err)
	}
}
