package s3

import (
	"context"
	"errors"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Object returns one object of any kind by its id; ErrNoObject if there is
// none. Whoever reads many takes a Reader.
func (o *Objects) Object(ctx context.Context, id string) (object.Kind, []byte, error) {
	return o.Reader(ctx).Read(id)
}

// Blob implements repository.Objects.
func (o *Objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	r := o.Reader(ctx)
	if object.IsID(touch.Pack) && touch.Offset > 0 {
		c, err := r.hinted(touch)
		if err == nil && c.kind == object.Blob {
			return c.text, nil
		}
		if errors.Is(err, repository.ErrBusy) || ctx.Err() != nil {
			return nil, err // it may well be there
		}
	}
	return object.ReadAs(r.Read, touch.Blob, object.Blob)
}

// hinted reads an object from where it was said to lie. Packs are merged and
// swept: that it is not there is no error.
func (r *Reader) hinted(touch repository.Touch) (content, error) {
	p := r.objects.known.named(touch.Pack)
	if p == nil {
		p = &packIndex{name: touch.Pack} // another process has stored it
	}
	return r.at(p, touch.Blob, touch.Offset, touch.Length)
}

// Tree implements repository.Objects.
func (o *Objects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	r := o.Reader(ctx)
	return repository.ReadTree(ctx, head, r.Read, r.announced, o.most)
}

// announced fetches blobs that are read next, those that lie close together
// with one request.
func (r *Reader) announced(blobs []string) {
	var all []wanted
	for _, id := range blobs {
		p, offset := r.objects.known.find(plumbing.NewHash(id))
		if p == nil {
			continue
		}
		if length := p.length(offset); length > 0 && length <= maxUnasked {
			all = append(all, wanted{p.name, offset, length})
		}
	}
	r.prefetch(joined(all))
}
