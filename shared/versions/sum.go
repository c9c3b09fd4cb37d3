package versions

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"sync"

	"svc.example/svc/shared/jsontree"
)

// sum adds up digests, modulo 2^256.
type sum [4]uint64

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// digest is that of a part of a document, under what tells it apart from parts of
// other documents.
func digest(part, key string, content *jsontree.Node) sum {
	scratch := buffers.Get().(*[]byte)
	defer buffers.Put(scratch)
	b := (*scratch)[:0]
	for _, text := range []string{part, key} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	if content != nil {
		b = content.AppendCompact(b)
	}
	*scratch = b
	hash := sha256.Sum256(b)
	var s sum
	for i := range s {
		s[i] = binary.BigEndian.Uint64(hash[8*i:])
	}
	return s
}

func (s sum) plus(other sum) sum {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], other[i], carry)
	}
	return s
}

func (s sum) minus(other sum) sum {
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], other[i], borrow)
	}
	return s
}

// version is what a sum looks like from outside, where nobody can tell from two
// of them what was added.
func (s sum) version(salt Salt, kind, environment string) Version {
	mac := hmac.New(sha256.New, salt[:])
	b := append([]byte(kind), 0)
	b = append(append(b, environment...), 0)
	for _, word := range s {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	mac.Write(b)
	return Version(mac.Sum(nil)[:len(Version{})])
}
