package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
)

// ErrNoObject: no pack holds an object of that id.
var ErrNoObject = errors.New("no such object")

// Reader reads several objects, for a walk through history or a tree. It
// keeps what it has fetched, up to a bound, and is not safe for concurrent
// use.
type Reader struct {
	ctx     context.Context
	objects *Objects
	fetched map[string][]stretch // by pack, in order
	bytes   int
	deltas  pack.Resolver
}

type content struct {
	kind object.Kind
	text []byte
}

// Reader begins a walk, which ends with the context.
func (o *Objects) Reader(ctx context.Context) *Reader {
	r := &Reader{ctx: ctx, objects: o, fetched: map[string][]stretch{}}
	r.deltas.Entry = r.entry
	return r
}

// Read returns the kind and content of the object of an id. One that is not
// there is ErrNoObject.
func (r *Reader) Read(id string) (object.Kind, []byte, error) {
	c, err := r.read(id)
	return c.kind, c.text, err
}

// rounds is how often a pack may be merged and swept while it is looked for.
const rounds = 3

func (r *Reader) read(id string) (content, error) {
	if !object.IsID(id) {
		return content{}, fmt.Errorf("%q is no object id", id)
	}
	for range rounds {
		seen := r.objects.known.asked.Load()
		p, offset := r.objects.known.find(plumbing.NewHash(id))
		if p != nil {
			c, err := r.at(p, id, offset, p.length(offset))
			if !errors.Is(err, fs.ErrNotExist) {
				return c, err
			}
			r.objects.known.forget(p.name)
		}
		if err := r.objects.refresh(r.ctx, seen); err != nil {
			return content{}, err
		}
	}
	return content{}, fmt.Errorf("object %s: %w", id, ErrNoObject)
}

// at returns the object at an offset of a pack, if that is the one named.
func (r *Reader) at(p *packIndex, id string, offset, length int64) (content, error) {
	kind, text, err := r.deltas.Object(p.name, p.index, id, offset, length)
	if err != nil {
		return content{}, fmt.Errorf("%s: %w", r.objects.key(p.name, ".pack"), err)
	}
	return content{kind, text}, nil
}

// How much is read where it is not known how much an object takes.
const (
	firstGuess  = 64 << 10
	guessGrowth = 16
	maxLength   = 64 << 20 // compressed; what is larger is larger than is read
	// maxUnasked is more than a document takes, compressed. What takes more is
	// fetched once its header has said how large it is.
	maxUnasked = 2 << 20
)

// admit looks at an object's header alone, and refuses it if it is too large.
func (r *Reader) admit(name string, offset int64, most func(pack.Header) int64) error {
	s, err := r.fetch(name, offset, firstGuess)
	if err != nil {
		return err
	}
	h, err := pack.ParseHeader(s.bytes[offset-s.from:])
	if err != nil {
		return err
	}
	if limit := most(h); h.Size > limit {
		return &object.TooLarge{Size: h.Size, Max: limit}
	}
	return nil
}

// entry reads what lies at an offset of a pack, as it lies.
func (r *Reader) entry(name string, offset, length int64, most func(pack.Header) int64) (pack.Header, []byte, error) {
	if p := r.objects.known.named(name); length == 0 && p != nil {
		length = p.length(offset)
	}
	if length > maxUnasked {
		if err := r.admit(name, offset, most); err != nil {
			return pack.Header{}, nil, err
		}
	}
	if length > 0 && length <= maxLength {
		s, err := r.fetch(name, offset, length)
		if err != nil {
			return pack.Header{}, nil, err
		}
		return pack.Read(s, offset, length, most)
	}
	for guess := int64(firstGuess); ; guess *= guessGrowth {
		s, err := r.fetch(name, offset, guess)
		if err != nil {
			return pack.Header{}, nil, err
		}
		h, text, err := pack.Read(s, offset, 0, most)
		cutOff := errors.Is(err, io.ErrUnexpectedEOF) && s.end()-offset >= guess
		if !cutOff || guess > maxLength {
			return h, text, err
		}
	}
}
