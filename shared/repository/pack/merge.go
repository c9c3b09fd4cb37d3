package pack

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository/object"
)

// Source is a pack to be merged.
type Source struct {
	Open  func() (Bytes, error) // called when its turn has come
	Size  int64                 // of the pack, in bytes
	Index *Index
}

// Bytes is a pack that was opened.
type Bytes interface {
	io.ReaderAt
	io.Closer
}

// SourceError is why Merge failed, and at which of its sources.
type SourceError struct {
	Source int
	Err    error
}

func (e *SourceError) Error() string { return e.Err.Error() }

func (e *SourceError) Unwrap() error { return e.Err }

// Merged is what a pack that Merge has written is called and holds.
type Merged struct {
	Name  string // 40 hexadecimal digits: the pack's own checksum
	Index []byte
	// Bases say of older versions of documents, by the offset at which one
	// begins, how many bytes before it the version begins that it is a difference
	// from. Between the two lie others of the same.
	Bases map[int64]int64
}

// Merge writes one pack with all objects of the sources to out. Given the newest
// source first, a tree is stored as its difference from the next newer version,
// and a document as its difference from the newest of several versions, so that
// the newest are whole. It fails with a SourceError where it was at a source.
//
// It holds at most maxVersions of documents, in memory, beside the sources'
// indexes and an object at a time.
func Merge(out io.Writer, sources []Source) (*Merged, error) {
	m := newMerger()
	for _, source := range sources {
		for i := range source.Index.Len() {
			m.placed[source.Index.ID(i)] = missing
		}
	}
	var err error
	if m.out, err = newWriter(out, len(m.placed)); err != nil {
		return nil, err
	}
	m.out.placed = m.placed
	for i, source := range sources {
		if err := m.add(source); err != nil {
			return nil, &SourceError{i, err}
		}
	}
	if err := m.flushVersions(0); err != nil {
		return nil, err
	}
	name, index, err := m.out.close()
	if err != nil {
		return nil, err
	}
	return &Merged{name, index, m.bases}, nil
}

// Marks of objects that have no place yet.
const (
	missing = -1 // still to be read
	held    = -2 // held back, see versions
)

type merger struct {
	out      *writer
	placed   map[plumbing.Hash]int64 // where each object was written
	bases    map[int64]int64         // see Merged
	recent   candidates
	versions versions
}

func newMerger() *merger {
	return &merger{
		placed: map[plumbing.Hash]int64{}, bases: map[int64]int64{},
		versions: versions{contents: lru.New[plumbing.Hash, []byte](maxContents)},
	}
}

// item is an object in a source.
type item struct {
	id       plumbing.Hash
	offset   int64
	end      int64
	checksum uint32
	header   Header
	bases    int  // how many objects of the source are differences from it
	chained  bool // one of these has differences from itself, or names its base
}

func (m *merger) add(source Source) error {
	from, err := source.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	items, err := list(source)
	if err != nil {
		return err
	}
	if err := readHeaders(from, items); err != nil {
		return err
	}
	for _, it := range items {
		if m.placed[it.id] != missing {
			continue
		}
		if err := m.copy(from, items, it); err != nil {
			return fmt.Errorf("object %s: %w", it.id, err)
		}
	}
	return nil
}

// list returns a source's objects as they lie.
func list(source Source) ([]item, error) {
	items := make([]item, source.Index.Len())
	for i := range items {
		items[i] = item{id: source.Index.ID(i), offset: source.Index.Offset(i), checksum: source.Index.Checksum(i)}
	}
	sort.Slice(items, func(i, j int) bool { return items[i].offset < items[j].offset })
	end := source.Size - TrailerLength
	for i := len(items) - 1; i >= 0; i-- {
		items[i].end, end = end, items[i].offset
		if items[i].offset < headerLength || items[i].offset >= items[i].end {
			return nil, fmt.Errorf("object %s cannot lie at byte %d of its pack", items[i].id, items[i].offset)
		}
	}
	return items, nil
}

func readHeaders(pack io.ReaderAt, items []item) error {
	named := map[plumbing.Hash]bool{}
	b := make([]byte, longestHeader)
	for i := range items {
		it := &items[i]
		n, err := pack.ReadAt(b[:min(longestHeader, it.end-it.offset)], it.offset)
		if err != nil && err != io.EOF {
			return err
		}
		if it.header, err = ParseHeader(b[:n]); err != nil {
			return fmt.Errorf("object %s: %w", it.id, err)
		}
		switch it.header.Type {
		case plumbing.OFSDeltaObject:
			base, err := at(items, it.offset-it.header.Distance)
			if err != nil {
				return fmt.Errorf("object %s: %w", it.id, err)
			}
			base.bases++
		case plumbing.REFDeltaObject:
			named[it.header.Base] = true
		}
	}
	for i := range items {
		it := &items[i]
		if named[it.id] {
			it.bases++
			it.chained = true
		}
		if it.header.Type == plumbing.OFSDeltaObject && it.bases > 0 {
			base, err := at(items, it.offset-it.header.Distance)
			if err != nil {
				return err
			}
			base.chained = true
		}
	}
	return nil
}

// at finds the object that begins at an offset.
func at(items []item, offset int64) (*item, error) {
	i, found := slices.BinarySearchFunc(items, offset, func(it item, offset int64) int {
		return int(min(max(it.offset-offset, -1), 1))
	})
	if !found {
		return nil, fmt.Errorf("its base should begin at byte %d of the pack, where no object begins", offset)
	}
	return &items[i], nil
}

// copy writes an object as it lies, with a new way to its base if it has one.
func (m *merger) copy(from io.ReaderAt, items []item, it item) error {
	if it.end-it.offset > largestCopy {
		return m.stream(from, items, it)
	}
	raw := make([]byte, it.end-it.offset)
	if _, err := from.ReadAt(raw, it.offset); err != nil && err != io.EOF {
		return err
	}
	if crc32.ChecksumIEEE(raw) != it.checksum {
		return damaged(it)
	}
	switch {
	case it.header.Type.IsDelta():
		return m.difference(from, items, it, raw)
	case it.header.Type == plumbing.TreeObject && it.header.Size <= largestTree:
		return m.tree(it, raw)
	case it.header.Type == plumbing.BlobObject && isDocument(it.header.Size) && !it.chained:
		content, err := inflate(bytes.NewReader(raw[it.header.Length:]), it.header.Size)
		if err != nil {
			return err
		}
		if it.bases >= manyOlder {
			return m.newest(it.id, raw, content)
		}
		if it.bases > 0 { // it is needed again for what comes next
			m.versions.contents.Put(it.id, content, it.header.Size)
		}
		return m.document(it.id, raw, content)
	}
	return m.out.entry(it.id, raw)
}

// difference copies a delta. An older version of a document stays with its base,
// or becomes a difference from what is newer than that.
func (m *merger) difference(from io.ReaderAt, items []item, it item, raw []byte) error {
	deflated := raw[it.header.Length:]
	base, err := versionOf(items, it)
	if err != nil {
		return err
	}
	if base != nil {
		if g := m.versions.of(base.id); g != nil {
			return m.join(g, older{it.id, int(it.header.Size), deflated})
		}
		content, err := m.unpack(from, base, it, deflated)
		if err != nil {
			return err
		}
		if isDocument(int64(len(content))) {
			return m.document(it.id, nil, content)
		}
	}
	id, err := baseOf(items, it)
	if err != nil {
		return err
	}
	header, err := m.rebased(it, id, raw[:it.header.Length])
	if err != nil {
		return err
	}
	return m.out.entry(it.id, header, deflated)
}

// versionOf returns the document that a delta is a version of, as versions are
// stored here: the document whole, and nothing a difference from the delta.
func versionOf(items []item, it item) (*item, error) {
	if it.header.Type != plumbing.OFSDeltaObject || it.bases > 0 || it.header.Size > largestBlob {
		return nil, nil
	}
	base, err := at(items, it.offset-it.header.Distance)
	if err != nil || base.chained || base.header.Type != plumbing.BlobObject || !isDocument(base.header.Size) {
		return nil, err
	}
	return base, nil
}

// unpack makes a document of its difference from a whole one in its source.
func (m *merger) unpack(from io.ReaderAt, base *item, it item, deflated []byte) ([]byte, error) {
	whole, found := m.versions.contents.Get(base.id)
	if !found {
		var err error
		if _, whole, err = Read(from, base.offset, base.end-base.offset, func(Header) int64 { return largestBlob }); err != nil {
			return nil, err
		}
		m.versions.contents.Put(base.id, whole, int64(len(whole)))
	}
	difference, err := inflate(bytes.NewReader(deflated), it.header.Size)
	if err != nil {
		return nil, err
	}
	if size, err := madeSize(difference); err != nil || size > largestBlob {
		return nil, err
	}
	content, err := Apply(whole, difference)
	if err == nil && object.Hash(object.Blob, content) != it.id {
		err = damaged(it)
	}
	return content, err
}

// baseOf is the id of what a delta is a difference from; zero for a whole
// object.
func baseOf(items []item, it item) (plumbing.Hash, error) {
	if it.header.Type != plumbing.OFSDeltaObject {
		return it.header.Base, nil
	}
	base, err := at(items, it.offset-it.header.Distance)
	if err != nil {
		return plumbing.Hash{}, err
	}
	return base.id, nil
}

// rebased is the header of a delta in the new pack. Its base has been written,
// from this source or an earlier one; only a base that is named and lies behind
// its delta has not.
func (m *merger) rebased(it item, base plumbing.Hash, old []byte) ([]byte, error) {
	if m.placed[base] == held {
		if err := m.flushVersions(0); err != nil {
			return nil, err
		}
	}
	offset, known := m.placed[base]
	switch {
	case known && offset != missing:
		header := encodeHeader(plumbing.OFSDeltaObject, it.header.Size)
		return appendDistance(header, m.out.offset-offset), nil
	case known && it.header.Type == plumbing.REFDeltaObject:
		return old, nil
	}
	return nil, fmt.Errorf("its base %s is in no pack that is merged", base)
}

// largestCopy bounds what is held in memory of an object that is copied.
const largestCopy = 4 << 20

// stream is copy for a large object, which passes through in parts.
func (m *merger) stream(from io.ReaderAt, items []item, it item) error {
	header := make([]byte, it.header.Length)
	if _, err := from.ReadAt(header, it.offset); err != nil {
		return err
	}
	old := crc32.ChecksumIEEE(header)
	if it.header.Type.IsDelta() {
		base, err := baseOf(items, it)
		if err == nil {
			header, err = m.rebased(it, base, header)
		}
		if err != nil {
			return err
		}
	}
	begin := it.offset + int64(it.header.Length)
	checksum, err := m.out.stream(it.id, header, old, io.NewSectionReader(from, begin, it.end-begin))
	if err == nil && checksum != it.checksum {
		err = damaged(it)
	}
	return err
}

func damaged(it item) error {
	return fmt.Errorf("the pack is damaged at byte %d: the checksum in its index is another", it.offset)
}

// tree stores a tree as a difference where that pays, unless others are
// differences from it: their way to a whole object would grow.
func (m *merger) tree(it item, raw []byte) error {
	if it.bases > 0 {
		return m.out.entry(it.id, raw)
	}
	content, err := inflate(bytes.NewReader(raw[it.header.Length:]), it.header.Size)
	if err != nil {
		return err
	}
	return m.recent.put(m.out, it.id, content)
}
