package pack

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
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

// Merge writes one pack with all objects of the sources to out and returns
// its name and index. Given the newest source first, a tree is stored as its
// difference from the next newer version, so that the newest are whole. It fails
// with a SourceError where it was at a source.
func Merge(out io.Writer, sources []Source) (name string, index []byte, err error) {
	m := &merger{placed: map[plumbing.Hash]int64{}}
	for _, source := range sources {
		for i := range source.Index.Len() {
			m.placed[source.Index.ID(i)] = missing
		}
	}
	m.out, err = newWriter(out, len(m.placed))
	if err != nil {
		return "", nil, err
	}
	for i, source := range sources {
		if err := m.add(source); err != nil {
			return "", nil, &SourceError{i, err}
		}
	}
	return m.out.close()
}

// missing marks an object that is still to be written.
const missing = -1

type merger struct {
	out    *writer
	placed map[plumbing.Hash]int64 // where each object was written
	recent candidates
}

// item is an object in a source.
type item struct {
	id       plumbing.Hash
	offset   int64
	end      int64
	checksum uint32
	header   Header
	isBase   bool // another object of the source is a difference from it
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
		offset := m.out.offset
		if err := m.copy(from, items, it); err != nil {
			return fmt.Errorf("object %s: %w", it.id, err)
		}
		m.placed[it.id] = offset
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
			base.isBase = true
		case plumbing.REFDeltaObject:
			named[it.header.Base] = true
		}
	}
	for i := range items {
		items[i].isBase = items[i].isBase || named[items[i].id]
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
	base, err := baseOf(items, it)
	switch {
	case err != nil:
		return err
	case it.header.IsDelta():
		header, err := m.rebased(it, base, raw[:it.header.Length])
		if err != nil {
			return err
		}
		return m.out.entry(it.id, header, raw[it.header.Length:])
	case it.header.Type == plumbing.TreeObject && it.header.Size <= largestTree:
		return m.tree(it, raw)
	}
	return m.out.entry(it.id, raw)
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
	if it.header.IsDelta() {
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
	if it.isBase {
		return m.out.entry(it.id, raw)
	}
	content, err := inflate(bytes.NewReader(raw[it.header.Length:]), it.header.Size)
	if err != nil {
		return err
	}
	return m.recent.put(m.out, it.id, content)
}
