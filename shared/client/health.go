package client

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"time"

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
	out.Err = &overdue{waited, cause}
	return out
}

// overdue is a wait that ended without a state, and why there is none.
type overdue struct{ waited, cause error }

func (o *overdue) Error() string { return o.waited.Error() + ": " + o.cause.Error() }

// Unwrap is the cause alone, so that errors.Unwrap comes to it.
func (o *overdue) Unwrap() error { return o.cause }

// Is tells of the wait: context.Canceled and the like.
func (o *overdue) Is(target error) bool { return errors.Is(o.waited, target) }

// startAnyway says why defaults are served, unless the first state came just
// then.
func (c *Client) startAnyway(err error) {
	c.mu.Lock()
	late := c.table.Load() == nil
	if late && c.cause == nil {
		c.health.bad(err) // for the recovery to be said
	}
	c.mu.Unlock()
	if late {
		c.options.Log.Warn("svc: serving defaults until there is a first state", "error", err)
	}
}

func (c *Client) sayRecovered() {
	c.options.Log.Info("svc: the source is good again", "serving", c.Version())
}

// health is how the source is doing, as the log has it.
type health struct {
	cause string    // why it fails; "" when all is well
	said  time.Time // when the log had it last
}

// bad reports whether a failure is news: another cause at once, the same one now
// and then.
func (s *health) bad(err error) (news bool) {
	if cause := causeOf(err); cause != s.cause {
		*s = health{cause: cause}
	}
	if news = time.Since(s.said) >= time.Minute; news {
		s.said = time.Now()
	}
	return news
}

// good reports whether it is news that all is well.
func (s *health) good() (news bool) {
	news = s.cause != ""
	*s = health{}
	return news
}

// causeOf is an error's text but for what differs each time that the same
// thing happens: the ports of a connection, the time now.
func causeOf(err error) string {
	var name *net.DNSError
	var connection *net.OpError
	var certificate x509.CertificateInvalidError
	switch {
	case errors.As(err, &name):
		return fmt.Sprint("lookup ", name.Name, name.IsNotFound, name.IsTimeout)
	case errors.As(err, &connection) && connection.Err != nil:
		return connection.Op + ": " + connection.Err.Error()
	case errors.As(err, &certificate):
		return fmt.Sprint("certificate ", certificate.Reason)
	}
	return err.Error()
}
