package pack

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
)

// Header is what stands before an object's compressed content.
type Header struct {
	Type plumbing.ObjectType
	Size int64 // of the content when inflated; of the difference, for a delta
	// Distance is how far before this object its base begins (OFSDeltaObject).
	Distance int64
	// Base is the base's id (REFDeltaObject).
	Base plumbing.Hash
	// Length is the number of bytes of the header itself.
	Length int
}

// longestHeader is more than any header takes: ten bytes of size and twenty
// of base.
const longestHeader = 32

var errCutOff = fmt.Errorf("the object's header is cut off: %w", io.ErrUnexpectedEOF)

// ParseHeader reads an object's header from where the object begins.
func ParseHeader(b []byte) (Header, error) {
	if len(b) == 0 {
		return Header{}, errCutOff
	}
	h := Header{Type: plumbing.ObjectType(b[0] >> 4 & 7), Size: int64(b[0] & 15), Length: 1}
	for shift := 4; b[h.Length-1]&0x80 != 0; shift += 7 {
		if h.Length == len(b) {
			return Header{}, errCutOff
		}
		if shift > 53 {
			return Header{}, errors.New("the object's size is absurd")
		}
		h.Size |= int64(b[h.Length]&0x7f) << shift
		h.Length++
	}
	switch h.Type {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return h, nil
	case plumbing.OFSDeltaObject:
		return h, h.parseDistance(b)
	case plumbing.REFDeltaObject:
		if copy(h.Base[:], b[h.Length:]) < len(h.Base) {
			return h, errCutOff
		}
		h.Length += len(h.Base)
		return h, nil
	}
	return Header{}, fmt.Errorf("there is no object of type %d", h.Type)
}

// parseDistance reads git's variable-length distance, in which no number has
// two spellings.
func (h *Header) parseDistance(b []byte) error {
	for first := true; ; first = false {
		if h.Length == len(b) {
			return errCutOff
		}
		if h.Distance >= 1<<55 {
			return errors.New("the distance to the base is absurd")
		}
		c := b[h.Length]
		h.Length++
		if !first {
			h.Distance++
		}
		h.Distance = h.Distance<<7 | int64(c&0x7f)
		if c&0x80 == 0 {
			return nil
		}
	}
}

func encodeHeader(kind plumbing.ObjectType, size int64) (b []byte) {
	c := byte(kind)<<4 | byte(size&15)
	for size >>= 4; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	return append(b, c)
}

func appendDistance(b []byte, distance int64) []byte {
	var digits [10]byte
	at := len(digits) - 1
	digits[at] = byte(distance & 0x7f)
	for distance >>= 7; distance > 0; distance >>= 7 {
		distance--
		at--
		digits[at] = byte(distance&0x7f) | 0x80
	}
	return append(b, digits[at:]...)
}
