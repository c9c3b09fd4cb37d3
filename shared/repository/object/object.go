package object

import (
	"crypto/sha1"
	"errors"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
)

// Kind is git's word for what an object is.
type Kind string

// The kinds of object.
const (
	Blob       Kind = "blob"
	TreeKind   Kind = "tree"
	CommitKind Kind = "commit"
	Tag        Kind = "tag"
)

// ErrMalformed: an object is not what its kind is made of, or not of the kind
// that belongs where it is named.
var ErrMalformed = errors.New("the object is malformed")

// IDLength is the number of hexadecimal digits of an object's id.
const IDLength = 2 * sha1.Size

// ID is an object's name, as go-git has it. The rows of ledgers, JSON and people have
// its text instead, of 40 hexadecimal digits.
type ID = plumbing.Hash

// ParseID reads a text that is an id, see IsID.
func ParseID(text string) ID { return plumbing.NewHash(text) }

// Hash is the id of an object: the hash of its kind, length and content.
func Hash(kind Kind, content []byte) (id ID) {
	var room [32]byte
	head := append(append(room[:0], kind...), ' ')
	head = append(strconv.AppendInt(head, int64(len(content)), 10), 0)
	h := sha1.New()
	h.Write(head)
	h.Write(content)
	h.Sum(id[:0])
	return id
}

// IsID reports whether a text is a full object id as git writes it.
func IsID(text string) bool { return len(text) == IDLength && IsRevision(text) }

// IsRevision reports whether a text is an id, or the beginning of one: four digits at the
// least.
func IsRevision(text string) bool {
	if len(text) < 4 || len(text) > IDLength {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
