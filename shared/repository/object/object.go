package object

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"strconv"
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

// ID is an object's name: the hash of its kind, length and content.
func ID(kind Kind, content []byte) string {
	var room [32]byte
	head := append(append(room[:0], kind...), ' ')
	head = append(strconv.AppendInt(head, int64(len(content)), 10), 0)
	h := sha1.New()
	h.Write(head)
	h.Write(content)
	var text [IDLength]byte
	hex.Encode(text[:], h.Sum(room[:0]))
	return string(text[:])
}

// IsID says whether a text is a full object id as git writes it.
func IsID(text string) bool {
	if len(text) != IDLength {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
