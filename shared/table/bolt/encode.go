package bolt

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"svc.example/svc/shared/table"
)

// The kinds of values, as they are stored.
const (
	textKind   = 'S'
	numberKind = 'N'
	bytesKind  = 'B'
)

// format is what a row begins with.
const format = 1

// encode writes attributes in the order of their names: name, kind and value of each.
// What has no fixed length has it before it.
func encode(a table.Attributes) []byte {
	b := []byte{format}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		b = appendText(b, name)
		switch v := a[name].(type) {
		case table.Text:
			b = appendText(append(b, textKind), string(v))
		case table.Number:
			b = binary.AppendVarint(append(b, numberKind), int64(v))
		case table.Bytes:
			b = appendText(append(b, bytesKind), string(v))
		}
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

var errNoRow = errors.New("what is stored there is no row")

// decode reads what encode has written. If there are names, it returns those alone.
func decode(stored []byte, only []string) (table.Attributes, error) {
	if len(stored) == 0 || stored[0] != format {
		return nil, errNoRow
	}
	a := table.Attributes{}
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

func (r *reader) value() table.Value {
	if len(r.rest) == 0 {
		r.bad = true
		return nil
	}
	kind := r.rest[0]
	r.rest = r.rest[1:]
	switch kind {
	case textKind:
		return table.Text(r.text())
	case numberKind:
		return table.Number(number(r, binary.Varint))
	case bytesKind:
		return table.Bytes(append([]byte{}, r.text()...))
	}
	r.bad = true
	return nil
}
