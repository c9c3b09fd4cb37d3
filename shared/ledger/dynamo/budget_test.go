package dynamo_test

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
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
	e := must.Get(s.table.Authenticate(background, s.key, ""))(s)
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
	base := must.Get(repo.Snapshot(background, s.enter()))(s)
	return must.Get(repo.Commit(background, base, s.draft(changes...)))(s)
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
		landed = must.Get(s.repo.Commit(background, landed, s.draft(document(i%documents, i+1))))(s)
	}
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
			found := must.Get(repo.Snapshot(background, s.enter()))(t)
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

// TestATimeIsFoundInFewRequests: one for what is recent, and for the rest as many as the
// history can be halved.
func TestATimeIsFoundInFewRequests(t *testing.T) {
	s := newShop(t)
	s.fill(5, 260)
	begin := noon.Add(time.Second) // of the first commit
	head := s.enter()
	ledger := s.table.Ledger(s.ws)
	for seconds, most := range map[int]int{1000: 1, 261: 1, 240: 2, 130: 6, 1: 6, 0: 6} {
		s.sent.take()
		c, err := repository.CommitBefore(background, func(ctx context.Context, p repository.Page) ([]repository.Commit, error) {
			return ledger.History(ctx, head, p)
		}, "", begin.Add(time.Duration(seconds)*time.Second))
		if want := min(int64(seconds), head.Sequence); c.Sequence != want || (err != nil) != (want == 0) {
			t.Errorf("before second %d stands %d: %v", seconds, c.Sequence, err)
		}
		if asked := s.sent.take(); len(asked) > most {
			t.Errorf("for second %d of %d: %v", seconds, head.Sequence, asked)
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
	cold := must.Get(s.instance().Snapshot(background, s.enter()))(t)
	s.same("cold", cold, landed)
	if asked, read := s.sent.take(), s.objects.take(); fmt.Sprint(asked, read) != "[BatchGetItem] [Snapshot]" {
		t.Errorf("a cold read at a large text: %v, %v", asked, read)
	}
	warm := s.instance()
	must.Get(warm.Snapshot(background, s.enter()))(t)
	for i := range 60 {
		change.Content = append([]byte(fmt.Sprint(i)), huge[:50_000]...)
		landed = s.write(s.repo, change)
	}
	s.sent.take()
	s.objects.take()
	cold = must.Get(s.instance().Snapshot(background, s.enter()))(t)
	s.same("cold", cold, landed)
	if asked, read := s.sent.take(), s.objects.take(); len(asked) > 2 || len(read) > 1 {
		t.Errorf("a cold read after middling texts: %v, %v", asked, read)
	}
	found := must.Get(warm.Snapshot(background, s.enter()))(t)
	s.same("warm", found, landed)
	if asked, read := s.sent.take(), s.objects.take(); len(asked)+len(read) > 3 {
		t.Errorf("a warm read after middling texts: %v, %v", asked, read)
	}
}

// wideFiles are so many files, at paths that cannot be compressed, that the
// touches of a commit of them lie in two rows of their own.
const wideFiles = 2000

func widePath(n int) string {
	first, second := sha512.Sum512([]byte{byte(n), byte(n >> 8)}), sha512.Sum512([]byte{byte(n), byte(n >> 8), 1})
	return "configs/k" + base64.RawURLEncoding.EncodeToString(slices.Concat(first[:], second[:])) + ".json"
}

// largeCommit touches many files.
func largeCommit(head repository.Head, n, files int) repository.Commit {
	c := commitOn(head, n)
	c.Touched = nil
	for i := range files {
		text := fmt.Appendf(nil, "text %d of %d", i, n)
		c.Touched = append(c.Touched, repository.Touch{
			Path: widePath(i), Blob: blobOf(text), Text: text, Created: true,
		})
	}
	return c
}

// TestLargeCommits: a commit of any size lands as a whole, and one that loses
// leaves nothing that can be seen.
func TestLargeCommits(t *testing.T) {
	sent := &requests{}
	table := newTable(t, sent.count)
	for _, files := range []int{97, 98, 300, wideFiles} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			ws := newWorkspace(t, table)
			ledger := table.Ledger(ws)
			empty := must.Get(ledger.Head(background))(t)
			small := commitOn(empty, 1)
			small.Touched[0].Path = largeCommit(empty, 2, 1).Touched[0].Path
			path := small.Touched[0].Path
			from := must.Get(ledger.Advance(background, empty, small))(t)

			winner, loser := commitOn(from, 3), largeCommit(from, 4, files)
			winner.Touched[0].Path = path
			head := must.Get(ledger.Advance(background, from, winner))(t)
			if _, err := ledger.Advance(background, from, loser); !errors.Is(err, repository.ErrMoved) {
				t.Fatalf("the loser: %v", err)
			}
			wantHistory := func(path string, want ...repository.Commit) {
				t.Helper()
				commits := must.Get(ledger.History(background, head, repository.Page{Path: path}))(t)
				if len(commits) != len(want) {
					t.Fatalf("%d commits of %q, want %d", len(commits), path, len(want))
				}
				for i, c := range commits {
					touched := len(want[i].Touched)
					if path != "" {
						touched = 1
					}
					if c.SHA != want[i].SHA || len(c.Touched) != touched {
						t.Errorf("%s with %d touches, want %s with %d", c.SHA, len(c.Touched), want[i].SHA, touched)
					}
				}
			}
			wantHistory(path, winner, small)
			if _, _, err := ledger.At(background, head, path, loser.SHA); !errors.Is(err, repository.ErrUnknownCommit) {
				t.Errorf("the loser can be named: %v", err)
			}
			if _, touch, err := ledger.At(background, head, path, winner.SHA); err != nil || touch.Blob != winner.Touched[0].Blob {
				t.Errorf("at the winner: %+v, %v", touch, err)
			}

			large := largeCommit(head, 5, files)
			landed := must.Get(ledger.Advance(background, head, large))(t)
			if again, err := ledger.Advance(background, head, large); err != nil || again != landed {
				t.Errorf("again: %+v, %v", again, err)
			}
			head = landed
			wantHistory(path, large, winner, small)
			wantHistory("", large, winner, small)
			if rows := must.Get(ledger.Since(background, head, 2))(t); len(rows) != 1 || len(rows[0].Touched) != files {
				t.Errorf("%d rows", len(rows))
			}
			last := large.Touched[files-1]
			sent.take()
			if _, touch, err := ledger.At(background, head, last.Path, large.SHA); err != nil || touch.Blob != last.Blob {
				t.Errorf("%+v, %v", touch, err)
			}
			if asked := sent.take(); len(asked) != 1 {
				t.Errorf("a file of a large commit took %v", asked)
			}
			if removed := must.Get(sweep(ledger))(t); files > 97 && removed < files || files <= 97 && removed > 0 {
				t.Errorf("swept %d rows", removed)
			}
			wantHistory(path, large, winner, small)
			if again, err := sweep(ledger); err != nil || again != 0 {
				t.Errorf("swept %d rows once more, %v", again, err)
			}
		})
	}
}

// TestKilledBetweenHeadAndRows: rows that were never confirmed count as soon as
// their commit has landed, and not before.
func TestKilledBetweenHeadAndRows(t *testing.T) {
	f := &fates{}
	table := newTable(t, f.inject)
	ledger := table.Ledger(newWorkspace(t, table))
	from := must.Get(ledger.Head(background))(t)
	c := largeCommit(from, 1, 150)
	// 7 batches before the head (the note, and 150 rows), none after; and only
	// the first transaction, which moves it.
	f.set("BatchWriteItem", append(times(7, fate{}), times(10_000, fate{before: said("AccessDeniedException")})...)...)
	f.and("TransactWriteItems", append(times(1, fate{}), times(10_000, fate{before: said("AccessDeniedException")})...)...)
	head := must.Get(ledger.Advance(background, from, c))(t)
	f.set("BatchWriteItem")
	for range 2 {
		for _, touch := range []repository.Touch{c.Touched[0], c.Touched[149]} {
			commits, err := ledger.History(background, head, repository.Page{Path: touch.Path, Limit: 1})
			if err != nil || len(commits) != 1 || commits[0].SHA != c.SHA {
				t.Errorf("%v, %v", commits, err)
			}
			if _, found, err := ledger.At(background, head, touch.Path, c.SHA); err != nil || found.Blob != touch.Blob {
				t.Errorf("%+v, %v", found, err)
			}
		}
		must.Get(sweep(ledger))(t)
	}
}
