package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/alert"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/lru"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/requestid"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/webhook"
)

// Options are what the API is served with.
type Options struct {
	// Service is needed by every group but Reference.
	Service *control.Service
	// BasePath is what the paths of the API begin with; "" is /v1. It ends in
	// /v1: stored documents' schema is served beside that segment.
	BasePath string
	// PublicURL is where clients reach the service, without /v1. It may be "":
	// the description names relative addresses then.
	PublicURL string
	// Release names the build; the description has it as info.x-release.
	Release string
	// Directory says that a config directory is served, whose description is its own: see
	// x-directory in openapi.json.
	Directory bool
	Limit     ratelimit.Rate // of each key; the zero Rate is DefaultLimit
	// Anonymous count the requests of an address that have no key, or one that
	// is not known to be good. Nil is no limit.
	Anonymous *ratelimit.Buckets
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
	// KeptAnswers is how many bytes of lists and items are kept as they were
	// answered, until the head moves; 0 for none.
	KeptAnswers int64
	// MaxAnswer is how many bytes of body a GET may be answered with, as they
	// are sent; 0 for any number.
	MaxAnswer int
	// Amazon asks for the certificates of SNS, and confirms subscriptions; nil for an own client.
	Amazon *http.Client
	// Console makes the routes the page's; nil makes them the REST API's.
	Console *Console
	// Logger is told of what went wrong on our side; nil for nobody.
	Logger *slog.Logger
	// Now is the rate limit's time; nil for the clock.
	Now func() time.Time
}

// Group is the operations of one tag of the description.
type Group struct {
	tag      string
	handlers map[string]handler // by operationId
}

// Tag is its tag in the description, and its name in the table of endpoints.
func (g Group) Tag() string { return g.tag }

// handler carries out one operation. What it returns is answered as JSON, but
// for a *page.
type handler func(ctx context.Context, c *call) (any, error)

// All are the groups.
func All() []Group {
	return []Group{Workspace(), Flags(), Configs(), LogLevels(), Segments(), Changes(), ChangeRequests(), Activity(), Contexts(), Reference()}
}

// ForPages are the groups that the console's page asks with a session: all but the reference.
func ForPages() []Group {
	return slices.DeleteFunc(All(), func(g Group) bool { return g.tag == Reference().tag })
}

// New serves groups of the API. It fails for a base path that it cannot have.
func New(options Options, groups ...Group) (http.Handler, error) {
	routes, notFound, err := Routes(options, groups...)
	if err != nil {
		return nil, err
	}
	return router.New(routes, notFound), nil
}

// Routes are the paths of groups of the API, for an address that they share with
// others, and what answers at paths where there is nothing.
func Routes(options Options, groups ...Group) (routes []router.Route, notFound http.Handler, err error) {
	s, err := newServer(options, groups)
	if err != nil {
		return nil, nil, err
	}
	for path, operations := range s.paths {
		routes = append(routes, router.Route{Path: s.beside + path, Handler: pathHandler{s, operations}})
	}
	return routes, pathHandler{s, nil}, nil
}

// DefaultLimit is how many requests a key may send.
var DefaultLimit = ratelimit.Rate{PerSecond: 5, Burst: 25}

const version = "/v1"

// operations are those at one path, by method.
type operations map[string]*operation

type server struct {
	description *description
	options     Options
	beside      string // what the paths beside the API begin with
	guard       authentication.Guard
	sns         *alert.SNS
	bodies      bodies.Budget
	answers     bodies.Answers
	kept        *lru.Cache[keptAnswer, *page] // nil: none are
	waiting     chan struct{}                 // holds requests that wait for their turn
	pages       sync.Map                      // func() *page, by operation or file
	handlers    map[string]handler
	paths       map[string]operations
}

func newServer(options Options, groups []Group) (*server, error) {
	if options.BasePath == "" {
		options.BasePath = version
	}
	beside, ok := strings.CutSuffix(options.BasePath, version)
	if !ok {
		return nil, fmt.Errorf("the base path %q does not end in %s", options.BasePath, version)
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Limit == (ratelimit.Rate{}) {
		options.Limit = DefaultLimit
	}
	options.PublicURL = strings.TrimRight(options.PublicURL, "/")
	s := &server{description: described(), options: options, beside: beside,
		guard:   authentication.Guard{Service: options.Service, Keys: ratelimit.New(options.Limit, options.Anonymous, options.Now), Proxies: options.Proxies},
		waiting: make(chan struct{}, maxWaiting), sns: alert.NewSNS(cmp.Or(options.Amazon, webhook.Client(nil, nil)), options.Now), handlers: map[string]handler{}, paths: map[string]operations{}}
	if options.KeptAnswers > 0 {
		s.kept = lru.New[keptAnswer, *page](options.KeptAnswers)
	}
	ours := map[string]bool{}
	for _, g := range groups {
		ours[g.tag] = true
		maps.Copy(s.handlers, g.handlers)
	}
	descriptions := []*description{s.description}
	if options.Console != nil {
		descriptions = append(descriptions, consoleDescribed())
	}
	for _, d := range descriptions {
		for _, o := range d.operations {
			if !ours[o.Group] {
				continue
			}
			if s.paths[o.Path] == nil {
				s.paths[o.Path] = operations{}
			}
			s.paths[o.Path][o.Method] = o
		}
	}
	return s, nil
}

// call is one request.
type call struct {
	*server
	here      operations // nil for a path where there is nothing
	request   *http.Request
	writer    http.ResponseWriter // for the limit on the body's size
	header    http.Header         // of the answer
	id        string              // of the request, drawn at random
	named     string              // what the client calls it; "" when it has no name for it
	operation *operation
	session   *control.Session
	query     query
	body      *jsontree.Node
	issues    []document.Issue // what is wrong with the shape of a write
	status    int              // of a success; 0 is 200
	once      *change.Idempotency
	leave     func()      // lets the next large body in
	held      bodies.Held // the memory of a large answer
}

// pathHandler answers at one path, or where there is nothing.
type pathHandler struct {
	*server
	here operations // nil for a path where there is nothing
}

// ServeHTTP answers a request.
func (h pathHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{server: h.server, here: h.here, request: r, writer: w, header: w.Header(), id: requestid.New(), named: requestid.Named(r.Header.Get(requestid.Header)), leave: func() {}}
	c.header.Set(requestid.Header, cmp.Or(c.named, c.id))
	requestid.Note(r.Context(), c.id)
	c.header.Set("X-Content-Type-Options", "nosniff")
	c.header.Set("Cache-Control", "private, no-cache")
	defer func() { c.leave(); c.held.Release() }()
	a, err := c.answer()
	if err != nil {
		a = c.refusal(err)
	}
	c.body = nil
	c.leave() // before a slow client takes its time
	modified := a.status != http.StatusNotModified
	if modified {
		c.header.Set("Content-Type", a.contentType)
		c.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	if a.encoding != "" {
		c.header.Set("Content-Encoding", string(a.encoding))
	}
	w.WriteHeader(a.status)
	if modified && r.Method != http.MethodHead {
		bodies.Write(w, a.body)
	}
}

// answer carries the request out. A panic is an error like any other.
func (c *call) answer() (a *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			// What anybody panicked with but the runtime could hold a part of a
			// document.
			what := fmt.Sprintf("a %T", p)
			if known, ok := p.(runtime.Error); ok {
				what = known.Error()
			}
			a, err = nil, &panicError{what, debug.Stack()}
		}
	}()
	if err := c.find(); err != nil {
		if limited := c.stranger(); limited != nil {
			c.header.Del("Allow")
			return nil, limited
		}
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	if a, err := c.remembered(); a != nil || err != nil {
		return a, err
	}
	result, err := c.handlers[c.operation.Operation](c.request.Context(), c)
	if err != nil {
		return nil, err
	}
	if a, err := c.remembered(); a != nil || err != nil {
		return a, err
	}
	return c.success(result)
}

// list makes a list when there is memory for it, unless it is kept. How large it becomes is not known
// by then: at the most it is about all that the workspace holds.
func list(work handler) handler { return kept(held(work)) }

// listWithEvaluations is list of items that are evaluated.
func listWithEvaluations(work handler) handler { return keptWith(held(work), true) }

// held makes a list when there is memory for it.
func held(work handler) handler {
	return func(ctx context.Context, c *call) (any, error) {
		if err := c.hold(ctx, math.MaxInt64, 0); err != nil {
			return nil, err
		}
		return work(ctx, c)
	}
}

// admit goes through the checks that come before the operation's own, and opens
// the session.
func (c *call) admit() (err error) {
	c.query, c.issues = c.operation.readQuery(c.request.URL.RawQuery)
	if c.options.Console != nil {
		if err := c.fromThePage(); err != nil {
			return err
		}
	}
	if c.operation.Keys == endpoints.NoKey {
		if err := c.stranger(); err != nil {
			return err
		}
	} else if err := c.open(); err != nil {
		return err
	}
	if c.operation.body == nil {
		if c.operation.Method == http.MethodGet {
			return refusal.Malformed(c.issues...)
		}
		if bodies.Empty(c.request) {
			return c.replay()
		}
		message := c.operation.Method + " takes no body; leave it out"
		// Who sends it there believes to delete nothing that they have not seen.
		if slices.ContainsFunc(c.operation.query, func(p parameter) bool { return p.name == expectedCommit }) {
			message += ", and send " + expectedCommit + " in the query: ?" + expectedCommit + "="
		}
		c.issues = append(c.issues, document.Issue{Message: message})
		return nil // control tells what is wrong in its turn; the same request had no body
	}
	text, place, err := c.bodies.ReadWithin(c.operation.most, c.writer, c.request, c.owner)
	if err != nil {
		return err
	}
	c.leave = place.Leave
	c.asks(text)
	if err := c.replay(); err != nil || c.once != nil && c.once.Replayed {
		return err
	}
	if c.body, err = readBody(text, c.operation.most); err != nil {
		return err
	}
	issues, err := c.operation.body.check(c.body)
	c.issues = jsontree.Bounded(append(c.issues, issues...))
	return err
}

// open opens the session of whose request it is.
func (c *call) open() error {
	use := control.Read
	if c.operation.Keys == endpoints.Guard {
		use = control.Undo
	} else if c.operation.writes() {
		use = control.Write
	}
	for again := false; ; again = true {
		caller, err := c.authenticate()
		if err != nil {
			return err
		}
		if c.session, err = c.options.Service.Open(caller, use); err != nil {
			return err
		}
		if changed, err := c.refreshed(); err != nil || !changed || again {
			return err
		}
	}
}

// stranger counts a request that needs no key, or gets no further than its
// path.
func (c *call) stranger() error {
	return c.options.Anonymous.Admit(c.options.Proxies.Address(c.request))
}

// find finds the operation.
func (c *call) find() error {
	if c.here == nil {
		docs := c.options.BasePath
		if c.options.Console != nil {
			docs = version // beside which the page's own API stands
		}
		return fault.New(fault.NotFound, "there is nothing at this path; %s/docs lists what there is", docs)
	}
	method := c.request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if c.operation = c.here[method]; c.operation != nil {
		return nil
	}
	var taken []string
	for m := range c.here {
		taken = append(taken, m)
		if m == http.MethodGet {
			taken = append(taken, http.MethodHead)
		}
	}
	slices.Sort(taken)
	c.header.Set("Allow", strings.Join(taken, ", "))
	words := taken[0]
	if last := len(taken) - 1; last > 0 {
		words = strings.Join(taken[:last], ", ") + " and " + taken[last]
	}
	return fault.New(fault.MethodNotAllowed, "this path takes %s, not %s", words, brief(method))
}

// panicError is a panic on its way to the log.
type panicError struct {
	what  string
	stack []byte
}

func (e *panicError) Error() string { return "panic: " + e.what }

// refusal is the answer to a request that failed, and logs what is our fault.
func (c *call) refusal(err error) *answer {
	f := fault.Of(err)
	if wait := f.RetryAfter(); wait != "" {
		c.header.Set("Retry-After", wait)
	}
	envelope := f.Envelope()
	switch f.Kind {
	case fault.Internal:
		envelope.Details = map[string]any{"requestId": cmp.Or(c.named, c.id)}
		c.log(slog.LevelError, err, f)
	case fault.Unavailable:
		c.log(slog.LevelWarn, err, f)
	case fault.Unauthorized:
		if c.options.Console != nil {
			break
		}
		c.header.Set("WWW-Authenticate", `Bearer realm="svc"`)
		if c.operation != nil && c.operation.Keys == endpoints.Guard { // SNS sends what its address has once it is asked
			c.header.Set("WWW-Authenticate", `Basic realm="svc"`)
		}
	}
	var told any = envelope
	if c.here.manifests() {
		told = manifestRefusal(f, envelope)
	}
	body, err := encoding.JSON(told)
	if err != nil { // the details are the only part that may not be plain
		envelope.Details = nil
		body, _ = encoding.JSON(envelope)
	}
	return &answer{status: f.Kind.Status(), contentType: jsonType, body: body}
}

func (c *call) log(level slog.Level, err error, f *fault.Fault) {
	if c.request.Context().Err() != nil || level < slog.LevelError && f.Cause == nil {
		return // the client has gone, and that is why; or there is nothing to add
	}
	attributes := []slog.Attr{slog.String("requestId", c.id), slog.Int("status", f.Kind.Status())}
	if c.named != "" {
		attributes = append(attributes, slog.String("clientRequestId", c.named))
	}
	if c.operation != nil {
		attributes = append(attributes, slog.String("operation", c.operation.Operation))
	}
	if f.Cause != nil {
		attributes = append(attributes, slog.String("cause", f.Cause.Error()))
	}
	if p, ok := errors.AsType[*panicError](err); ok {
		attributes = append(attributes, slog.String("stack", string(p.stack)))
	}
	c.options.Logger.LogAttrs(c.request.Context(), level, "request failed", attributes...)
}
