package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

var errSealed = errors.New("this was not sealed by that secret")

// Seal encrypts a text by a secret of random bytes, for one purpose, and ties it to what it is
// of. Of the secret HKDF makes a key for this purpose alone.
func Seal(secret []byte, purpose, of, text string) (string, error) {
	sealer, err := sealerOf(secret, purpose)
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(sealer.Seal(nil, nil, []byte(text), []byte(of))), nil
}

// Unseal reads what Seal has made.
func Unseal(secret []byte, purpose, of, sealed string) (string, error) {
	sealer, err := sealerOf(secret, purpose)
	if err != nil {
		return "", err
	}
	bytes, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errSealed
	}
	text, err := sealer.Open(nil, nil, bytes, []byte(of))
	if err != nil {
		return "", errSealed
	}
	return string(text), nil
}

func sealerOf(secret []byte, purpose string) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, purpose, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}
