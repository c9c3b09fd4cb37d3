package local

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// However the cache is cut or damaged, what counts of it is the beginning that is whole.
func TestTornCache(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	var ends []int64
	var want []repository.Commit
	path := filepath.Join(dir, cacheName)
	for n := range 4 {
		want = append(want, write(t, l, "a", fmt.Sprint(n)))
		info, err := os.Stat(path)
		must(t, err)
		ends = append(ends, info.Size())
	}
	must(t, l.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	check := func(name string, content []byte, lost int) {
		t.Helper()
		kept := len(ends) - lost
		decoded, err := decodeCache(content)
		switch {
		case err != nil && kept == 0:
		case err != nil || len(decoded.rows) != kept || kept > 0 && decoded.size != ends[kept-1]:
			t.Errorf("%s: %d rows in %d bytes count, %v, want %d", name, len(decoded.rows), decoded.size, err, kept)
		}
	}
	for size := range len(whole) + 1 {
		check(fmt.Sprintf("cut at %d", size), whole[:size], len(slices.DeleteFunc(slices.Clone(ends), func(end int64) bool { return end <= int64(size) })))
	}
	for position := range whole {
		damaged := bytes.Clone(whole)
		damaged[position] ^= 1
		check(fmt.Sprintf("damaged at %d", position), damaged, len(slices.DeleteFunc(slices.Clone(ends), func(end int64) bool { return end <= int64(position) })))
	}
	check("with a tail", append(bytes.Clone(whole), strings.Repeat("x", 100)...), 0)
	check("with an old row behind it", append(bytes.Clone(whole), whole[ends[2]:]...), 0)

	// A start walks for what is missing, and makes the file whole.
	must(t, os.WriteFile(path, whole[:ends[1]+7], 0o600))
	l = opened(t, dir, Options{Rewritten: func(w Rewrite) { t.Error(w) }})
	rows, err := l.Since(background, head(t, l), 0)
	must(t, err)
	after, err := os.ReadFile(path)
	must(t, err)
	if decoded, err := decodeCache(after); fmt.Sprint(rows) != fmt.Sprint(want) || err != nil || len(decoded.rows) != len(want) || len(after) != len(whole) {
		t.Errorf("%v, want %v; the cache has %d rows in %d bytes, %v", rows, want, len(decoded.rows), len(after), err)
	}
}

// A batch that was not finished leaves nothing: its rows may lack ancestors of
// one another.
func TestATornBatchIsDropped(t *testing.T) {
	l := started(t)
	g := gitIn(t, l.Repository())
	w := newWorld(3, 30)
	w.load(g)
	tip := len(w.made) - 1
	g.run("update-ref", "refs/heads/main", w.made[tip].sha)
	w.check(t, l, tip)
	must(t, l.Close())
	path := filepath.Join(l.dir, cacheName)
	whole, err := os.ReadFile(path)
	must(t, err)
	decoded, err := decodeCache(whole)
	must(t, err)
	if len(decoded.rows) == 0 {
		t.Fatal("the batch is not in the cache")
	}
	must(t, os.WriteFile(path, whole[:len(whole)*2/3], 0o600))
	if decoded, err := decodeCache(whole[:len(whole)*2/3]); err != nil || len(decoded.rows) != 0 {
		t.Errorf("%d rows of a torn batch count, %v", len(decoded.rows), err)
	}
	l = opened(t, l.dir, Options{})
	w.check(t, l, tip)
}

func TestACacheThatCannotBeWritten(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	write(t, l, "a", "1")
	must(t, l.Close())
	must(t, os.Remove(filepath.Join(dir, cacheName)))
	must(t, os.Mkdir(filepath.Join(dir, cacheName), 0o700)) // in its place
	l = opened(t, dir, Options{})
	write(t, l, "a", "2")
	agree(t, l, 2)
}

func TestProgressIsTold(t *testing.T) {
	l := started(t)
	g := gitIn(t, l.Repository())
	fastImport(t, g, 2*progressStep+1, 3)
	var heard []int
	must(t, l.Close())
	l = opened(t, l.dir, Options{Progress: func(n int) { heard = append(heard, n) }})
	if !slices.Equal(heard, []int{progressStep, 2 * progressStep}) {
		t.Errorf("heard %v", heard)
	}
	agree(t, l, 2*progressStep+1)
}

// Whatever commit goes in comes out, and nothing else.
func TestRowsRoundTrip(t *testing.T) {
	id := rapid.StringMatching(`[0-9a-f]{39}[1-9a-f]`)
	signature := rapid.Custom(func(t *rapid.T) repository.Signature {
		s := repository.Signature{Name: rapid.String().Draw(t, "name"), Email: rapid.String().Draw(t, "email")}
		if rapid.Bool().Draw(t, "dated") {
			s.When = time.Unix(rapid.Int64Range(0, 1<<38).Draw(t, "seconds"), 0).UTC()
			if minutes := rapid.IntRange(-14*60, 14*60).Draw(t, "zone"); minutes != 0 {
				s.When = s.When.In(time.FixedZone("", minutes*60))
			}
		}
		return s
	})
	touch := rapid.Custom(func(t *rapid.T) repository.Touch {
		touch := repository.Touch{Path: rapid.String().Draw(t, "path"), Created: rapid.Bool().Draw(t, "created")}
		if rapid.Bool().Draw(t, "exists") {
			touch.Blob = id.Draw(t, "blob")
		}
		return touch
	})
	rapid.Check(t, func(t *rapid.T) {
		want := repository.Commit{
			SHA: id.Draw(t, "sha"), Tree: rapid.OneOf(id, rapid.Just("")).Draw(t, "tree"), Sequence: 7,
			Author: signature.Draw(t, "author"), Committer: signature.Draw(t, "committer"), Message: rapid.String().Draw(t, "message"),
			Touched: rapid.SliceOfN(touch, 1, 4).Draw(t, "touches"),
		}
		parents := make([]object.ID, rapid.IntRange(0, 3).Draw(t, "parents"))
		for i := range parents {
			parents[i] = object.ParseID(id.Draw(t, "parent"))
			want.Parent = parents[0].String()
		}
		r := headerOf(want, parents).withTouches(want.Touched).asHead(rapid.Bool().Draw(t, "head"))
		if !r.isWhole() || !slices.Equal(r.parents(), parents) {
			t.Fatalf("parents %v, whole %t", r.parents(), r.isWhole())
		}
		if got := r.commit(7, r.places()...); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Fatalf("got\n%#v, want\n%#v", got, want)
		}
		for i, place := range r.places() {
			if blob, exists := r.blobAt(place); exists != (want.Touched[i].Blob != "") || exists && blob.String() != want.Touched[i].Blob {
				t.Fatalf("touch %d has the blob %s, %t", i, blob, exists)
			}
		}
	})
}

// fastImport makes a line of commits on main, each of which sets one of some
// flags.
func fastImport(t testing.TB, g repo, commits, flags int) {
	t.Helper()
	cmd := exec.Command("git", "fast-import", "--quiet", "--force")
	cmd.Dir = g.dir
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	w := bufio.NewWriterSize(in, 1<<16)
	for n := range commits {
		text := fmt.Sprintf("{\"revision\": %d}\n", n)
		message := fmt.Sprintf("production: enabled set to %t\n\nSvc-Principal: service_account/0123456789abcdef\n", n%2 == 0)
		fmt.Fprintf(w, "commit refs/heads/main\nauthor Ada Lovelace <ada@example.com> %d +0100\ncommitter svc <noreply@svc> %[1]d +0000\n", 1_700_000_000+n)
		fmt.Fprintf(w, "data %d\n%sM 100644 inline feature-flags/flag-%d.json\ndata %d\n%s\n", len(message), message, n%flags, len(text), text)
	}
	must(t, w.Flush())
	must(t, in.Close())
	must(t, cmd.Wait())
}
