package pack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// Apply makes an object from its base and its difference from it.
func Apply(base, difference []byte) ([]byte, error) {
	content, err := packfile.PatchDelta(base, difference)
	if err != nil {
		return nil, fmt.Errorf("a delta does not fit its base: %w", err)
	}
	return content, nil
}

var errDelta = errors.New("a delta is cut off in its sizes")

// madeSize is how many bytes a difference makes, as it says itself.
func madeSize(difference []byte) (int64, error) {
	_, n := binary.Uvarint(difference) // of the base
	if n <= 0 {
		return 0, errDelta
	}
	size, n := binary.Uvarint(difference[n:])
	if n <= 0 || size > math.MaxInt64 {
		return 0, errDelta
	}
	return int64(size), nil
}

// splice writes target as what base has in front, something new, and what
// base has at the end. That is all there is to the next version of a tree,
// and a hundred times as fast as a search for matches everywhere.
func splice(base, target []byte) []byte {
	front, back := sharedEnds(base, target)
	d := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(base))), uint64(len(target)))
	d = appendCopy(d, 0, front)
	for middle := target[front : len(target)-back]; len(middle) > 0; {
		n := min(len(middle), 0x7f)
		d = append(append(d, byte(n)), middle[:n]...)
		middle = middle[n:]
	}
	return appendCopy(d, len(base)-back, back)
}

// sharedEnds counts the bytes that two contents share in front and, apart
// from those, at the end.
func sharedEnds(a, b []byte) (front, back int) {
	const block = 512
	n := min(len(a), len(b))
	for front+block <= n && bytes.Equal(a[front:front+block], b[front:front+block]) {
		front += block
	}
	for front < n && a[front] == b[front] {
		front++
	}
	a, b = a[front:], b[front:]
	n -= front
	for back+block <= n && bytes.Equal(a[len(a)-back-block:len(a)-back], b[len(b)-back-block:len(b)-back]) {
		back += block
	}
	for back < n && a[len(a)-1-back] == b[len(b)-1-back] {
		back++
	}
	return front, back
}

// appendCopy adds commands that copy a part of the base: four bytes of
// offset and two of length, of which zero bytes are left out.
func appendCopy(d []byte, offset, length int) []byte {
	for length > 0 {
		n := min(length, 0xffff)
		command := len(d)
		d = append(d, 0x80)
		for bit, digit := range []byte{byte(offset), byte(offset >> 8), byte(offset >> 16), byte(offset >> 24), byte(n), byte(n >> 8)} {
			if digit != 0 {
				d[command] |= 1 << bit
				d = append(d, digit)
			}
		}
		offset, length = offset+n, length-n
	}
	return d
}
