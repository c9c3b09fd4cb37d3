package access

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"strings"
)

const (
	base62     = 62
	alphabet62 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// encodeBase62 writes the bytes as one big-endian number, zero-padded to width
// characters, which the caller chooses wide enough.
func encodeBase62(content []byte, width int) string {
	digits := new(big.Int).SetBytes(content).Text(base62)
	return strings.Repeat("0", width-len(digits)) + digits
}

// decodeSecret reads what encodeBase62 has written of a secret. It is not ok for
// anything else, a number too large included: 43 characters hold a little more than
// 32 bytes. Every request has a secret to read, so it is read in words.
func decodeSecret(text string) (secret [secretBytes]byte, ok bool) {
	const together = 10               // digits that fit into a word
	var words [secretBytes / 8]uint64 // the lowest first
	for len(text) > 0 {
		n := min(len(text), together)
		plus, times := uint64(0), uint64(1)
		for _, c := range []byte(text[:n]) {
			digit := strings.IndexByte(alphabet62, c)
			if digit < 0 {
				return secret, false
			}
			plus, times = plus*base62+uint64(digit), times*base62
		}
		for i := range words {
			high, low := bits.Mul64(words[i], times)
			var carry uint64
			words[i], carry = bits.Add64(low, plus, 0)
			plus = high + carry
		}
		if plus != 0 {
			return secret, false
		}
		text = text[n:]
	}
	for i, word := range words {
		binary.BigEndian.PutUint64(secret[secretBytes-8*(i+1):], word)
	}
	return secret, true
}
