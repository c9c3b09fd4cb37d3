package sdkapi

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/telemetry"
)

// Options are what applications are served from.
type Options struct {
	Plane *control.Service
	// Intake takes telemetry; Delivery needs none.
	Intake *telemetry.Intake
	// Origins may read the answers to public keys; nil is any.
	Origins []string
	Now     func() time.Time // nil is time.Now
	Random  func() float64   // nil is math/rand/v2
	Logger  *slog.Logger     // of causes that no client is told; nil is silent
	// TellBroken has the log told of documents that are not served as they are
	// at the head, once for each commit, where nobody else tells.
	TellBroken bool
	// MaxAnswer bounds the bytes of GET /api/v2/configs as they are sent; 0 is
	// any.
	MaxAnswer int
	// CacheBytes bounds what is kept of what environments serve; 0 is 32 MB. An
	// environment takes about 1 kB for each flag. What was asked for last is
	// kept however large it is.
	CacheBytes int64
	// Polls and Telemetry are how many requests each key may send; a public key
	// from each address. The zero Rate is no limit.
	Polls, Telemetry ratelimit.Rate
	// Strangers count the requests of an address that have no key, or one that
	// is not known to be good. Nil is no limit.
	Strangers *ratelimit.Buckets
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
}

// The rates that applications are served at where nobody says otherwise.
var (
	DefaultPolls     = ratelimit.Rate{PerSecond: 50, Burst: 200}
	DefaultTelemetry = ratelimit.Rate{PerSecond: 5, Burst: 50}
)

func (o Options) complete() Options {
	if o.Origins == nil {
		o.Origins = []string{delivery.AnyOrigin}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

const (
	configsPath   = "/api/v2/configs"
	telemetryPath = "/api/v1/telemetry"
)

// Serves says whether a request is for one of the paths served here, where
// they share an address with the REST API.
func Serves(r *http.Request) bool {
	return delivery.Serves(r) || delivery.RequestPath(r) == configsPath
}

func forTelemetry(r *http.Request) bool {
	path := delivery.RequestPath(r)
	return path == telemetryPath || path == telemetryPath+"/"
}

// Delivery serves flags and configs.
func Delivery(o Options) http.Handler {
	o = o.complete()
	t := newTables(o)
	public := delivery.CORS(o.Origins, &delivery.Handler{Tables: t.find, Now: o.Now, Random: o.Random})
	return identified(o.Proxies, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if delivery.RequestPath(r) == configsPath {
			t.configs(w, r)
			return
		}
		public.ServeHTTP(w, r)
	}))
}

// Telemetry takes telemetry in and serves nothing else.
func Telemetry(o Options) http.Handler {
	o = o.complete()
	i := &intake{options: o, gate: newGate(o, o.Telemetry), slots: make(chan struct{}, atOnce)}
	return identified(o.Proxies, delivery.CORS(o.Origins, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !forTelemetry(r) {
			delivery.WriteFault(w, fault.New(fault.NotFound, "nothing is served at this path; telemetry is taken at POST %s/", telemetryPath))
			return
		}
		i.ServeHTTP(w, r)
	})))
}

// Handler serves both at one address.
func Handler(o Options) http.Handler {
	serving, taking := Delivery(o), Telemetry(o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if forTelemetry(r) {
			taking.ServeHTTP(w, r)
			return
		}
		serving.ServeHTTP(w, r)
	})
}

// refuse answers with a fault and notes the cause of one that is ours.
func (o Options) refuse(w http.ResponseWriter, r *http.Request, err error) {
	delivery.WriteFault(w, o.noted(r.Context(), err))
}

// noted writes the cause of a fault that is ours to the log.
func (o Options) noted(ctx context.Context, err error) *fault.Fault {
	f := fault.Of(err)
	if f.Kind == fault.Internal || f.Kind == fault.Unavailable {
		o.Logger.With(requestAttrs(ctx)...).Error("serving an application", "code", f.Kind.Code(), "cause", f.Cause)
	}
	return f
}
