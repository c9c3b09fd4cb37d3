// Package meter counts what a program asks of AWS: requests and bytes, by
// operation, for tests that hold the program to its budget and for what it
// will cost. Every attempt counts, because each one is paid for.
//
//	m := meter.New()
//	client := s3.NewFromConfig(config, func(o *s3.Options) { o.APIOptions = append(o.APIOptions, m.Install) })
//	...
//	counts := m.Take() // "S3.PutObject": {Requests: 2, Sent: 1234}
package meter

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// Count is what one operation has taken.
type Count struct {
	Requests int   // attempts, each of which went over the wire
	Sent     int64 // bytes of bodies
	Received int64
}

// Counts are by service and operation: "S3.GetObject".
type Counts map[string]Count

// Meter counts. It may be installed in any number of clients.
type Meter struct {
	// Only reports whether a request counts; nil is all.
	Only func(context.Context) bool

	lock   sync.Mutex
	counts Counts
}

// New returns a meter at zero.
func New() *Meter { return &Meter{counts: Counts{}} }

// Install makes the meter count what a client does; it is one of the client's
// APIOptions.
func (m *Meter) Install(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("Meter", m.count), middleware.After)
}

// count runs once for each attempt, next to the wire.
func (m *Meter) count(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	if m.Only != nil && !m.Only(ctx) {
		return next.HandleDeserialize(ctx, in)
	}
	name := awsmiddleware.GetServiceID(ctx) + "." + awsmiddleware.GetOperationName(ctx)
	one := Count{Requests: 1}
	if req, ok := in.Request.(*smithyhttp.Request); ok && req.ContentLength > 0 {
		one.Sent = req.ContentLength
	}
	out, metadata, err := next.HandleDeserialize(ctx, in)
	res, ok := out.RawResponse.(*smithyhttp.Response)
	m.add(name, one)
	if ok && res.Body != nil {
		res.Body = &counted{res.Body, func(n int) { m.add(name, Count{Received: int64(n)}) }}
	}
	return out, metadata, err
}

// counted is a body that tells how much of it was read.
type counted struct {
	io.ReadCloser
	tell func(n int)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.ReadCloser.Read(b)
	if n > 0 {
		c.tell(n)
	}
	return n, err
}

func (m *Meter) add(name string, one Count) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.counts[name] = m.counts[name].plus(one)
}

func (c Count) plus(d Count) Count {
	return Count{c.Requests + d.Requests, c.Sent + d.Sent, c.Received + d.Received}
}

// Take returns what was counted since the last time.
func (m *Meter) Take() Counts {
	m.lock.Lock()
	defer m.lock.Unlock()
	counts := m.counts
	m.counts = Counts{}
	return counts
}

// Total is all operations together.
func (c Counts) Total() Count {
	var total Count
	for _, one := range c {
		total = total.plus(one)
	}
	return total
}

// Requests is the number of requests by operation, without the service: what
// a test compares with its budget.
func (c Counts) Requests() map[string]int {
	requests := map[string]int{}
	for name, one := range c {
		_, operation, _ := strings.Cut(name, ".")
		requests[operation] += one.Requests
	}
	return requests
}

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
