package access

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
)

const (
	secretBytes    = 32
	secretLength   = 43
	checksumLength = 6

	idsEnd       = prefixLength + 3*idLength
	secretStart  = idsEnd + 1
	payloadLimit = secretStart + secretLength

	// KeyLength is the length of every key's text.
	KeyLength = payloadLimit + checksumLength
)

var errKind = errors.New("a key is of kind user, service_account, guard, public_sdk or secret_sdk")

// ErrKeyFormat is what every refusal of ParseKey wraps.
var ErrKeyFormat = errors.New("this is not a key of this service")

// The refusals are fixed texts, so that none can repeat a part of a secret.
var (
	errKeyLength   = fmt.Errorf("%w: a key has %d characters", ErrKeyFormat, KeyLength)
	errKeyPrefix   = fmt.Errorf("%w: a key starts with svc_uk_, svc_sa_, svc_gk_, svc_pk_ or svc_sk_", ErrKeyFormat)
	errKeyChecksum = fmt.Errorf("%w: its checksum is wrong, so it was mistyped or cut", ErrKeyFormat)
	errKeyParts    = fmt.Errorf("%w: its checksum is right but its parts are not", ErrKeyFormat)
)

// Key is what a principal presents. It is not comparable on purpose: compare
// secrets with Matches, which takes constant time.
type Key struct {
	kind      Kind
	workspace ID
	principal ID
	id        ID
	// A closure, because fmt calls no methods on the unexported fields of a
	// struct around the key: it would print the bytes of a plain field, and
	// prints only the address of a function.
	secret func() [secretBytes]byte
}

// NewKey draws a key with a new id for an existing workspace and principal.
func NewKey(random io.Reader, kind Kind, workspace, principal ID) (Key, error) {
	var problems []error
	if kind.Prefix() == "" {
		problems = append(problems, fmt.Errorf("kind: %w", errKind))
	}
	if _, err := ParseID(string(workspace)); err != nil {
		problems = append(problems, fmt.Errorf("workspace: %w", err))
	}
	if _, err := ParseID(string(principal)); err != nil {
		problems = append(problems, fmt.Errorf("principal: %w", err))
	}
	if err := errors.Join(problems...); err != nil {
		return Key{}, err
	}
	id, err := NewID(random)
	if err != nil {
		return Key{}, fmt.Errorf("making a key: %w", err)
	}
	var secret [secretBytes]byte
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return Key{}, fmt.Errorf("making a key: drawing its secret: %w", err)
	}
	return sealed(kind, workspace, principal, id, secret), nil
}

func sealed(kind Kind, workspace, principal, id ID, secret [secretBytes]byte) Key {
	return Key{
		kind: kind, workspace: workspace, principal: principal, id: id,
		secret: func() [secretBytes]byte { return secret },
	}
}

// ParseKey reads the text of a key. The length is looked at before anything
// else, so that a long input costs nothing. No refusal repeats the input.
func ParseKey(text string) (Key, error) {
	if len(text) != KeyLength {
		return Key{}, errKeyLength
	}
	var kind Kind
	for k, prefix := range prefixByKind {
		if prefix == text[:prefixLength] {
			kind = k
		}
	}
	if kind == "" {
		return Key{}, errKeyPrefix
	}
	if checksum(text[:payloadLimit]) != text[payloadLimit:] {
		return Key{}, errKeyChecksum
	}
	// From here on only what somebody made up with a matching checksum is refused.
	parts := text[prefixLength:payloadLimit]
	workspace, workspaceErr := ParseID(parts[:idLength])
	principal, principalErr := ParseID(parts[idLength : 2*idLength])
	id, idErr := ParseID(parts[2*idLength : 3*idLength])
	secret, secretOK := decodeSecret(parts[3*idLength+1:])
	if errors.Join(workspaceErr, principalErr, idErr) != nil || parts[3*idLength] != '_' || !secretOK {
		return Key{}, errKeyParts
	}
	return sealed(kind, workspace, principal, id, secret), nil
}

func checksum(payload string) string {
	var digits [checksumLength]byte
	for i, left := len(digits)-1, crc32.ChecksumIEEE([]byte(payload)); i >= 0; i, left = i-1, left/base62 {
		digits[i] = alphabet62[left%base62]
	}
	return string(digits[:])
}

// Kind is what the key claims to be for. The claim is unproven until
// KeyRecord.Admits has accepted the key; so are the ids.
func (k Key) Kind() Kind { return k.kind }

// Workspace is the id of the workspace the key belongs to.
func (k Key) Workspace() ID { return k.workspace }

// Principal is the id of the principal the key acts as.
func (k Key) Principal() ID { return k.principal }

// ID is the key's own id. It is not secret.
func (k Key) ID() ID { return k.id }

// Reveal is the text of the key, to be shown once to the person who asked for the
// key. It is empty for the zero Key.
func (k Key) Reveal() string {
	if k.secret == nil {
		return ""
	}
	secret := k.secret()
	payload := k.kind.Prefix() + string(k.workspace) + string(k.principal) + string(k.id) +
		"_" + encodeBase62(secret[:], secretLength)
	return payload + checksum(payload)
}

// Digest is the SHA-256 of the secret, which is what gets stored.
//
// It has neither salt nor stretching. Those defend secrets that people choose,
// which can be guessed or looked up in a table. This secret is 256 random bits:
// there is nothing to guess and no table could hold it, and two keys never
// share one. Stretching would only make every request pay for it.
func (k Key) Digest() Digest {
	if k.secret == nil {
		return Digest{}
	}
	secret := k.secret()
	return sha256.Sum256(secret[:])
}

// Matches reports in constant time whether stored is the digest of the key's
// secret. The zero Key matches nothing.
//
// The digest covers the secret alone, not the kind and the ids in front of it:
// to accept a key use KeyRecord.Admits, which compares those too.
func (k Key) Matches(stored Digest) bool {
	digest := k.Digest()
	return k.secret != nil && subtle.ConstantTimeCompare(digest[:], stored[:]) == 1
}

// Seal encrypts a text so that only who holds the key can read it; "" stays "".
func (k Key) Seal(text string) (string, error) { return k.crypt(text, Seal) }

// Unseal reads what Seal has made.
func (k Key) Unseal(sealed string) (string, error) { return k.crypt(sealed, Unseal) }

func (k Key) crypt(text string, by func(secret []byte, purpose, of, text string) (string, error)) (string, error) {
	if text == "" {
		return "", nil
	}
	if k.secret == nil {
		return "", errSealed
	}
	secret := k.secret()
	return by(secret[:], "svc: sealed by a key", string(k.id), text)
}

// String is a placeholder that names the kind and the id but not the secret.
func (k Key) String() string {
	if k.secret == nil {
		return "[no key]"
	}
	return fmt.Sprintf("[%s key %s, redacted]", string(k.kind), string(k.id))
}

// Format prints the placeholder under every verb.
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, k.String())
}

// MarshalText gives the placeholder to encoding/json and other encoders.
func (k Key) MarshalText() ([]byte, error) {
	return []byte(k.String()), nil
}

// LogValue gives the placeholder to slog.
func (k Key) LogValue() slog.Value {
	return slog.StringValue(k.String())
}
