package iam

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Judge says what is denied of an HTTP request; nil when all of it is allowed.
// It notes which rights the request uses.
func (p *Policy) Judge(r *http.Request, body []byte) error {
	all, err := Requests(r, body)
	if err != nil {
		return err
	}
	for _, one := range all {
		if !p.use(one) {
			return fmt.Errorf("not authorized to perform %s on %s with %v", one.Action, one.Resource, one.Keys)
		}
	}
	return nil
}

// Guard is a server before one that stands in for AWS. It passes on what a
// policy allows, and answers everything else as AWS does.
type Guard struct {
	URL    string
	server *http.Server
}

// maxBody bounds a request's body: the services that stand behind take less.
const maxBody = 64 << 20

// NewGuard starts a guard on the loopback interface. Denied hears of each
// request that was denied.
func NewGuard(policy *Policy, target string, denied func(error)) (*Guard, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	transport.DisableCompression = true
	pass := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host // the Host header stays as it was signed
		r.Out.Host = r.In.Host
	}}
	pass.ErrorLog = log.New(io.Discard, "", 0) // the client hears of it
	g := &Guard{URL: "http://" + listener.Addr().String()}
	g.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := policy.Judge(r, body); err != nil {
			denied(err)
			deny(w, r, err)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		pass.ServeHTTP(w, r)
	})}
	go func() { _ = g.server.Serve(listener) }() // until Close
	return g, nil
}

// Close ends the guard.
func (g *Guard) Close() { _ = g.server.Close() }

// deny answers in the words of the service that was asked.
func deny(w http.ResponseWriter, r *http.Request, cause error) {
	target := r.Header.Get("X-Amz-Target")
	switch {
	case strings.HasPrefix(target, "DynamoDB_"):
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","Message":%q}`, cause)
	case target != "":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"__type":"com.amazonaws.sqs#AccessDenied","message":%q}`, cause)
	default:
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>`)
	}
}

// Denied collects what guards have denied.
type Denied struct {
	mu  sync.Mutex
	all []error
}

// Add is for NewGuard.
func (d *Denied) Add(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, err)
}

// Take returns what was denied since the last time.
func (d *Denied) Take() []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.all
	d.all = nil
	return all
}
