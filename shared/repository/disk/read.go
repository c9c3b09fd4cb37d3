package disk

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Object returns one object of any kind by its id. One that is not there is
// ErrNoObject. Whoever reads many takes a Reader.
func (o *Objects) Object(ctx context.Context, id string) (object.Kind, []byte, error) {
	if err := ctx.Err(); err != nil {
		return "", nil, err
	}
	s := o.Reader()
	defer s.Close()
	return s.Read(id)
}

// Lacks returns one of the objects named that is not there, "" when all are. It
// reads none of them. When it cannot tell, it fails.
func (o *Objects) Lacks(ids []string) (string, error) {
	ids = slices.Clone(ids)
	if len(ids) == 0 {
		return "", nil
	}
	for range 3 { // an object may move into a pack while it is looked for
		if err := o.scan(); err != nil {
			return "", err
		}
		var failed error
		ids = slices.DeleteFunc(ids, func(id string) bool {
			there, err := o.holds(id)
			failed = errors.Join(failed, err)
			return there
		})
		if failed != nil || len(ids) == 0 {
			return "", failed
		}
	}
	if broken := o.seen.Load().broken; broken != nil {
		return "", broken
	}
	return ids[0], nil
}

func (o *Objects) holds(id string) (bool, error) {
	for _, p := range o.known() {
		if _, found := p.index.Find(plumbing.NewHash(id)); found {
			return true, nil
		}
	}
	_, err := o.fs.Stat(loosePath(id))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
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
