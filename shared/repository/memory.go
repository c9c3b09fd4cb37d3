package repository

import "sync"

// memory holds the snapshots that were used last: a slow request may still
// ask for the head before the last one, and a git push may turn history back
// to an earlier one.
type memory struct {
	lock      sync.Mutex
	snapshots []*Snapshot // the latest used first
}

const (
	mostSnapshots  = 16
	mostRemembered = 64_000 // files in all of them; texts are shared
)

// get returns the snapshot of a head.
func (m *memory) get(head Head) (*Snapshot, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, s := range m.snapshots {
		if s.Head.Commit != head.Commit || s.Head.Sequence != head.Sequence {
			continue
		}
		if s.Head != head {
			s = s.copy(head)
		}
		m.keep(s)
		return s, true
	}
	return nil, false
}

func (m *memory) put(s *Snapshot) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.keep(s)
}

// keep puts a snapshot in front of all, in the place of one of the same
// commit.
func (m *memory) keep(s *Snapshot) {
	if len(m.snapshots) > 0 && m.snapshots[0] == s {
		return
	}
	kept := []*Snapshot{s}
	files := len(s.Files)
	for _, other := range m.snapshots {
		files += len(other.Files)
		if other.Head.Commit == s.Head.Commit {
			continue
		}
		if len(kept) == mostSnapshots || len(kept) > 1 && files > mostRemembered {
			break
		}
		kept = append(kept, other)
	}
	m.snapshots = kept
}

// before returns the snapshot with the highest sequence below a head's; of
// two, the one used later.
func (m *memory) before(head Head) *Snapshot {
	m.lock.Lock()
	defer m.lock.Unlock()
	var best *Snapshot
	for _, s := range m.snapshots {
		if s.Head.Sequence < head.Sequence && (best == nil || s.Head.Sequence > best.Head.Sequence) {
			best = s
		}
	}
	return best
}

// clear forgets everything: history was replaced.
func (m *memory) clear() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.snapshots = nil
}

// text returns the content of a blob if some snapshot has it at a path.
func (m *memory) text(path, blob string) ([]byte, bool) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for _, s := range m.snapshots {
		if f, ok := s.File(path); ok && f.Blob == blob {
			return f.Text, true
		}
	}
	return nil, false
}

// renew replaces a superseded snapshot, should history be turned back to it.
func (m *memory) renew(old *Snapshot) {
	m.lock.Lock()
	defer m.lock.Unlock()
	for i, s := range m.snapshots {
		if s.Head.Commit == old.Head.Commit {
			s.superseded.Store(true)
			m.snapshots[i] = s.copy(s.Head)
		}
	}
}
