package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
	"time"
)

// Token stands for an SDK key in the address of an event stream, where the key
// itself must not stand: addresses are logged. Its text is the key's id, a full
// stop, and an HMAC-SHA256 by the key's digest over the environment, in base64 for
// URLs. It tells nothing of the key, and is the same each time.
type Token struct {
	id  ID
	mac [sha256.Size]byte
}

// TokenOf is the token of a key with an id, by its digest.
func TokenOf(id ID, digest Digest, environment string) Token {
	t := Token{id: id}
	mac := hmac.New(sha256.New, digest[:])
	mac.Write([]byte(environment))
	mac.Sum(t.mac[:0])
	return t
}

// ErrTokenFormat is the refusal of a malformed token. It does not repeat it.
var ErrTokenFormat = errors.New("this is not a token of an event stream: it is in the address that a bulk evaluation names")

// ParseToken reads the text of a token.
func ParseToken(text string) (Token, error) {
	id, mac, _ := strings.Cut(text, ".")
	var t Token
	if base64.RawURLEncoding.DecodedLen(len(mac)) != len(t.mac) {
		return Token{}, ErrTokenFormat
	}
	n, macErr := base64.RawURLEncoding.Strict().Decode(t.mac[:], []byte(mac)) // which passes over line breaks
	parsed, idErr := ParseID(id)
	if macErr != nil || idErr != nil || n != len(t.mac) {
		return Token{}, ErrTokenFormat
	}
	t.id = parsed
	return t, nil
}

// ID is that of the key. The claim is unproven until KeyRecord.AdmitsToken has
// accepted the token.
func (t Token) ID() ID { return t.id }

// String is the token's text.
func (t Token) String() string {
	return string(t.id) + "." + base64.RawURLEncoding.EncodeToString(t.mac[:])
}

// AdmitsToken is nil when the presented token is that of this record's key, and the
// key is live.
func (r KeyRecord) AdmitsToken(t Token, now time.Time) error {
	want := TokenOf(r.ID, r.Digest, r.Environment)
	if t.id != r.ID || !hmac.Equal(t.mac[:], want.mac[:]) {
		return ErrKeyMismatch
	}
	return r.LiveAt(now)
}
