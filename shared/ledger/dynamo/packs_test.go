package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/repository/s3"
	"svc.example/svc/shared/testing/memory"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
	"svc.example/svc/shared/testing/standin"
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
	head = must.Get(ledger.Head(background))(t)
	for n := range commits {
		c := storedCommit(head, n)
		head = must.Get(ledger.Advance(background, head, c))(t)
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
	head := must.Get(ledger.Head(background))(t)
	var commits []repository.Commit
	advance := func(n int) {
		t.Helper()
		c := storedCommit(head, n)
		if n%5 == 0 { // deletions have no place
			c.Touched[0] = repository.Touch{Path: c.Touched[0].Path}
		}
		commits = append(commits, c)
		head = must.Get(ledger.Advance(background, head, c))(t)
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
	must.Get(ledger.Packs(background))(t)
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

// TestACompactionWhoseRowsWereReplaced: one that was held up while the history
// got other rows, whose list of packs knows nothing of its own pack, leaves those
// rows alone. What they name is named still.
func TestACompactionWhoseRowsWereReplaced(t *testing.T) {
	_, wantHead, objects := origin(t, history(3))
	reader := objects.Reader(background)
	defer reader.Close()
	for name, listed := range map[string]bool{"the new pack was swept": false, "the new pack is listed": true} {
		t.Run(name, func(t *testing.T) {
			table, tableName := namedTable(t)
			ws := newWorkspace(t, table)
			ledger := table.Ledger(ws)
			_, names := advanceStored(t, ledger, 3)
			merged := strings.Repeat("1", 40)
			f := &fates{}
			slow := dynamo.New(standin.DynamoDBClient(t, f.inject), tableName).Ledger(ws)
			f.set("TransactWriteItems", fate{then: func() {
				packs := names[:2]
				if listed {
					packs = append(slices.Clone(packs), merged)
				}
				imported := must.Get(ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Packs: packs}))(t)
				// As one that Reindex takes over from the rows that it replaces.
				c := storedCommit(imported, 2)
				must.Get(ledger.Advance(background, imported, c))(t)
			}})
			err := slow.Compacted(background, dynamo.Compaction{Retired: names, Pack: merged})
			if !errors.Is(err, repository.ErrMoved) {
				t.Errorf("%v", err)
			}
			packs := must.Get(ledger.Packs(background))(t)
			for _, name := range names {
				if !slices.Contains(packs, name) {
					t.Errorf("%s is not among the packs %v", name, packs)
				}
			}
			now := must.Get(ledger.Head(background))(t)
			rows, err := ledger.History(background, now, repository.Page{Limit: 1})
			if err != nil || len(rows) != 1 || rows[0].Pack != names[2] {
				t.Errorf("%+v, %v", rows, err)
			}
		})
	}
}

// eager is a ledger with a snapshot at every commit.
type eager struct{ *dynamo.Ledger }

func (eager) Due(repository.Head, *repository.Commit) bool { return true }

func store(t *testing.T, table *dynamo.Table, ws access.ID, objects repository.Objects, dir string) repositorytest.Store {
	ledger := table.Ledger(ws)
	bump := func() {
		must.Do(t, table.Registry(ws).SetWorkspace(background, func(w *access.Workspace) { w.Name += "." }))
	}
	return repositorytest.Store{Ledger: ledger, Objects: objects, Head: ledger.Head, Bump: bump, GitDir: dir}
}

// mirrored are objects in a bucket that a directory follows, for git to look
// at what lies there.
type mirrored struct {
	*s3.Objects
	bucket      *bucket.Bucket
	prefix, dir string
}

func (m mirrored) PutPack(ctx context.Context, name string, content, index []byte) error {
	if err := m.Objects.PutPack(ctx, name, content, index); err != nil {
		return err
	}
	return m.follow(ctx, name)
}

// merge makes one pack of several, tells the ledger and removes those.
func (m mirrored) merge(ctx context.Context, ledger *dynamo.Ledger, packs []string) (string, error) {
	made, err := m.Objects.Merge(ctx, packs, 0, nil)
	if err != nil {
		return "", err
	}
	if err := ledger.Compacted(ctx, dynamo.Compaction{Retired: packs, Pack: made.Name, Places: maps.Collect(made.Places())}); err != nil {
		return "", err
	}
	for _, name := range packs {
		for _, extension := range []string{".idx", ".pack"} {
			path := "objects/pack/pack-" + name + extension
			if err := errors.Join(m.bucket.Delete(ctx, m.prefix+"/"+path), os.Remove(filepath.Join(m.dir, path))); err != nil {
				return "", err
			}
		}
	}
	return made.Name, m.follow(ctx, made.Name)
}

func (m mirrored) follow(ctx context.Context, name string) error {
	for _, extension := range []string{".pack", ".idx"} {
		path := "objects/pack/pack-" + name + extension
		content, _, err := m.bucket.Get(ctx, m.prefix+"/"+path)
		if err == nil {
			err = os.WriteFile(filepath.Join(m.dir, path), content, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// TestOnAWS is what the functions run on: the table beside a bucket, whose
// packs the ledger names.
func TestOnAWS(t *testing.T) {
	table := newTable(t)
	client := standin.S3Client(t)
	b := bucket.New(client, standin.Bucket(t, client))
	for name, spoil := range map[string]func(*repositorytest.Store){
		"as it is":                     func(*repositorytest.Store) {},
		"with a snapshot every commit": func(s *repositorytest.Store) { s.Ledger, s.Extra = eager{s.Ledger.(*dynamo.Ledger)}, true },
	} {
		t.Run(name, func(t *testing.T) {
			repositorytest.Run(t, func(t *testing.T) repositorytest.Store {
				dir := gitDir(t)
				ws := newWorkspace(t, table)
				prefix := "workspaces/" + string(ws)
				objects := s3.New(b, prefix, table.Ledger(ws).Packs)
				must.Do(t, objects.Init(background))
				m := mirrored{objects, b, prefix, dir}
				s := store(t, table, ws, m, dir)
				s.Merge = func(ctx context.Context, packs []string) (string, error) {
					return m.merge(ctx, table.Ledger(ws), packs)
				}
				spoil(&s)
				return s
			})
		})
	}
}

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
	dir := gitDir(t)
	onDisk := must.Get(disk.Open(dir))(t)
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
	head := must.Get(ledger.Head(background))(t)
	at := must.Get(writer.Snapshot(background, head))(t)
	var heads []repository.Head
	for i := range 25 {
		at = must.Get(writer.Commit(background, at, repository.Draft{Author: by, Committer: by, Message: "m", Changes: []repository.Change{document(i)}}))(t)
		head := must.Get(ledger.Head(background))(t)
		heads = append(heads, head)
	}
	before := memory.InUse()
	for i := 6; i < len(heads); i += 2 {
		must.Get(reader.Snapshot(background, heads[i]))(t)
	}
	if held := memory.InUse() - before; held > 10<<20 {
		t.Errorf("%d MB are held, and %d MB are told", held>>20, reader.Bytes()>>20)
	}
	runtime.KeepAlive(reader)
	runtime.KeepAlive(writer)
	runtime.KeepAlive(objects)
}
