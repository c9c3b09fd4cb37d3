package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/must"
)

// On-demand list prices of us-east-1 in dollars, as of November 2026, without
// free tiers and discounts.
const (
	perPut       = 0.005 / 1000      // S3: PUT, COPY, LIST
	perGet       = 0.0004 / 1000     // S3: GET, HEAD
	perWriteUnit = 0.625 / 1_000_000 // DynamoDB: 1 KB; 2 in a transaction
	perReadUnit  = 0.125 / 1_000_000 // DynamoDB: 4 KB, strongly consistent
	perCall      = 0.20 / 1_000_000  // Lambda
	perGBSecond  = 0.0000133334      // Lambda on arm64
	perRequest   = 1.00 / 1_000_000  // HTTP API, first 300 million
	perPiece     = 512 << 10         // bytes of an answer, each such piece of which counts as a request
	perGBLogged  = 0.50              // CloudWatch Logs
	perGBOut     = 0.09              // to the internet
)

// The time that a function runs cannot be measured here: nothing is as close to a
// function as AWS's own servers. It is taken to be this.
const (
	memoryGB   = 0.25
	logged     = 300   // bytes of a line of the access log
	perRound   = 0.012 // seconds that it waits, for each request to a store after another
	ownSeconds = 0.003
)

// usage is what an operation takes, on average.
type usage struct {
	rounds                float64 // requests one after the other
	tableRequests         float64
	readUnits, writeUnits float64
	puts, gets            float64 // of the bucket; a listing is paid as a put
	sent, received        float64 // bytes of bodies, to and from the stores
	answered              float64 // bytes of the answer's body
}

// price is what an operation costs that is one request of a client, in dollars: for the
// gateway with its log, the function, the table, the bucket and what is sent to clients.
func (u usage) price() (price [5]float64) {
	return [5]float64{
		perRequest*math.Max(1, math.Ceil(u.answered/perPiece)) + logged*perGBLogged/1e9,
		perCall + memoryGB*(ownSeconds+perRound*u.rounds)*perGBSecond,
		u.readUnits*perReadUnit + u.writeUnits*perWriteUnit,
		u.puts*perPut + u.gets*perGet,
		u.answered * perGBOut / 1e9,
	}
}

func total(price [5]float64) (dollars float64) {
	for _, part := range price {
		dollars += part
	}
	return dollars
}

// charges are the units that DynamoDB says it has charged.
type charges struct {
	lock          sync.Mutex
	reads, writes float64
}

func (c *charges) install(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("Charges", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		if wanted := reflect.ValueOf(in.Parameters).Elem().FieldByName("ReturnConsumedCapacity"); wanted.IsValid() {
			wanted.SetString(string(types.ReturnConsumedCapacityTotal))
		}
		out, metadata, err := next.HandleInitialize(ctx, in)
		if result := reflect.Indirect(reflect.ValueOf(out.Result)); err == nil && result.Kind() == reflect.Struct && result.FieldByName("ConsumedCapacity").IsValid() {
			switch charged := result.FieldByName("ConsumedCapacity").Interface().(type) {
			case *types.ConsumedCapacity:
				c.add(awsmiddleware.GetOperationName(ctx), *charged)
			case []types.ConsumedCapacity:
				c.add(awsmiddleware.GetOperationName(ctx), charged...)
			}
		}
		return out, metadata, err
	}), middleware.Before)
}

func (c *charges) add(operation string, charged ...types.ConsumedCapacity) {
	c.lock.Lock()
	defer c.lock.Unlock()
	to := &c.writes
	if operation == "Query" || strings.HasSuffix(operation, "GetItem") {
		to = &c.reads
	}
	for _, one := range charged {
		*to += aws.ToFloat64(one.CapacityUnits)
	}
}

// take returns what was charged since the last time.
func (c *charges) take() (reads, writes float64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	reads, writes, c.reads, c.writes = c.reads, c.writes, 0, 0
	return reads, writes
}

// costs are the operations that were measured.
type costs struct {
	*budgets
	rows  []string // in the order of the table
	usage map[string]usage
}

func newCosts(t *testing.T, flags int) *costs {
	t.Helper()
	return &costs{create(t, apiload.ManyFlags(flags), 1).metered(t, size{documents: flags}), nil, map[string]usage{}}
}

// add measures an operation that is done n times and returns how many bytes it answers.
func (c *costs) add(what string, n int, do func() (answered int)) {
	c.Helper()
	c.meter.Take()
	c.rounds.Take()
	c.charged.take()
	var u usage
	each := 1 / float64(n)
	for range n {
		u.answered += each * float64(do())
		u.rounds += each * float64(c.rounds.Take())
	}
	reads, writes := c.charged.take()
	u.readUnits, u.writeUnits = each*reads, each*writes
	for name, one := range c.meter.Take() {
		service, operation, _ := strings.Cut(name, ".")
		requests := each * float64(one.Requests)
		switch {
		case service != "S3":
			u.tableRequests += requests
		case strings.HasPrefix(operation, "Get") || strings.HasPrefix(operation, "Head"):
			u.gets += requests
		case !strings.HasPrefix(operation, "Delete"): // which is free
			u.puts += requests
		}
		u.sent += each * float64(one.Sent)
		u.received += each * float64(one.Received)
	}
	c.rows, c.usage[what] = append(c.rows, what), u
}

// What traffic is made of.
const (
	aWrite      = "a write (one flag toggled)"
	aPoll       = "a poll, nothing new (304)"
	oneFlag     = "a read of one flag"
	allFlags    = "the list of all flags"
	newInstance = "a read of a new instance"
)

// measure goes through what clients ask for.
func (c *costs) measure(commits int) {
	writer, reader, flag := c.instance(), c.instance(), "/v1/flags/"+apiload.FlagKey(1)
	get := func(path string) func() int {
		return func() int { return c.send(reader, "GET", path, "", nil).Body.Len() }
	}
	get("/v1/flags")()
	c.add(aWrite, commits, func() int {
		c.serial++
		path := "/v1/flags/" + apiload.FlagKey(c.serial%c.size.documents) + "/environments/development"
		return c.send(writer, "PATCH", path, fmt.Sprintf(`{"enabled": %t}`, c.serial/c.size.documents%2 == 0), nil).Body.Len()
	})
	c.add(fmt.Sprintf("a read after %d commits elsewhere", commits), 1, get("/v1/flags"))
	tag := http.Header{"If-None-Match": {c.send(reader, "GET", poll, "", nil).Header().Get("ETag")}}
	c.add(aPoll, 20, func() int { return c.send(reader, "GET", poll, "", tag).Body.Len() })
	c.add(oneFlag, 20, get(flag))
	c.add(allFlags, 20, get("/v1/flags"))
	c.add("the history of a flag", 20, get(flag+"/history?limit=20"))
	c.add("a page of the feed", 20, get("/v1/activity?limit=20"))
	var told struct{ History []apiload.Entry }
	must.Do(c, json.Unmarshal(c.send(reader, "GET", flag+"/history", "", nil).Body.Bytes(), &told))
	c.add("a flag at a past commit", 20, get(flag+"/document?at="+told.History[len(told.History)-1].SHA))
	c.add(newInstance, 10, func() int { return c.send(c.instance(), "GET", "/v1/flags", "", nil).Body.Len() })
}

// telemetry measures what reports of contexts take.
func (c *costs) telemetry() {
	api, last := c.instance(), 0
	report := func(contexts, from int) int {
		var examples []string
		for i := range contexts {
			examples = append(examples, fmt.Sprintf(`{"timestamp":%d,"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"user-%06d"},"plan":{"string":"pro"},"country":{"string":"DE"}}}]}}`, time.Now().UnixMilli(), from+i))
		}
		c.serial++
		body := fmt.Sprintf(`{"instanceHash":"i-%d","events":[{"exampleContexts":{"examples":[%s]}}]}`, c.serial, strings.Join(examples, ","))
		return c.send(api, "POST", telemetryPath, body, http.Header{"Content-Type": {"application/json"}}).Body.Len()
	}
	report(1, 0) // the first of all notes what types there are
	for _, contexts := range []int{1, 30} {
		c.add(fmt.Sprintf("telemetry, new contexts: %d", contexts), 5, func() int { last += 1000; return report(contexts, last) })
		c.add(fmt.Sprintf("telemetry, seen again: %d", contexts), 5, func() int { return report(contexts, last) })
	}
}

// answers measures what applications are sent when something is new, or when they begin.
func (c *costs) answers() {
	api := c.instance()
	c.send(api, "GET", poll, "", nil)
	for _, q := range []struct{ what, path, encoding string }{
		{"a poll, %d flags", poll, "identity"},
		{"a poll, %d flags, gzip", poll, "gzip"},
		{"all documents, %d flags, gzip", documentsPath, "gzip"},
	} {
		c.add(fmt.Sprintf(q.what, c.size.documents), 5, func() int {
			return c.send(api, "GET", q.path, "", http.Header{"Accept-Encoding": {q.encoding}}).Body.Len()
		})
	}
}

// TestCosts measures what requests to the hosted service ask of DynamoDB and S3, and
// prints what that costs. Requests, bytes and units are counted; prices and the time that
// a function runs are the constants above. make bench-cost runs it on large workspaces.
func TestCosts(t *testing.T) {
	if !full() {
		t.Skip("it is for reading: make bench-cost")
	}
	t.Parallel()
	c := newCosts(t, 500)
	c.measure(300)
	c.telemetry()
	if w := c.usage[aWrite]; w.puts < 2 || w.writeUnits < 2 || c.usage[aPoll].tableRequests != 1 || c.usage[aPoll].readUnits != 1 {
		t.Errorf("a write took %+v, a poll %+v", w, c.usage[aPoll])
	}
	for _, n := range []int{1000, 10_000} {
		more := newCosts(t, n)
		more.answers()
		for _, what := range more.rows {
			c.rows, c.usage[what] = append(c.rows, what), more.usage[what]
		}
	}
	w := tabwriter.NewWriter(t.Output(), 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "of one operation:\tin a row\tDynamoDB\tread units\twrite units\tS3 PUT\tS3 GET\tKB stored\tKB fetched\tKB answered\t$ per million\t")
	for _, what := range c.rows {
		u := c.usage[what]
		fmt.Fprintf(w, "%s\t%.1f\t%.2f\t%.1f\t%.1f\t%.2f\t%.2f\t%.1f\t%.1f\t%.1f\t%.2f\t\n", what, u.rounds, u.tableRequests, u.readUnits, u.writeUnits,
			u.puts, u.gets, u.sent/1024, u.received/1024, u.answered/1024, 1e6*total(u.price()))
	}
	// Applications poll, people and programs read and now and then write, instances come
	// and go.
	var mixed [5]float64
	for what, part := range map[string]float64{aPoll: 0.95, allFlags: 0.02, oneFlag: 0.02, newInstance: 0.005, aWrite: 0.005} {
		for i, dollars := range c.usage[what].price() {
			mixed[i] += part * dollars
		}
	}
	fmt.Fprintln(w, "a million requests, of which 95 % are polls and 0.5 % writes:\tHTTP API, log\tLambda\tDynamoDB\tS3\ttraffic\tdollars\t")
	fmt.Fprintf(w, "\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", 1e6*mixed[0], 1e6*mixed[1], 1e6*mixed[2], 1e6*mixed[3], 1e6*mixed[4], 1e6*total(mixed))
	must.Do(t, w.Flush())
}
