package together

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// atOnce bounds the calls that are under way at a time.
const atOnce = 16

// Each calls do for all numbers below n, some at once, and returns when all of
// them have. The first failure ends the context of the others; those that have
// not begun are left out.
func Each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
