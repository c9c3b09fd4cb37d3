package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
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
		must.Do(t, err)
		ends = append(ends, info.Size())
	}
	must.Do(t, l.Close())
	whole, err := os.ReadFile(path)
	must.Do(t, err)
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
	must.Do(t, os.WriteFile(path, whole[:ends[1]+7], 0o600))
	l = opened(t, dir, Options{Rewritten: func(w Rewrite) { t.Error(w) }})
	rows, err := l.Since(background, head(t, l), 0)
	must.Do(t, err)
	after, err := os.ReadFile(path)
	must.Do(t, err)
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
	must.Do(t, l.Close())
	path := filepath.Join(l.dir, cacheName)
	whole, err := os.ReadFile(path)
	must.Do(t, err)
	decoded, err := decodeCache(whole)
	must.Do(t, err)
	if len(decoded.rows) == 0 {
		t.Fatal("the batch is not in the cache")
	}
	must.Do(t, os.WriteFile(path, whole[:len(whole)*2/3], 0o600))
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
	must.Do(t, l.Close())
	must.Do(t, os.Remove(filepath.Join(dir, cacheName)))
	must.Do(t, os.Mkdir(filepath.Join(dir, cacheName), 0o700)) // in its place
	l = opened(t, dir, Options{})
	write(t, l, "a", "2")
	agree(t, l, 2)
}
