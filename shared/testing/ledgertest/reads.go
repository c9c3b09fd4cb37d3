package ledgertest

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/repositorytest"
)

// model is the ledger in memory beside the one that is tested.
type model struct {
	*bench
	memory *repositorytest.Memory
	made   []repository.Commit
	heads  []repository.Head // of the ledger that is tested
	same   []repository.Head // of the one in memory
}

// agrees makes a history, and compares what the ledger tells of it through several of its
// heads, the empty one too, with what the one in memory does.
func agrees(b *bench) {
	m := &model{bench: b, memory: repositorytest.NewMemory()}
	random := rand.New(rand.NewPCG(3, 4))
	paths := []string{first, second, "svc.json", "README.md"}
	for n := range 20 {
		m.heads, m.same = append(m.heads, b.head()), append(m.same, m.memoryHead())
		changes := map[string]string{}
		for _, path := range paths {
			_, there := b.files[b.head().Commit][path]
			switch random.IntN(3) {
			case 0:
				changes[path] = fmt.Sprint(n)
			case 1:
				if there {
					changes[path] = ""
				}
			}
		}
		c := b.advance(changes)
		_, err := m.memory.Advance(background, m.memoryHead(), c)
		must.Do(b, err)
		m.made = append(m.made, c)
	}
	m.heads, m.same = append(m.heads, b.head()), append(m.same, m.memoryHead())
	for _, i := range []int{0, 1, 7, 20} {
		m.compare(i, append(paths, "segments/none.json"))
	}
}

func (m *model) memoryHead() repository.Head {
	m.Helper()
	head, err := m.memory.Head(background)
	must.Do(m, err)
	return head
}

func (m *model) compare(i int, paths []string) {
	m.Helper()
	check := func(what string, read func(repository.Ledger, repository.Head) ([]repository.Commit, error)) {
		m.Helper()
		got, err := read(m.Ledger, m.heads[i])
		must.Do(m, err)
		want, err := read(m.memory, m.same[i])
		must.Do(m, err)
		m.bench.same(fmt.Sprintf("at head %d, %s", i, what), got, want...)
	}
	for after := range int64(len(m.made)) + 2 {
		check(fmt.Sprint("since ", after), func(l repository.Ledger, head repository.Head) ([]repository.Commit, error) {
			return l.Since(background, head, min(after, int64(i)+1))
		})
	}
	for _, path := range append(paths, "") {
		for _, limit := range []int{0, 1, 2, 5, 30} {
			for _, before := range []int64{0, 1, 2, 8, 9, 21, 30} {
				page := repository.Page{Path: path, Limit: limit, Before: before}
				check(fmt.Sprintf("%+v", page), func(l repository.Ledger, head repository.Head) ([]repository.Commit, error) {
					return l.History(background, head, page)
				})
			}
		}
	}
	for _, path := range paths {
		for _, c := range m.made {
			sha, touch, err := m.memory.At(background, m.same[i], path, c.SHA)
			m.atIs(m.heads[i], path, c.SHA, sha, touch.Blob, err)
			m.atIs(m.heads[i], path, c.SHA[:10], sha, touch.Blob, err)
		}
	}
	got, err := m.Ledger.LastTouches(background, m.heads[i])
	must.Do(m, err)
	want, err := m.memory.LastTouches(background, m.same[i])
	must.Do(m, err)
	for path, c := range want {
		g := got[path]
		g.Touched, c.Touched = nil, nil
		m.bench.same("the last touch of "+path, []repository.Commit{g}, c)
	}
	if len(got) != len(want) {
		m.Errorf("at head %d %d files were touched last, want %d", i, len(got), len(want))
	}
}

// atIs checks what At finds.
func (b *bench) atIs(head repository.Head, path, revision, sha, blob string, want error) {
	b.Helper()
	gotSHA, touch, err := b.Ledger.At(background, head, path, revision)
	if !errors.Is(err, want) || want == nil && err != nil || gotSHA != sha {
		b.Errorf("%s at %s: %q, %v, want %q, %v", path, revision, gotSHA, err, sha, want)
	}
	if err == nil && (touch.Path != path || touch.Blob != blob) {
		b.Errorf("%s at %s: %+v, want the blob %s", path, revision, touch, blob)
	}
}

// abbreviations needs two commits that begin with the same four digits.
func abbreviations(b *bench) {
	one := b.advance(map[string]string{first: "1"})
	between := b.advance(map[string]string{first: "2"})
	before := b.head()
	b.atIs(before, first, one.SHA[:4], one.SHA, one.Touched[0].Blob, nil)
	two := b.commitLike(one.SHA[:4], between.SHA, map[string]string{first: "3"})
	_, err := b.Ledger.Advance(background, before, two)
	must.Do(b, err)
	head := b.head()
	b.atIs(head, first, one.SHA[:4], "", "", repository.ErrAmbiguous)
	b.atIs(head, first, one.SHA, one.SHA, one.Touched[0].Blob, nil)
	common := 4
	for one.SHA[common] == two.SHA[common] {
		common++
	}
	b.atIs(head, first, one.SHA[:common+1], one.SHA, one.Touched[0].Blob, nil)
	b.atIs(head, first, two.SHA[:common+1], two.SHA, two.Touched[0].Blob, nil)
	b.atIs(head, first, between.SHA[:6], between.SHA, between.Touched[0].Blob, nil)
	b.atIs(before, first, one.SHA[:4], one.SHA, one.Touched[0].Blob, nil)
}

func notInHistory(b *bench) {
	one := b.advance(map[string]string{first: "1"})
	loose := b.commit(one.SHA, map[string]string{first: "never the head"})
	head := b.head()
	b.atIs(head, first, loose.SHA, "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, loose.SHA[:12], "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.Tree, "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.Touched[0].Blob, "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, "refs/heads/main", "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.SHA[:3], "", "", repository.ErrUnknownCommit)
	b.atIs(head, first, one.SHA+"0", "", "", repository.ErrUnknownCommit)
}

func reopened(b *bench) {
	one := b.advance(map[string]string{first: "1", second: "1"})
	two := b.advance(map[string]string{first: ""})
	before := b.head()
	b.Subject = b.Reopen(b)
	if head := b.head(); head != before {
		b.Errorf("the head is %+v, want %+v", head, before)
	}
	rows, err := b.Ledger.Since(background, before, 0)
	must.Do(b, err)
	b.same("since", rows, one, two)
	b.atIs(before, first, one.SHA[:8], one.SHA, one.Touched[0].Blob, nil)
	three := b.advance(map[string]string{first: "3"})
	rows, err = b.Ledger.History(background, b.head(), repository.Page{Path: first})
	must.Do(b, err)
	b.same("history", rows, three, two, touching(one, first))
}
