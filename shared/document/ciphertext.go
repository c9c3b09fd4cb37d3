package document

import (
	"encoding/base64"
	"strings"
)

// BoundCiphertext begins a ciphertext that opens only under the key of the
// document that it was made for. What follows is base64, whose alphabet has no
// colon, so that the form before, base64 alone, is told from it.
const BoundCiphertext = "v2:"

// leastCiphertext is a nonce of 12 bytes and a tag of 16, with nothing between.
const leastCiphertext = 12 + 16

// CiphertextBytes takes a ciphertext apart; ok is false when it is none that
// this project made.
func CiphertextBytes(text string) (sealed []byte, bound, ok bool) {
	text, bound = strings.CutPrefix(text, BoundCiphertext)
	sealed, err := base64.StdEncoding.DecodeString(text)
	return sealed, bound, err == nil && len(sealed) >= leastCiphertext
}

// UnboundCiphertext reports whether a text is a ciphertext in the form of before,
// which opens whichever document it is copied into.
func UnboundCiphertext(text string) bool {
	_, bound, ok := CiphertextBytes(text)
	return ok && !bound
}
