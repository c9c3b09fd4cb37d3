package repository

import (
	"time"

	"svc.example/svc/shared/lru"
)

// memory holds the snapshots that were used last, by commit: a slow request may
// still ask for the head before the last one, and a git push may turn history
// back to an earlier one.
//
// It is bounded in bytes. Snapshots share the texts of the files in which they
// do not differ, so a snapshot counts here for its lists of files alone, and
// for the texts that are new in it.
type memory struct {
	snapshots *lru.Cache[string, *Snapshot]
}

// maxRemembered is about six snapshots of 10,000 files.
const maxRemembered = 8 << 20

// get returns the snapshot of a head.
func (m memory) get(head Head) (*Snapshot, bool) {
	s, found := m.snapshots.Get(head.Commit)
	if !found || s.Head.Sequence != head.Sequence {
		return nil, false
	}
	if s.Head != head {
		s = s.copy(head)
		m.put(s)
	}
	return s, true
}

// put keeps a snapshot in the place of one of the same commit.
func (m memory) put(s *Snapshot) {
	m.snapshots.Put(s.Head.Commit, s, s.fresh+fileBytes*int64(len(s.Files)))
}

// before returns the snapshot with the highest sequence below a head's; of
// two, the one used later.
func (m memory) before(head Head) *Snapshot {
	var best *Snapshot
	for _, s := range m.snapshots.Values() {
		if s.Head.Sequence < head.Sequence && (best == nil || s.Head.Sequence > best.Head.Sequence) {
			best = s
		}
	}
	return best
}

// text returns the content of a blob if some snapshot has it at a path.
func (m memory) text(path, blob string) ([]byte, bool) {
	for _, s := range m.snapshots.Values() {
		if f, ok := s.File(path); ok && f.Blob == blob && f.Err == nil {
			return f.Text, true
		}
	}
	return nil, false
}

// bytes is about what all snapshots take, with their texts.
func (m memory) bytes() int64 {
	var texts int64
	for _, s := range m.snapshots.Values() {
		texts = max(texts, s.texts+s.briefs.size())
	}
	return texts + m.snapshots.Held()
}

// What a file takes in a snapshot, about: its entry here and in the git tree,
// with path and id.
const fileBytes = 250

// weigh counts what a snapshot takes, and notes which files are lost.
func (s *Snapshot) weigh(fresh int64) *Snapshot {
	for i := range s.Files {
		s.texts += int64(len(s.Files[i].Text))
		if s.Files[i].isLost() {
			s.lost = append(s.lost, s.Files[i].Path)
		}
	}
	if s.fresh = fresh; len(s.lost) > 0 && s.seekAt.IsZero() {
		s.seekAt = time.Now().Add(seekEvery)
	}
	return s
}

// textsOf is how many bytes of text updates bring.
func textsOf(updates []update) (sum int64) {
	for _, u := range updates {
		if u.file != nil {
			sum += int64(len(u.file.Text))
		}
	}
	return sum
}
