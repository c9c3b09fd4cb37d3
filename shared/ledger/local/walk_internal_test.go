package local

import (
	"bytes"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/ledger/revwalk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// counting counts the objects that are read, and fails at one of them.
type counting struct {
	revwalk.Reader
	reads  *atomic.Int64
	failAt int64
}

var errDisk = errors.New("the disk fails")

func (c counting) Read(id object.ID) (object.Kind, []byte, error) {
	if c.reads.Add(1) == c.failAt {
		return "", nil, errDisk
	}
	return c.Reader.Read(object.ParseID(id.String()))
}

// A walk finds the same on all processors as on one, and reads hardly more for it:
// each commit, and each tree for the commits that are looked at together.
func TestAWalkFindsTheSameOnAllProcessors(t *testing.T) {
	testenv.Slow(t)
	l := started(t)
	g := gitIn(t, l.Repository())
	w := newWorld(7, 1100)
	w.load(g)
	tree, tip := g.run("rev-parse", w.made[0].sha+"^{tree}"), w.made[0].sha
	for some := range slices.Chunk(w.made[1:], 50) { // so that one commit reaches all
		arguments := []string{"commit-tree", "-m", "all of them", "-p", tip, tree}
		for _, m := range some {
			arguments = append(arguments, "-p", m.sha)
		}
		tip = g.run(arguments...)
	}
	target := object.ParseID(tip)
	walk := func(failAt int64, beside bool) ([]row, int64, error) {
		var reads atomic.Int64
		trees := func() *revwalk.Trees {
			reader := l.objects.Reader(t.Context())
			t.Cleanup(reader.Close)
			return revwalk.NewTrees(counting{reader, &reads, failAt})
		}
		var told []int
		way := revwalk.Walk[row]{Trees: trees()}
		if beside {
			way.Beside = trees
		}
		rows, err := rowsOf(t.Context(), way, target, func(done int) { told = append(told, done) })
		if err == nil && !slices.Equal(told, []int{progressStep}) {
			t.Errorf("the progress that was told is %v", told)
		}
		return rows, reads.Load(), err
	}
	want, alone, err := walk(0, false)
	must.Do(t, err)
	got, together, err := walk(0, true)
	must.Do(t, err)
	if len(want) < 4*256 || !slices.EqualFunc(got, want, func(a, b row) bool { return bytes.Equal(a, b) }) {
		t.Errorf("%d rows, want %d, or other ones", len(got), len(want))
	}
	t.Logf("%d objects were read for %d commits, %d by one goroutine", together, len(got), alone)
	if together > alone+alone/2 {
		t.Errorf("%d objects were read on all processors, %d on one", together, alone)
	}
	for _, at := range []int64{1, 300, alone / 2, alone - 1} {
		if _, _, err := walk(at, true); !errors.Is(err, errDisk) {
			t.Errorf("read %d fails: %v", at, err)
		}
	}
}
