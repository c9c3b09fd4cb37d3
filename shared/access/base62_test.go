package access

import (
	"bytes"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// TestSecretsAreReadAsTheyAreWritten, whatever their bytes; and what is no secret is
// none, as arithmetic on numbers of any size has it.
func TestSecretsAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.SliceOfN(rapid.Byte(), secretBytes, secretBytes).Draw(t, "content")
		if read, ok := decodeSecret(encodeBase62(content, secretLength)); !ok || !bytes.Equal(read[:], content) {
			t.Fatalf("%x is read as %x, %t", content, read, ok)
		}
	})
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 8*secretBytes), big.NewInt(1))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[0-9a-zA-Z]{43}`).Draw(t, "text")
		if rapid.Bool().Draw(t, "near the largest") {
			near := new(big.Int).Add(largest, big.NewInt(rapid.Int64Range(-2, 2).Draw(t, "by")))
			text = near.Text(base62)
		}
		number, _ := new(big.Int).SetString(text, base62)
		read, ok := decodeSecret(text)
		if fits := number.Cmp(largest) <= 0; ok != fits || ok && new(big.Int).SetBytes(read[:]).Cmp(number) != 0 {
			t.Fatalf("%s: %t, %x", text, ok, read)
		}
	})
	for _, text := range []string{"-", "_", "é", "0 ", "1.", "/", ":", "@", "[", "`", "{"} {
		if _, ok := decodeSecret(text); ok {
			t.Errorf("%q is read", text)
		}
	}
}

// TestTheChecksumIsANumberOfSixDigits.
func TestTheChecksumIsANumberOfSixDigits(t *testing.T) {
	for payload, sum := range map[string][]byte{"": {0, 0, 0, 0}, "123456789": {0xcb, 0xf4, 0x39, 0x26}} {
		if got, want := checksum(payload), encodeBase62(sum, checksumLength); got != want {
			t.Errorf("%q: %s, want %s", payload, got, want)
		}
	}
}
