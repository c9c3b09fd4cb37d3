package change

import (
	"context"
	"errors"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository/object"
)

// conflict refuses a write because its item has changed since. The first refusal of a
// request lists the changes, which takes another read.
type conflict struct {
	fault   *fault.Fault
	attempt *attempt
	// since is the commit that changes are told after, "" for none; or else the content
	// that the item had there, nil for none.
	since   string
	content []byte
}

func (c *conflict) Error() string { return c.fault.Message }

func (c *conflict) Unwrap() error { return c.fault }

// explain adds the item's changes to the refusal of a conflict, if they can be read.
func explain(ctx context.Context, refusal error) error {
	c, ok := errors.AsType[*conflict](refusal)
	if !ok || c.since == "" {
		return refusal
	}
	blob := ""
	if c.content != nil {
		blob = object.Hash(object.Blob, c.content).String()
	}
	changes, more, err := c.attempt.batch.state.Feed.Since(ctx, c.attempt.path, c.since, blob)
	if err != nil || len(changes) == 0 {
		return c.fault
	}
	c.fault.Details["changes"] = changes
	if more {
		c.fault.Details["changesTruncated"] = true
	}
	return c.fault
}
