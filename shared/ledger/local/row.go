package local

import (
	"errors"
	"slices"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// row is one commit of the history, encoded. In memory it costs nothing but
// its bytes, and in the cache it is the same bytes:
//
//	flags (1), the commit (repository.AppendCommit), its parents but for the first (20 each)
//
// The commit's sequence and its pack are not in it.
type row []byte

// rowIsHead: the head pointed at this commit. Everything up to it belongs
// to one history; rows after the last such row are the beginning of a
// batch that was never finished.
const rowIsHead = 1

const (
	idBytes = object.IDLength / 2
	idAt    = 1 + 2 // behind the flags, and what an encoded commit begins with
)

// rowOf encodes a commit.
func rowOf(c repository.Commit, parents []object.ID) row {
	c.Sequence, c.Pack, c.Touched = 0, "", slices.Clone(c.Touched)
	for i := range c.Touched {
		c.Touched[i].Pack = ""
	}
	r := repository.AppendCommit([]byte{0}, c)
	for _, parent := range parents[min(1, len(parents)):] {
		r = append(r, parent[:]...)
	}
	return slices.Clip(r)
}

func (r row) id() object.ID { return object.ID(r[idAt : idAt+idBytes]) }
func (r row) isHead() bool  { return r[0]&rowIsHead != 0 }

// asHead returns the row with or without the mark of a head.
func (r row) asHead(head bool) row {
	if r.isHead() == head {
		return r
	}
	marked := slices.Clone(r)
	marked[0] ^= rowIsHead
	return marked
}

var errRow = errors.New("a row of the history is damaged")

// decode returns what rowOf has encoded.
func (r row) decode() (c repository.Commit, parents []object.ID, err error) {
	if len(r) == 0 {
		return c, nil, errRow
	}
	c, rest, err := repository.ReadCommit(r[1:])
	if err != nil || len(rest)%idBytes != 0 {
		return c, nil, errRow
	}
	if c.Parent != "" {
		parents = append(parents, object.ParseID(c.Parent))
	}
	for parent := range slices.Chunk(rest, idBytes) {
		parents = append(parents, object.ID(parent))
	}
	return c, parents, nil
}

// header is commit without what the commit touched.
func (r row) header(sequence int64) repository.Commit {
	c, _ := repository.ReadHeader(r[1:])
	c.Sequence = sequence
	return c
}

// commit decodes the row, which was decoded before.
func (r row) commit(sequence int64) repository.Commit {
	c, _, _ := r.decode()
	c.Sequence = sequence
	return c
}
