package access

import (
	"math/big"
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

// decodeBase62 fills content from text. It reports false for anything that
// encodeBase62 does not write for that many bytes, a number too large included:
// 43 characters hold a little more than 32 bytes.
func decodeBase62(content []byte, text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return false
	}
	number, ok := new(big.Int).SetString(text, base62)
	if !ok || number.BitLen() > 8*len(content) {
		return false
	}
	number.FillBytes(content)
	return true
}
