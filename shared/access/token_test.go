package access_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

func TestTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	id := func() access.ID {
		id := must.Get(access.NewID(rand.Reader))(t)
		return id
	}
	key := must.Get(access.NewKey(rand.Reader, access.KindPublicSDK, id(), id()))(t)
	record := access.RecordOf(key, "web", now)
	record.Environment = "production"
	good := access.TokenOf(key.ID(), key.Digest(), "production").String()
	if again := access.TokenOf(key.ID(), key.Digest(), "production").String(); again != good {
		t.Errorf("%s, then %s", good, again)
	}
	if strings.ContainsAny(good, "+/=&?%") {
		t.Errorf("%s has to be escaped in an address", good)
	}
	own, mac, _ := strings.Cut(good, ".")
	last := map[bool]string{true: "B", false: "A"}[strings.HasSuffix(mac, "A")]
	for _, tt := range []struct {
		name, text string
		change     func(*access.KeyRecord)
		want       error
	}{
		{"a good one", good, nil, nil},
		{"of another environment", access.TokenOf(key.ID(), key.Digest(), "development").String(), nil, access.ErrKeyMismatch},
		{"of another key's digest", access.TokenOf(key.ID(), access.Digest{1}, "production").String(), nil, access.ErrKeyMismatch},
		{"of another key's id", string(id()) + "." + mac, nil, access.ErrKeyMismatch},
		{"of a key that reads another environment now", good, func(r *access.KeyRecord) { r.Environment = "x" }, access.ErrKeyMismatch},
		{"of a revoked key", good, func(r *access.KeyRecord) { r.RevokedAt = now }, access.ErrKeyRevoked},
		{"of an expired key", good, func(r *access.KeyRecord) { r.ExpiresAt = now }, access.ErrKeyExpired},
		{"nothing", "", nil, access.ErrTokenFormat},
		{"an id", own, nil, access.ErrTokenFormat},
		{"a MAC", "." + mac, nil, access.ErrTokenFormat},
		{"one cut short", good[:len(good)-1], nil, access.ErrTokenFormat},
		{"one with more", good + "A", nil, access.ErrTokenFormat},
		{"another alphabet", own + "." + strings.Repeat("+", 43), nil, access.ErrTokenFormat},
		{"bits beyond the MAC", good[:len(good)-1] + last, nil, access.ErrTokenFormat},
		{"the key itself", key.Reveal(), nil, access.ErrTokenFormat},
	} {
		r := record
		if tt.change != nil {
			tt.change(&r)
		}
		token, err := access.ParseToken(tt.text)
		if err == nil {
			err = r.AdmitsToken(token, now)
			if token.String() != tt.text {
				t.Errorf("%s: %q is read as %q", tt.name, tt.text, token)
			}
		}
		if !errors.Is(err, tt.want) && tt.name != "bits beyond the MAC" || err == nil && tt.want != nil {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestTokensHaveNoLineBreaks: decoders of base64 pass over them. One token in sixteen
// would still be complete without its last character.
func TestTokensHaveNoLineBreaks(t *testing.T) {
	for i := range 100 {
		text := access.TokenOf("0123456789abcdef", access.Digest{byte(i)}, "production").String()
		for _, end := range []string{"\n", "\r"} {
			if token, err := access.ParseToken(text[:len(text)-1] + end); !errors.Is(err, access.ErrTokenFormat) {
				t.Errorf("%q is read as %q, %v", text[:len(text)-1]+end, token, err)
			}
		}
	}
}
