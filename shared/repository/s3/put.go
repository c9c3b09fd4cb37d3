package s3

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/repository/pack"
)

// PutPack implements repository.Objects.
func (o *Objects) PutPack(ctx context.Context, name string, content, index []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	x, err := pack.Accept(name, index)
	if err != nil {
		return err
	}
	if err := o.store(ctx, name, bucket.Bytes(content), index); err != nil {
		return fmt.Errorf("storing pack %s: %w", name, err)
	}
	o.known.add(indexed(name, x, int64(len(content))))
	return nil
}

// store writes a pack and its index.
func (o *Objects) store(ctx context.Context, name string, content bucket.Content, index []byte) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return o.create(ctx, o.key(name, ".pack"), content) })
	group.Go(func() error { return o.create(ctx, o.key(name, ".idx"), bucket.Bytes(index)) })
	return group.Wait()
}

// create writes what may be there already: the name tells the content and the
// fence, so it was stored by somebody who had read the same fence, and no sweep
// that this writer's fence is behind has listed it.
func (o *Objects) create(ctx context.Context, key string, content bucket.Content) error {
	_, err := o.bucket.Create(ctx, key, content)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return busy(err)
}

// Release implements repository.Objects. A pack is safe by the fence.
func (o *Objects) Release(string) {}
