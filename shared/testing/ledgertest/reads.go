package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/requestid"
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
		must.Get(m.memory.Advance(background, m.memoryHead(), c))(b)
		m.made = append(m.made, c)
	}
	m.heads, m.same = append(m.heads, b.head()), append(m.same, m.memoryHead())
	for _, i := range []int{0, 1, 7, 20} {
		m.compare(i, append(paths, "segments/none.json"))
	}
}

func (m *model) memoryHead() repository.Head {
	m.Helper()
	return must.Get(m.memory.Head(background))(m)
}

func (m *model) compare(i int, paths []string) {
	m.Helper()
	check := func(what string, read func(repository.Ledger, repository.Head) ([]repository.Commit, error)) {
		m.Helper()
		got := must.Get(read(m.Ledger, m.heads[i]))(m)
		want := must.Get(read(m.memory, m.same[i]))(m)
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
	got := must.Get(m.Ledger.LastTouches(background, m.heads[i]))(m)
	want := must.Get(m.memory.LastTouches(background, m.same[i]))(m)
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

// atTimes makes commits whose times are equal, and go backwards, and holds the commit
// before each moment against the definition: what stands before the first that is dated
// then or later.
func atTimes(b *bench) {
	begin := b.now
	seconds := []int{10, 10, 12, 11, 5, 12, 20, 20, 19, 30}
	var made []repository.Commit
	ask := func(at time.Time) (repository.Commit, error) {
		head := b.head()
		return repository.CommitBefore(background, func(ctx context.Context, page repository.Page) ([]repository.Commit, error) {
			return b.Ledger.History(ctx, head, page)
		}, "", at)
	}
	if _, err := ask(begin); !errors.As(err, new(*repository.BeforeFirst)) {
		b.Errorf("of an empty history: %v", err)
	}
	for i, second := range seconds {
		b.now = begin.Add(time.Duration(second-1) * time.Second) // a commit is a second later
		made = append(made, b.advance(map[string]string{first: fmt.Sprint(i)}))
	}
	for second := range 33 {
		for _, at := range []time.Time{begin.Add(time.Duration(second) * time.Second), begin.Add(time.Duration(second)*time.Second + time.Millisecond)} {
			want := slices.IndexFunc(made, func(c repository.Commit) bool { return !c.Committer.When.Before(at) }) - 1
			if want == -2 {
				want = len(made) - 1
			}
			got, err := ask(at.In(time.UTC))
			switch early := (*repository.BeforeFirst)(nil); {
			case want < 0 && errors.As(err, &early) && early.First.Equal(made[0].Committer.When):
			case want < 0 || err != nil || got.SHA != made[want].SHA:
				b.Errorf("before second %v: %q, %v, want commit %d", at.Sub(begin), got.SHA, err, want)
			}
		}
	}
}

// abbreviations needs two commits that begin with the same four digits.
func abbreviations(b *bench) {
	one := b.advance(map[string]string{first: "1"})
	between := b.advance(map[string]string{first: "2"})
	before := b.head()
	b.atIs(before, first, one.SHA[:4], one.SHA, one.Touched[0].Blob, nil)
	two := b.commitLike(one.SHA[:4], between.SHA, map[string]string{first: "3"})
	must.Get(b.Ledger.Advance(background, before, two))(b)
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
	rows := must.Get(b.Ledger.Since(background, before, 0))(b)
	b.same("since", rows, one, two)
	b.atIs(before, first, one.SHA[:8], one.SHA, one.Touched[0].Blob, nil)
	three := b.advance(map[string]string{first: "3"})
	rows = must.Get(b.Ledger.History(background, b.head(), repository.Page{Path: first}))(b)
	b.same("history", rows, three, two, touching(one, first))
}

// landed is what is found under an id of a repository.Once.
func (b *bench) landed(id string) *repository.Landed {
	b.Helper()
	entry := must.Get(b.Authenticator.Authenticate(background, b.key, id))(b)
	return entry.Landed
}

func madeOnce(b *bench) {
	id := func(digit string) string { return strings.Repeat(digit, 32) }
	like := id("a")[:31] + "b" // found in the same place as the first
	made := map[string]repository.Commit{}
	write := func(name, request string) {
		b.once = &repository.Once{ID: name, Request: request, Answer: []byte("answer " + request)}
		made[name] = b.advance(map[string]string{first: name + request})
		b.once = nil
		b.advance(map[string]string{first: "after " + name + request})
	}
	b.advance(map[string]string{first: "before"})
	write(id("a"), id("1"))
	write(like, id("2"))
	write(id("c"), id("3"))
	check := func(b *bench, name, request string) {
		b.Helper()
		found, want := b.landed(name), made[name]
		if found == nil || found.Commit != want.SHA || found.Sequence != want.Sequence || found.Request != request || string(found.Answer) != "answer "+request ||
			found.Until.Unix() != want.Committer.When.Add(change.Remembered).Unix() {
			b.Errorf("under %s: %+v, want %s at %d for %s", name, found, want.SHA, want.Sequence, request)
		}
	}
	other := *b
	other.Subject = b.Reopen(b)
	for _, b := range []*bench{b, &other} {
		check(b, id("a"), id("1"))
		check(b, like, id("2"))
		check(b, id("c"), id("3"))
		for _, none := range []string{"", id("d"), id("1")} {
			if found := b.landed(none); found != nil {
				b.Errorf("under %q: %+v, want nothing", none, found)
			}
		}
	}
	b.Subject = other.Subject
	b.once = &repository.Once{ID: id("a"), Request: id("4"), Answer: []byte("answer " + id("4")), Instead: made[id("a")].SHA}
	made[id("a")] = b.advance(map[string]string{first: "anew"})
	check(b, id("a"), id("4"))
}

// commit makes a commit on top of another, stores its objects and describes
// it as a writer does. An empty text deletes the file. No two commits are the
// same: each is a second later than the one before.
func (b *bench) commit(parent string, changes map[string]string) repository.Commit {
	b.Helper()
	return b.commitLike("", parent, changes)
}

// commitLike makes a commit whose id begins with the digits given, by trying
// messages.
func (b *bench) commitLike(digits, parent string, changes map[string]string) repository.Commit {
	b.Helper()
	files := maps.Clone(b.files[parent])
	b.now = b.now.Add(time.Second)
	author := repository.Signature{Name: "Ada Lovelace", Email: "ada@example.com", When: b.now}
	c := repository.Commit{
		Parent: parent, Author: author,
		Committer: repository.Signature{Name: "svc", Email: "noreply@svc", When: b.now.UTC()},
		Message:   fmt.Sprintf("Change %d files\n\nSvc-Principal: service_account/x\n", len(changes)),
		Once:      b.once,
	}
	if c.Once != nil {
		c.Once.Until = b.now.Add(change.Remembered)
		c.Message += repository.RequestTrailer + requestid.New() + "\n"
	}
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		if touch := b.touch(files, path, changes[path]); repository.IsFile(path) {
			c.Touched = append(c.Touched, touch)
		}
	}
	tree := b.tree(files)
	c.Tree = tree.String()
	raw := object.Commit{Tree: tree, Author: c.Author, Committer: c.Committer, Message: c.Message}
	if parent != "" {
		raw.Parents = []object.ID{object.ParseID(parent)}
	}
	content := object.EncodeCommit(raw)
	for try := 0; !strings.HasPrefix(object.Hash(object.CommitKind, content).String(), digits); try++ {
		raw.Message = fmt.Sprintf("%s\n%d\n", c.Message, try)
		content = object.EncodeCommit(raw)
	}
	c.Message = raw.Message
	c.SHA = b.put(object.CommitKind, content).String()
	b.files[c.SHA] = files
	return c
}

func (b *bench) touch(files map[string]string, path, text string) repository.Touch {
	_, existed := files[path]
	if text == "" {
		delete(files, path)
		return repository.Touch{Path: path}
	}
	files[path] = text
	return repository.Touch{Path: path, Blob: object.Hash(object.Blob, []byte(text)).String(), Created: !existed, Text: []byte(text)}
}

func (b *bench) put(kind object.Kind, content []byte) object.ID {
	b.Helper()
	b.Put(b, kind, content)
	return object.Hash(kind, content)
}

// tree stores the trees and blobs of files.
func (b *bench) tree(files map[string]string) object.ID {
	b.Helper()
	var entries []object.TreeEntry
	folders := map[string]map[string]string{}
	for path, text := range files {
		if folder, name, below := strings.Cut(path, "/"); below {
			if folders[folder] == nil {
				folders[folder] = map[string]string{}
			}
			folders[folder][name] = text
			continue
		}
		entries = append(entries, object.TreeEntry{Mode: object.ModeFile, Name: path, ID: b.put(object.Blob, []byte(text))})
	}
	for folder, below := range folders {
		entries = append(entries, object.TreeEntry{Mode: object.ModeFolder, Name: folder, ID: b.tree(below)})
	}
	slices.SortFunc(entries, func(x, y object.TreeEntry) int {
		if x.Less(y) {
			return -1
		}
		return 1
	})
	return b.put(object.TreeKind, object.EncodeTree(entries))
}

// same compares commits, times as instants and zones, touches without the
// places of their objects.
func (b *bench) same(what string, got []repository.Commit, want ...repository.Commit) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%s: %d commits, want %d", what, len(got), len(want))
	}
	for i := range got {
		if g, w := describe(got[i]), describe(want[i]); g != w {
			b.Errorf("%s: commit %d is\n%s, want\n%s", what, i, g, w)
		}
		for _, t := range got[i].Touched {
			if t.Text != nil && object.Hash(object.Blob, t.Text).String() != t.Blob {
				b.Errorf("%s: commit %d carries the text %q of %s, which is not its blob", what, i, t.Text, t.Path)
			}
		}
	}
}

func describe(c repository.Commit) string {
	var touches []string
	for _, touch := range c.Touched {
		touches = append(touches, fmt.Sprintf("%s %s %t", touch.Path, touch.Blob, touch.Created))
	}
	slices.Sort(touches)
	return fmt.Sprintf("%d %s tree %s parent %q by %s <%s> %s, %s <%s> %s: %q %q", c.Sequence, c.SHA, c.Tree, c.Parent,
		c.Author.Name, c.Author.Email, c.Author.When.Format(time.RFC3339),
		c.Committer.Name, c.Committer.Email, c.Committer.When.Format(time.RFC3339), c.Message, touches)
}

// touching leaves in a commit only the touches of a path.
func touching(c repository.Commit, path string) repository.Commit {
	c.Touched = slices.DeleteFunc(slices.Clone(c.Touched), func(t repository.Touch) bool { return t.Path != path })
	return c
}
