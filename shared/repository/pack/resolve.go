package pack

import (
	"encoding/hex"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository/object"
)

// Resolver reads objects of packs that may be deltas of others. It keeps the
// bases it has met, up to a bound, and is not safe for concurrent use.
type Resolver struct {
	// Entry reads what lies at an offset of a pack, as it lies. A length of 0
	// is one that is not known.
	Entry func(pack string, offset, length int64) (Header, []byte, error)

	bases map[entry]whole
	held  int // bytes in bases
}

type entry struct {
	pack   string
	offset int64
}

type whole struct {
	kind object.Kind
	text []byte
}

type link struct {
	entry      entry
	difference []byte
}

const (
	// mostHeld bounds the bases that are kept; most chains lie close together.
	mostHeld = 16 << 20
	// longestChain is git's own bound on deltas of deltas.
	longestChain = 4096
)

// Object returns the object of an id that lies at an offset of a pack. It goes
// from delta to base until it meets a whole object, then back. The index is
// that of the pack; without one only deltas that say how far away their base
// lies can be followed.
func (r *Resolver) Object(pack string, index *Index, id string, offset, length int64) (object.Kind, []byte, error) {
	at := offset
	var chain []link
	for len(chain) <= longestChain {
		here := entry{pack, at}
		if base, ok := r.bases[here]; ok {
			return r.unwind(chain, base, id, offset)
		}
		h, text, err := r.Entry(pack, at, length)
		if err != nil {
			return "", nil, err
		}
		if !h.IsDelta() {
			found := whole{object.Kind(h.Type.String()), text}
			if len(chain) > 0 {
				r.hold(here, found)
			}
			return r.unwind(chain, found, id, offset)
		}
		chain = append(chain, link{here, text})
		if at, err = base(h, at, index); err != nil {
			return "", nil, err
		}
		length = 0
	}
	return "", nil, fmt.Errorf("more than %d deltas of deltas end at byte %d", longestChain, at)
}

// base is where the base of a delta begins.
func base(h Header, offset int64, index *Index) (int64, error) {
	if h.Type == plumbing.OFSDeltaObject {
		return offset - h.Distance, nil
	}
	if index == nil {
		return 0, fmt.Errorf("the base %s of a delta can not be found without an index", hex.EncodeToString(h.Base[:]))
	}
	if at, found := index.Find(h.Base); found {
		return at, nil
	}
	return 0, fmt.Errorf("the base %s of a delta is not in its pack", hex.EncodeToString(h.Base[:]))
}

func (r *Resolver) unwind(chain []link, found whole, id string, offset int64) (object.Kind, []byte, error) {
	for i := len(chain) - 1; i >= 0; i-- {
		text, err := Apply(found.text, chain[i].difference)
		if err != nil {
			return "", nil, err
		}
		found = whole{found.kind, text}
		if i > 0 {
			r.hold(chain[i].entry, found)
		}
	}
	if object.ID(found.kind, found.text) != id {
		return "", nil, fmt.Errorf("what lies at byte %d is not object %s", offset, id)
	}
	return found.kind, found.text, nil
}

func (r *Resolver) hold(where entry, base whole) {
	if r.held += len(base.text); r.held > mostHeld || r.bases == nil {
		r.bases, r.held = map[entry]whole{}, len(base.text)
	}
	r.bases[where] = base
}
