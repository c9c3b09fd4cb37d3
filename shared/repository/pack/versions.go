package pack

import (
	"bytes"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository/object"
)

// versions holds blobs back until versions of the same document lie together:
// the newest whole, and right behind it older ones, each as its difference from
// that one. So a reader of an old one applies one delta, and reads one stretch
// of the pack, of about twice the newest at most.
//
// A pack knows no paths. What begins alike is taken for versions of one
// document, since its key stands there.
type versions struct {
	groups   []*group // the one that was used last at the end
	held     int      // bytes, see weight
	contents *lru.Cache[plumbing.Hash, []byte]
}

// group is versions that will lie together.
type group struct {
	newest plumbing.Hash
	begins [alike]byte // its content
	entry  []byte      // the newest as it lies in a pack, header and all
	older  []older
	length int // bytes of what is older, compressed
}

// older is a difference from the newest.
type older struct {
	id       plumbing.Hash
	size     int // of the difference
	deflated []byte
}

const (
	// smallestBlob is where a difference begins to pay: a smaller document takes
	// hardly more than the trees and the commit beside it.
	smallestBlob = 4 << 10
	// largestBlob is what a document may have, of which there are versions.
	largestBlob = object.MaxBlob
	// alike is how many bytes versions of one document begin with.
	alike = 64
	// maxAlike bounds the documents that begin alike and are looked at.
	maxAlike = 4
	// worthwhile is how much smaller than the whole a difference is.
	worthwhile = 4
	// groupBytes and olderBytes are what a group and an older version are counted
	// with at least, so that neither are there too many of them to look through.
	groupBytes = 4 << 10
	olderBytes = 128
	// maxVersions bounds what is held back, in bytes: a workspace of 32 MB is less
	// when it is compressed.
	maxVersions = 32 << 20
	// maxContents bounds the contents that need not be inflated again.
	maxContents = 16 << 20
	// manyOlder are enough to be left where they are, so that the work of a
	// merge does not grow with the history.
	manyOlder = 64
)

func isDocument(size int64) bool { return size >= smallestBlob && size <= largestBlob }

func (g *group) weight() int {
	return groupBytes + len(g.entry) + olderBytes*len(g.older) + g.length
}

// of finds the group of which a blob is the newest.
func (v *versions) of(newest plumbing.Hash) *group {
	for _, g := range slices.Backward(v.groups) {
		if g.newest == newest {
			return g
		}
	}
	return nil
}

// like finds the group whose newest shares most with a document.
func (v *versions) like(content []byte) (like *group, newest []byte, err error) {
	looked, most := 0, 0
	for _, g := range slices.Backward(v.groups) {
		if !bytes.Equal(g.begins[:], content[:alike]) {
			continue
		}
		other, err := v.content(g)
		if err != nil {
			return nil, nil, err
		}
		if front, back := sharedEnds(other, content); front+back > most {
			like, newest, most = g, other, front+back
		}
		if looked++; looked == maxAlike {
			break
		}
	}
	return like, newest, nil
}

// content is a group's newest.
func (v *versions) content(g *group) ([]byte, error) {
	if content, found := v.contents.Get(g.newest); found {
		return content, nil
	}
	h, err := ParseHeader(g.entry)
	if err != nil {
		return nil, err
	}
	content, err := inflate(bytes.NewReader(g.entry[h.Length:]), h.Size)
	if err == nil {
		v.contents.Put(g.newest, content, h.Size)
	}
	return content, err
}

// document takes a blob, with its entry if it lies whole in its source.
func (m *merger) document(id plumbing.Hash, entry, content []byte) error {
	g, newest, err := m.versions.like(content)
	if err != nil {
		return err
	}
	if g != nil {
		difference := packfile.DiffDelta(newest, content)
		deflated := deflate(difference)
		made, err := Apply(newest, difference)
		if len(deflated) <= len(g.entry)/worthwhile && err == nil && bytes.Equal(made, content) {
			return m.join(g, older{id, len(difference), deflated})
		}
	}
	if entry == nil {
		entry = append(encodeHeader(plumbing.BlobObject, int64(len(content))), deflate(content)...)
	}
	return m.newest(id, entry, content)
}

// newest begins a group.
func (m *merger) newest(id plumbing.Hash, entry, content []byte) error {
	m.placed[id] = held
	v := &m.versions
	g := &group{newest: id, begins: [alike]byte(content), entry: entry}
	v.groups = append(v.groups, g)
	v.held += g.weight()
	v.contents.Put(id, content, int64(len(content)))
	return m.flushVersions(maxVersions)
}

// join adds what is older to a group, which is written once it is so long that
// what comes next is better off with a newer whole one.
func (m *merger) join(g *group, o older) error {
	m.placed[o.id] = held
	g.older = append(g.older, o)
	g.length += len(o.deflated)
	v := &m.versions
	v.held += olderBytes + len(o.deflated)
	i := slices.Index(v.groups, g)
	v.groups = slices.Delete(v.groups, i, i+1)
	if g.length > len(g.entry) {
		return m.write(g)
	}
	v.groups = append(v.groups, g)
	return m.flushVersions(maxVersions)
}

// flushVersions writes groups until no more than so many bytes are held back.
func (m *merger) flushVersions(most int) error {
	for m.versions.held > most {
		g := m.versions.groups[0]
		m.versions.groups = m.versions.groups[1:]
		if err := m.write(g); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) write(g *group) error {
	m.versions.held -= g.weight()
	begin := m.out.offset
	if err := m.out.entry(g.newest, g.entry); err != nil {
		return err
	}
	for _, o := range g.older {
		m.bases[m.out.offset] = m.out.offset - begin
		if err := m.out.delta(o.id, begin, o.size, o.deflated); err != nil {
			return err
		}
	}
	return nil
}
