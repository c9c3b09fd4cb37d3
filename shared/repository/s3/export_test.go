package s3

import (
	"context"
)

// SweepAll sweeps what is not kept, however young it is.
func (o *Objects) SweepAll(ctx context.Context, keep Keep) (Swept, error) {
	var left Leftovers
	for _, prefix := range swept {
		for info, err := range o.store.bucket.List(ctx, o.store.key(prefix)) {
			if err != nil {
				return Swept{}, err
			}
			left = append(left, info)
		}
	}
	return o.Sweep(ctx, left, keep)
}
