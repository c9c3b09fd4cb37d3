package access

import (
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ID names a workspace, a principal or a key. It is lower-case because ids
// become parts of object names, file names and e-mail addresses, and has no
// i, l, o or u so that it can be read out.
type ID string

const (
	idLength   = 16
	idBytes    = idLength * 5 / 8
	idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
)

// ErrIDFormat is the refusal of a malformed id. It does not repeat the id,
// because a key is easily pasted in its place.
var ErrIDFormat = errors.New("an id has 16 characters out of 0-9 and a-z without i, l, o, u")

// NewID draws an id from random.
func NewID(random io.Reader) (ID, error) {
	var drawn [idBytes]byte
	if _, err := io.ReadFull(random, drawn[:]); err != nil {
		return "", fmt.Errorf("drawing an id: %w", err)
	}
	return ID(base32.NewEncoding(idAlphabet).WithPadding(base32.NoPadding).EncodeToString(drawn[:])), nil
}

// ParseID checks that text is an id.
func ParseID(text string) (ID, error) {
	if len(text) != idLength || strings.Trim(text, idAlphabet) != "" {
		return "", ErrIDFormat
	}
	return ID(text), nil
}
