package repository

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"svc.example/svc/shared/repository/object"
)

// A commit is encoded as
//
//	format (1), flags (1), id (20), parent, tree, pack (20 each, where a flag
//	says so), sequence, author, committer (name, e-mail, seconds, offset),
//	message, touches (count, each: flags (1), blob (20, unless deleted), path,
//	place)
//
// and a touch's place as pack (20, unless it is the commit's), offset, length.
// Counts, lengths and places are unsigned varints, times and offsets signed
// ones. Texts are not part of it.
const commitFormat = 1

const (
	hasParent = 1 << iota
	hasTree
	hasPack
)

const (
	isCreated = 1 << iota
	isDeleted
	isPlaced
	isElsewhere // in another pack than the commit
)

const idBytes = object.IDLength / 2

// AppendCommit adds a commit's encoding to b. Whoever stores commits uses it,
// with ReadCommit. That ids are ids has been checked.
func AppendCommit(b []byte, c Commit) []byte {
	var flags byte
	for i, id := range []string{c.Parent, c.Tree, c.Pack} {
		if id != "" {
			flags |= 1 << i
		}
	}
	b = appendIDs(append(b, commitFormat, flags), c.SHA, c.Parent, c.Tree, c.Pack)
	b = binary.AppendUvarint(b, uint64(c.Sequence))
	b = appendSignature(b, c.Author)
	b = appendSignature(b, c.Committer)
	b = appendText(b, c.Message)
	b = binary.AppendUvarint(b, uint64(len(c.Touched)))
	for _, t := range c.Touched {
		b = appendTouch(b, t, c.Pack)
	}
	return b
}

// appendIDs adds ids; one that is "" is left out.
func appendIDs(b []byte, ids ...string) []byte {
	for _, id := range ids {
		b, _ = hex.AppendDecode(b, []byte(id))
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// noTime stands for a date that makes no sense.
const noTime = math.MinInt64

func appendSignature(b []byte, s Signature) []byte {
	b = appendText(appendText(b, s.Name), s.Email)
	if s.When.IsZero() {
		return binary.AppendVarint(binary.AppendVarint(b, noTime), 0)
	}
	_, offset := s.When.Zone()
	return binary.AppendVarint(binary.AppendVarint(b, s.When.Unix()), int64(offset))
}

func appendTouch(b []byte, t Touch, pack string) []byte {
	var flags byte
	if t.Created {
		flags |= isCreated
	}
	if t.Blob == "" {
		flags |= isDeleted
	}
	if t.Pack != "" {
		flags |= isPlaced
	}
	if t.Pack != "" && t.Pack != pack {
		flags |= isElsewhere
	}
	b = appendText(appendIDs(append(b, flags), t.Blob), t.Path)
	if t.Pack == "" {
		return b
	}
	if t.Pack != pack {
		b = appendIDs(b, t.Pack)
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.Offset)), uint64(t.Length))
}

var errCommit = errors.New("the encoding of a commit is damaged")

// ReadCommit reads what AppendCommit wrote, and returns what follows it.
func ReadCommit(b []byte) (c Commit, rest []byte, err error) {
	r := reader{b: b}
	head := r.take(2)
	if head == nil || head[0] != commitFormat {
		return Commit{}, nil, errCommit
	}
	c.SHA = r.id()
	for i, to := range []*string{&c.Parent, &c.Tree, &c.Pack} {
		if head[1]&(1<<i) != 0 {
			*to = r.id()
		}
	}
	c.Sequence = r.integer()
	c.Author, c.Committer = r.signature(), r.signature()
	c.Message = string(r.text())
	if n := r.count(); n > 0 {
		c.Touched = make([]Touch, 0, min(n, uint64(len(r.b)/2)))
		for range n {
			c.Touched = append(c.Touched, r.touch(c.Pack))
			if r.bad {
				break
			}
		}
	}
	if r.bad {
		return Commit{}, nil, errCommit
	}
	return c, r.b, nil
}

// reader reads an encoding. Reading beyond the end, or what makes no sense,
// makes it bad and gives zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) spoil() { r.b, r.bad = nil, true }

func (r *reader) take(n uint64) []byte {
	if r.bad || n > uint64(len(r.b)) {
		r.spoil()
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) id() string { return hex.EncodeToString(r.take(idBytes)) }

func (r *reader) unsigned() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.spoil()
		return 0
	}
	r.take(uint64(size))
	return n
}

// integer reads a number that is not negative.
func (r *reader) integer() int64 {
	n := r.unsigned()
	if n > math.MaxInt64 {
		r.spoil()
		return 0
	}
	return int64(n)
}

// count reads the number of things that follow, of which each has at least
// one byte.
func (r *reader) count() uint64 {
	n := r.unsigned()
	if n > uint64(len(r.b)) {
		r.spoil()
		return 0
	}
	return n
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.spoil()
		return 0
	}
	r.take(uint64(size))
	return n
}

func (r *reader) text() []byte { return r.take(r.count()) }

func (r *reader) signature() Signature {
	s := Signature{Name: string(r.text()), Email: string(r.text())}
	seconds, offset := r.number(), r.number()
	if seconds == noTime {
		return s
	}
	s.When = time.Unix(seconds, 0).UTC()
	if offset != 0 {
		s.When = s.When.In(time.FixedZone("", int(offset)))
	}
	return s
}

func (r *reader) touch(pack string) Touch {
	flags := r.take(1)
	if flags == nil {
		return Touch{}
	}
	t := Touch{Created: flags[0]&isCreated != 0}
	if flags[0]&isDeleted == 0 {
		t.Blob = r.id()
	}
	t.Path = string(r.text())
	if flags[0]&isPlaced == 0 {
		return t
	}
	if t.Pack = pack; flags[0]&isElsewhere != 0 {
		t.Pack = r.id()
	}
	if t.Pack == "" {
		r.spoil()
	}
	t.Offset, t.Length = r.integer(), r.integer()
	return t
}
