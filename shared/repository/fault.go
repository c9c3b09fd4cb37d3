package repository

import (
	"context"
	"errors"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/workspace"
)

// Fault makes a fault of what a repository returned, and leaves one alone.
func Fault(err error) error {
	if err == nil { // as it mostly is: what errors.As needs is made for each call
		return nil
	}
	var known *fault.Fault
	var unavailable *Unavailable
	var lost *object.Lost
	var large *TooLarge
	var unread *workspace.Unread
	var unreviewed *Unreviewed
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &unreviewed):
		return fault.New(fault.Forbidden, "%s; a change request waits for that (POST /v1/change-requests)", unreviewed).
			With(map[string]any{"code": "REVIEW_REQUIRED", "environments": unreviewed.Environments})
	case errors.As(err, &unread):
		return fault.New(fault.Unprocessable, "what git holds of it cannot be read: %s", unread.Why)
	case errors.As(err, &unavailable) && errors.Is(err, ErrUnknownOutcome):
		return fault.New(fault.Unavailable, "%s; whether the change was made is not known: read the item before repeating the request", unavailable.Message).Because(err)
	case errors.As(err, &unavailable):
		return fault.New(fault.Unavailable, "%s", unavailable.Message).Because(err)
	case errors.As(err, &large):
		return fault.New(fault.Unavailable, "%s", large.Error()).Because(err)
	case errors.As(err, &lost):
		return fault.New(fault.Unavailable, "the workspace cannot be read, because %s; its operator has to put it back, and git fsck tells what else is wrong", lost.Why()).Because(err)
	case errors.Is(err, ErrUnknownOutcome):
		return fault.New(fault.Unavailable, "the storage did not say whether the change was made; read the item before repeating the request").Because(err)
	case errors.Is(err, ErrNewer):
		return fault.New(fault.Unavailable, "the workspace was stored by a newer version of svc than the one that answers; its operator has to update this one").Because(err)
	case errors.Is(err, ErrMoved), errors.Is(err, ErrUnknownCommit):
		return fault.New(fault.Unavailable, "the history was replaced meanwhile; the request can be repeated").Because(err)
	case errors.Is(err, ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.New(fault.Unavailable, "the storage did not answer in time; the request can be repeated").Because(err)
	}
	return fault.Of(err)
}
