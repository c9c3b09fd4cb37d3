package client

import (
	"context"
)

// Status is what a client knows of its source.
type Status string

// The statuses.
const (
	Starting Status = "STARTING" // no state yet: every getter returns its default
	Ready    Status = "READY"
	Stale    Status = "STALE" // the last good state is served, and the source fails
)

// Event is a change of what a client serves or of how it stands.
type Event struct {
	Status  Status
	Was     Status   // before: the same when only what is served has changed
	Version string   // of what is served; "" before the first state
	Changed []string // the keys that differ from the state before
	Err     error    // why the source fails
}

// Status is how the client stands.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Version is the version of the workspace that is served, "" before the first.
func (c *Client) Version() string {
	if t := c.table.Load(); t != nil {
		return t.version
	}
	return ""
}

// Listen calls back at every later event, one at a time and in order, until
// cancel. The callback must not block, nor call Listen, Close or cancel.
func (c *Client) Listen(callback func(Event)) (cancel func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.enlisted++
	n := c.enlisted
	c.listeners[n] = callback
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.listeners, n)
	}
}

func (c *Client) tell(e Event) {
	for _, callback := range c.listeners {
		callback(e)
	}
}

// serve swaps a state in, whole.
func (c *Client) serve(t *table) {
	c.mu.Lock()
	before := c.table.Load()
	e := Event{Status: Ready, Was: c.status, Version: t.version}
	if before == nil {
		for _, i := range t.items {
			e.Changed = append(e.Changed, i.key)
		}
		defer close(c.first)
	} else {
		e.Changed = t.differences(before)
		c.telemetry.retire(before)
	}
	c.table.Store(t)
	c.status = Ready
	c.tell(e)
	c.cause = nil
	recovered := c.health.Good()
	c.mu.Unlock()
	if recovered {
		c.sayRecovered()
	}
	if missing := t.unresolved(); missing != "" && missing != c.missing {
		c.missing = missing
		c.options.Log.Warn("svc: values that cannot be had; callers get their defaults", "values", missing)
	}
}

// confirm notes that what is served is still what the source has.
func (c *Client) confirm() {
	c.mu.Lock()
	if t := c.table.Load(); t != nil && c.status == Stale {
		c.status = Ready
		c.tell(Event{Status: Ready, Was: Stale, Version: t.version})
	}
	c.cause = nil
	recovered := c.health.Good()
	c.mu.Unlock()
	if recovered {
		c.sayRecovered()
	}
}

// sourceFailed notes that the source has no new state; what is served stays. It
// reports whether that is news for the log.
func (c *Client) sourceFailed(err error) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cause = err
	e := Event{Status: c.status, Was: c.status, Err: err}
	if t := c.table.Load(); t != nil {
		e.Status, e.Version = Stale, t.version
	}
	if c.status != Stale {
		c.status = e.Status
		c.tell(e)
	}
	return c.health.Bad(err)
}

// Await waits until there is a state to serve, or ctx is done.
func (c *Client) Await(ctx context.Context) error {
	if c.table.Load() != nil {
		return nil
	}
	select {
	case <-c.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
