package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
)

// history is a repository with side branches and merges, some of which do not
// take a side's version, as fast-import reads it.
func history(commits int) string {
	var b strings.Builder
	now := 1_700_000_000
	mark := 0
	commit := func(branch string, from, merge int, changes string) int {
		mark++
		now += 60
		fmt.Fprintf(&b, "commit refs/heads/%s\nmark :%d\ncommitter Ada <ada@example.com> %d +0100\ndata 8\ncommit\n\n", branch, mark, now)
		if from > 0 {
			fmt.Fprintf(&b, "from :%d\n", from)
		}
		if merge > 0 {
			fmt.Fprintf(&b, "merge :%d\n", merge)
		}
		b.WriteString(changes + "\n")
		return mark
	}
	file := func(path, text string) string {
		return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	main := commit("main", 0, 0, file("svc.json", "{}")+file("README.md", "foreign")+file("configs/a.json", "0"))
	for i := 0; mark < commits; i++ {
		side := commit("side", main, 0, file("configs/a.json", fmt.Sprint("side ", i))+file(fmt.Sprintf("segments/%d.json", i%5), fmt.Sprint("side ", i)))
		main = commit("main", main, 0, file(fmt.Sprintf("feature-flags/%d.json", i%7), fmt.Sprint("main ", i)))
		side = commit("side", side, 0, file("configs/b.json", fmt.Sprint("side ", i)))
		main = commit("main", main, 0, file("configs/a.json", fmt.Sprint("main ", i))+file("README.md", fmt.Sprint(i)))
		take := ""
		if i%2 == 0 {
			take = file("configs/a.json", fmt.Sprint("main ", i)) // not the side's
		}
		if i%3 == 2 {
			take += "D configs/b.json\n"
		}
		main = commit("main", main, side, take)
		main = commit("main", main, 0, file("log-levels/x.json", fmt.Sprint(i)))
	}
	return b.String()
}

// origin is a data directory with a history, whose local ledger knows the
// answers.
func origin(t *testing.T, script string) (*local.Ledger, repository.Head, *disk.Objects) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	must.Do(t, local.Create(dir, access.Workspace{ID: "0123456789abcdef", Name: "shop", Secret: []byte("s")}))
	cmd := realgit.Command(t, filepath.Join(dir, local.RepositoryName), "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ledger := must.Get(local.Open(background, dir, local.Options{}))(t)
	t.Cleanup(func() { ledger.Close() })
	head := must.Get(ledger.Head(background))(t)
	objects := must.Get(disk.Open(filepath.Join(dir, local.RepositoryName)))(t)
	return ledger, head, objects
}

func plain(commits []repository.Commit) []string {
	var all []string
	for _, c := range commits {
		touched := slices.Clone(c.Touched)
		for i := range touched {
			touched[i].Pack, touched[i].Offset, touched[i].Length, touched[i].Text = "", 0, 0, nil
		}
		all = append(all, fmt.Sprintf("%s %s %s %s %v %q %v", c.SHA, c.Parent, c.Tree, c.Author.Name, c.Author.When, c.Message, touched))
	}
	return all
}

// sameAnswers compares with the local ledger, which finds them in git.
func sameAnswers(t *testing.T, got, want repository.Ledger, head, wantHead repository.Head) {
	t.Helper()
	commits := must.Get(want.History(background, wantHead, repository.Page{}))(t)
	mine := must.Get(got.History(background, head, repository.Page{}))(t)
	if !reflect.DeepEqual(plain(mine), plain(commits)) {
		t.Fatalf("the history differs: %d and %d commits", len(mine), len(commits))
	}
	for i, c := range mine {
		if c.Sequence != head.Sequence-int64(i) {
			t.Fatalf("commit %d is at %d", i, c.Sequence)
		}
	}
	paths := map[string]bool{"configs/none.json": true}
	for _, c := range commits {
		for _, touch := range c.Touched {
			paths[touch.Path] = true
		}
	}
	for path := range paths {
		mine := must.Get(got.History(background, head, repository.Page{Path: path}))(t)
		if theirs := must.Get(want.History(background, wantHead, repository.Page{Path: path}))(t); !reflect.DeepEqual(plain(mine), plain(theirs)) {
			t.Errorf("the history of %s differs", path)
		}
		for i, c := range commits {
			if i%3 != 0 {
				continue
			}
			sha, touch, err := got.At(background, head, path, c.SHA[:20])
			wantSHA, wantTouch, wantErr := want.At(background, wantHead, path, c.SHA[:20])
			if sha != wantSHA || touch.Blob != wantTouch.Blob || !errors.Is(err, wantErr) {
				t.Errorf("%s at %s: %s %s %v, want %s %s %v", path, c.SHA, sha, touch.Blob, err, wantSHA, wantTouch.Blob, wantErr)
			}
		}
	}
	last := must.Get(got.LastTouches(background, head))(t)
	wantLast := must.Get(want.LastTouches(background, wantHead))(t)
	if len(last) != len(wantLast) {
		t.Errorf("the last touches of %d files, want %d", len(last), len(wantLast))
	}
	for path, c := range wantLast {
		if last[path].SHA != c.SHA {
			t.Errorf("%s was touched last by %s, want %s", path, last[path].SHA, c.SHA)
		}
	}
}

func TestImport(t *testing.T) {
	oracle, wantHead, objects := origin(t, history(60))
	table := newTable(t)
	ledger := table.Ledger(newWorkspace(t, table))
	store := keeper(objects)
	reader := objects.Reader(background)
	defer reader.Close()
	told := 0
	options := dynamo.ImportOptions{
		Objects: store, Packs: []string{strings.Repeat("a", 40)},
		Progress: func(done, total int) {
			if told++; done != told || total < done {
				t.Errorf("told of %d of %d after %d", done, total, told)
			}
		},
	}
	ended, cancel := context.WithCancel(background)
	cancel()
	if _, err := ledger.Import(ended, reader, wantHead.Commit, options); err == nil {
		t.Error("a cancelled import")
	}
	told = 0
	head := must.Get(ledger.Import(background, reader, wantHead.Commit, options))(t)
	sameAnswers(t, ledger, oracle, head, wantHead)

	// A reader begins with the snapshot alone, and sees what the oracle's sees.
	got := must.Get(repository.New(ledger, store).Snapshot(background, head))(t)
	want := must.Get(repository.New(oracle, objects).Snapshot(background, wantHead))(t)
	for i, f := range want.Files {
		if g := got.Files[i]; g.Path != f.Path || string(g.Text) != string(f.Text) || g.Last.SHA != f.Last.SHA {
			t.Errorf("%s by %s, want %s by %s", g.Path, g.Last.SHA, f.Path, f.Last.SHA)
		}
	}
	if calls := store.take(); !slices.Equal(calls, []string{"Tree", "PutSnapshot", "Snapshot"}) {
		t.Errorf("%v", calls)
	}
	if packs, err := ledger.Packs(background); err != nil || !slices.Equal(packs, options.Packs) {
		t.Errorf("packs %v, %v", packs, err)
	}

	// Once more, in the place of the first: nothing of the old is seen through
	// the new head, and its rows go.
	told = 0
	second := must.Get(ledger.Import(background, reader, wantHead.Commit, options))(t)
	if second.Sequence <= head.Sequence || second.Index == head.Index {
		t.Errorf("%+v after %+v", second, head)
	}
	sameAnswers(t, ledger, oracle, second, wantHead)
	if removed := must.Get(sweep(ledger))(t); removed < 3*61 { // each commit has a row in the log, one of its id, and one of a file at least
		t.Errorf("swept %d rows", removed)
	}
	sameAnswers(t, ledger, oracle, second, wantHead)
	if rows, err := ledger.Since(background, head, 0); !errors.Is(err, repository.ErrMoved) {
		t.Errorf("rows of the old index: %d, %v", len(rows), err)
	}
}

// TestImportLosesTheRace: a write while a history is imported wins.
func TestImportLosesTheRace(t *testing.T) {
	_, wantHead, objects := origin(t, history(12))
	table := newTable(t)
	ledger := table.Ledger(newWorkspace(t, table))
	reader := objects.Reader(background)
	defer reader.Close()
	empty := must.Get(ledger.Head(background))(t)
	written := commitOn(empty, 1)
	_, err := ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: objects, Progress: func(done, _ int) {
		if done == 5 {
			must.Get(ledger.Advance(background, empty, written))(t)
		}
	}})
	if !errors.Is(err, repository.ErrMoved) {
		t.Errorf("the import ended with %v", err)
	}
	head := must.Get(ledger.Head(background))(t)
	rows, err := ledger.Since(background, head, 0)
	if err != nil || len(rows) != 1 || rows[0].SHA != written.SHA {
		t.Errorf("%v, %v", rows, err)
	}
}

// TestReindex makes the rows again from git while somebody writes.
func TestReindex(t *testing.T) {
	oracle, wantHead, objects := origin(t, history(40))
	table := newTable(t)
	ws := newWorkspace(t, table)
	ledger := table.Ledger(ws)
	store := keeper(objects)
	reader := objects.Reader(background)
	defer reader.Close()
	head := must.Get(ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: store, Packs: []string{strings.Repeat("a", 40)}}))(t)
	repo := repository.New(ledger, store)
	var written atomic.Int32
	write := func() {
		now := must.Get(ledger.Head(background))(t)
		base := must.Get(repo.Snapshot(background, now))(t)
		n := written.Add(1)
		by := repository.Signature{Name: "Ada", Email: "a@example.com", When: noon.AddDate(10, 0, int(n))}
		must.Get(repo.Commit(background, base, repository.Draft{Author: by, Committer: by, Message: "m", Changes: []repository.Change{{Path: "configs/w.json", Content: fmt.Appendf(nil, "%d\n", n)}}}))(t)
	}
	write()
	before := must.Get(ledger.Head(background))(t)
	after := must.Get(ledger.Reindex(background, reader, dynamo.ImportOptions{Objects: store, Progress: func(done, _ int) {
		if done%10 == 0 {
			write()
			must.Do(t, table.Registry(ws).SetWorkspace(background, func(w *access.Workspace) { w.Name += "." }))
		}
	}}))(t)
	if after.Index == before.Index || after.Sequence != head.Sequence+int64(written.Load()) {
		t.Errorf("%+v after %+v and %d writes", after, before, written.Load())
	}
	if now, err := ledger.Head(background); err != nil || now != after {
		t.Errorf("the head is %+v, %v, want %+v", now, err, after)
	}
	write()
	// The writer's repository followed from the old rows to the new ones.
	now := must.Get(ledger.Head(background))(t)
	cold := must.Get(repository.New(ledger, store).Snapshot(background, now))(t)
	if f, ok := cold.File("configs/w.json"); !ok || string(f.Text) != fmt.Sprintln(written.Load()) {
		t.Errorf("%q", f.Text)
	}
	rows := must.Get(ledger.History(background, now, repository.Page{}))(t)
	if want := int(now.Sequence); len(rows) != want {
		t.Errorf("%d commits, want %d", len(rows), want)
	}
	old := now
	old.Commit, old.Sequence = head.Commit, head.Sequence
	sameAnswers(t, ledger, oracle, old, wantHead)
	if packs, err := ledger.Packs(background); err != nil || len(packs) < 1+int(written.Load())/2 {
		t.Errorf("packs %v, %v", packs, err)
	}
}

// TestBaseIsLost: everything is read from git and from all rows, then.
func TestBaseIsLost(t *testing.T) {
	oracle, wantHead, objects := origin(t, history(30))
	table := newTable(t)
	ledger := table.Ledger(newWorkspace(t, table))
	store := keeper(objects)
	reader := objects.Reader(background)
	defer reader.Close()
	head := must.Get(ledger.Import(background, reader, wantHead.Commit, dynamo.ImportOptions{Objects: store}))(t)
	want := must.Get(repository.New(oracle, objects).Snapshot(background, wantHead))(t)
	for what, spoil := range map[string]func(b []byte) []byte{
		"lost":    func([]byte) []byte { return nil },
		"damaged": func(b []byte) []byte { return slices.Concat(b[:40], []byte("?"), b[41:]) },
		"cut off": func(b []byte) []byte { return b[:len(b)/2] },
	} {
		whole := store.snapshots[head.Base.Name]
		store.snapshots[head.Base.Name] = spoil(whole)
		got, err := repository.New(ledger, store).Snapshot(background, head)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for i, f := range want.Files {
			if g := got.Files[i]; g.Path != f.Path || string(g.Text) != string(f.Text) || g.Last.SHA != f.Last.SHA {
				t.Errorf("%s: %s by %s, want %s by %s", what, g.Path, g.Last.SHA, f.Path, f.Last.SHA)
			}
		}
		store.snapshots[head.Base.Name] = whole
	}
}
