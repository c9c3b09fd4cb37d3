package delivery

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strings"
)

// etag names the answer to a context: the table's version and environment,
// the phase of rules on the current time, and the context as it was sent.
func (t *Table) etag(protocol byte, now int64, context []byte) string {
	h := sha256.New()
	var head [9]byte
	head[0] = protocol
	binary.BigEndian.PutUint64(head[1:], uint64(t.snapshot.Phase(now)))
	h.Write(head[:])
	for _, part := range []string{t.Version, t.Environment} {
		binary.BigEndian.PutUint64(head[1:], uint64(len(part)))
		h.Write(head[:])
		h.Write([]byte(part))
	}
	h.Write(context)
	var sum [sha256.Size]byte
	return `"` + hex.EncodeToString(h.Sum(sum[:0])[:16]) + `"`
}

// match is how an If-None-Match header meets an entity tag.
type match int

const (
	neither   match = iota
	whichever       // "*": any answer at all
	thisOne
)

// noneMatch compares weakly, as every conditional GET does.
func noneMatch(header []string, etag string) match {
	found := neither
	for _, line := range header {
		for _, candidate := range strings.Split(line, ",") {
			switch strings.TrimPrefix(strings.TrimSpace(candidate), "W/") {
			case etag:
				return thisOne
			case "*":
				found = whichever
			}
		}
	}
	return found
}
