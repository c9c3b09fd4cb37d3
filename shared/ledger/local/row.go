package local

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"time"

	"svc.example/svc/shared/repository"
)

// row is one commit of the history, encoded. In memory it costs nothing but
// its bytes, and in the cache it is the same bytes.
//
//	id (20), tree (20, zeros when unknown), flags (1), parents (count, 20 each),
//	author, committer (name, e-mail, seconds, offset), message,
//	touches (count, each: flags (1), blob (20, unless deleted), path)
//
// Counts and lengths are unsigned varints, times and offsets signed ones.
type row []byte

const (
	// rowIsHead: the head pointed at this commit. Everything up to it belongs
	// to one history; rows after the last such row are the beginning of a
	// batch that was never finished.
	rowIsHead = 1 << iota
	touchCreated
	touchDeleted
)

const flagsAt = 2 * idBytes

func (r row) id() oid      { return oid(r[:idBytes]) }
func (r row) tree() oid    { return oid(r[idBytes : 2*idBytes]) }
func (r row) isHead() bool { return r[flagsAt]&rowIsHead != 0 }

// asHead returns the row with or without the mark of a head.
func (r row) asHead(head bool) row {
	if r.isHead() == head {
		return r
	}
	marked := slices.Clone(r)
	marked[flagsAt] ^= rowIsHead
	return marked
}

// parents returns the ids of the commit's parents.
func (r row) parents() []oid {
	c := cursor{b: r[flagsAt+1:]}
	parents := make([]oid, 0, 1)
	for range c.count() {
		parents = append(parents, c.id())
	}
	return parents
}

// headerOf encodes everything but the touches.
func headerOf(c repository.Commit, parents []oid) row {
	b := make(row, 0, 160+len(c.Message))
	b = appendID(b, c.SHA)
	b = appendID(b, c.Tree)
	b = append(b, 0)
	b = binary.AppendUvarint(b, uint64(len(parents)))
	for _, parent := range parents {
		b = append(b, parent[:]...)
	}
	b = appendSignature(b, c.Author)
	b = appendSignature(b, c.Committer)
	return appendText(b, c.Message)
}

func (r row) withTouches(touches []repository.Touch) row {
	r = binary.AppendUvarint(r, uint64(len(touches)))
	for _, touch := range touches {
		r = appendTouch(r, touch)
	}
	return slices.Clip(r)
}

func appendTouch(b row, touch repository.Touch) row {
	var flags byte
	if touch.Created {
		flags |= touchCreated
	}
	if touch.Blob == "" {
		return appendText(append(b, flags|touchDeleted), touch.Path)
	}
	return appendText(appendID(append(b, flags), touch.Blob), touch.Path)
}

// appendID adds an id, zeros for "". That it is an id has been checked.
func appendID(b row, text string) row {
	id := parseID(text)
	return append(b, id[:]...)
}

func appendText(b row, text string) row {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// noTime stands for a date that makes no sense.
const noTime = math.MinInt64

func appendSignature(b row, s repository.Signature) row {
	b = appendText(appendText(b, s.Name), s.Email)
	if s.When.IsZero() {
		return binary.AppendVarint(binary.AppendVarint(b, noTime), 0)
	}
	_, offset := s.When.Zone()
	return binary.AppendVarint(binary.AppendVarint(b, s.When.Unix()), int64(offset))
}

// commit decodes the row. Touched holds the touches whose places are given.
func (r row) commit(sequence int64, places ...uint32) repository.Commit {
	c := cursor{b: r}
	commit := repository.Commit{SHA: c.id().String(), Tree: c.optionalID(), Sequence: sequence}
	c.take(1)
	for i := range c.count() {
		if parent := c.id(); i == 0 {
			commit.Parent = parent.String()
		}
	}
	commit.Author, commit.Committer = c.signature(), c.signature()
	commit.Message = string(c.text())
	for _, place := range places {
		c := cursor{b: r[place:]}
		commit.Touched = append(commit.Touched, c.touch())
	}
	return commit
}

// touches calls for each touch, with the path as it lies in the row and the
// touch's place.
func (r row) touches(each func(path []byte, place uint32)) error {
	c := cursor{b: r}
	c.skipHeader()
	for range c.count() {
		place := len(r) - len(c.b)
		path := c.skipTouch()
		if c.bad {
			break
		}
		each(path, uint32(place))
	}
	if c.bad || len(c.b) > 0 || len(r) > math.MaxUint32 {
		return errRow
	}
	return nil
}

// places lists the places of all touches.
func (r row) places() []uint32 {
	var places []uint32
	_ = r.touches(func(_ []byte, place uint32) { places = append(places, place) })
	return places
}

// blobAt is the blob of the touch at a place; false when it is a deletion.
func (r row) blobAt(place uint32) (oid, bool) {
	if r[place]&touchDeleted != 0 {
		return oid{}, false
	}
	return oid(r[place+1 : place+1+idBytes]), true
}

var errRow = errors.New("a row of the history is damaged")

// cursor reads a row. Reading beyond the end, or what makes no sense, makes it
// bad and gives zeros.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.b)) {
		c.b, c.bad = nil, true
		return nil
	}
	taken := c.b[:n]
	c.b = c.b[n:]
	return taken
}

func (c *cursor) id() (id oid) {
	copy(id[:], c.take(idBytes))
	return id
}

func (c *cursor) optionalID() string {
	if id := c.id(); id != (oid{}) {
		return id.String()
	}
	return ""
}

// count reads the number of things that follow, of which each has at least one
// byte.
func (c *cursor) count() uint64 {
	n, size := binary.Uvarint(c.b)
	if size <= 0 || n > uint64(len(c.b)-size) {
		c.b, c.bad = nil, true
		return 0
	}
	c.take(uint64(size))
	return n
}

func (c *cursor) number() int64 {
	n, size := binary.Varint(c.b)
	if size <= 0 {
		c.b, c.bad = nil, true
		return 0
	}
	c.take(uint64(size))
	return n
}

func (c *cursor) text() []byte { return c.take(c.count()) }

func (c *cursor) signature() repository.Signature {
	s := repository.Signature{Name: string(c.text()), Email: string(c.text())}
	seconds, offset := c.number(), c.number()
	if seconds == noTime {
		return s
	}
	s.When = time.Unix(seconds, 0).UTC()
	if offset != 0 {
		s.When = s.When.In(time.FixedZone("", int(offset)))
	}
	return s
}

func (c *cursor) touch() repository.Touch {
	flags := c.take(1)
	if flags == nil {
		return repository.Touch{}
	}
	touch := repository.Touch{Created: flags[0]&touchCreated != 0}
	if flags[0]&touchDeleted == 0 {
		blob := c.take(idBytes)
		touch.Blob = hex.EncodeToString(blob)
	}
	touch.Path = string(c.text())
	return touch
}

func (c *cursor) skipHeader() {
	c.take(flagsAt + 1)
	c.take(c.count() * idBytes)
	for range 2 {
		c.text()
		c.text()
		c.number()
		c.number()
	}
	c.text()
}

func (c *cursor) skipTouch() (path []byte) {
	flags := c.take(1)
	if flags != nil && flags[0]&touchDeleted == 0 {
		c.take(idBytes)
	}
	return c.text()
}
