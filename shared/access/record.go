package access

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// Digest is the stored SHA-256 of a key's secret. As text it is hexadecimal.
type Digest [sha256.Size]byte

// MarshalText writes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, d[:]), nil
}

// UnmarshalText reads what MarshalText writes.
func (d *Digest) UnmarshalText(text []byte) error {
	var read Digest
	if len(text) != hex.EncodedLen(len(read)) {
		return errDigest
	}
	if _, err := hex.Decode(read[:], text); err != nil {
		return errDigest
	}
	*d = read
	return nil
}

var errDigest = errors.New("a key digest has 64 hexadecimal digits")

// Why a key is refused. A client is told none of it: all of them are the same
// 401.
var (
	ErrKeyMismatch = errors.New("the key is not the one on record")
	ErrKeyRevoked  = errors.New("the key was revoked")
	ErrKeyExpired  = errors.New("the key has expired")
)

// KeyRecord is what is stored about a key: everything but its secret.
type KeyRecord struct {
	ID          ID     `json:"id"`
	Kind        Kind   `json:"kind"`
	Name        string `json:"name"`
	PrincipalID ID     `json:"principalId"`
	WorkspaceID ID     `json:"workspaceId"`
	// Environment is the environment an SDK key reads; empty for other kinds.
	Environment string `json:"environment,omitempty"`
	// Topic is the SNS topic whose alarms a guard key takes; "" for none.
	Topic     string    `json:"topic,omitempty"`
	Digest    Digest    `json:"digest"`
	CreatedAt time.Time `json:"createdAt"`
	ExpiresAt time.Time `json:"expiresAt,omitzero"`
	RevokedAt time.Time `json:"revokedAt,omitzero"`
	// Refresh is what asks the issuer of a session's person for their claims again, sealed by
	// the session's secret, and RefreshedAt is when they were read last.
	Refresh     string    `json:"refresh,omitempty"`
	RefreshedAt time.Time `json:"refreshedAt,omitzero"`
}

// RecordOf is the record of a key made now. The caller adds an environment or
// an expiry where there is one.
func RecordOf(key Key, name string, createdAt time.Time) KeyRecord {
	return KeyRecord{
		ID:          key.ID(),
		Kind:        key.Kind(),
		Name:        name,
		PrincipalID: key.Principal(),
		WorkspaceID: key.Workspace(),
		Digest:      key.Digest(),
		CreatedAt:   createdAt,
	}
}

// LiveAt is nil while the key can be used. A key is dead from its expiry on,
// and from its revocation on whatever the clock says: an instance whose clock
// lags behind the one that revoked must not let the key live on.
func (r KeyRecord) LiveAt(now time.Time) error {
	if !r.RevokedAt.IsZero() {
		return ErrKeyRevoked
	}
	if !r.ExpiresAt.IsZero() && !now.Before(r.ExpiresAt) {
		return ErrKeyExpired
	}
	return nil
}

// Admits is nil when the presented key is this record's key and live. The kind
// and the ids are compared as well as the secret: the holder of a key can
// rewrite what stands before the secret and fit a new checksum, and so pass an
// SDK key off as a user key.
//
// A caller without the secret learns nothing of the record's state.
func (r KeyRecord) Admits(key Key, now time.Time) error {
	same := r.Kind == key.Kind() && r.ID == key.ID() &&
		r.PrincipalID == key.Principal() && r.WorkspaceID == key.Workspace()
	if !key.Matches(r.Digest) || !same {
		return ErrKeyMismatch
	}
	return r.LiveAt(now)
}
