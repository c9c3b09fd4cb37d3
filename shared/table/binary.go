package table

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// The kinds of values, as they are stored.
const (
	textKind   = 'S'
	numberKind = 'N'
	bytesKind  = 'B'
	truthKind  = 'T'
)

// binaryFormat is what the binary form of attributes begins with.
const binaryFormat = 1

// EncodeBinary writes attributes in few bytes, for engines that keep bytes: in the order
// of their names, name, kind and value of each. What has no fixed length has it before it.
func EncodeBinary(a Attributes) []byte {
	b := []byte{binaryFormat}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		b = appendText(b, name)
		switch v := a[name].(type) {
		case Text:
			b = appendText(append(b, textKind), string(v))
		case Number:
			b = binary.AppendVarint(append(b, numberKind), int64(v))
		case Bytes:
			b = appendText(append(b, bytesKind), string(v))
		case Truth:
			n := uint64(0)
			if v {
				n = 1
			}
			b = binary.AppendUvarint(append(b, truthKind), n)
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var errNoRow = errors.New("what is stored there is no row")

// DecodeBinary reads what EncodeBinary has written. If there are names, it returns those
// alone.
func DecodeBinary(stored []byte, only []string) (Attributes, error) {
	if len(stored) == 0 || stored[0] != binaryFormat {
		return nil, errNoRow
	}
	a := Attributes{}
	r := reader{rest: stored[1:]}
	for len(r.rest) > 0 && !r.bad {
		name := r.text()
		value := r.value()
		if len(only) == 0 || slices.Contains(only, string(name)) {
			a[string(name)] = value
		}
	}
	if r.bad {
		return nil, errNoRow
	}
	return a, nil
}

type reader struct {
	rest []byte
	bad  bool
}

// number reads what a function of package binary does.
func number[N int64 | uint64](r *reader, read func([]byte) (N, int)) N {
	n, size := read(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reader) text() []byte {
	n := number(r, binary.Uvarint)
	if n > uint64(len(r.rest)) {
		r.bad, n = true, 0
	}
	text := r.rest[:n]
	r.rest = r.rest[n:]
	return text
}

func (r *reader) value() Value {
	if len(r.rest) == 0 {
		r.bad = true
		return nil
	}
	kind := r.rest[0]
	r.rest = r.rest[1:]
	switch kind {
	case textKind:
		return Text(r.text())
	case numberKind:
		return Number(number(r, binary.Varint))
	case bytesKind:
		return Bytes(append([]byte{}, r.text()...))
	case truthKind:
		n := number(r, binary.Uvarint)
		r.bad = r.bad || n > 1
		return Truth(n == 1)
	}
	r.bad = true
	return nil
}
