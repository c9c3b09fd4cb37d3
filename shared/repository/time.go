package repository

import (
	"context"
	"fmt"
	"time"
)

// BeforeFirst says that a history has no commit before a time.
type BeforeFirst struct {
	First time.Time // when its first commit was made; zero where there is none
}

func (e *BeforeFirst) Error() string {
	return fmt.Sprintf("the first commit is of %s", e.First.Format(time.RFC3339))
}

// lookedThrough is how many commits are read at once for one that is dated earlier than
// one before it: git dates a commit when it is made, and not when it comes.
const lookedThrough = 32

// CommitBefore finds the last commit before a time: what stands in the history before the
// first commit that is dated at the time or later. Where dates go backwards, a commit
// counts from the latest of those before it, as far as these are within lookedThrough
// commits. Pages of the history are asked for: one or two for what is recent, and beyond
// that as many as its length can be halved. If there is none, it is BeforeFirst.
func CommitBefore(ctx context.Context, page func(context.Context, Page) ([]Commit, error), path string, at time.Time) (Commit, error) {
	later := func(c Commit) bool { return !c.Committer.When.Before(at) }
	for first := (Commit{}); ; {
		commits, err := page(ctx, Page{Path: path, Before: first.Sequence, Limit: lookedThrough})
		if err != nil {
			return Commit{}, err
		}
		before := first
		for _, c := range commits {
			if later(c) {
				first = c
			}
		}
		switch {
		case len(commits) == 0:
			return Commit{}, &BeforeFirst{first.Committer.When}
		case first.Sequence == before.Sequence:
			return commits[0], nil
		case first.Sequence > commits[len(commits)-1].Sequence:
			continue // what comes before it stands close by
		}
		for low := int64(0); first.Sequence-low > lookedThrough; {
			middle := low + (first.Sequence-low)/2
			one, err := page(ctx, Page{Path: path, Before: middle + 1, Limit: 1})
			switch {
			case err != nil:
				return Commit{}, err
			case len(one) == 1 && later(one[0]):
				first = one[0]
			default:
				low = middle
			}
		}
	}
}

// Time reads a time at which a workspace is asked for: a date and time as RFC 3339 has
// them, with the zone.
func Time(text string) (at time.Time, ok bool) {
	err := at.UnmarshalText([]byte(text)) // time.Parse takes others too, such as an hour of one digit
	return at, err == nil
}
