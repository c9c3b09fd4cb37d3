package client

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"svc.example/svc/shared/document"
)

// keyBytes is the length of a key of AES-256.
const keyBytes = 32

// What can be wrong with a key or a ciphertext. None of them repeats either.
var (
	errKeyForm    = errors.New("the decryption key is not 64 hexadecimal characters (AES-256)")
	errCipherForm = errors.New("the ciphertext is not base64, after v2:, of a nonce of 12 bytes, the encrypted text and a tag of 16 bytes")
	errCipherKey  = errors.New("the ciphertext does not open with this key: it is another key's or another item's, or was changed")
)

// NewKey makes a key for Encrypt: 64 hexadecimal characters.
func NewKey() string {
	var key [keyBytes]byte
	rand.Read(key[:]) // never fails
	return hex.EncodeToString(key[:])
}

// Encrypt makes of a text what is stored as an encrypted value of the item of
// that key, in the form that the package comment describes. It opens in that
// item alone: copied into another it cannot be read. The same text looks
// different each time.
func Encrypt(key, item, plaintext string) (string, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, gcm.NonceSize(), gcm.NonceSize()+len(plaintext)+gcm.Overhead())
	rand.Read(nonce)
	sealed := gcm.Seal(nonce, nonce, []byte(plaintext), boundTo(item))
	return document.BoundCiphertext + base64.StdEncoding.EncodeToString(sealed), nil
}

// boundTo is the additional data of a ciphertext.
func boundTo(item string) []byte { return []byte("svc:v2:" + item) }

// Decrypt is the way back. It also opens the form of before, which is bound to
// no item.
func Decrypt(key, item, text string) (string, error) {
	gcm, err := newGCM(key)
	if err != nil {
		return "", err
	}
	sealed, bound, ok := document.CiphertextBytes(text)
	if !ok {
		return "", errCipherForm
	}
	var with []byte
	if bound {
		with = boundTo(item)
	}
	plain, err := gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], with)
	if err != nil {
		return "", errCipherKey
	}
	return string(plain), nil
}

func newGCM(key string) (cipher.AEAD, error) {
	raw, err := hex.DecodeString(key)
	if err != nil || len(raw) != keyBytes {
		return nil, errKeyForm
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, errKeyForm
	}
	return cipher.NewGCM(block)
}
