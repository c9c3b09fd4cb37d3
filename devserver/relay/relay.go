package relay

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"svc.example/svc/devserver/monitor"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
)

// Options are what a relay serves, and to whom.
type Options struct {
	// URL is the address of the service, with or without /v1.
	URL string
	// Keys are the texts of secret SDK keys, each of one environment.
	Keys []string
	// FrontendKey is what browsers have to show; "" for keys of the service.
	FrontendKey string
	// Cache is a directory from which the relay starts while the service is away; ""
	// for none.
	Cache string
	// Origins may read the answers to browsers.
	Origins []string
	// Polls is how much each address may ask for; the zero Rate is no limit.
	Polls   ratelimit.Rate
	Proxies ratelimit.Proxies
	// Streams is how many event streams there may be; 0 is none.
	Streams int
	Logger  *slog.Logger
	// Monitor counts requests; nil for nobody.
	Monitor *monitor.Monitor
	// LeadToConsole has /console/ lead to the service's own, so that its address is
	// told, and a key is shown to that service alone.
	LeadToConsole bool
}

// Relay serves environments of another service.
type Relay struct {
	options      Options
	environments []*environment
	keys         *keys
	cache        *cache
	hub          *events.Hub // nil for none
	polls        *ratelimit.Buckets
	intake       intake

	stop    context.CancelFunc
	running sync.WaitGroup
}

// turnEvery is how often streams look whether a rule on the time has turned.
const turnEvery = 250 * time.Millisecond

// Open begins to follow the service. What is wrong with the options is an error;
// a service that does not answer is not.
func Open(options Options) (*Relay, error) {
	r := &Relay{options: options, polls: ratelimit.NewBuckets(options.Polls, time.Now)}
	r.keys = newKeys(r, options.FrontendKey)
	seen := map[access.ID]bool{}
	for _, text := range options.Keys {
		key, err := access.ParseKey(text)
		if err != nil {
			return nil, err
		}
		if key.Kind() != access.KindSecretSDK {
			return nil, errors.New("a relay reads what it serves with a secret SDK key (svc_sk_...); this is one of the kind " + string(key.Kind()))
		}
		if !seen[key.ID()] {
			seen[key.ID()] = true
			r.environments = append(r.environments, newEnvironment(r, text, key))
		}
	}
	if len(r.environments) == 0 {
		return nil, errors.New("a relay needs a secret SDK key")
	}
	if options.FrontendKey != "" && len(r.environments) > 1 {
		return nil, errors.New("one key for all browsers does not tell which of several environments they read: leave --frontend-sdk-key out, and they show the public SDK key of theirs")
	}
	if options.Cache != "" {
		var err error
		if r.cache, err = openCache(options.Cache, options.Logger); err != nil {
			return nil, err
		}
		records, err := r.cache.keys()
		if err != nil {
			options.Logger.Error("the keys that were kept cannot be read; going on without", "error", err)
		}
		for _, record := range records {
			r.keys.good.Put(byID(record.ID), known{record: record}, rememberedBytes)
		}
	}
	if options.Streams > 0 {
		r.hub = events.NewHub(options.Streams, turnEvery)
	}
	r.intake = intake{r, &telemetry.Intake{Store: unkept{}, Now: time.Now}, &bodies.Budget{}}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	for _, e := range r.environments {
		r.running.Go(func() {
			e.restore()
			e.follower.Run(ctx)
		})
		r.running.Go(func() { // passes telemetry on, and what is left at the end
			for backoff.Sleep(ctx, uploadEvery) == nil {
				e.flush()
				e.uploads.Send(ctx)
			}
			e.flush()
			e.uploads.Close()
		})
	}
	r.running.Go(func() { r.keepKeys(ctx) })
	return r, nil
}

// Await waits until there is something to serve of each environment, but not for
// longer than ctx.
func (r *Relay) Await(ctx context.Context) error {
	for _, e := range r.environments {
		select {
		case <-e.first:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Environments are the names of the environments that are served, whichever number of
// keys reads each; "" for one of which there is no state yet.
func (r *Relay) Environments() []string {
	var names []string
	for i, e := range r.environments {
		if !slices.ContainsFunc(r.environments[:i], e.same) {
			names = append(names, e.name())
		}
	}
	return names
}

// EndStreams ends the event streams, whose clients connect again.
func (r *Relay) EndStreams() {
	if r.hub != nil {
		r.hub.Close()
	}
}

// Close stops following the service. It passes on the telemetry that waits, within
// seconds.
func (r *Relay) Close() {
	r.EndStreams()
	r.stop()
	r.running.Wait()
	if r.cache != nil {
		r.cache.lock.Close()
	}
}

// keepEvery is how often new keys go to the cache. One that was first seen in this time
// before the process is killed is not good while the service is away.
const keepEvery = time.Second

func (r *Relay) keepKeys(ctx context.Context) {
	for r.cache != nil {
		over := backoff.Sleep(ctx, keepEvery) != nil
		if r.keys.changed.Swap(false) {
			if err := r.cache.keepKeys(r.keys.all()); err != nil {
				r.options.Logger.Error("the digests of keys cannot be kept", "error", err)
			}
		}
		if over {
			return
		}
	}
}

// environmentOf is the one that a key reads.
func (r *Relay) environmentOf(record access.KeyRecord) (*environment, error) {
	waiting := false
	for _, e := range r.environments {
		if e.key.Workspace() != record.WorkspaceID {
			continue
		}
		if e.name() == record.Environment {
			return e, nil
		}
		waiting = waiting || e.name() == ""
	}
	if waiting {
		return nil, fault.New(fault.Unavailable, "this relay does not have the state of all of its environments yet").After(pollEvery)
	}
	return nil, fault.New(fault.Unauthorized, "the key reads the environment %q, which this relay does not serve", record.Environment)
}

// Handler answers applications.
func (r *Relay) Handler() http.Handler {
	protocol := &delivery.Handler{Tables: r.table, Now: time.Now, Random: rand.Float64, Proxies: r.options.Proxies, Compress: true}
	if r.hub != nil {
		protocol.Streams = &delivery.Streams{Hub: r.hub, InactivityDelay: delivery.InactivityDelay, Token: r.token, Follow: r.follow}
	}
	var routes []router.Route
	for _, route := range protocol.Routes() {
		routes = append(routes, router.Route{Path: route.Path, Handler: r.public(route.Handler.ServeHTTP)})
	}
	// No CORS headers here: a secret key in a page must not work.
	routes = append(routes,
		router.Route{Path: endpoints.Documents.Path, Handler: sdkapi.Named(r.documents)},
		router.Route{Path: ReadyPath, Handler: sdkapi.Named(r.ready)})
	if r.options.LeadToConsole {
		for _, e := range endpoints.ForPeople {
			routes = append(routes, router.Route{Path: e.Path, Handler: sdkapi.Named(r.leadToConsole)})
		}
	}
	if r.hub != nil {
		routes = append(routes, router.Route{Path: endpoints.DocumentEvents.Path, Handler: sdkapi.Named(r.streamDocuments)})
	}
	routes = append(routes, delivery.TelemetryRoutes(r.public(r.intake.ServeHTTP))...)
	routes, notFound := r.options.Monitor.Routes(routes, r.public(protocol.NotFound))
	if r.hub != nil {
		r.options.Monitor.Gauge("svc_event_streams", "Event streams that are open.", nil, func() float64 { return float64(r.hub.Open()) })
	}
	return router.New(routes, notFound)
}

// ReadyPath answers 200 once the relay has something to serve.
const ReadyPath = "/readyz"

func (r *Relay) public(serve http.HandlerFunc) http.Handler {
	return sdkapi.Named(delivery.CORS(r.options.Origins, serve).ServeHTTP)
}

func (r *Relay) ready(w http.ResponseWriter, req *http.Request) {
	if !sdkapi.TakesGet(w, req) {
		return
	}
	for _, e := range r.environments {
		if e.state.Load() == nil {
			delivery.WriteFault(w, fault.New(fault.Unavailable, "this relay does not have the state of all of its environments yet"))
			return
		}
	}
	delivery.WriteJSON(w, http.StatusOK, []byte(`{"status":"ready"}`))
}

func (r *Relay) leadToConsole(w http.ResponseWriter, req *http.Request) {
	if !sdkapi.TakesGet(w, req) {
		return
	}
	w.Header().Set("Location", strings.TrimSuffix(strings.TrimRight(r.options.URL, "/"), "/v1")+"/console/")
	w.Header().Set("Cache-Control", "no-store") // another start may follow another service
	w.WriteHeader(http.StatusFound)
}

// table implements delivery.Tables.
func (r *Relay) table(_ http.ResponseWriter, req *http.Request, key string) (*delivery.Table, error) {
	e, err := r.environmentFor(req, key, endpoints.Evaluate)
	if err != nil {
		return nil, err
	}
	e.catchUp(req)
	s, err := e.serve()
	if err != nil {
		return nil, err
	}
	return s.table, nil
}

func (r *Relay) environmentFor(req *http.Request, key string, takes endpoints.Endpoint) (*environment, error) {
	address := r.options.Proxies.Address(req)
	if wait := r.polls.Take(ratelimit.KeyID("", address)); wait > 0 {
		return nil, fault.New(fault.RateLimited, "too many requests from this address").After(wait)
	}
	return r.keys.find(address, key, takes)
}

// documents answers GET /api/v2/configs.
func (r *Relay) documents(w http.ResponseWriter, req *http.Request) {
	if !sdkapi.TakesGet(w, req) {
		return
	}
	var s *state
	e, err := r.environmentFor(req, delivery.BasicKey(req), endpoints.Documents)
	if err == nil {
		s, err = e.serve()
	}
	if err == nil {
		err = s.documents.Answer(w, req, 0)
	}
	if err != nil {
		delivery.WriteFault(w, fault.Of(err))
	}
}
