package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/must"
)

// placed are objects in memory, found by their places alone.
type placed struct {
	mu    sync.Mutex
	packs map[string][]byte
}

var errNone = errors.New("nothing is there")

func (p *placed) PutPack(ctx context.Context, name string, content, _ []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.packs[name] = content
	return ctx.Err()
}

func (p *placed) Release(string) {}

func (p *placed) Blob(_ context.Context, t repository.Touch) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.packs[t.Pack] == nil {
		return nil, errNone
	}
	_, content, err := pack.Read(bytes.NewReader(p.packs[t.Pack]), t.Offset, t.Length, func(pack.Header) int64 { return math.MaxInt64 })
	return content, err
}

func (p *placed) Tree(context.Context, repository.Head) (repository.Tree, error) {
	return repository.Tree{}, errNone
}

// shop is a workspace whose requests are counted.
type shop struct {
	*testing.T
	table   *dynamo.Table
	sent    *requests
	ws      access.ID
	key     access.Key
	objects *snapshotStore
	repo    *repository.Repository
	now     time.Time
}

func newShop(t *testing.T) *shop {
	s := &shop{T: t, sent: &requests{}, objects: keeper(&placed{packs: map[string][]byte{}}), now: noon}
	s.table = newTable(t, s.sent.count)
	s.ws = newWorkspace(t, s.table)
	s.key = admit(t, s.table, s.ws)
	s.repo = s.instance()
	return s
}

// instance is a process that has read nothing.
func (s *shop) instance() *repository.Repository {
	return repository.New(s.table.Ledger(s.ws), s.objects)
}

func (s *shop) enter() repository.Head {
	s.Helper()
	e, err := s.table.Authenticate(background, s.key, "")
	must.Do(s, err)
	return e.Head
}

func (s *shop) draft(changes ...repository.Change) repository.Draft {
	s.now = s.now.Add(time.Second)
	by := repository.Signature{Name: "Ada", Email: "ada@example.com", When: s.now}
	return repository.Draft{Changes: changes, Author: by, Committer: by, Message: "production: enabled set to true\n"}
}

func document(i, version int) repository.Change {
	return repository.Change{
		Path:    fmt.Sprintf("feature-flags/flag-%05d.json", i),
		Content: fmt.Appendf(nil, "{\n  \"type\": \"feature_flag\",\n  \"key\": \"flag-%05d\",\n  \"version\": %d\n}\n", i, version),
	}
}

// write commits changes of an instance.
func (s *shop) write(repo *repository.Repository, changes ...repository.Change) *repository.Snapshot {
	s.Helper()
	base, err := repo.Snapshot(background, s.enter())
	must.Do(s, err)
	landed, err := repo.Commit(background, base, s.draft(changes...))
	must.Do(s, err)
	return landed
}

// fill makes documents, and then commits.
func (s *shop) fill(documents, commits int) {
	s.Helper()
	var all []repository.Change
	for i := range documents {
		all = append(all, document(i, 0))
	}
	landed := s.write(s.repo, all...)
	for i := range commits {
		var err error
		landed, err = s.repo.Commit(background, landed, s.draft(document(i%documents, i+1)))
		must.Do(s, err)
	}
}

// took checks what was asked of the table and of the objects.
func (s *shop) took(what string, table, objects string) {
	s.Helper()
	asked, read := s.sent.take(), s.objects.take()
	slices.Sort(asked)
	slices.Sort(read)
	if got := strings.Join(asked, " "); got != table {
		s.Errorf("%s asked the table for %q, allowed is %q", what, got, table)
	}
	if got := strings.Join(read, " "); got != objects {
		s.Errorf("%s asked the objects for %q, allowed is %q", what, got, objects)
	}
}

// TestBudgets counts requests: they do not depend on how much there is.
func TestBudgets(t *testing.T) {
	sizes := []struct{ documents, commits int }{{10, 100}, {10, 5000}, {5000, 100}}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		t.Run(fmt.Sprintf("%d documents, %d commits", size.documents, size.commits), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			s.fill(size.documents, size.commits)
			s.budgets(size.documents)
		})
	}
}

func (s *shop) budgets(documents int) {
	s.sent.take()
	s.objects.take()
	read := func(repo *repository.Repository) *repository.Snapshot {
		s.Helper()
		snapshot, err := repo.Snapshot(background, s.enter())
		must.Do(s, err)
		if len(snapshot.Files) != documents {
			s.Errorf("%d files, want %d", len(snapshot.Files), documents)
		}
		return snapshot
	}
	read(s.repo)
	s.took("a warm read", "BatchGetItem", "")
	other := s.instance()
	old := read(other)
	s.took("a cold read", "BatchGetItem Query", "Snapshot")

	s.write(s.repo, document(1, 1_000_001))
	s.took("a write", "BatchGetItem TransactWriteItems", "PutPack")
	read(other)
	s.took("a read after a write elsewhere", "BatchGetItem Query", "")
	for i := range 60 {
		s.write(s.repo, document(i%documents, 2_000_000+i))
	}
	s.sent.take()
	s.objects.take()
	read(other)
	s.took("a read after 60 writes elsewhere", "BatchGetItem Query", "")

	head := s.enter()
	s.sent.take()
	history, err := s.repo.History(background, head, repository.Page{Path: document(1, 0).Path, Limit: 20})
	must.Do(s, err)
	s.took("a page of an item's history", "Query", "")
	if len(history) < 3 {
		s.Errorf("%d commits", len(history))
	}
	_, err = s.repo.History(background, head, repository.Page{Limit: 102})
	must.Do(s, err)
	s.took("a page of the feed", "Query", "")

	past := old.Head.Commit[:10]
	_, text, err := s.instance().At(background, head, document(1, 0).Path, past)
	must.Do(s, err)
	if file, _ := old.File(document(1, 0).Path); string(text) != string(file.Text) {
		s.Errorf("the document was %q, want %q", text, file.Text)
	}
	s.took("a document at a past commit", "Query Query", "Blob")
}

// TestCheckpoints follows a writer over several bases: a new reader finds
// the same with one snapshot and one query, and a write never takes more than
// five requests.
func TestCheckpoints(t *testing.T) {
	s := newShop(t)
	s.fill(7, 0)
	warm := s.instance()
	stored := 0
	for i := range 200 {
		s.sent.take()
		s.objects.take()
		landed := s.write(s.repo, document(i%7, i+1))
		puts := s.objects.take()
		if slices.Contains(puts, "PutSnapshot") {
			stored++
		}
		// A pack is two objects: itself and its index.
		if requests := len(s.sent.take()) + len(puts) + 1; requests > 5 {
			t.Fatalf("write %d took %d requests", i, requests)
		}
		if i%13 != 0 {
			continue
		}
		for what, repo := range map[string]*repository.Repository{"cold": s.instance(), "warm": warm} {
			found, err := repo.Snapshot(background, s.enter())
			must.Do(t, err)
			s.same(what, found, landed)
			if calls := s.objects.take(); len(calls) > 1 {
				t.Errorf("%s at %d: %v", what, i, calls)
			}
			if asked := s.sent.take(); len(asked) > 2 {
				t.Errorf("%s at %d: %v", what, i, asked)
			}
		}
	}
	if stored < 3 || stored > 6 {
		t.Errorf("%d snapshots for 200 commits", stored)
	}
}

func (s *shop) same(what string, a, b *repository.Snapshot) {
	s.Helper()
	if a.Head != b.Head || len(a.Files) != len(b.Files) {
		s.Fatalf("%s: %+v with %d files, want %+v with %d", what, a.Head, len(a.Files), b.Head, len(b.Files))
	}
	for i, f := range a.Files {
		g := b.Files[i]
		if f.Path != g.Path || f.Blob != g.Blob || !bytes.Equal(f.Text, g.Text) || f.Last.SHA != g.Last.SHA || f.Last.Sequence != g.Last.Sequence || f.Last.Message != g.Last.Message {
			s.Errorf("%s: %s %s by %+v, want %s by %+v", what, f.Path, f.Blob, f.Last, g.Blob, g.Last)
		}
	}
}

// TestLargeTexts: a commit whose texts no row holds comes with a snapshot, and
// those of middling size do as soon as one answer could not hold them.
func TestLargeTexts(t *testing.T) {
	s := newShop(t)
	s.fill(3, 1)
	huge := make([]byte, 300_000)
	for i, x := 0, uint32(1); i < len(huge); i++ { // does not compress
		x = x*1664525 + 1013904223
		huge[i] = byte(x >> 24)
	}
	change := document(1, 0)
	change.Content = huge
	landed := s.write(s.repo, change)
	s.sent.take()
	s.objects.take()
	cold, err := s.instance().Snapshot(background, s.enter())
	must.Do(t, err)
	s.same("cold", cold, landed)
	s.took("a cold read at a large text", "BatchGetItem", "Snapshot")
	warm := s.instance()
	_, err = warm.Snapshot(background, s.enter())
	must.Do(t, err)
	for i := range 60 {
		change.Content = append([]byte(fmt.Sprint(i)), huge[:50_000]...)
		landed = s.write(s.repo, change)
	}
	s.sent.take()
	s.objects.take()
	cold, err = s.instance().Snapshot(background, s.enter())
	must.Do(t, err)
	s.same("cold", cold, landed)
	if asked, read := s.sent.take(), s.objects.take(); len(asked) > 2 || len(read) > 1 {
		t.Errorf("a cold read after middling texts: %v, %v", asked, read)
	}
	found, err := warm.Snapshot(background, s.enter())
	must.Do(t, err)
	s.same("warm", found, landed)
	if asked, read := s.sent.take(), s.objects.take(); len(asked)+len(read) > 3 {
		t.Errorf("a warm read after middling texts: %v, %v", asked, read)
	}
}
