package s3_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/repository/s3"
)

func draft(changes ...repository.Change) repository.Draft {
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	return repository.Draft{Changes: changes, Author: by, Committer: by, Message: "change " + changes[0].Path}
}

// later lets two days pass.
func later(o *s3.Objects) { o.SetClock(func() time.Time { return time.Now().Add(2 * s3.Day) }) }

func TestMerge(t *testing.T) {
	objects, b := open(t)
	h := begin(t, objects)
	packs := h.grow(150)
	var told []int
	merged, err := objects.Merge(ctx, packs, func(n int) { told = append(told, n) })
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(told, []int{100}) || len(merged.From) != 150 {
		t.Errorf("told %v, of %d packs", told, len(merged.From))
	}
	before := map[string]bool{}
	for _, name := range packs {
		raw, _, err := b.Get(ctx, prefix+"/objects/pack/pack-"+name+".idx")
		if err != nil {
			t.Fatal(err)
		}
		x, err := pack.ParseIndex(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			before[x.ID(i).String()] = true
		}
	}
	places := maps.Collect(merged.Places())
	if len(places) != len(before) || merged.Objects() != len(before) {
		t.Errorf("%d objects of %d came through", len(places), len(before))
	}
	first, err := h.ledger.Since(ctx, h.at.Head, 0)
	if err != nil {
		t.Fatal(err)
	}
	if places[h.at.Head.Commit].Offset > places[first[0].SHA].Offset {
		t.Error("the newest objects, which are asked for most, do not come first")
	}
	// Without any of the old packs, and without a memory of them.
	later(objects)
	swept, err := objects.Sweep(ctx, s3.Keep{Packs: []string{merged.Name}}, s3.Day, false)
	if err != nil || swept.Packs != 150 {
		t.Fatalf("%+v, %v", swept, err)
	}
	cold := s3.New(b, prefix, func(context.Context) ([]string, error) { return []string{merged.Name}, nil })
	reader := cold.Reader(ctx)
	for id := range before {
		kind, text, err := reader.Read(id)
		if err != nil || object.ID(kind, text) != id {
			t.Fatalf("%s: %v", id, err)
		}
		if place, ok := places[id]; !ok {
			t.Errorf("no place is told of %s", id)
		} else if kind == object.Blob {
			touch := repository.Touch{Blob: id, Pack: merged.Name, Offset: place.Offset, Length: place.Length}
			if got, err := s3.New(b, prefix, never(t)).Blob(ctx, touch); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%+v: %v", touch, err)
			}
		}
	}
	tree, err := cold.Tree(ctx, h.at.Head)
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range texts(h.at) {
		if string(tree.Files[path]) != text {
			t.Errorf("%s is %q, want %q", path, tree.Files[path], text)
		}
	}
}

// never is a ledger that must not be asked.
func never(t *testing.T) s3.Packs {
	return func(context.Context) ([]string, error) {
		t.Error("the ledger was asked for the packs")
		return nil, errors.New("never")
	}
}

// TestMergeTwice: the same packs make the same pack, however often.
func TestMergeTwice(t *testing.T) {
	objects, _ := open(t)
	packs := begin(t, objects).grow(5)
	first, err := objects.Merge(ctx, packs, nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := objects.Merge(ctx, packs, nil)
	if err != nil || second.Name != first.Name {
		t.Errorf("%v, %v", second, err)
	}
	third, err := objects.Merge(ctx, append(packs, first.Name), nil)
	if err != nil || third.Objects() != first.Objects() {
		t.Errorf("%v, %v", third, err)
	}
	for _, missing := range [][]string{{strings.Repeat("a", 40)}, append(packs, strings.Repeat("a", 40)), nil} {
		if _, err := objects.Merge(ctx, missing, nil); err == nil {
			t.Errorf("%d packs were merged, one of which is not there", len(missing))
		}
	}
}

// TestMergeRefusesDamage: a damaged pack is not merged.
func TestMergeRefusesDamage(t *testing.T) {
	objects, b := open(t)
	packs := begin(t, objects).grow(4)
	key := prefix + "/objects/pack/pack-" + packs[1] + ".pack"
	content, _, err := b.Get(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-25] ^= 1
	if _, err := b.Put(ctx, key, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Merge(ctx, packs, nil); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("a damaged pack was merged: %v", err)
	}
}

// TestSmall merges what is small again and again: few packs are left, and an
// object is not copied often.
func TestSmall(t *testing.T) {
	objects, _ := open(t)
	h := begin(t, objects)
	live, copied, all := []string{}, 0, 0
	for range 12 {
		packs := h.grow(10)
		live = append(live, packs[all:]...)
		all = len(packs)
		small, err := objects.Small(ctx, live)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := objects.Merge(ctx, small, nil)
		if err != nil {
			t.Fatal(err)
		}
		copied += merged.Objects()
		live = append(slices.DeleteFunc(live, func(name string) bool { return slices.Contains(small, name) }), merged.Name)
	}
	if len(live) > 8 || copied > 12*10*4*6 {
		t.Errorf("%d packs are left, %d objects were copied", len(live), copied)
	}
	if small, err := objects.Small(ctx, live[:1]); err != nil || small != nil {
		t.Errorf("one pack alone is to be merged: %q, %v", small, err)
	}
	cold, err := repository.New(h.ledger, s3.New(bucketOf(objects), prefix, listed(live))).Snapshot(ctx, h.at.Head)
	if err != nil || !maps.Equal(texts(cold), texts(h.at)) {
		t.Errorf("after twelve merges: %v", err)
	}
}

func bucketOf(o *s3.Objects) *bucket.Bucket { return o.Bucket() }

func listed(names []string) s3.Packs {
	return func(context.Context) ([]string, error) { return names, nil }
}

func TestSweep(t *testing.T) {
	objects, b := open(t)
	packs := begin(t, objects).grow(6)
	snapshots := []string{strings.Repeat("0a", 32), strings.Repeat("0b", 32)}
	for _, name := range snapshots {
		if err := objects.PutSnapshot(ctx, name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	keep := s3.Keep{Packs: packs[:2], Snapshots: snapshots[:1]}
	if _, err := objects.Sweep(ctx, keep, time.Hour, false); err == nil {
		t.Error("a sweep of an hour was allowed")
	}
	for _, bad := range []s3.Keep{{Packs: []string{"pack-" + packs[0]}}, {Snapshots: []string{"x"}}} {
		if _, err := objects.Sweep(ctx, bad, s3.Day, false); err == nil {
			t.Errorf("%v was to be kept", bad)
		}
	}
	if swept, err := objects.Sweep(ctx, keep, s3.Day, false); err != nil || swept != (s3.Swept{}) {
		t.Errorf("what is young was swept: %+v, %v", swept, err)
	}
	later(objects)
	for _, dry := range []bool{true, false, false} {
		swept, err := objects.Sweep(ctx, keep, s3.Day, dry)
		left, listErr := objects.List(ctx)
		if err != nil || listErr != nil {
			t.Fatal(err, listErr)
		}
		t.Log(dry, swept, len(left))
		if dry && (swept.Packs != 4 || swept.Snapshots != 1 || swept.Bytes == 0 || len(left) != 6) {
			t.Errorf("dry: %+v, %d are left", swept, len(left))
		}
		if !dry && len(left) != 2 {
			t.Errorf("%d are left", len(left))
		}
	}
	if _, err := objects.Snapshot(ctx, snapshots[0]); err != nil {
		t.Error(err)
	}
	if _, err := b.Stat(ctx, prefix+"/HEAD"); err != nil {
		t.Error(err)
	}
}

// TestStoredAgainIsYoung: an orphan that is written again, just before it
// would be swept, is safe.
func TestStoredAgainIsYoung(t *testing.T) {
	objects, b := open(t)
	text := []byte("text")
	id := object.ID(object.Blob, text)
	p, err := pack.Encode([]pack.Object{{ID: id, Kind: object.Blob, Content: text}})
	if err != nil {
		t.Fatal(err)
	}
	modified := func() time.Time {
		if err := objects.PutPack(ctx, p.Name, p.Bytes, p.Index); err != nil {
			t.Fatal(err)
		}
		info, err := b.Stat(ctx, prefix+"/objects/pack/pack-"+p.Name+".pack")
		if err != nil {
			t.Fatal(err)
		}
		return info.Modified
	}
	first := modified()
	time.Sleep(1100 * time.Millisecond) // S3 tells seconds
	if again := modified(); !again.Equal(first) {
		t.Error("a young pack was written again")
	}
	later(objects)
	if again := modified(); !again.After(first) {
		t.Error("an old pack was left as it is")
	}
}

// TestMergeBesideReadersAndWriters compacts while others read and write, with
// a ledger that learns of the merge late.
func TestMergeBesideReadersAndWriters(t *testing.T) {
	objects, b := open(t)
	h := begin(t, objects)
	packs := h.grow(40)
	var lock sync.Mutex
	live := slices.Clone(packs)
	tells := func(context.Context) ([]string, error) {
		lock.Lock()
		defer lock.Unlock()
		return slices.Clone(live), nil
	}
	commits, err := h.ledger.Since(ctx, h.at.Head, 0)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for i := range 3 {
		readers.Go(func() {
			o := s3.New(b, prefix, tells)
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				touch := commits[n%len(commits)].Touched[0]
				if n%2 == 0 {
					touch = repository.Touch{Blob: touch.Blob}
				}
				if text, err := o.Blob(ctx, touch); err != nil || object.ID(object.Blob, text) != touch.Blob {
					t.Errorf("%+v: %v", touch, err)
				}
			}
		})
	}
	other := begin(t, s3.New(b, prefix, tells))
	for range 4 {
		lock.Lock()
		names := slices.Clone(live)
		lock.Unlock()
		merged, err := objects.Merge(ctx, names, nil)
		if err != nil {
			t.Fatal(err)
		}
		written := fmt.Sprint("written meanwhile ", merged.Name)
		other.commit(change("configs/a.json", written))
		last, err := other.ledger.Since(ctx, other.at.Head, other.at.Head.Sequence-1)
		if err != nil {
			t.Fatal(err)
		}
		lock.Lock()
		live = []string{merged.Name, last[0].Pack}
		keep := s3.Keep{Packs: live}
		lock.Unlock()
		sweeper := s3.New(b, prefix, nil)
		later(sweeper)
		if _, err := sweeper.Sweep(ctx, keep, s3.Day, false); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
}
