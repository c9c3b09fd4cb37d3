package pack

import (
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/repository/object"
)

// Resolver reads objects of packs that may be deltas of others. It keeps the
// bases it has met, up to a bound of bytes, the least recently used go first. It
// is not safe for concurrent use.
//
// What it inflates is bounded: an object by object.Max, what it is a difference
// from by largestBase, a chain as a whole by maxInflated and maxApplied.
// Beyond that the object is an object.TooLarge.
type Resolver struct {
	// MaxBlob bounds a blob.
	MaxBlob int64

	entry ReadEntry
	bases *lru.Cache[entry, whole]
}

// ReadEntry reads what lies at an offset of a pack, as it lies; see Read for
// most. A length of 0 is one that is not known.
type ReadEntry func(pack string, offset, length int64, most func(Header) int64) (Header, []byte, error)

// NewResolver makes a Resolver for documents; readers of more raise MaxBlob.
func NewResolver(read ReadEntry) *Resolver {
	return &Resolver{MaxBlob: object.MaxBlob, entry: read, bases: lru.New[entry, whole](maxHeld)}
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
	size       int64 // of what it makes
}

const (
	// maxHeld bounds the bases that are kept; most chains lie close together.
	maxHeld = 16 << 20
	// longestChain is git's own bound on deltas of deltas.
	longestChain = 4096
	// largestBase is what a document may be a difference from: git takes a base
	// of up to 32 times the size.
	largestBase = 32 << 20
	// maxInflated bounds the base and the differences of a chain together, and
	// maxApplied the bytes of all that they make one after the other: fifty
	// deltas, which is git's usual depth, of the largest document are a tenth.
	maxInflated = 64 << 20
	maxApplied  = 512 << 20
)

// Object returns the object of an id that lies at an offset of a pack. It goes
// from delta to base until it meets a whole object, then back. The index is
// that of the pack; without one only deltas that say how far away their base
// lies can be followed.
func (r *Resolver) Object(pack string, index *Index, id object.ID, offset, length int64) (object.Kind, []byte, error) {
	kind, text, err := r.object(pack, index, id, offset, length)
	if large := (*object.TooLarge)(nil); errors.As(err, &large) {
		large.ID = id
	}
	return kind, text, err
}

func (r *Resolver) object(pack string, index *Index, id object.ID, offset, length int64) (object.Kind, []byte, error) {
	at := offset
	var chain []link
	inflated, applied := int64(0), int64(0)
	for len(chain) <= longestChain {
		here := entry{pack, at}
		if base, ok := r.bases.Get(here); ok {
			return r.unwind(chain, base, id, offset)
		}
		h, text, err := r.entry(pack, at, length, func(h Header) int64 { return r.most(h, len(chain)) })
		if err != nil {
			return "", nil, r.inChain(err, len(chain))
		}
		if inflated += int64(len(text)); inflated > maxInflated+r.MaxBlob {
			return "", nil, &object.TooLarge{}
		}
		if !h.Type.IsDelta() {
			found := whole{object.Kind(h.Type.String()), text}
			if len(chain) > 0 {
				r.hold(here, found)
			}
			return r.unwind(chain, found, id, offset)
		}
		size, err := madeSize(text)
		if err != nil {
			return "", nil, err
		}
		if size > largestBase && size > r.MaxBlob {
			return "", nil, r.inChain(&object.TooLarge{Size: size, Max: r.MaxBlob}, len(chain))
		}
		if applied += size; applied > maxApplied+r.MaxBlob {
			return "", nil, &object.TooLarge{}
		}
		chain = append(chain, link{here, text, size})
		if at, err = base(h, at, index); err != nil {
			return "", nil, err
		}
		length = 0
	}
	return "", nil, &object.TooLarge{}
}

// inChain leaves out a size that is not the object's own.
func (r *Resolver) inChain(err error, links int) error {
	if large := (*object.TooLarge)(nil); links > 0 && errors.As(err, &large) {
		large.Size = 0
	}
	return err
}

// most bounds what is inflated behind a header after so many links of a chain.
func (r *Resolver) most(h Header, links int) int64 {
	if links > 0 || h.Type.IsDelta() {
		return max(largestBase, r.MaxBlob)
	}
	return r.Max(object.Kind(h.Type.String()))
}

// Max bounds an object of a kind.
func (r *Resolver) Max(kind object.Kind) int64 {
	if kind == object.Blob {
		return r.MaxBlob
	}
	return object.Max(kind)
}

// base is where the base of a delta begins.
func base(h Header, offset int64, index *Index) (int64, error) {
	if h.Type == plumbing.OFSDeltaObject {
		return offset - h.Distance, nil
	}
	if index == nil {
		return 0, fmt.Errorf("the base %s of a delta cannot be found without an index", h.Base)
	}
	if at, found := index.Find(h.Base); found {
		return at, nil
	}
	return 0, fmt.Errorf("the base %s of a delta is not in its pack", h.Base)
}

func (r *Resolver) unwind(chain []link, found whole, id object.ID, offset int64) (object.Kind, []byte, error) {
	if most := r.Max(found.kind); len(chain) > 0 && chain[0].size > most {
		return "", nil, &object.TooLarge{Size: chain[0].size, Max: most}
	}
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
	if object.Hash(found.kind, found.text) != id {
		return "", nil, fmt.Errorf("what lies at byte %d is not object %s", offset, id)
	}
	return found.kind, found.text, nil
}

func (r *Resolver) hold(where entry, base whole) {
	r.bases.Put(where, base, int64(len(base.text)))
}
