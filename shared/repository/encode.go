package repository

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"time"

	"svc.example/svc/shared/encoding"
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

// AppendCommit adds a commit's encoding to b. ReadCommit reads it. That ids are ids has been checked.
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
	b = encoding.AppendText(b, c.Message)
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

// noTime stands for a date that makes no sense.
const noTime = math.MinInt64

// appendSignature adds a signature, for decoder.signature.
func appendSignature(b []byte, s Signature) []byte {
	b = encoding.AppendText(encoding.AppendText(b, s.Name), s.Email)
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
	b = encoding.AppendText(appendIDs(append(b, flags), t.Blob), t.Path)
	if t.Pack == "" {
		return b
	}
	if t.Pack != pack {
		b = appendIDs(b, t.Pack)
	}
	return binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.Offset)), uint64(t.Length))
}

var errCommit = errors.New("the encoding of a commit is damaged")

// ReadHeader reads what AppendCommit wrote, but for the touches.
func ReadHeader(b []byte) (Commit, error) {
	r := newDecoder(b)
	c := r.header()
	if r.Bad {
		return Commit{}, errCommit
	}
	return c, nil
}

func (r *decoder) header() (c Commit) {
	head := r.Take(2)
	if head == nil || head[0] != commitFormat {
		r.Fail()
		return c
	}
	c.SHA = r.id()
	for i, to := range []*string{&c.Parent, &c.Tree, &c.Pack} {
		if head[1]&(1<<i) != 0 {
			*to = r.id()
		}
	}
	c.Sequence = r.Integer()
	c.Author, c.Committer = r.signature(), r.signature()
	c.Message = string(r.Text())
	return c
}

// ReadCommit reads what AppendCommit wrote, and returns what follows it.
func ReadCommit(b []byte) (c Commit, rest []byte, err error) {
	r := newDecoder(b)
	c = r.header()
	if n := r.Count(); n > 0 {
		c.Touched = make([]Touch, 0, min(n, uint64(len(r.Bytes)/2)))
		for range n {
			c.Touched = append(c.Touched, r.touch(c.Pack))
			if r.Bad {
				break
			}
		}
	}
	if r.Bad {
		return Commit{}, nil, errCommit
	}
	return c, r.Bytes, nil
}

// decoder is an encoding.Decoder that also reads what commits are made of.
type decoder struct{ encoding.Decoder }

// newDecoder makes a decoder of what has not been read.
func newDecoder(b []byte) *decoder { return &decoder{encoding.Decoder{Bytes: b}} }

// id reads an id of 20 bytes.
func (r *decoder) id() string { return hex.EncodeToString(r.Take(idBytes)) }

// signature reads what appendSignature wrote.
func (r *decoder) signature() Signature {
	s := Signature{Name: string(r.Text()), Email: string(r.Text())}
	seconds, offset := r.Number(), r.Number()
	if seconds == noTime {
		return s
	}
	s.When = time.Unix(seconds, 0).UTC()
	if offset != 0 {
		s.When = s.When.In(time.FixedZone("", int(offset)))
	}
	return s
}

func (r *decoder) touch(pack string) Touch {
	flags := r.Take(1)
	if flags == nil {
		return Touch{}
	}
	t := Touch{Created: flags[0]&isCreated != 0}
	if flags[0]&isDeleted == 0 {
		t.Blob = r.id()
	}
	t.Path = string(r.Text())
	if flags[0]&isPlaced == 0 {
		return t
	}
	if t.Pack = pack; flags[0]&isElsewhere != 0 {
		t.Pack = r.id()
	}
	if t.Pack == "" {
		r.Fail()
	}
	t.Offset, t.Length = r.Integer(), r.Integer()
	return t
}
