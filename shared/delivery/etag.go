package delivery

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// form is the form of the answers. Whoever changes it changes this too, so that
// no client keeps an answer of the old form for a tag that still fits.
const form = "answers 3"

// seed stands for a workspace version and an environment in entity tags.
func seed(environment, version string) [sha256.Size]byte {
	parts := binary.BigEndian.AppendUint64([]byte(form), uint64(len(environment)))
	return sha256.Sum256(append(append(parts, environment...), version...))
}

// etag names the answer to a context: the table's version and environment,
// the moment where rules turn all the time, and what the request sent that decides
// the answer, the context last.
func (t *Table) etag(protocol byte, now int64, sent ...string) string {
	t = t.at(now)
	if !t.turns.Volatile {
		now = 0
	}
	var buffer [1024]byte // so that a usual context needs no allocation
	parts := append(append(buffer[:0], t.seed[:]...), protocol)
	parts = binary.BigEndian.AppendUint64(parts, uint64(now))
	for _, text := range sent {
		parts = append(binary.BigEndian.AppendUint64(parts, uint64(len(text))), text...)
	}
	sum := sha256.Sum256(parts)
	tag := [2*half + 2]byte{0: '"', 2*half + 1: '"'}
	hex.Encode(tag[1:], sum[:half])
	return string(tag[:])
}

// half of a SHA-256 is plenty to tell answers apart.
const half = sha256.Size / 2
