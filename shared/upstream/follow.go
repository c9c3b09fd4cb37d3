package upstream

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/endpoints"
)

// Receiver takes what a Follower finds. Its methods are called one at a time.
type Receiver interface {
	// Version is that of the state that it has, "" for none.
	Version() string
	// Take takes a state. An error means that it cannot be read: the one before
	// stays.
	Take(body []byte) error
	// Confirm says that the state that it has is the present one.
	Confirm()
	// Failed says that there is no new state, and why: a *LoadError.
	Failed(err error)
	// Streams reports whether changes come over an event stream, at once, and why they
	// do not.
	Streams(are bool, why string)
}

// Follower follows what an environment serves: over its event stream, and where
// there is none by polls.
type Follower struct {
	Connection *Connection
	To         Receiver
	// PollEvery is the time between two polls.
	PollEvery time.Duration
	// Wait is how long to wait after a number of failures in a row, at least 1,
	// where the server asks for a wait, or for none. Nil is Patiently.
	Wait func(failures int, asked time.Duration) time.Duration
	// Hurry ends a wait after a failure, or for the next poll; nil never does.
	Hurry <-chan struct{}

	etag     string
	failures int
	refusals int // of event streams, in a row
	askAgain time.Time
}

// Run follows until ctx is done.
func (f *Follower) Run(ctx context.Context) {
	for {
		asked, err := f.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			f.failures = 0
			if !f.pause(ctx, f.follow(ctx, About(f.PollEvery))) {
				return
			}
			continue
		}
		f.failures++
		f.To.Failed(err)
		wait := f.Wait
		if wait == nil {
			wait = Patiently
		}
		if !f.pause(ctx, wait(f.failures, asked)) {
			return
		}
	}
}

// pause waits, and reports whether to go on.
func (f *Follower) pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-f.Hurry:
	case <-timer.C:
	}
	return ctx.Err() == nil
}

// poll asks once. With an error it says how long the server asks to be left alone.
func (f *Follower) poll(ctx context.Context) (asked time.Duration, err error) {
	header := http.Header{}
	if f.etag != "" {
		header.Set("If-None-Match", f.etag)
	}
	r, err := f.Connection.Do(ctx, http.MethodGet, endpoints.Documents.Path, nil, header)
	switch {
	case err != nil:
		return 0, &LoadError{From: f.Connection.Host, Err: err}
	case r.Status == http.StatusNotModified && f.etag != "":
		f.To.Confirm()
		return 0, nil
	case r.Status != http.StatusOK:
		return RetryAfter(r.Header), f.Connection.Refusal(r)
	}
	return 0, f.take(r.Body, r.Header.Get("ETag"))
}

// take hands an answer on, or an event, which has no entity tag.
func (f *Follower) take(body []byte, etag string) error {
	if err := f.To.Take(body); err != nil {
		return &LoadError{From: f.Connection.Host, Status: http.StatusOK, Err: err}
	}
	f.etag = etag
	return nil
}

var waits = backoff.Backoff{First: time.Second, Max: 5 * time.Minute}

// Patiently is a random part of a bound that doubles from failure to failure, up to
// 5 minutes.
func Patiently(failures int, asked time.Duration) time.Duration {
	return max(waits.Delay(failures-1), 50*time.Millisecond, asked)
}

// Health is how what is followed is doing, as a log has it.
type Health struct {
	cause  string    // why it fails; "" when all is well
	logged time.Time // when the log had it last
}

// Bad reports whether a failure is news: another cause at once, the same one once a minute.
// Not being reached is one cause: the reasons name ports, which differ each time.
func (h *Health) Bad(err error) (news bool) {
	cause := err.Error()
	if load := (*LoadError)(nil); errors.As(err, &load) && load.Status == 0 {
		cause = "not reached"
	}
	if cause == h.cause && time.Since(h.logged) < time.Minute {
		return false
	}
	*h = Health{cause, time.Now()}
	return true
}

// Good reports whether it is news that all is well.
func (h *Health) Good() (news bool) {
	news = h.cause != ""
	*h = Health{}
	return news
}

// About is a time within a tenth of another.
func About(d time.Duration) time.Duration {
	return time.Duration((0.9 + 0.2*rand.Float64()) * float64(d))
}
