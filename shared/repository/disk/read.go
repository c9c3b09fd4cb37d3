package disk

import (
	"context"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Object returns one object of any kind by its id. See Reader.Read
// for errors. Whoever reads many takes a Reader.
func (o *Objects) Object(ctx context.Context, id string) (object.Kind, []byte, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	s := o.Reader()
	defer s.Close()
	return s.Read(id)
}

// Blob implements repository.Objects.
func (o *Objects) Blob(ctx context.Context, touch repository.Touch) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := o.Reader()
	defer s.Close()
	if c, ok := s.hinted(touch); ok {
		return c.text, nil
	}
	return object.ReadAs(s.Read, touch.Blob, object.Blob)
}

// hinted reads an object from where it was said to lie. Packs are merged and
// collected: that it is not there is no error.
func (s *Reader) hinted(touch repository.Touch) (content, bool) {
	if !object.IsID(touch.Pack) {
		return content{}, false
	}
	p := s.objects.named(touch.Pack)
	if p == nil {
		p = &packFile{name: touch.Pack} // another process has stored it
	}
	c, err := s.at(p, touch.Blob, touch.Offset, touch.Length)
	return c, err == nil && c.kind == object.Blob
}

// Tree implements repository.Objects.
func (o *Objects) Tree(ctx context.Context, head repository.Head) (repository.Tree, error) {
	s := o.Reader()
	defer s.Close()
	return repository.ReadTree(ctx, head, s.Read, nil, 0)
}
