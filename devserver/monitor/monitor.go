// Package monitor counts the requests to a server, and logs them.
//
// What must stay true: a label is one of a few, whatever clients send. A request is
// told by the pattern of its route and never by its path, which may hold a context or
// a token; and no key, token or context stands in a metric or a log.
package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/router"
)

// Monitor has the numbers of a server, for Prometheus. A nil Monitor counts nothing.
type Monitor struct {
	// Access hears of each request; nil is silent.
	Access *slog.Logger
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies

	set *metrics.Set
}

// New makes a Monitor that has counted nothing yet.
func New() *Monitor { return &Monitor{set: metrics.NewSet()} }

// bounds are those of the histograms of durations, in seconds.
var bounds = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}

// polled are the routes that clients ask again and again.
var polled = map[string]bool{endpoints.Evaluate.Path: true, endpoints.EvaluateFlags.Path: true, endpoints.Documents.Path: true}

// Routes counts the requests to routes, and those to none of them under the route
// "other".
func (m *Monitor) Routes(routes []router.Route, notFound http.Handler) ([]router.Route, http.Handler) {
	if m == nil {
		return routes, notFound
	}
	counted := make([]router.Route, len(routes))
	for i, route := range routes {
		counted[i] = router.Route{Path: route.Path, Handler: m.counted(route.Path, route.Handler)}
	}
	return counted, m.counted("other", notFound)
}

// route is what is counted of one.
type route struct {
	monitor  *Monitor
	name     string
	statuses sync.Map // of *status by number
	buckets  []*metrics.Counter
	seconds  *metrics.FloatCounter
	count    *metrics.Counter
	next     http.Handler
}

// status is what is counted of the answers of one.
type status struct{ requests, polls *metrics.Counter }

func (m *Monitor) counted(name string, next http.Handler) http.Handler {
	label := "route=" + strconv.Quote(name)
	r := &route{monitor: m, name: name, next: next,
		seconds: m.set.GetOrCreateFloatCounter("svc_http_request_duration_seconds_sum{" + label + "}"),
		count:   m.set.GetOrCreateCounter("svc_http_request_duration_seconds_count{" + label + "}"),
	}
	for _, bound := range bounds {
		r.buckets = append(r.buckets, m.set.GetOrCreateCounter(fmt.Sprintf("svc_http_request_duration_seconds_bucket{%s,le=\"%v\"}", label, bound)))
	}
	r.buckets = append(r.buckets, m.set.GetOrCreateCounter("svc_http_request_duration_seconds_bucket{"+label+`,le="+Inf"}`))
	return r
}

// ServeHTTP implements http.Handler.
func (r *route) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	begin := time.Now()
	answer, whole := &answer{ResponseWriter: w}, false
	id := new(string)
	if r.monitor.Access != nil && req.Header.Get(requestid.Header) != "" {
		var ctx context.Context
		ctx, id = requestid.WithNote(req.Context())
		req = req.WithContext(ctx)
	}
	defer func() {
		if !whole && answer.status == 0 { // the handler gave up, and the connection ends
			answer.status = http.StatusInternalServerError
		}
		r.note(req, answer, *id, time.Since(begin))
	}()
	r.next.ServeHTTP(answer, req)
	whole = true
}

func (r *route) note(req *http.Request, a *answer, id string, took time.Duration) {
	if a.status == 0 { // a stream goes on by itself
		a.status = http.StatusOK
	}
	seconds := took.Seconds()
	for i := range r.buckets {
		if i == len(bounds) || seconds <= bounds[i] {
			r.buckets[i].Inc()
		}
	}
	r.seconds.Add(seconds)
	r.count.Inc()
	s := r.of(a.status)
	if s.requests.Inc(); s.polls != nil {
		s.polls.Inc()
	}
	if log := r.monitor.Access; log != nil {
		named := []any{"requestId", a.Header().Get(requestid.Header)}
		if client := requestid.Named(req.Header.Get(requestid.Header)); id != "" && client != "" {
			named = []any{"requestId", id, "clientRequestId", client}
		}
		log.With(named...).Info("request", "method", method(req.Method), "route", r.name, "status", a.status, "bytes", a.bytes,
			"milliseconds", float64(took.Microseconds())/1000, "address", r.monitor.Proxies.Address(req).String())
	}
}

// method is one that there is: anything may be sent as one.
func method(sent string) string {
	switch sent {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return sent
	}
	return "other"
}

func (r *route) of(code int) status {
	if s, known := r.statuses.Load(code); known {
		return s.(status)
	}
	s := status{requests: r.monitor.set.GetOrCreateCounter(fmt.Sprintf("svc_http_requests_total{route=%q,status=\"%d\"}", r.name, code))}
	if polled[r.name] {
		s.polls = r.monitor.set.GetOrCreateCounter(fmt.Sprintf("svc_polls_total{status=\"%d\"}", code))
	}
	r.statuses.Store(code, s)
	return s
}

// answer notes what is answered.
type answer struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p)
	a.bytes += int64(n)
	return n, err
}

// Unwrap leads http.ResponseController to deadlines and connections.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Counter counts something from now on; the name is that of a metric.
func (m *Monitor) Counter(name string) (count func()) {
	if m == nil {
		return func() {}
	}
	return m.set.GetOrCreateCounter(name).Inc
}

// Gauge shows what a function returns when it is asked.
func (m *Monitor) Gauge(name string, value func() float64) {
	if m != nil {
		m.set.GetOrCreateGauge(name, value)
	}
}

// ServeHTTP answers with all numbers, and those of the process.
func (m *Monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !delivery.Takes(http.MethodGet, r) {
		delivery.WriteMethodNotAllowed(w, r, http.MethodGet)
		return
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}

// Path is where the numbers are.
const Path = "/metrics"

// Local is a route for the numbers on an address that only this machine reaches. What a
// proxy passes on comes from elsewhere, and is not answered.
func (m *Monitor) Local() router.Route {
	return router.Route{Path: Path, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		ip := net.ParseIP(host)
		if ip == nil || !ip.IsLoopback() || r.Header["X-Forwarded-For"] != nil || r.Header["Forwarded"] != nil || r.Header["Via"] != nil {
			delivery.WriteFault(w, fault.New(fault.NotFound, "metrics are for this machine alone; --metrics-address has them elsewhere"))
			return
		}
		m.ServeHTTP(w, r)
	})}
}
