package local

import (
	"encoding/binary"
	"time"

	bolt "go.etcd.io/bbolt"
)

// name writes a bucket's or row's name of several parts: each with its length.
func name(parts ...string) []byte {
	var b []byte
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}

// parts takes a name apart; what is none has no parts.
func parts(name []byte) []string {
	var out []string
	for len(name) > 0 {
		n, size := binary.Uvarint(name)
		if size <= 0 || n > uint64(len(name)-size) {
			return nil
		}
		out = append(out, string(name[size:size+int(n)]))
		name = name[size+int(n):]
	}
	return out
}

// moment begins the names of rows that are ordered by time.
func moment(t time.Time) []byte { return number(max(t.UnixMilli(), 0)) }

func momentOf(name []byte) time.Time {
	if len(name) < 8 {
		return time.Time{}
	}
	return time.UnixMilli(int64(binary.BigEndian.Uint64(name))).UTC()
}

func number(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

// count reads a counter.
func count(b *bolt.Bucket, name []byte) int {
	if text := b.Get(name); len(text) == 8 {
		return int(binary.BigEndian.Uint64(text))
	}
	return 0
}

// add changes a counter and returns what it is then.
func add(b *bolt.Bucket, name []byte, by int) (int, error) {
	n := count(b, name) + by
	return n, b.Put(name, number(int64(n)))
}

// The names of buckets and rows.
var (
	batches  = []byte("batches")
	received = []byte("received")
	shapes   = []byte("shapes")
	groups   = []byte("groups")
	keys     = []byte("keys")
	seen     = []byte("seen")
	months   = []byte("months")
	counts   = []byte("counts")
	pairs    = []byte("pairs")
	closed   = []byte("closed") // of a month that counts no more
	size     = []byte("size")   // how many rows the bucket beside it has

	evaluations    = []byte("evaluations")
	lastEvaluated  = []byte("lastEvaluated")  // the day on which each item was evaluated last
	evaluatedItems = []byte("evaluatedItems") // how many items lastEvaluated has
	evaluatedSince = []byte("evaluatedSince") // the first day on which anything was counted

	upkeepDays = []byte("upkeepDays") // the days on which it was looked for contexts of long ago
	keptDays   = []byte("keptDays")   // how many days contexts were kept then

	lastBatch   = []byte("lastBatch")   // the number of the batch that a group was last in
	newInHour   = []byte("newInHour")   // an hour, and how many keys and types were new in it
	newOfSecret = []byte("newOfSecret") // the same of batches that came with secret keys
	notCounted  = []byte("notCounted")  // how often a pair came in a month that was too many
)
