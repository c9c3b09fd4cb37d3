// Package monitor counts the requests to a server, and logs them.
//
// What must stay true: a label is one of a few, whatever clients send. A request is
// told by the pattern of its route and never by its path, which may hold a context or
// a token; and no key, token or context stands in a metric or a log.
package monitor

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"svc.example/svc/shared/endpoints"
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

	registry        *prometheus.Registry
	requests, polls *prometheus.CounterVec
	durations       *prometheus.HistogramVec
}

// New makes a Monitor that has counted nothing yet.
func New() *Monitor {
	m := &Monitor{
		registry:  prometheus.NewRegistry(),
		requests:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_http_requests_total", Help: "Requests by the pattern of their route and the status of the answer."}, []string{"route", "status"}),
		polls:     prometheus.NewCounterVec(prometheus.CounterOpts{Name: "svc_polls_total", Help: "Polls, bulk evaluations and requests for documents by the status of the answer."}, []string{"status"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "svc_http_request_duration_seconds", Help: "How long answers took.", Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}}, []string{"route"}),
	}
	m.registry.MustRegister(m.requests, m.polls, m.durations, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

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
	monitor   *Monitor
	name      string
	durations prometheus.Observer
	next      http.Handler
}

func (m *Monitor) counted(name string, next http.Handler) http.Handler {
	return &route{m, name, m.durations.WithLabelValues(name), next}
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
	status := strconv.Itoa(a.status)
	r.durations.Observe(took.Seconds())
	r.monitor.requests.WithLabelValues(r.name, status).Inc()
	if polled[r.name] {
		r.monitor.polls.WithLabelValues(status).Inc()
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

// Counter counts something from now on.
func (m *Monitor) Counter(name, help string) (count func()) {
	if m == nil {
		return func() {}
	}
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(counter)
	return counter.Inc
}

// Gauge shows what a function returns when it is asked.
func (m *Monitor) Gauge(name, help string, labels map[string]string, value func() float64) {
	if m != nil {
		// Two keys of a relay that read the same environment show the first's.
		_ = m.registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, value))
	}
}

// Handler answers GET /metrics alone.
func (m *Monitor) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+Path, promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// Path is where the numbers are.
const Path = "/metrics"
