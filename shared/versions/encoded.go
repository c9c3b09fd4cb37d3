package versions

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/evaluation"
)

// An encoded State is the scope of all environments, the number of those that have a
// scope of their own, each of them behind its name, and the number of segments, each
// behind its key. A scope is its entries (signed), its two sums (32 bytes each), the
// numbers of its references and moments, each with how often it is there (signed),
// and volatile (signed). A segment is its sum, the number of its references and these,
// and its turns: the moments behind their number, and volatile (1). Names, keys and
// moments come in order.

// Append adds the State's encoding to b. Equal states have the same bytes.
func (s *State) Append(b []byte) []byte {
	b = s.everywhere.append(b)
	b = binary.AppendUvarint(b, uint64(len(s.own)))
	for _, name := range slices.Sorted(maps.Keys(s.own)) {
		b = s.own[name].append(encoding.AppendText(b, name))
	}
	b = binary.AppendUvarint(b, uint64(len(s.segments)))
	for _, key := range slices.Sorted(maps.Keys(s.segments)) {
		segment := s.segments[key]
		b = segment.sum.append(encoding.AppendText(b, key))
		b = binary.AppendUvarint(b, uint64(len(segment.references)))
		for _, reference := range segment.references {
			b = encoding.AppendText(b, reference)
		}
		b = binary.AppendUvarint(b, uint64(len(segment.turns.Moments)))
		for _, moment := range segment.turns.Moments {
			b = binary.AppendVarint(b, moment)
		}
		if segment.turns.Volatile {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	return b
}

func (s sum) append(b []byte) []byte {
	for _, word := range s {
		b = binary.BigEndian.AppendUint64(b, word)
	}
	return b
}

func (s scope) append(b []byte) []byte {
	b = binary.AppendVarint(b, int64(s.entries))
	b = s.client.append(s.sdk.append(b))
	b = binary.AppendUvarint(b, uint64(len(s.references)))
	for _, key := range slices.Sorted(maps.Keys(s.references)) {
		b = binary.AppendVarint(encoding.AppendText(b, key), int64(s.references[key]))
	}
	b = binary.AppendUvarint(b, uint64(len(s.moments)))
	for _, moment := range slices.Sorted(maps.Keys(s.moments)) {
		b = binary.AppendVarint(binary.AppendVarint(b, moment), int64(s.moments[moment]))
	}
	return binary.AppendVarint(b, int64(s.volatile))
}

var errState = errors.New("the encoding of versions is damaged")

// ReadState reads what Append wrote, and nothing else.
func ReadState(b []byte) (*State, error) {
	r := reader{encoding.Decoder{Bytes: b}}
	s := &State{everywhere: r.scope()}
	for range r.Count() {
		if name := string(r.Text()); !r.Bad {
			s.put(name, r.scope())
		}
	}
	for range r.Count() {
		key, read := string(r.Text()), segment{sum: r.sum()}
		for range r.Count() {
			if read.references = append(read.references, string(r.Text())); r.Bad {
				return nil, errState
			}
		}
		read.turns = r.turns()
		if r.Bad {
			return nil, errState
		}
		if s.segments == nil {
			s.segments = map[string]segment{}
		}
		s.segments[key] = read
	}
	if r.Bad || len(r.Bytes) > 0 {
		return nil, errState
	}
	return s, nil
}

type reader struct{ encoding.Decoder }

func (r *reader) sum() (s sum) {
	if b := r.Take(8 * uint64(len(s))); b != nil {
		for i := range s {
			s[i] = binary.BigEndian.Uint64(b[8*i:])
		}
	}
	return s
}

func (r *reader) scope() scope {
	s := scope{entries: int(r.Number()), sdk: r.sum(), client: r.sum()}
	for range r.Count() {
		key := string(r.Text())
		if n := int(r.Number()); !r.Bad {
			s.references = count(s.references, key, n)
		}
	}
	for range r.Count() {
		moment := r.Number()
		if n := int(r.Number()); !r.Bad {
			s.moments = count(s.moments, moment, n)
		}
	}
	s.volatile = int(r.Number())
	return s
}

func (r *reader) turns() (t evaluation.Turns) {
	for range r.Count() {
		if t.Moments = append(t.Moments, r.Number()); r.Bad {
			return t
		}
	}
	t.Volatile = r.Byte() != 0
	return t
}
