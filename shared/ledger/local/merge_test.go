package local

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/realgit"
	"svc.example/svc/shared/testing/testenv"
)

// world is a history with branches and merges, and what every commit of it
// holds.
type world struct {
	stream strings.Builder // for git fast-import
	random *rand.Rand
	made   []made
}

type made struct {
	parents []int
	files   map[string]string
	sha     string
}

var worldPaths = []string{"svc.json", "feature-flags/a.json", "feature-flags/b.json", "configs/c.json", "schemas/d.json", "README.md", "configs/deep/e.json"}

func newWorld(seed uint64, commits int) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 1))}
	for range commits {
		w.add()
	}
	return w
}

func (w *world) add() {
	m := made{parents: w.pickParents(), files: map[string]string{}}
	if len(m.parents) > 0 {
		m.files = maps.Clone(w.made[m.parents[0]].files)
	}
	for _, parent := range m.parents[min(1, len(m.parents)):] {
		for _, path := range worldPaths {
			if w.random.IntN(2) == 0 { // take the other side's file, or its absence
				m.set(path, w.made[parent].files[path])
			}
		}
	}
	for range w.random.IntN(3) {
		text := ""
		if w.random.IntN(4) > 0 {
			text = fmt.Sprint("text ", w.random.IntN(6))
		}
		m.set(worldPaths[w.random.IntN(len(worldPaths))], text)
	}
	w.made = append(w.made, m)
	w.tell(len(w.made), m)
}

func (m made) set(path, text string) {
	if text == "" {
		delete(m.files, path)
	} else {
		m.files[path] = text
	}
}

// pickParents prefers young commits; now and then there is a merge of two or
// three, or a second root.
func (w *world) pickParents() []int {
	if len(w.made) == 0 || w.random.IntN(20) == 0 {
		return nil
	}
	count := 1
	if w.random.IntN(3) == 0 {
		count += 1 + w.random.IntN(2)
	}
	var parents []int
	for range count {
		if young := max(len(w.made)-1-w.random.IntN(4), 0); !slices.Contains(parents, young) {
			parents = append(parents, young)
		}
	}
	return parents
}

// tell writes the commit for git. Dates stand still and go back now and then.
func (w *world) tell(mark int, m made) {
	date := 1_700_000_000 + 10*mark - w.random.IntN(30)
	fmt.Fprintf(&w.stream, "commit refs/heads/c%d\nmark :%d\n", mark, mark)
	fmt.Fprintf(&w.stream, "author A <a@example.com> %d +0100\ncommitter C <c@example.com> %d -0330\ndata 11\ncommit %03d\n", date, date, mark)
	for i, parent := range m.parents {
		fmt.Fprintf(&w.stream, "%s :%d\n", []string{"from", "merge"}[min(i, 1)], parent+1)
	}
	w.stream.WriteString("deleteall\n")
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		text := m.files[path]
		fmt.Fprintf(&w.stream, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
	}
	w.stream.WriteString("\n")
}

// load gives the history to git.
func (w *world) load(g repo) {
	g.Helper()
	marks := filepath.Join(g.TempDir(), "marks")
	cmd := realgit.Command(g, g.dir, "fast-import", "--quiet", "--export-marks="+marks)
	cmd.Stdin = strings.NewReader(w.stream.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		g.Fatalf("%v\n%s", err, out)
	}
	content := must.Get(os.ReadFile(marks))(g)
	for line := range strings.Lines(string(content)) {
		var mark int
		var sha string
		must.Get(fmt.Sscanf(line, ":%d %s", &mark, &sha))(g)
		w.made[mark-1].sha = sha
	}
}

// ancestors are the numbers of the commits that one reaches, itself too.
func (w *world) ancestors(of int) map[int]bool {
	found := map[int]bool{}
	for open := []int{of}; len(open) > 0; {
		n := open[len(open)-1]
		open = open[:len(open)-1]
		if !found[n] {
			found[n] = true
			open = append(open, w.made[n].parents...)
		}
	}
	return found
}

func (w *world) blob(n int, path string) string {
	text, ok := w.made[n].files[path]
	if !ok || !repository.IsFile(path) {
		return ""
	}
	return object.Hash(object.Blob, []byte(text)).String()
}

// touches reports whether a commit's file differs from that of all its parents.
func (w *world) touches(sha, path string) bool {
	n := slices.IndexFunc(w.made, func(m made) bool { return m.sha == sha })
	blob := w.blob(n, path)
	if len(w.made[n].parents) == 0 {
		return blob != ""
	}
	return !slices.ContainsFunc(w.made[n].parents, func(parent int) bool { return w.blob(parent, path) == blob })
}

// touched lists a commit's touches by path.
func (w *world) touched(sha string) (touched []repository.Touch) {
	n := slices.IndexFunc(w.made, func(m made) bool { return m.sha == sha })
	for _, path := range slices.Sorted(slices.Values(worldPaths)) {
		if !w.touches(sha, path) {
			continue
		}
		existed := slices.ContainsFunc(w.made[n].parents, func(parent int) bool { return w.blob(parent, path) != "" })
		touched = append(touched, repository.Touch{Path: path, Blob: w.blob(n, path), Created: !existed})
	}
	return touched
}

func shasOf(t testing.TB, l *Ledger, at repository.Head, path string) (shas []string) {
	t.Helper()
	rows := must.Get(l.History(background, at, repository.Page{Path: path}))(t)
	for _, c := range rows {
		shas = append(shas, c.SHA)
	}
	return shas
}

// contains reports whether part is in whole, in the same order.
func contains(whole, part []string) bool {
	for _, text := range part {
		at := slices.Index(whole, text)
		if at < 0 {
			return false
		}
		whole = whole[at+1:]
	}
	return true
}

const worlds = 12

func TestHistoryWithMergesAgreesWithGit(t *testing.T) {
	testenv.Slow(t)
	for seed := range uint64(worlds) {
		l := started(t)
		g := gitIn(t, l.Repository())
		w := newWorld(seed, 40)
		w.load(g)
		tip := len(w.made) - 1
		g.run("update-ref", "refs/heads/main", w.made[tip].sha)
		w.check(t, l, tip)
		at := head(t, l)
		order := g.lines("rev-list", "--date-order", "main")
		for _, path := range worldPaths {
			want := slices.DeleteFunc(slices.Clone(order), func(sha string) bool { return !w.touches(sha, path) })
			got := shasOf(t, l, at, path)
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %s:\n%v, want\n%v", seed, path, got, want)
			}
			if shown := g.lines("log", "--date-order", "--format=%H", "main", "--", path); repository.IsFile(path) && !contains(got, shown) {
				t.Errorf("seed %d, %s:\n%v lacks some of what git log shows, or has it in another order:\n%v", seed, path, got, shown)
			}
		}
		if got := shasOf(t, l, at, ""); !slices.Equal(got, order) {
			t.Errorf("seed %d:\n%v, want\n%v", seed, got, order)
		}
		must.Do(t, l.Close())
	}
}

// The same histories, but every commit becomes the head at some time; most
// steps are forced.
func TestHistoryAsItGrowsAgreesWithGit(t *testing.T) {
	for seed := range uint64(worlds / 2) {
		forced := 0
		l := opened(t, created(t), Options{Rewritten: func(r Rewrite) {
			if forced++; r.Lost == 0 || !strings.Contains(r.String(), fmt.Sprintf("from %s to %s, and its history has lost commits: %d.", r.Old, r.New, r.Lost)) {
				t.Errorf("%+v is told as: %s", r, r)
			}
		}})
		g := gitIn(t, l.Repository())
		w := newWorld(seed, 40)
		w.load(g)
		want, before := 0, -1
		for n := range w.made {
			if n%3 > 0 {
				continue
			}
			must.Do(t, os.WriteFile(filepath.Join(l.Repository(), branch), []byte(w.made[n].sha+"\n"), 0o666))
			if before >= 0 && !w.ancestors(n)[before] {
				want++
			}
			before = n
			head(t, l)
		}
		if forced != want {
			t.Errorf("seed %d: %d forced moves reported, want %d", seed, forced, want)
		}
		w.check(t, l, before)
		must.Do(t, l.Close())
		l = opened(t, l.dir, Options{})
		w.check(t, l, before)
		must.Do(t, l.Close())
	}
}

// check compares the ledger at a commit with the world.
func (w *world) check(t *testing.T, l *Ledger, tip int) {
	t.Helper()
	at := head(t, l)
	reached := w.ancestors(tip)
	rows := must.Get(l.Since(background, at, 0))(t)
	if len(rows) != len(reached) || at.Commit != w.made[tip].sha {
		t.Fatalf("%d commits up to %s, want %d up to %s", len(rows), at.Commit, len(reached), w.made[tip].sha)
	}
	for _, c := range rows {
		if got, want := fmt.Sprint(c.Touched), fmt.Sprint(w.touched(c.SHA)); got != want {
			t.Errorf("%s touched %s, want %s", c.SHA, got, want)
		}
	}
	for n := range w.made {
		for _, path := range worldPaths {
			w.checkAt(t, l, at, n, path, reached[n])
		}
	}
	touches := must.Get(l.LastTouches(background, at))(t)
	for _, path := range worldPaths {
		want := w.blob(tip, path)
		c, ok := touches[path]
		if ok != (want != "") {
			t.Errorf("the last touch of %s is %v", path, c)
		}
		for n, m := range w.made {
			if ok && m.sha == c.SHA && w.blob(n, path) != want {
				t.Errorf("the last touch of %s is %s, where it has another content", path, c.SHA)
			}
		}
	}
}

func (w *world) checkAt(t *testing.T, l *Ledger, at repository.Head, n int, path string, reached bool) {
	t.Helper()
	sha, touch, err := l.At(background, at, path, w.made[n].sha)
	want := w.blob(n, path)
	switch {
	case !reached:
		if !errors.Is(err, repository.ErrUnknownCommit) {
			t.Errorf("%s in a commit that is not in the history: %v", path, err)
		}
	case want == "":
		if !errors.Is(err, repository.ErrAbsent) || sha != w.made[n].sha {
			t.Errorf("%s in commit %d: %q, %+v, %v, want ErrAbsent", path, n, sha, touch, err)
		}
	case err != nil || touch.Blob != want || sha != w.made[n].sha:
		t.Errorf("%s in commit %d: %q, %+v, %v, want %s", path, n, sha, touch, err, want)
	}
}

// What lies at a path of the layout and is no file of it.
func TestWhatIsNoFile(t *testing.T) {
	l := started(t)
	g := gitIn(t, t.TempDir())
	g.run("init", "-q", "-b", "main")
	g.write("feature-flags/a.json", "1")
	g.write("feature-flags/.hidden.json", "1")
	g.write("feature-flags/notes.txt", "1")
	g.write("feature-flags/deep/a.json", "1")
	g.write("other/a.json", "1")
	g.write("configs", "a file in a folder's place")
	one := g.commit("one")
	g.run("update-index", "--chmod=+x", "feature-flags/a.json")
	g.commit("a mode alone")
	g.run("rm", "-q", "-f", "feature-flags/a.json", "configs")
	g.run("update-index", "--add", "--cacheinfo", "160000,"+one+",feature-flags/a.json")
	g.commit("a submodule in its place")
	g.write("configs/c.json", "2")
	g.run("rm", "-q", "--cached", "feature-flags/a.json")
	g.write("feature-flags/a.json/x", "a folder in its place")
	g.commit("a folder in its place")
	g.run("push", "-q", l.Repository(), "main")

	rows := must.Get(l.Since(background, head(t, l), 0))(t)
	var got []string
	for _, c := range rows {
		for _, touch := range c.Touched {
			got = append(got, fmt.Sprintf("%d %s %t %t", c.Sequence, touch.Path, touch.Created, touch.Blob == ""))
		}
	}
	want := []string{"1 feature-flags/a.json true false", "3 feature-flags/a.json false true", "4 configs/c.json true false"}
	if !slices.Equal(got, want) {
		t.Errorf("touches\n%s, want\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
