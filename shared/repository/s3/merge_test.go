package s3_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

func draft(changes ...repository.Change) repository.Draft {
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	return repository.Draft{Changes: changes, Author: by, Committer: by, Message: "change " + changes[0].Path}
}

// TestMerge: the pack that is made holds everything, in the places that are told, also
// for who knows no other. Package pack's own tests look at each object.
func TestMerge(t *testing.T) {
	objects, b := open(t)
	h := begin(t, objects)
	packs := h.grow(150)
	var told []int
	merged, err := objects.Merge(ctx, packs, 0, func(n int) { told = append(told, n) })
	if err != nil || !slices.Equal(told, []int{100}) {
		t.Fatalf("%v, told %v", err, told)
	}
	swept, err := objects.SweepAll(ctx, s3.Keep{Packs: []string{merged.Name}})
	if err != nil || swept.Packs != 150 {
		t.Fatalf("%+v, %v", swept, err)
	}
	commits := must.Get(h.ledger.Since(ctx, h.at.Head, 0))(t)
	places := maps.Collect(merged.Places())
	if places[object.ParseID(h.at.Head.Commit)].Offset > places[object.ParseID(commits[0].SHA)].Offset {
		t.Error("the newest objects, which are asked for most, do not come first")
	}
	cold := s3.New(b, prefix, listed([]string{merged.Name}))
	reader := cold.Reader(ctx)
	for _, c := range commits {
		if _, err := object.ReadCommit(reader.Read, object.ParseID(c.SHA)); err != nil {
			t.Error(err)
		}
		touch := c.Touched[0]
		place := places[object.ParseID(touch.Blob)]
		touch.Pack, touch.Offset, touch.Length = merged.Name, place.Offset, place.Length
		if text, err := s3.New(b, prefix, never(t)).Blob(ctx, touch); err != nil || object.Hash(object.Blob, text).String() != touch.Blob {
			t.Errorf("%+v: %v", touch, err)
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

func TestWhatCannotBeMerged(t *testing.T) {
	objects, _ := open(t)
	packs := begin(t, objects).grow(2)
	for _, missing := range [][]string{{strings.Repeat("a", 40)}, append(packs, strings.Repeat("a", 40)), nil} {
		if _, err := objects.Merge(ctx, missing, 0, nil); err == nil {
			t.Errorf("%d packs were merged, one of which is not there", len(missing))
		}
	}
}

func listed(names []string) s3.Packs {
	return func(context.Context) ([]string, error) { return names, nil }
}

// TestSweep: what is listed as left over is what nobody keeps and the store has
// had for a day, by its own clock; what is swept of that is what nobody keeps
// when it is swept.
func TestSweep(t *testing.T) {
	for _, ahead := range []time.Duration{0, 87_600 * time.Hour, -87_600 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) { testSweep(t, ahead) })
	}
}

func testSweep(t *testing.T, ahead time.Duration) {
	clock := must.Get(faultproxy.StartClock(standin.S3(t), ahead))(t)
	defer clock.Close()
	direct := standin.S3Client(t)
	b := bucket.New(sdk.New(direct.Options(), func(o *sdk.Options) {
		o.BaseEndpoint, o.DisableClockSkewCorrection = aws.String(clock.URL()), true
	}), standin.Bucket(t, direct))
	objects := s3.New(b, prefix, nil)
	must.Do(t, objects.Init(ctx))
	h := begin(t, objects)
	packs := h.grow(6)
	snapshots := []string{strings.Repeat("0a", 32), strings.Repeat("0b", 32)}
	for _, name := range snapshots {
		must.Do(t, objects.PutSnapshot(ctx, name, []byte(name)))
	}
	keep := s3.Keep{Packs: packs[:2], Snapshots: snapshots[:1]}
	for _, bad := range []s3.Keep{{Packs: []string{"pack-" + packs[0]}}, {Snapshots: []string{"x"}}} {
		if _, err := objects.Leftovers(ctx, bad); err == nil {
			t.Errorf("%v was to be kept", bad)
		}
		if _, err := objects.Sweep(ctx, s3.Leftovers{}, bad); err == nil {
			t.Errorf("%v was to be kept", bad)
		}
	}
	clock.Pass(s3.Day - time.Minute)
	if left, err := objects.Leftovers(ctx, keep); err != nil || len(left) > 0 {
		t.Errorf("what is young is left over: %+v, %v", left, err)
	}
	clock.Pass(time.Hour)
	left, err := objects.Leftovers(ctx, keep)
	if err != nil || len(left) == 0 {
		t.Fatal(left, err)
	}
	young := h.grow(1)[6]
	keep.Packs = append(keep.Packs, packs[2]) // named meanwhile
	for n := range 2 {
		if swept := must.Get(objects.Sweep(ctx, left, keep))(t); n == 0 && (swept.Packs != 3 || swept.Snapshots != 1 || swept.Bytes == 0) {
			t.Errorf("%+v", swept)
		}
		names, err := objects.List(ctx)
		if want := slices.Sorted(slices.Values(append(packs[:3:3], young))); err != nil || !slices.Equal(names, want) {
			t.Errorf("left are %v, %v, want %v", names, err, want)
		}
	}
	if _, err := objects.Snapshot(ctx, snapshots[0]); err != nil {
		t.Error(err)
	}
	if _, err := b.Stat(ctx, prefix+"/HEAD"); err != nil {
		t.Error(err)
	}
}

// TestNamesChangeWithTheFence: what is stored after the fence was raised has
// another name than what was stored before, whatever is in it; and the same
// name as long as it stands.
func TestNamesChangeWithTheFence(t *testing.T) {
	objects, _ := open(t)
	packs := begin(t, objects).grow(3)
	seen := map[string]bool{}
	for fence := range int64(3) {
		for n := range 2 {
			merged := must.Get(objects.Merge(ctx, packs, fence, nil))(t)
			if seen[merged.Name] != (n == 1) || !object.IsID(merged.Name) || merged.Index.Len() != 12 {
				t.Errorf("fence %d: the pack is stored as %s, of %d objects", fence, merged.Name, merged.Index.Len())
			}
			seen[merged.Name] = true
		}
	}
	for name := range seen {
		packs = append(packs, name)
	}
	if merged, err := objects.Merge(ctx, packs, 9, nil); err != nil || merged.Index.Len() != 12 {
		t.Errorf("beside what was made of them: %v, %v", merged, err)
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
	commits := must.Get(h.ledger.Since(ctx, h.at.Head, 0))(t)
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
				if text, err := o.Blob(ctx, touch); err != nil || object.Hash(object.Blob, text).String() != touch.Blob {
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
		merged := must.Get(objects.Merge(ctx, names, 0, nil))(t)
		written := fmt.Sprint("written meanwhile ", merged.Name)
		other.commit(change("configs/a.json", written))
		last := must.Get(other.ledger.Since(ctx, other.at.Head, other.at.Head.Sequence-1))(t)
		lock.Lock()
		live = []string{merged.Name, last[0].Pack}
		keep := s3.Keep{Packs: live}
		lock.Unlock()
		sweeper := s3.New(b, prefix, nil)
		must.Get(sweeper.SweepAll(ctx, keep))(t)
	}
	close(stop)
	readers.Wait()
}
