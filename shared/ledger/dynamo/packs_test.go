package dynamo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

func packNamed(n int) string { return fmt.Sprintf("%040x", 0xdef0000+n) }

// storedCommit is a commit that says where it lies.
func storedCommit(head repository.Head, n int) repository.Commit {
	c := commitOn(head, n)
	c.Pack = packNamed(n)
	c.Touched[0].Pack, c.Touched[0].Offset, c.Touched[0].Length = c.Pack, 12, int64(n)
	return c
}

// advanceStored lands so many stored commits, and returns the head then and the
// packs that they lie in.
func advanceStored(t *testing.T, ledger *dynamo.Ledger, commits int) (head repository.Head, packs []string) {
	t.Helper()
	head, err := ledger.Head(background)
	must.Do(t, err)
	for n := range commits {
		c := storedCommit(head, n)
		head, err = ledger.Advance(background, head, c)
		must.Do(t, err)
		packs = append(packs, c.Pack)
	}
	return head, packs
}

// TestPacks: the list of packs follows commits and compactions, and an old
// document is found where it was moved to.
func TestPacks(t *testing.T) {
	sent := &requests{}
	table := newTable(t, sent.count)
	ledger := table.Ledger(newWorkspace(t, table))
	head, err := ledger.Head(background)
	must.Do(t, err)
	var commits []repository.Commit
	advance := func(n int) {
		t.Helper()
		c := storedCommit(head, n)
		if n%5 == 0 { // deletions have no place
			c.Touched[0] = repository.Touch{Path: c.Touched[0].Path}
		}
		commits = append(commits, c)
		head, err = ledger.Advance(background, head, c)
		must.Do(t, err)
	}
	wantPacks := func(want ...string) {
		t.Helper()
		slices.Sort(want)
		if packs, err := ledger.Packs(background); err != nil || !slices.Equal(packs, want) {
			t.Errorf("packs %v, %v, want %v", packs, err, want)
		}
	}
	wantPacks()
	var names []string
	for n := range 12 {
		advance(n)
		names = append(names, packNamed(n))
	}
	wantPacks(names...)

	// The first eight, in two steps; the second merges the first's again.
	merged := func(segment string, retired []string, until int) dynamo.Compaction {
		c := dynamo.Compaction{Retired: retired, Pack: segment, Places: map[object.ID]pack.Place{}}
		for n, commit := range commits[:until] {
			// What was a difference may be whole the next time.
			c.Places[object.ParseID(commit.Touched[0].Blob)] = pack.Place{Offset: int64(1000 + n), Length: 7, Base: int64(n % len(retired) * 10)}
		}
		return c
	}
	one, two, three := strings.Repeat("1", 40), strings.Repeat("2", 40), strings.Repeat("3", 40)
	for range 2 { // asked again, the same
		must.Do(t, ledger.Compacted(background, merged(one, names[:4], 4)))
		wantPacks(append([]string{one}, names[4:]...)...)
	}
	// Not in a row: the tenth stays.
	gap := slices.Concat(names[4:9], names[10:12])
	must.Do(t, ledger.Compacted(background, merged(two, gap, 9)))
	wantPacks(one, two, names[9])
	must.Do(t, ledger.Compacted(background, merged(three, []string{one, two, names[9]}, 12)))
	wantPacks(three)
	advance(12)
	wantPacks(three, packNamed(12))
	sent.take()
	_, err = ledger.Packs(background)
	must.Do(t, err)
	if asked := sent.take(); len(asked) != 3 {
		t.Errorf("the packs took %v", asked)
	}
	for n, c := range commits {
		sha, touch, err := ledger.At(background, head, "configs/a.json", c.SHA)
		if n%5 == 0 {
			continue
		}
		if want := (repository.Touch{Path: "configs/a.json", Blob: c.Touched[0].Blob, Pack: three, Offset: int64(1000 + n), Length: 7, Base: int64(n % 3 * 10)}); n < 12 {
			touch.Created, touch.Text = false, nil
			if err != nil || sha != c.SHA || fmt.Sprint(touch) != fmt.Sprint(want) {
				t.Errorf("at %d: %+v, %v, want %+v", n, touch, err, want)
			}
		}
	}
}

// TestMorePacksThanARowLists are merged by and by, without an error, and none of them is
// forgotten meanwhile.
func TestMorePacksThanARowLists(t *testing.T) {
	dynamo.ListAtMost(t, 60)
	table := newTable(t)
	ledger := table.Ledger(newWorkspace(t, table))
	head, left := advanceStored(t, ledger, 100)
	var merges []string
	for n := range 5 {
		// The newest ones, so that those that are listed first stay as many as they can.
		old := left[len(left)-15:]
		left = left[:len(left)-15]
		merges = append(merges, fmt.Sprintf("%040x", 0xabc000+n))
		must.Do(t, ledger.Compacted(background, dynamo.Compaction{Retired: old, Pack: merges[n], Fence: head.Fence, Places: map[object.ID]pack.Place{}}))
		want := slices.Sorted(slices.Values(slices.Concat(left, merges)))
		if packs, err := ledger.Packs(background); err != nil || !slices.Equal(packs, want) {
			t.Fatalf("after %d merges there are %d packs, %v; want %d", n+1, len(packs), err, len(want))
		}
	}
}
