package local

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/memory"
)

// keyed is the row of a commit that svc has made, for an id of a repository.Once
// when there is one.
func keyed(n int, once string) row {
	by := repository.Signature{Name: repository.CommitterName, Email: repository.CommitterEmail, When: time.Unix(int64(n), 0)}
	message := "production: enabled set to true\n\nSvc-Principal: user/0123456789abcdef\n"
	if once != "" {
		message += repository.OnceTrailer + once + " " + fmt.Sprintf("%032x", n) + "\n"
	}
	message += repository.RequestTrailer + fmt.Sprintf("%032x", n) + "\n"
	c := repository.Commit{SHA: fmt.Sprintf("%040x", n+1), Author: by, Committer: by, Message: message}
	return headerOf(c, nil).withTouches(nil)
}

// TestWhatKeysTakeOfMemory: what is remembered of a key is found by the commit that
// landed under it, whose row is some 100 bytes longer, and its place in the index takes some 30.
// Nothing is kept of keys under which none did.
func TestWhatKeysTakeOfMemory(t *testing.T) {
	const commits, most = 200_000, 140
	takes := func(id func(n int) string) int64 {
		before := memory.InUse()
		h := newHistory(1)
		for n := range commits {
			h.append(keyed(n, id(n)))
		}
		after := memory.InUse()
		runtime.KeepAlive(h)
		return (after - before) / commits
	}
	id := func(n int) string { return fmt.Sprintf("%08x%024x", uint32(n)*2654435761, n) }
	plain := takes(func(int) string { return "" })
	one := takes(func(int) string { return id(7) })
	each := takes(id)
	t.Logf("a commit takes %d bytes, and %d with a key", plain, each)
	if each > plain+most || one > plain+most {
		t.Errorf("a commit takes %d bytes, %d under one key for all and %d under a key of its own; allowed are %d more", plain, one, each, most)
	}
}

func TestKeysAreFoundAmongMany(t *testing.T) {
	h := newHistory(1)
	const commits = 3000
	id := func(n int) string { return fmt.Sprintf("%04x%028x", n%7, n/2) } // few places, and each id twice
	for n := range commits {
		h.append(keyed(n, id(n)))
	}
	for n := range commits {
		last := n
		for _, other := range []int{n + 1, n - 1} {
			if other >= 0 && other < commits && id(other) == id(n) {
				last = max(n, other)
			}
		}
		o, c, found := h.madeOnce(id(n))
		if want := fmt.Sprintf("%032x", last); !found || o.Request != want || c.Sequence != int64(last+1) {
			t.Fatalf("under the id of commit %d: %+v at %d, %t; want %s", n, o, c.Sequence, found, want)
		}
	}
	if _, _, found := h.madeOnce(id(commits)); found {
		t.Error("an id that no commit has is found")
	}
}
