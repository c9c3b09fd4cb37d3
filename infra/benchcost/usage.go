package main

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/testing/meter"
)

// usage is what an operation takes of the stores, on average.
type usage struct {
	rounds                float64 // requests one after the other
	tableRequests         float64
	readUnits, writeUnits float64
	puts, gets, deletes   float64 // of the bucket; a listing is paid as a put
	sent, received        float64 // bytes of bodies, to and from the stores
	answered              float64 // bytes of the answer's body
}

func (u usage) requests() float64 { return u.tableRequests + u.puts + u.gets + u.deletes }

// counter counts what clients do.
type counter struct {
	meter  *meter.Meter
	rounds meter.Rounds

	lock          sync.Mutex
	reads, writes float64
	answered      float64
}

// newCounter counts requests; only is as that of a meter.
func newCounter(only func(context.Context) bool) *counter {
	c := &counter{meter: meter.New(), rounds: meter.Rounds{Only: only}}
	c.meter.Only = only
	return c
}

// options are those of a client that is counted.
func (c *counter) options() []func(*middleware.Stack) error {
	return []func(*middleware.Stack) error{c.meter.Install, c.rounds.Install, c.units}
}

// units asks the table what each request is charged, and adds it up.
func (c *counter) units(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Units", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		const total = types.ReturnConsumedCapacityTotal
		switch p := in.Parameters.(type) {
		case *dynamodb.BatchGetItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.BatchWriteItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.GetItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.PutItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.QueryInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.UpdateItemInput:
			p.ReturnConsumedCapacity = total
		case *dynamodb.TransactWriteItemsInput:
			p.ReturnConsumedCapacity = total
		}
		out, metadata, err := next.HandleInitialize(ctx, in)
		switch r := out.Result.(type) {
		case *dynamodb.BatchGetItemOutput:
			c.charge(&c.reads, r.ConsumedCapacity...)
		case *dynamodb.BatchWriteItemOutput:
			c.charge(&c.writes, r.ConsumedCapacity...)
		case *dynamodb.GetItemOutput:
			c.chargeOne(&c.reads, r.ConsumedCapacity)
		case *dynamodb.PutItemOutput:
			c.chargeOne(&c.writes, r.ConsumedCapacity)
		case *dynamodb.QueryOutput:
			c.chargeOne(&c.reads, r.ConsumedCapacity)
		case *dynamodb.UpdateItemOutput:
			c.chargeOne(&c.writes, r.ConsumedCapacity)
		case *dynamodb.TransactWriteItemsOutput:
			c.charge(&c.writes, r.ConsumedCapacity...)
		}
		return out, metadata, err
	}), middleware.Before)
}

func (c *counter) charge(to *float64, charged ...types.ConsumedCapacity) {
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, one := range charged {
		*to += aws.ToFloat64(one.CapacityUnits)
	}
}

func (c *counter) chargeOne(to *float64, charged *types.ConsumedCapacity) {
	if charged != nil {
		c.charge(to, *charged)
	}
}

// answer counts what a client is sent.
func (c *counter) answer(bytes int) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.answered += float64(bytes)
}

// take returns what was used since the last time, as the part of each of n
// operations.
func (c *counter) take(n int) usage {
	each := func(x float64) float64 { return x / float64(n) }
	c.lock.Lock()
	defer c.lock.Unlock()
	u := usage{rounds: each(float64(c.rounds.Take())), readUnits: each(c.reads), writeUnits: each(c.writes), answered: each(c.answered)}
	c.reads, c.writes, c.answered = 0, 0, 0
	for name, one := range c.meter.Take() {
		service, operation, _ := strings.Cut(name, ".")
		requests := each(float64(one.Requests))
		switch {
		case service != "S3":
			u.tableRequests += requests
		case strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "Head"):
			u.gets += requests
		case strings.HasPrefix(operation, "Delete"): // free
			u.deletes += requests
		default:
			u.puts += requests
		}
		u.sent += each(float64(one.Sent))
		u.received += each(float64(one.Received))
	}
	return u
}
