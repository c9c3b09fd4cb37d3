package ratelimit

import (
	"container/heap"
	"hash/maphash"
	"math"
	"net/netip"
	"sync"
	"time"
)

// Rate is how many requests are admitted: so many a second in the long run,
// and so many at once. The zero Rate is no limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// maxBuckets is how many buckets are kept.
const maxBuckets = 20_000

// ID stands for whose bucket it is. The text itself is not kept.
type ID uint64

// seed is another one in each process, so that nobody can choose texts of one
// ID.
var seed = maphash.MakeSeed()

// KeyID is the ID of a key, or of a key at an address.
func KeyID(key string, address netip.Addr) ID {
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(key)
	if address.IsValid() {
		text := address.As16()
		_ = h.WriteByte(0)
		_, _ = h.Write(text[:])
	}
	return ID(h.Sum64())
}

// Buckets are token buckets of one rate. A nil *Buckets admits everything.
type Buckets struct {
	interval float64 // nanoseconds in which a token comes back
	depth    float64 // nanoseconds in which all but one come back
	most     int
	now      func() time.Time
	start    time.Time

	mu   sync.Mutex
	at   map[ID]int // where a bucket stands in rows
	rows []bucket   // a heap, the fullest first
}

// bucket is told by when it will be full again, in nanoseconds since start.
// That is all there is to a token bucket whose tokens come back steadily.
type bucket struct {
	id   ID
	full float64
}

// NewBuckets makes buckets of a rate, and none of the zero Rate.
func NewBuckets(rate Rate, now func() time.Time) *Buckets {
	if rate == (Rate{}) {
		return nil
	}
	b := &Buckets{interval: float64(time.Second) / rate.PerSecond, most: maxBuckets, now: now, start: now(), at: map[ID]int{}}
	b.depth = b.interval * float64(rate.Burst-1)
	return b
}

// Take takes a token, or says how long to wait for one.
func (b *Buckets) Take(id ID) (wait time.Duration) {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i, known := b.at[id]
	if !known {
		i = b.add(id)
	}
	return b.take(i)
}

// TakeKnown is Take where there is a bucket already.
func (b *Buckets) TakeKnown(id ID) (wait time.Duration, known bool) {
	if b == nil {
		return 0, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i, known := b.at[id]
	if !known {
		return 0, false
	}
	return b.take(i), true
}

// add makes a bucket and returns where it stands.
func (b *Buckets) add(id ID) int {
	if len(b.rows) < b.most {
		b.rows = append(b.rows, bucket{id, math.Inf(-1)})
		b.at[id] = len(b.rows) - 1
		heap.Fix(b, len(b.rows)-1)
		return b.at[id]
	}
	delete(b.at, b.rows[0].id)
	b.rows[0].id = id // with the tokens that the other had
	b.at[id] = 0
	return 0
}

func (b *Buckets) take(i int) time.Duration {
	now := float64(b.now().Sub(b.start))
	if wait := b.rows[i].full - now - b.depth; wait > 0 {
		return time.Duration(math.Ceil(min(wait, float64(math.MaxInt64/2))))
	}
	b.rows[i].full = max(b.rows[i].full, now) + b.interval
	heap.Fix(b, i)
	return 0
}

// Len, Less, Swap, Push and Pop are for container/heap, of which only Fix is
// used.

func (b *Buckets) Len() int           { return len(b.rows) }
func (b *Buckets) Less(i, j int) bool { return b.rows[i].full < b.rows[j].full }
func (b *Buckets) Swap(i, j int) {
	b.rows[i], b.rows[j] = b.rows[j], b.rows[i]
	b.at[b.rows[i].id], b.at[b.rows[j].id] = i, j
}
func (b *Buckets) Push(any) {}
func (b *Buckets) Pop() any { return nil }
