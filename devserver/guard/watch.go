// Package guard watches an expression of Prometheus after a change, and has the change taken
// back when something is wrong for long enough; package shared/guard says when that is.
//
// What must stay true: a Prometheus that does not answer takes nothing back. What has to be
// taken back is tried again while that may help.
package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/guard"
)

// Watch is one use of a guard.
type Watch struct {
	Query     string
	Threshold guard.Threshold
	// For is how long to watch, Hold for how long something has to be wrong, and Every how
	// long to wait between two looks.
	For, Hold, Every time.Duration

	// Ask is what the query comes to now.
	Ask func(ctx context.Context, query string) ([]float64, error)
	// Undo takes the change back. What is for good is wrapped in Final.
	Undo func(ctx context.Context, alarm guard.Alarm) error
	// Say tells what is seen, a line at a time.
	Say func(line string)
}

// Final is an error that trying again will not mend.
type Final struct{ Err error }

func (f *Final) Error() string { return f.Err.Error() }
func (f *Final) Unwrap() error { return f.Err }

// ErrUnseen is for a guard that has seen nothing: nobody knows how the change does.
var ErrUnseen = errors.New("Prometheus has not answered once: nobody watched the change, and it stands")

// maxTries is how often a change is tried to be taken back.
const maxTries = 40

// Run watches. It reports whether the change was taken back.
func (w *Watch) Run(ctx context.Context) (undone bool, err error) {
	hold := guard.Hold{For: w.Hold, Every: w.Every}
	end, seen := time.Now().Add(w.For), false
	var said string
	say := func(line string) {
		if line != said {
			w.Say(line)
		}
		said = line
	}
	for {
		values, err := w.Ask(ctx, w.Query)
		at := time.Now()
		switch refused := (*Refused)(nil); {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.As(err, &refused):
			return false, err
		case err != nil:
			say(err.Error() + "; that is no reason to take anything back, and it is asked again")
		default:
			seen = true
			worst, wrong := w.Threshold.Worst(values)
			since, held := hold.See(at, wrong)
			say(w.seen(values, worst, wrong, since))
			if held {
				err := w.undo(ctx, guard.Alarm{Query: w.Query, Threshold: w.Threshold, Value: worst, Since: since, At: at})
				return err == nil, err
			}
		}
		left := time.Until(end)
		switch {
		case left > 0:
			if err := backoff.Sleep(ctx, min(w.Every, left)); err != nil { // the last look is at the end
				return false, err
			}
		case seen:
			return false, nil
		default:
			return false, ErrUnseen
		}
	}
}

// seen is a look in words.
func (w *Watch) seen(values []float64, worst float64, wrong bool, since time.Time) string {
	switch {
	case wrong:
		return fmt.Sprintf("wrong since %s: %s is %s", since.UTC().Format(time.RFC3339), guard.Number(worst), w.Threshold)
	case len(values) == 0:
		return "fine: the query finds nothing"
	}
	return "fine: nothing is " + w.Threshold.String()
}

func (w *Watch) undo(ctx context.Context, alarm guard.Alarm) error {
	for try := 1; ; try++ {
		err := w.Undo(ctx, alarm)
		if err == nil || try == maxTries || errors.As(err, new(*Final)) || ctx.Err() != nil {
			return err
		}
		w.Say(fmt.Sprintf("not taken back yet, and tried again: %v", err))
		if backoff.Sleep(ctx, w.Every) != nil {
			return err
		}
	}
}
