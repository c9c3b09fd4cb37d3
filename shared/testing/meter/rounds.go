package meter

import (
	"context"
	"sync"
	"time"

	"github.com/aws/smithy-go/middleware"
)

// Rounds tells how many requests were made one after the other: the length of
// the longest chain of which each began when the one before had ended. It may
// be installed in any number of clients. The zero value is ready.
type Rounds struct {
	// Only reports whether a request is followed; nil is all.
	Only func(context.Context) bool

	lock    sync.Mutex
	longest int
}

// holdBack is how long each request is held back, so that those which are made
// at once also are at the servers at once. Were it too short for a slow
// machine, more rounds would be counted, never fewer.
const holdBack = 5 * time.Millisecond

// Install makes Rounds follow what a client does; it is one of the client's
// APIOptions.
func (r *Rounds) Install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Rounds", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if r.Only != nil && !r.Only(ctx) {
			return next.HandleInitialize(ctx, in)
		}
		mine := r.begin()
		time.Sleep(holdBack)
		out, metadata, err := next.HandleInitialize(ctx, in)
		r.end(mine)
		return out, metadata, err
	}), middleware.Before)
}

func (r *Rounds) begin() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	return r.longest + 1
}

func (r *Rounds) end(mine int) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.longest = max(r.longest, mine)
}

// Take returns what was counted since the last time.
func (r *Rounds) Take() int {
	r.lock.Lock()
	defer r.lock.Unlock()
	n := r.longest
	r.longest = 0
	return n
}
