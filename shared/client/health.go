package client

import (
	"cmp"
	"errors"
	"fmt"

	"svc.example/svc/shared/upstream"
)

// LoadError is why there is no first state.
type LoadError = upstream.LoadError

var errNoAnswer = errors.New("there was no answer yet")

// tooLate is the error of having waited, with what stood in the way.
func (c *Client) tooLate(waited error) error {
	c.mu.Lock()
	cause := cmp.Or(c.cause, errNoAnswer)
	c.mu.Unlock()
	out := &LoadError{From: cmp.Or(c.options.URL, c.options.Datadir, "the datadir")}
	if load := (*LoadError)(nil); errors.As(cause, &load) {
		out.Status, cause = load.Status, load.Err
	}
	out.Err = fmt.Errorf("%w: %w", waited, cause)
	return out
}

// startAnyway says why defaults are served, unless the first state came just
// then.
func (c *Client) startAnyway(err error) {
	c.mu.Lock()
	late := c.table.Load() == nil
	if late && c.cause == nil {
		c.health.Bad(err) // for the recovery to be said
	}
	c.mu.Unlock()
	if late {
		c.options.Log.Warn("svc: serving defaults until there is a first state", "error", err)
	}
}

func (c *Client) sayRecovered() {
	c.options.Log.Info("svc: the source is good again", "serving", c.Version())
}
