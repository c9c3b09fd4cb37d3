// Package encoding writes and reads what is stored as bytes: numbers as varints,
// and texts behind their lengths. What is read may be damaged in any way. It writes
// values as JSON too, as they are answered, and compresses what is kept.
package encoding

import (
	"encoding/binary"
	"math"
)

// AppendText adds a text with its length, for Decoder.Text.
func AppendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// Decoder reads an encoding from front to end. Reading beyond the end, or what
// makes no sense, makes it bad, and then it gives zeros. What it gives shares
// its bytes.
type Decoder struct {
	Bytes []byte // that have not been read
	Bad   bool
}

// Fail makes the decoder bad.
func (r *Decoder) Fail() { r.Bytes, r.Bad = nil, true }

// Take reads so many bytes.
func (r *Decoder) Take(n uint64) []byte {
	if r.Bad || n > uint64(len(r.Bytes)) {
		r.Fail()
		return nil
	}
	taken := r.Bytes[:n:n]
	r.Bytes = r.Bytes[n:]
	return taken
}

// Byte reads one byte.
func (r *Decoder) Byte() byte {
	if taken := r.Take(1); taken != nil {
		return taken[0]
	}
	return 0
}

// Unsigned reads a number that is not negative.
func (r *Decoder) Unsigned() uint64 {
	n, size := binary.Uvarint(r.Bytes)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.Bytes = r.Bytes[size:]
	return n
}

// Integer reads a number that is not negative and fits an int64.
func (r *Decoder) Integer() int64 {
	n := r.Unsigned()
	if n > math.MaxInt64 {
		r.Fail()
		return 0
	}
	return int64(n)
}

// Count reads the number of things that follow, of which each has at least
// one byte.
func (r *Decoder) Count() uint64 {
	n := r.Unsigned()
	if n > uint64(len(r.Bytes)) {
		r.Fail()
		return 0
	}
	return n
}

// Number reads a signed number.
func (r *Decoder) Number() int64 {
	n, size := binary.Varint(r.Bytes)
	if size <= 0 {
		r.Fail()
		return 0
	}
	r.Bytes = r.Bytes[size:]
	return n
}

// Text reads what AppendText wrote.
func (r *Decoder) Text() []byte { return r.Take(r.Count()) }
