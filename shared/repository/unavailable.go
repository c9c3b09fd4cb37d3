package repository

import (
	"context"
	"errors"
	"fmt"

	"svc.example/svc/shared/fault"
)

// Unavailable is what is wrong with the storage in words that a client may
// read: what it is, and what would mend it. What it wraps reports whether anything
// may have been written, and is for the log.
type Unavailable struct {
	Message string
	Cause   error
}

func (u *Unavailable) Error() string { return u.Message + ": " + u.Cause.Error() }

func (u *Unavailable) Unwrap() error { return u.Cause }

// Unwritten is for a failure before the head was asked to move: nothing was
// written for certain, and it is an ErrFailed that says so.
func Unwritten(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrMoved), errors.Is(err, ErrBusy), errors.Is(err, ErrFailed),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if why := fault.Refused(err); why != "" {
		return &Unavailable{why + ", and nothing was written", fmt.Errorf("%w: %w", ErrFailed, err)}
	}
	return fmt.Errorf("%w: %w", ErrFailed, err)
}
