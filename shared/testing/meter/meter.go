package meter

import (
	"context"
	"io"
	"strings"
	"sync"

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
