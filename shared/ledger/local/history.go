package local

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"sync"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// history is the index of one history: its rows, in order, and the ways to
// find them. It only grows, so that what a reader took from it stays true
// while more is added.
type history struct {
	base int64 // the sequence of the first row

	mu     sync.RWMutex
	rows   []row
	lines  []uint32            // for each row, where the line begins that it ends: rows that each have the one before as their only parent
	trails map[string]*[]step  // by path
	ids    map[uint16][]uint32 // rows by the first four digits of their ids
}

// step is a touch of a path: the row, and what the path has from then on; zeros for nothing.
type step struct {
	row     uint32
	blob    object.ID
	created bool
}

func newHistory(base int64) *history {
	return &history{base: base, trails: map[string]*[]step{}, ids: map[uint16][]uint32{}}
}

// append adds rows that decode. The last one is the head.
func (h *history) append(rows ...row) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range rows {
		number := uint32(len(h.rows))
		c, parents, _ := r.decode()
		line := number
		if number > 0 && len(parents) == 1 && parents[0] == h.rows[number-1].id() {
			line = h.lines[number-1]
		}
		h.lines = append(h.lines, line)
		h.rows = append(h.rows, r)
		id := r.id()
		bucket := binary.BigEndian.Uint16(id[:2])
		h.ids[bucket] = append(h.ids[bucket], number)
		for _, t := range c.Touched {
			trail := h.trails[t.Path]
			if trail == nil {
				trail = new([]step)
				h.trails[t.Path] = trail
			}
			*trail = append(*trail, step{number, object.ParseID(t.Blob), t.Created})
		}
	}
}

// head returns the last row's id and sequence; without rows the id is zero.
func (h *history) head() (object.ID, int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.rows) == 0 {
		return object.ID{}, h.base - 1
	}
	return h.rows[len(h.rows)-1].id(), h.base + int64(len(h.rows)) - 1
}

// find returns the number of the row with an id.
func (h *history) find(id object.ID) (uint32, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, number := range h.ids[binary.BigEndian.Uint16(id[:2])] {
		if h.rows[number].id() == id {
			return number, true
		}
	}
	return 0, false
}

// view is a history up to a head.
type view struct {
	*history
	rows  []row
	lines []uint32
}

// at returns the history up to a head, and false when the head is none of it.
func (h *history) at(head repository.Head) (view, bool) {
	if head.Commit == "" {
		return view{history: h}, true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	n := head.Sequence - h.base + 1
	if n < 1 || n > int64(len(h.rows)) || h.rows[n-1].id().String() != head.Commit {
		return view{}, false
	}
	return view{history: h, rows: h.rows[:n:n], lines: h.lines[:n:n]}, true
}

// since returns the commits after a sequence, oldest first.
func (v view) since(after int64) []repository.Commit {
	first := min(max(after-v.base+1, 0), int64(len(v.rows)))
	commits := make([]repository.Commit, 0, int64(len(v.rows))-first)
	for i, r := range v.rows[first:] {
		commits = append(commits, r.commit(v.base+first+int64(i)))
	}
	return commits
}

// page returns a page of the whole history, newest first.
func (v view) page(p repository.Page) []repository.Commit {
	end := v.bound(p.Before)
	n := pageSize(end, p.Limit)
	commits := make([]repository.Commit, 0, n)
	for i := end - 1; i >= end-n; i-- {
		commits = append(commits, v.rows[i].commit(v.base+int64(i)))
	}
	return commits
}

// pageOf returns a page of the history of a path, newest first.
func (v view) pageOf(p repository.Page) []repository.Commit {
	trail := before(v.trail(p.Path), v.bound(p.Before))
	trail = trail[len(trail)-pageSize(len(trail), p.Limit):]
	commits := make([]repository.Commit, 0, len(trail))
	for i := len(trail) - 1; i >= 0; i-- {
		s := trail[i]
		c := v.rows[s.row].header(v.base + int64(s.row))
		touch := repository.Touch{Path: p.Path, Created: s.created}
		if !s.blob.IsZero() {
			touch.Blob = s.blob.String()
		}
		c.Touched = []repository.Touch{touch}
		commits = append(commits, c)
	}
	return commits
}

// bound is the number of rows with a sequence below before; 0 is no bound.
func (v view) bound(before int64) int {
	if before <= 0 {
		return len(v.rows)
	}
	return int(min(max(before-v.base, 0), int64(len(v.rows))))
}

func pageSize(available, limit int) int {
	if limit <= 0 {
		return available
	}
	return min(available, limit)
}

// trail returns the touches of a path, oldest first.
func (v view) trail(path string) []step {
	v.mu.RLock()
	defer v.mu.RUnlock()
	trail := v.trails[path]
	if trail == nil {
		return nil
	}
	return before(*trail, len(v.rows))
}

// before cuts a trail off where the rows from a number on begin.
func before(trail []step, number int) []step {
	n := sort.Search(len(trail), func(i int) bool { return int(trail[i].row) >= number })
	return trail[:n]
}

// resolve returns the row that a full id or an abbreviation names.
func (v view) resolve(revision string) (uint32, error) {
	if !object.IsRevision(revision) {
		return 0, repository.ErrUnknownCommit
	}
	found, hits := uint32(0), 0
	first, _ := hex.DecodeString(revision[:4]) // it is hexadecimal
	v.mu.RLock()
	rows := v.ids[binary.BigEndian.Uint16(first)]
	v.mu.RUnlock()
	for _, number := range rows {
		if int(number) < len(v.rows) && strings.HasPrefix(v.rows[number].id().String(), revision) {
			found = number
			hits++
		}
	}
	switch {
	case hits == 0:
		return 0, repository.ErrUnknownCommit
	case hits > 1:
		return 0, fmt.Errorf("%s names %d commits: %w", revision, hits, repository.ErrAmbiguous)
	}
	return found, nil
}

// blob finds what a path held in the commit of a row, as far as the rows tell:
// along the line of commits that ends there. known is false when only the
// commit's tree can tell, because the answer lies behind a merge.
func (v view) blob(path string, number uint32) (blob object.ID, exists, known bool) {
	line := v.lines[number]
	trail := before(v.trail(path), int(number)+1)
	if len(trail) > 0 && trail[len(trail)-1].row >= line {
		blob = trail[len(trail)-1].blob
		return blob, !blob.IsZero(), true
	}
	return object.ID{}, false, line == 0 && v.rows[0].header(0).Parent == ""
}

// lastTouches returns, for each file of a tree, the last commit that gave it
// the content it has there.
func (v view) lastTouches(blobs map[string]object.ID) map[string]repository.Commit {
	found := map[string]repository.Commit{}
	commits := map[uint32]repository.Commit{}
	for path, blob := range blobs {
		trail := v.trail(path)
		for i := len(trail) - 1; i >= 0; i-- {
			if trail[i].blob == blob {
				number := trail[i].row
				commit, known := commits[number]
				if !known { // an import touches every file
					commit = v.rows[number].header(v.base + int64(number))
					commits[number] = commit
				}
				found[path] = commit
				break
			}
		}
	}
	return found
}
