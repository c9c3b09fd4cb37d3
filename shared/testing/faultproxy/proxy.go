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
	"strconv"
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
