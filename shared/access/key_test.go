package access_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	seeded "math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

const (
	workspaceID = access.ID("0123456789abcdef")
	principalID = access.ID("ghjkmnpqrstvwxyz")
)

var kinds = []access.Kind{
	access.KindUser, access.KindServiceAccount, access.KindPublicSDK, access.KindSecretSDK,
}

// The pattern that doc.go gives to scanners.
var keyPattern = regexp.MustCompile(`^svc_(uk|sa|pk|sk)_[0-9a-hjkmnp-tv-z]{48}_[0-9A-Za-z]{49}$`)

// newKey makes the same key whenever it is called with the same seed.
func newKey(t testing.TB, kind access.Kind, seed byte) access.Key {
	t.Helper()
	return must.Get(access.NewKey(seeded.NewChaCha8([32]byte{seed}), kind, workspaceID, principalID))(t)
}

// Keys that were handed out must go on working: these texts, computed by another
// program, may not change.
func TestKeyFormatIsPinned(t *testing.T) {
	counting := make([]byte, 42)
	for i := range counting {
		counting[i] = byte(i)
	}
	tests := []struct {
		name   string
		kind   access.Kind
		random []byte
		text   string
		digest string
	}{
		{"zeros", access.KindPublicSDK, make([]byte, 42), "svc_pk_0123456789abcdefghjkmnpqrstvwxyz0000000000000000_00000000000000000000000000000000000000000001m6YY6", "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"},
		{"ones", access.KindSecretSDK, bytes.Repeat([]byte{0xff}, 42), "svc_sk_0123456789abcdefghjkmnpqrstvwxyzzzzzzzzzzzzzzzzz_YHJSKWDa6oz1al1yMhwzwM8llg7hJNUca2J5RoW8xP10a7PyV", "af9613760f72635fbdb44a5a0a63c39f12af30f950a6ee5c971be188e89c4051"},
		{"counting", access.KindUser, counting, "svc_uk_0123456789abcdefghjkmnpqrstvwxyz000g40r40m30e209_2nEDRgWNZ0lR6gWFsHIhAcxwepOvwxbueLbwYaGKw771dZiFR", "db38cc023ffc5ac30329df9d00ee4b7c5af9d517b806fce7e4764359409c4643"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			key := must.Get(access.NewKey(bytes.NewReader(test.random), test.kind, workspaceID, principalID))(t)
			if got := key.Reveal(); got != test.text {
				t.Errorf("text\n%s, want\n%s", got, test.text)
			}
			digest := key.Digest()
			if got := hex.EncodeToString(digest[:]); got != test.digest {
				t.Errorf("digest %s, want %s", got, test.digest)
			}
		})
	}
}

func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := bytes.NewReader(rapid.SliceOfN(rapid.Byte(), 62, 62).Draw(t, "random"))
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		workspace, _ := access.NewID(random)
		principal, _ := access.NewID(random)
		made := must.Get(access.NewKey(random, kind, workspace, principal))(t)
		text := made.Reveal()
		if len(text) != access.KeyLength || !keyPattern.MatchString(text) || !strings.HasPrefix(text, kind.Prefix()) {
			t.Fatalf("%q has not the form of a %s key", text, kind)
		}
		read := must.Get(access.ParseKey(text))(t)
		if read.Kind() != kind || read.Workspace() != workspace || read.Principal() != principal || read.ID() != made.ID() {
			t.Fatalf("read %v, made %v", read, made)
		}
		if read.Reveal() != text || read.Digest() != made.Digest() || !read.Matches(made.Digest()) {
			t.Fatal("the secret did not survive")
		}
	})
}

func TestEverySingleCharacterMutationIsRefused(t *testing.T) {
	for _, kind := range kinds {
		text := newKey(t, kind, 1).Reveal()
		for at := range len(text) {
			for with := range 256 {
				mutated := text[:at] + string([]byte{byte(with)}) + text[at+1:]
				if mutated == text {
					continue
				}
				if _, err := access.ParseKey(mutated); !errors.Is(err, access.ErrKeyFormat) {
					t.Fatalf("character %d of a %s key replaced by byte %#x: %v", at, kind, with, err)
				}
			}
		}
	}
}

func TestDamagedKeysAreRefused(t *testing.T) {
	text := newKey(t, access.KindUser, 1).Reveal()
	damaged := map[string]string{
		"empty":            "",
		"prefix only":      "svc_uk_",
		"cut at the front": text[1:],
		"cut at the end":   text[:len(text)-1],
		"doubled":          text + text,
		"final newline":    text + "\n",
		"leading space":    " " + text,
		"in place space":   " " + text[1:],
		"upper case":       strings.ToUpper(text),
		"lower case":       strings.ToLower(text),
		"very long":        strings.Repeat(text, 10_000),
		"not UTF-8":        strings.Repeat("\xff", access.KeyLength),
		"another service":  "ghp_" + text[4:],
	}
	for at := range len(text) - 1 {
		if text[at] != text[at+1] {
			damaged["swapped "+text[at:at+2]] = text[:at] + text[at+1:at+2] + text[at:at+1] + text[at+2:]
		}
	}
	for name, input := range damaged {
		_, err := access.ParseKey(input)
		if !errors.Is(err, access.ErrKeyFormat) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if wrongLength := len(input) != access.KeyLength; strings.Contains(err.Error(), "characters") != wrongLength {
			t.Errorf("%s: refused for another reason: %v", name, err)
		}
	}
}

// Somebody who computes a checksum over anything else still gets no key.
func TestForgedPartsAreRefused(t *testing.T) {
	text := newKey(t, access.KindUser, 1).Reveal()
	const secretAt = 7 + 48 + 1
	tests := []struct {
		name    string
		payload string
	}{
		{"letter i in the workspace id", text[:7] + "i" + text[8:99]},
		{"upper case in the principal id", text[:23] + "A" + text[24:99]},
		{"newline in the key id", text[:39] + "\n" + text[40:99]},
		{"no separator before the secret", text[:secretAt-1] + "0" + text[secretAt:99]},
		{"secret of more than 32 bytes", text[:secretAt] + strings.Repeat("Z", 43)},
		{"secret with a sign", text[:secretAt] + "+" + text[secretAt+1:99]},
		{"secret with an underscore", text[:secretAt+1] + "_" + text[secretAt+2:99]},
		{"secret with a letter beyond ASCII", text[:secretAt] + "é" + text[secretAt+2:99]},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			forged := test.payload + access.Checksum(test.payload)
			if len(forged) != access.KeyLength {
				t.Fatalf("the forgery has %d characters", len(forged))
			}
			_, err := access.ParseKey(forged)
			if !errors.Is(err, access.ErrKeyFormat) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), "parts") {
				t.Errorf("refused for another reason: %v", err)
			}
		})
	}
}

func TestNewKeyRefusesWhatItCannotAddress(t *testing.T) {
	random := seeded.NewChaCha8([32]byte{})
	_, err := access.NewKey(random, "admin", "acme", access.ID(newKey(t, access.KindUser, 1).Reveal()))
	if err == nil {
		t.Fatal("accepted")
	}
	for _, part := range []string{"kind: ", "workspace: ", "principal: "} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not mention %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "svc_uk_") {
		t.Errorf("%q repeats the key", err)
	}
}

func TestShortRandomSourceMakesNothing(t *testing.T) {
	for size := range 42 {
		random := io.MultiReader(bytes.NewReader(make([]byte, size)), iotest.ErrReader(io.ErrClosedPipe))
		if key, err := access.NewKey(random, access.KindUser, workspaceID, principalID); !errors.Is(err, io.ErrClosedPipe) || key.Reveal() != "" {
			t.Errorf("with %d random bytes: key %v, error %v", size, key, err)
		}
	}
	if id, err := access.NewID(bytes.NewReader(make([]byte, 9))); err == nil || id != "" {
		t.Errorf("with 9 random bytes: id %q, error %v", id, err)
	}
}

func TestMatches(t *testing.T) {
	key := newKey(t, access.KindUser, 1)
	flipped := key.Digest()
	flipped[31] ^= 1
	other := newKey(t, access.KindUser, 2).Digest()
	for name, digest := range map[string]access.Digest{"zero": {}, "one bit off": flipped, "another key's": other} {
		if key.Matches(digest) {
			t.Errorf("matches a digest that is %s", name)
		}
	}
	if (access.Key{}).Matches(access.Digest{}) || (access.Key{}).Matches(access.Key{}.Digest()) {
		t.Error("the zero key matches")
	}
}

func TestKinds(t *testing.T) {
	tests := []struct {
		kind              access.Kind
		prefix            string
		manages, delivers bool
	}{
		{access.KindUser, "svc_uk_", true, false},
		{access.KindServiceAccount, "svc_sa_", true, false},
		{access.KindPublicSDK, "svc_pk_", false, true},
		{access.KindSecretSDK, "svc_sk_", false, true},
		{"", "", false, false},
	}
	for _, test := range tests {
		if test.kind.Prefix() != test.prefix || test.kind.Manages() != test.manages || test.kind.Delivers() != test.delivers {
			t.Errorf("%q: prefix %q, manages %t, delivers %t", test.kind, test.kind.Prefix(), test.kind.Manages(), test.kind.Delivers())
		}
	}
}

func TestParseID(t *testing.T) {
	for _, text := range []string{"0123456789abcdef", "ghjkmnpqrstvwxyz"} {
		if id, err := access.ParseID(text); err != nil || string(id) != text {
			t.Errorf("%q: %q, %v", text, id, err)
		}
	}
	for _, text := range []string{
		"", "0123456789abcde", "0123456789abcdefg", "0123456789abcdeF", "0123456789abcdei",
		"0123456789abcde\n", "0123456789abcd/.", "0123456789abcdé", "0123456789abcd_0",
	} {
		if id, err := access.ParseID(text); !errors.Is(err, access.ErrIDFormat) || id != "" {
			t.Errorf("%q: %q, %v", text, id, err)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	for i, kind := range kinds {
		text := newKey(f, kind, byte(i)).Reveal()
		f.Add(text)
		f.Add(text[:len(text)-1])
		f.Add("svc_xx_" + text[7:])
		forged := text[:7] + strings.Repeat("\n", 16) + text[23:99]
		f.Add(forged + access.Checksum(forged))
	}
	f.Add("")
	f.Add(strings.Repeat("_", access.KeyLength))
	f.Fuzz(func(t *testing.T, text string) {
		key, err := access.ParseKey(text)
		if err != nil {
			if !access.IsFixedRefusal(err) {
				t.Errorf("%q may repeat a part of %q", err, text)
			}
			if key.Reveal() != "" {
				t.Errorf("refused %q and returned a key", text)
			}
			return
		}
		if key.Reveal() != text || !keyPattern.MatchString(text) {
			t.Errorf("%q was read as %q", text, key.Reveal())
		}
	})
}

func TestTokens(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	id := func() access.ID {
		return must.Get(access.NewID(rand.Reader))(t)
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
