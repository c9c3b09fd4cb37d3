package repository

import (
	"encoding/json"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
)

// TestAWaitingWriteFitsOnlyWhereNothingElseWasDecided: others commit it on a later head
// only if what came since gave other documents new texts, and nothing else.
func TestAWaitingWriteFitsOnlyWhereNothingElseWasDecided(t *testing.T) {
	commit := func(base *Snapshot, changes ...Change) *Snapshot {
		t.Helper()
		tree, _ := base.knownTree()
		by := Signature{Name: "Ada", Email: "ada@example.com", When: time.Unix(1, 0)}
		p, err := prepare(base, tree, Draft{Changes: changes, Author: by, Committer: by, Message: "m"})
		if err != nil || p == nil {
			t.Fatal(p, err)
		}
		return p.onto(base, base.Head.Sequence+1)
	}
	flag, other, segment := "feature-flags/a.json", "feature-flags/b.json", "segments/s.json"
	text := func(s string) []byte { return []byte(s) }
	first := commit(&Snapshot{Head: Head{Access: 3, Index: "i"}}, Change{flag, text("1")}, Change{other, text("1")}, Change{segment, text("1")})
	mine := Draft{Changes: []Change{{flag, text("2")}}, Standalone: true, RequestID: "0123456789abcdef0123456789abcdef", Message: "m",
		Author: Committer(time.Unix(1, 0)), Committer: Committer(time.Unix(1, 0))}
	encoded := must.Get(json.Marshal(portable(first, mine)))(t)
	w := readWaiting(encoded)
	revoked, swept := commit(first, Change{other, text("2")}), commit(first, Change{other, text("2")})
	revoked.Head.Access++
	swept.Head.Fence++
	unknown := commit(first, Change{other, text("2")})
	unknown.reshaped = nil
	back := commit(commit(first, Change{flag, text("9")}), Change{flag, text("1")})
	for name, test := range map[string]struct {
		tip  *Snapshot
		want bool
	}{
		"the head that it was decided on":        {first, true},
		"another document has a new text":        {commit(first, Change{other, text("2")}), true},
		"so have several":                        {commit(commit(first, Change{other, text("2")}), Change{other, text("3")}), true},
		"the same document has":                  {commit(first, Change{flag, text("3")}), false},
		"the same document has its text back":    {back, false},
		"the same document is gone":              {commit(first, Change{flag, nil}), false},
		"another document is gone":               {commit(first, Change{other, nil}), false},
		"a document was created":                 {commit(first, Change{"configs/c.json", text("1")}), false},
		"a segment has a new text":               {commit(first, Change{segment, text("2")}), false},
		"a document names the key of its values": {commit(first, Change{other, text(`{"decryptWith": "a"}`)}), false},
		"a key was revoked":                      {revoked, false},
		"a sweep has begun":                      {swept, false},
		"it is not known what came between":      {unknown, false},
	} {
		if got := w.fits(test.tip); got != test.want {
			t.Errorf("%s: it fits is %t", name, got)
		}
	}
	mine.Once = &Once{}
	if portable(first, mine) != nil {
		t.Error("a request that may be sent again is committed by others")
	}
	mine.Once, mine.Standalone = nil, false
	if portable(first, mine) != nil || readWaiting([]byte(`{"New": 1}`)) != nil || (*waitingDraft)(nil).fits(first) {
		t.Error("what others cannot judge is committed by them")
	}
}
