package pack

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"sort"

	"github.com/go-git/go-git/v5/plumbing"
)

// Index is a pack's index (version 2), searched where it lies.
type Index struct {
	raw   []byte
	count int
	large int // entries of the table of offsets beyond 2 GiB
}

const (
	indexSignature = "\xfftOc\x00\x00\x00\x02"
	fanoutLength   = 256 * 4
	namesStart     = len(indexSignature) + fanoutLength
	perObject      = sha1.Size + 4 + 4 // name, checksum, offset
	indexTrailer   = 2 * sha1.Size
)

// ParseIndex checks that bytes have the shape of an index. The order of the
// names is not checked: a wrong one only hides objects.
func ParseIndex(raw []byte) (*Index, error) {
	if !bytes.HasPrefix(raw, []byte(indexSignature)) {
		return nil, errors.New("no pack index of version 2 (git index-pack writes one)")
	}
	if len(raw) < namesStart+indexTrailer {
		return nil, errors.New("the pack index is cut off")
	}
	x := &Index{raw: raw}
	last := uint32(0)
	for i := range 256 {
		n := x.fanout(i)
		if n < last {
			return nil, fmt.Errorf("the pack index counts %d objects below %02x and %d below %02x", last, i, n, i+1)
		}
		last = n
	}
	x.count = int(last)
	rest := int64(len(raw)-namesStart-indexTrailer) - int64(x.count)*perObject
	if rest < 0 || rest%8 != 0 {
		return nil, fmt.Errorf("the pack index is %d bytes long, which does not fit its %d objects", len(raw), x.count)
	}
	x.large = int(rest / 8)
	return x, nil
}

func (x *Index) fanout(i int) uint32 {
	return binary.BigEndian.Uint32(x.raw[len(indexSignature)+4*i:])
}

// Len is the number of objects.
func (x *Index) Len() int { return x.count }

// Pack is the checksum of the pack that the index was made for.
func (x *Index) Pack() string {
	return hex.EncodeToString(x.raw[len(x.raw)-indexTrailer:][:sha1.Size])
}

// Size is the length of the index in bytes.
func (x *Index) Size() int { return len(x.raw) }

// ID is the name of the i-th object, in the order of names.
func (x *Index) ID(i int) plumbing.Hash {
	return plumbing.Hash(x.raw[namesStart+i*sha1.Size:][:sha1.Size])
}

// Checksum is the CRC-32 of the i-th object as it lies in the pack.
func (x *Index) Checksum(i int) uint32 {
	return binary.BigEndian.Uint32(x.raw[namesStart+x.count*sha1.Size+4*i:])
}

// Offset is where the i-th object begins in the pack; -1 if the index is
// damaged.
func (x *Index) Offset(i int) int64 {
	offset := binary.BigEndian.Uint32(x.raw[namesStart+x.count*(sha1.Size+4)+4*i:])
	if offset < 1<<31 {
		return int64(offset)
	}
	i = int(offset &^ (1 << 31))
	if i >= x.large {
		return -1
	}
	return int64(binary.BigEndian.Uint64(x.raw[namesStart+x.count*perObject+8*i:]) & (1<<63 - 1))
}

// Find returns where an object begins in the pack.
func (x *Index) Find(id plumbing.Hash) (int64, bool) {
	low, high := 0, int(x.fanout(int(id[0])))
	if id[0] > 0 {
		low = int(x.fanout(int(id[0]) - 1))
	}
	i := low + sort.Search(high-low, func(i int) bool {
		name := x.ID(low + i)
		return bytes.Compare(name[:], id[:]) >= 0
	})
	if i == high || x.ID(i) != id {
		return 0, false
	}
	offset := x.Offset(i)
	return offset, offset >= 0
}
