// Package requestid names requests. Each has an id of its own, drawn at random,
// which the log and the commits that it makes carry. A client may send a name
// too: that one is answered and logged, and nothing is decided by it.
package requestid

import (
	"context"
	"crypto/rand"
	"encoding/hex"
)

// Header carries the name of a request, in it and in its answer.
const Header = "X-Request-Id"

// New draws an id of 32 hexadecimal digits.
func New() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails
	var text [2 * len(id)]byte
	hex.Encode(text[:], id[:])
	return string(text[:])
}

// Valid reports whether a text has the form of an id.
func Valid(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(id) == 32
}

type noteKey struct{}

// WithNote is a context in which the id of a request is noted by who draws it, for a log
// further out that has only the answer, which may have the client's name for it.
func WithNote(ctx context.Context) (context.Context, *string) {
	id := new(string)
	return context.WithValue(ctx, noteKey{}, id), id
}

// Note notes the id of a request, if anybody wants to know.
func Note(ctx context.Context, id string) {
	if to, asked := ctx.Value(noteKey{}).(*string); asked {
		*to = id
	}
}

// maxLength bounds what is repeated of a client's own name in answers and logs.
const maxLength = 128

// Named is the name that a client gave its request in the header, and "" when
// it gave none that can be repeated: up to 128 visible ASCII characters.
func Named(name string) string {
	if len(name) > maxLength {
		return ""
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return name
}
