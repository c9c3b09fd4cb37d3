// Package faultproxy is a proxy between a program and a DynamoDB or S3 server that
// lets things go wrong as they do on AWS, which no stand-in does by itself: it
// delays and drops requests, resets connections, answers 500 and 503, throttles
// and reports conflicts in each service's own words, leaves part of a batch
// undone, and loses answers to requests that were carried out.
//
//	proxy, err := faultproxy.Start(standin.DynamoDB(t), faultproxy.Plan{Seed: 1, Rates: faultproxy.Rates{faultproxy.Throttle: 0.05}})
//	config, err := standin.Config(ctx, proxy.URL())
//
// Faults come by chance, from the seed, at the rates of the plan. Counts tells what was
// injected. Before and After of a plan are called around each request, for a test that
// kills the program between two steps.
//
// A Clock is a proxy in front of an S3 server that only gives it another time. A Cable
// stands in front of any server, and breaks after so many bytes.
//
// What must stay true: a fault is one that the real service may show for that
// request. There is no conflict for a read, and a request that is answered
// with an error was not carried out, except for LostAnswer, LateError and
// CutOff.
//
// Requests are passed on as they came, so that their signatures hold, except
// for a batch of writes of which a part is left undone: only a server that
// does not check signatures takes that.
package faultproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Proxy passes requests on to a server, except when it does not.
type Proxy struct {
	server
	lock   sync.Mutex
	plan   Plan
	chance *rand.Rand
	counts Counts
}

// Start begins to listen on a free port of the loopback interface.
func Start(target string, plan Plan) (*Proxy, error) {
	p := &Proxy{}
	p.Set(plan)
	return p, p.listen(target, http.HandlerFunc(p.serve), nil)
}

// server is a server before another one.
type server struct {
	forward  *httputil.ReverseProxy
	http     *http.Server
	listener net.Listener
}

func (s *server) listen(target string, handler http.Handler, change func(*http.Response) error) error {
	to, err := url.Parse(target)
	if err != nil || to.Host == "" {
		return fmt.Errorf("%q is no address of a server, such as http://127.0.0.1:8000", target)
	}
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return err
	}
	s.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // it is signed
		},
		Transport:      &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 256},
		ModifyResponse: change,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	if handler == nil {
		handler = s.forward
	}
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.http.Serve(s.listener) }() // until Close
	return nil
}

// URL is the proxy's address, to be used instead of the server's.
func (s *server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the proxy and all its connections.
func (s *server) Close() error { return s.http.Close() }

// Set replaces the plan, for the requests that come from now on. The zero
// Plan lets everything through.
func (p *Proxy) Set(plan Plan) {
	if plan.Slow == 0 {
		plan.Slow = 50 * time.Millisecond
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	p.plan, p.chance = plan, rand.New(rand.NewPCG(plan.Seed, 0))
}

// Counts tells what has happened so far.
func (p *Proxy) Counts() Counts {
	p.lock.Lock()
	defer p.lock.Unlock()
	return Counts{Requests: p.counts.Requests, Injected: maps.Clone(p.counts.Injected)}
}

// decision is what happens to one request.
type decision struct {
	plan  Plan
	kind  Kind
	delay time.Duration
	pick  uint64 // which of several words or items
}

func (p *Proxy) decide(r *request) decision {
	p.lock.Lock()
	defer p.lock.Unlock()
	d := decision{plan: p.plan, pick: p.chance.Uint64()}
	d.delay = time.Duration(p.chance.Int64N(int64(p.plan.Slow)))
	if d.kind = p.plan.draw(p.chance); p.plan.Only != nil && !p.plan.Only(r.Request) {
		d.kind = ""
	}
	if !r.canHave(d.kind) {
		d.kind = ""
	}
	p.counts.Requests++
	if d.kind != "" {
		if p.counts.Injected == nil {
			p.counts.Injected = map[Kind]int{}
		}
		p.counts.Injected[d.kind]++
	}
	return d
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	in, err := read(r)
	if err != nil {
		panic(http.ErrAbortHandler) // the client is gone
	}
	d := p.decide(in)
	if d.plan.Before != nil {
		d.plan.Before(r)
	}
	switch d.kind {
	case Drop:
		panic(http.ErrAbortHandler)
	case Reset:
		reset(w)
	case Error, Unavailable, Throttle, Conflict:
		in.refuse(w, d)
	default:
		p.carryOut(w, in, d)
	}
}

// carryOut lets the server do it, and then does something to the answer.
func (p *Proxy) carryOut(w http.ResponseWriter, in *request, d decision) {
	leftOut := in.leaveOut(d)
	answer := &recorder{header: http.Header{}}
	// The server goes on when the client does not wait.
	p.forward.ServeHTTP(answer, in.WithContext(context.WithoutCancel(in.Context())))
	if d.plan.After != nil {
		d.plan.After(in.Request)
	}
	switch d.kind {
	case LostAnswer:
		reset(w)
		return
	case LateError:
		in.refuse(w, d)
		return
	case Partial:
		answer.undone(in, leftOut, d)
	case Delay:
		time.Sleep(d.delay)
	}
	maps.Copy(w.Header(), answer.header)
	if in.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(answer.body.Len()))
	}
	w.WriteHeader(answer.status)
	body := answer.body.Bytes()
	if d.kind == CutOff {
		_, _ = w.Write(body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // a client that is gone does not matter
}

// reset breaks a connection the hard way.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// recorder keeps an answer. A server that does not answer ends the client's
// connection too.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int) {
	if status >= http.StatusOK { // else one of several
		r.status = status
	}
}

// read takes a request in whole, so that it is either carried out or not.
func read(r *http.Request) (*request, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, errors.Join(err, r.Body.Close())
	}
	in := &request{Request: r}
	in.setBody(body)
	return in, nil
}

// Kind is a way in which a request goes wrong.
type Kind string

// The kinds of fault.
const (
	// Delay makes the answer late by up to Plan.Slow. The request is carried
	// out.
	Delay Kind = "delay"
	// Drop closes the connection without an answer. Nothing is carried out.
	Drop Kind = "drop"
	// Reset breaks the connection. Nothing is carried out.
	Reset Kind = "reset"
	// Error answers 500. Nothing is carried out.
	Error Kind = "error"
	// Unavailable answers 503. Nothing is carried out.
	Unavailable Kind = "unavailable"
	// Throttle refuses in the service's own words: one of several exceptions
	// of DynamoDB, SlowDown of S3.
	Throttle Kind = "throttle"
	// Conflict says that another write is going on: TransactionCanceled or
	// TransactionConflict of DynamoDB, 409 ConditionalRequestConflict of S3.
	// Only writes meet it, in S3 only conditional ones.
	Conflict Kind = "conflict"
	// Partial leaves one item of a DynamoDB batch undone.
	Partial Kind = "partial"
	// LostAnswer resets the connection after the request was carried out.
	LostAnswer Kind = "lost answer"
	// LateError answers 500 after the request was carried out.
	LateError Kind = "late error"
	// CutOff sends half of an answer, then breaks the connection.
	CutOff Kind = "cut off"
)

// kinds in the order in which chance goes through them.
var kinds = []Kind{Drop, Reset, Error, Unavailable, Throttle, Conflict, Partial, LostAnswer, LateError, CutOff, Delay}

// Rates are how likely each kind is, from 0 to 1. Together they stay below 1.
type Rates map[Kind]float64

// Everything is every kind at the same rate.
func Everything(rate float64) Rates {
	all := Rates{}
	for _, kind := range kinds {
		all[kind] = rate
	}
	return all
}

// Plan is what a proxy does.
type Plan struct {
	Seed  uint64
	Rates Rates
	Slow  time.Duration // the longest Delay; 0 is 50 milliseconds
	// Only picks the requests that faults come to; nil is all.
	Only func(*http.Request) bool
	// Before and After are called with each request: before it is passed on,
	// and when the server has carried it out.
	Before, After func(*http.Request)
}

// Counts are how many requests there were, and what was injected.
type Counts struct {
	Requests int
	Injected map[Kind]int
}

// Total is the number of faults.
func (c Counts) Total() int {
	total := 0
	for _, n := range c.Injected {
		total += n
	}
	return total
}

func (c Counts) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d requests, %d faults", c.Requests, c.Total())
	for _, kind := range slices.Sorted(maps.Keys(c.Injected)) {
		fmt.Fprintf(&b, ", %d %s", c.Injected[kind], kind)
	}
	return b.String()
}

// draw picks the fault of a request; "" for none.
func (p Plan) draw(chance *rand.Rand) Kind {
	x := chance.Float64()
	for _, kind := range kinds {
		if x -= p.Rates[kind]; x < 0 {
			return kind
		}
	}
	return ""
}

// Clock is a proxy in front of an S3 server that gives the store another time:
// the one of its answers' Date, and the one at which it says that it stored an
// object. So a test lets days pass between two requests, and a clock that is
// years ahead of the store's, or behind it, is the store's being behind, or
// ahead. Requests are passed on as they came.
type Clock struct {
	server
	lock   sync.Mutex
	ahead  time.Duration
	stored map[string]time.Duration // how far ahead it was, by the object's path
}

// StartClock begins to listen on a free port of the loopback interface, with a
// clock that is ahead of the server's.
func StartClock(target string, ahead time.Duration) (*Clock, error) {
	c := &Clock{ahead: ahead, stored: map[string]time.Duration{}}
	return c, c.listen(target, nil, c.change)
}

// Pass lets time pass at the store.
func (c *Clock) Pass(d time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.ahead += d
}

// change gives an answer the store's time.
func (c *Clock) change(r *http.Response) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	path, now := r.Request.URL.Path, time.Now().Add(c.ahead)
	r.Header.Set("Date", now.UTC().Format(http.TimeFormat))
	switch {
	case r.Request.Method == http.MethodPut && r.StatusCode == http.StatusOK:
		c.stored[path] = c.ahead
	case r.Request.URL.Query().Get("list-type") != "" && r.StatusCode == http.StatusOK:
		return c.changeList(r, strings.TrimSuffix(path, "/"))
	}
	if at, err := http.ParseTime(r.Header.Get("Last-Modified")); err == nil {
		r.Header.Set("Last-Modified", at.Add(c.stored[path]).UTC().Format(http.TimeFormat))
	}
	return nil
}

var (
	listed   = regexp.MustCompile(`(?s)<Contents>.*?</Contents>`)
	key      = regexp.MustCompile(`<Key>(.*?)</Key>`)
	modified = regexp.MustCompile(`<LastModified>(.*?)</LastModified>`)
)

func (c *Clock) changeList(r *http.Response, bucket string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	body = listed.ReplaceAllFunc(body, func(object []byte) []byte {
		name := key.FindSubmatch(object)
		return modified.ReplaceAllFunc(object, func(element []byte) []byte {
			at, err := time.Parse(time.RFC3339, string(modified.FindSubmatch(element)[1]))
			if err != nil || name == nil {
				return element
			}
			at = at.Add(c.stored[bucket+"/"+string(name[1])])
			return []byte("<LastModified>" + at.UTC().Format("2006-01-02T15:04:05.000Z") + "</LastModified>")
		})
	})
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}
