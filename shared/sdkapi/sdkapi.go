package sdkapi

import (
	"cmp"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/telemetry"
)

// Options are what applications are served from.
type Options struct {
	Service *control.Service
	// Intake takes telemetry; Delivery needs none.
	Intake *telemetry.Intake
	Now    func() time.Time // nil is time.Now
	Random func() float64   // nil is math/rand/v2
	Logger *slog.Logger     // of causes that no client is told; nil is silent
	// TellBroken has the log told of documents that are not served as they are
	// at the head, once for each commit, where nobody else tells.
	TellBroken bool
	// MaxAnswer bounds the bytes of GET /api/v2/configs as they are sent; 0 is
	// any.
	MaxAnswer int
	// CacheBytes bounds what is kept of what environments serve; 0 is 32 MB. An
	// environment takes about 1.3 kB for each flag. What was asked for last is
	// kept however large it is.
	CacheBytes int64
	// MaxTable bounds what one environment serves, in bytes once it is compiled; 0
	// is any. One that has more is refused with what TooLarge says of it, given its
	// name and about how many bytes it would need.
	MaxTable int64
	TooLarge func(environment string, bytes int64) error
	// Polls and Telemetry are how many requests each key may send; a public key
	// from each address. The zero Rate is no limit.
	Polls, Telemetry ratelimit.Rate
	// Anonymous count the requests of an address that have no key, or one that
	// is not known to be good. Nil is no limit.
	Anonymous *ratelimit.Buckets
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
	// Streams has the event streams of this process; nil is none. They need the
	// service's Directory.
	Streams *events.Hub
	// StreamURL is the server whose event streams answers name where there are none
	// here; "" is none.
	StreamURL string
}

// The rates that applications are served at where nobody says otherwise.
var (
	DefaultPolls     = ratelimit.Rate{PerSecond: 50, Burst: 200}
	DefaultTelemetry = ratelimit.Rate{PerSecond: 5, Burst: 50}
)

func (o Options) complete() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// Routes are all endpoints for applications, for an address that they share with
// others. Without an Intake no telemetry is taken.
func Routes(o Options) []router.Route {
	o = o.complete()
	routes, _ := o.delivery()
	return append(routes, o.telemetry()...)
}

// Delivery serves flags and configs, and nothing else.
func Delivery(o Options) http.Handler {
	o = o.complete()
	o.Intake = nil
	routes, notFound := o.delivery()
	return router.New(append(routes, o.telemetry()...), notFound)
}

// Telemetry takes telemetry in and serves nothing else.
func Telemetry(o Options) http.Handler {
	o = o.complete()
	return router.New(o.telemetry(), public(func(w http.ResponseWriter, _ *http.Request) {
		delivery.WriteFault(w, fault.New(fault.NotFound, "nothing is served at this path; telemetry is taken at POST %s/", endpoints.ReportContexts.Path))
	}))
}

// delivery are the endpoints that polls go to, and what answers at other paths
// where there is nothing else.
func (o Options) delivery() (routes []router.Route, notFound http.Handler) {
	t := &tables{options: o, guard: o.guard(endpoints.Evaluate), byName: lru.New[[2]string, *environment](cmp.Or(o.CacheBytes, defaultCacheBytes)),
		told: lru.New[string, string](toldBytes)}
	protocol := &delivery.Handler{Tables: t.find, Now: o.Now, Random: o.Random, Proxies: o.Proxies, Compress: true, Streams: t.streams()}
	routes = publicRoutes(protocol.Routes())
	// No CORS headers here: a secret key in a page must not work.
	routes = append(routes, router.Route{Path: endpoints.Documents.Path, Handler: Named(t.configs)})
	if o.Service.FindsKeys() {
		routes = append(routes, router.Route{Path: endpoints.DescribeKey.Path, Handler: Named(t.describeKey)})
	}
	if o.Streams != nil {
		routes = append(routes, router.Route{Path: endpoints.DocumentEvents.Path, Handler: Named(t.streamDocuments)})
	}
	return routes, public(protocol.NotFound)
}

func (o Options) telemetry() []router.Route {
	if o.Intake == nil {
		return publicRoutes(delivery.NoTelemetry())
	}
	i := &intake{options: o, guard: o.guard(endpoints.ReportContexts), slots: make(chan struct{}, atOnce)}
	return delivery.TelemetryRoutes(public(i.ServeHTTP))
}

// public serves what pages of every origin may read.
func public(serve http.HandlerFunc) http.Handler {
	return Named(delivery.CORS([]string{delivery.AnyOrigin}, serve).ServeHTTP)
}

func publicRoutes(routes []router.Route) []router.Route {
	for i, route := range routes {
		routes[i].Handler = public(route.Handler.ServeHTTP)
	}
	return routes
}

// Named gives every answer a name, under which the log tells of causes.
func Named(serve http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := requestid.Named(r.Header.Get(requestid.Header))
		if name == "" {
			name = requestid.New()
		}
		w.Header().Set(requestid.Header, name)
		serve(w, r)
	})
}

// refuse answers with a fault and notes the cause of one that is ours.
func (o Options) refuse(w http.ResponseWriter, r *http.Request, err error) {
	delivery.WriteFault(w, o.noted(w, r, err))
}

// noted writes the cause of a fault that is ours to the log.
func (o Options) noted(w http.ResponseWriter, r *http.Request, err error) *fault.Fault {
	f := fault.Of(err)
	if f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		name := "requestId"
		if requestid.Named(r.Header.Get(requestid.Header)) != "" {
			name = "clientRequestId"
		}
		cause := any(f.Cause)
		if f.Cause == nil { // what the client is told is all that there is
			cause = f.Message
		}
		o.Logger.Error("serving an application", name, w.Header().Get(requestid.Header), "code", f.Kind.Code(), "cause", cause)
	}
	return f
}
