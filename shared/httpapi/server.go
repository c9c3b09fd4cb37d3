package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/requestid"
)

// Options are what the API is served with.
type Options struct {
	// Plane is needed by every group but Reference.
	Plane *control.Service
	// BasePath is what the paths of the API begin with; "" is /v1. It ends in
	// /v1: stored documents' schema is served beside that segment.
	BasePath string
	// PublicURL is where clients reach the service, without /v1. It may be "":
	// the description names relative addresses then.
	PublicURL string
	// Release names the build; the description has it as info.x-release.
	Release string
	Limit   ratelimit.Rate // of each key; the zero Rate is DefaultLimit
	// Strangers count the requests of an address that have no key, or one that
	// is not known to be good. Nil is no limit.
	Strangers *ratelimit.Buckets
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
	// MaxAnswer is how many bytes of body a GET may be answered with, as they
	// are sent; 0 for any number.
	MaxAnswer int
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

// handler carries out one operation. What it returns is answered as JSON, but
// for a *page.
type handler func(ctx context.Context, c *call) (any, error)

// All are the groups.
func All() []Group {
	return []Group{Workspace(), Flags(), Configs(), LogLevels(), Segments(), Activity(), Contexts(), Reference()}
}

// New serves groups of the API. It fails when their operations and the
// description's are not the same.
func New(options Options, groups ...Group) (http.Handler, error) {
	d, err := described()
	if err != nil {
		return nil, err
	}
	return newServer(d, options, groups)
}

const version = "/v1"

type server struct {
	description *description
	options     Options
	beside      string // what the paths beside the API begin with
	limiter     *ratelimit.Limiter
	bodies      bodies.Budget
	handlers    map[string]handler
	paths       []*pathItem
}

func newServer(d *description, options Options, groups []Group) (*server, error) {
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
	s := &server{description: d, options: options, beside: beside,
		limiter: ratelimit.New(options.Limit, options.Strangers, options.Now), handlers: map[string]handler{}}
	return s, s.bind(groups)
}

// bind gives every operation of the groups its handler.
func (s *server) bind(groups []Group) error {
	var problems []error
	ours := map[string]bool{}
	for _, g := range groups {
		ours[g.tag] = true
		for id, h := range g.handlers {
			if s.options.Plane == nil && g.tag != referenceTag {
				problems = append(problems, fmt.Errorf("%s: the group needs a plane", id))
			}
			s.handlers[id] = h
		}
	}
	bound := 0
	for _, item := range append(slices.Clone(s.description.paths), docsFiles) {
		for _, o := range item.operations {
			if !ours[o.group] {
				continue
			}
			if !slices.Contains(s.paths, item) {
				s.paths = append(s.paths, item)
			}
			if s.handlers[o.id] == nil {
				problems = append(problems, fmt.Errorf("%s: the description has it and no handler does", o.id))
				continue
			}
			bound++
		}
	}
	if bound < len(s.handlers) && len(problems) == 0 {
		problems = append(problems, errors.New("there are handlers for operations that the description does not have"))
	}
	return errors.Join(problems...)
}

// call is one request.
type call struct {
	server    *server
	request   *http.Request
	writer    http.ResponseWriter // for the limit on the body's size
	header    http.Header         // of the answer
	id        string              // of the request, drawn at random
	named     string              // what the client calls it; "" when it has no name for it
	operation *operation
	session   *control.Session
	path      map[string]string
	query     query
	body      *jsontree.Node
	issues    []document.Issue // what is wrong with the shape of a write
	leave     func()           // lets the next large body in
}

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{server: s, request: r, writer: w, header: w.Header(), id: requestid.New(), named: requestid.Named(r.Header.Get(requestid.Header)), leave: func() {}}
	c.header.Set(requestid.Header, cmp.Or(c.named, c.id))
	c.header.Set("X-Content-Type-Options", "nosniff")
	c.header.Set("Cache-Control", "private, no-cache")
	defer func() { c.leave() }()
	a, err := c.answer()
	if err != nil {
		a = c.refusal(err)
	}
	c.body = nil
	c.leave() // before a slow client takes its time
	a.send(w, r.Method == http.MethodHead)
}

// answer carries the request out. A panic is an error like any other.
func (c *call) answer() (a *answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			a, err = nil, &panicError{describePanic(p), debug.Stack()}
		}
	}()
	if err := c.route(); err != nil {
		if limited := c.stranger(); limited != nil {
			c.header.Del("Allow")
			return nil, limited
		}
		return nil, err
	}
	if err := c.admit(); err != nil {
		return nil, err
	}
	result, err := c.server.handlers[c.operation.id](c.request.Context(), c)
	if err != nil {
		return nil, err
	}
	return c.success(result)
}

// admit goes through the checks that come before the operation's own.
func (c *call) admit() (err error) {
	if c.operation.keyless {
		err = c.stranger()
	} else {
		c.session, err = c.enter()
	}
	if err != nil {
		return err
	}
	if c.operation.writes() {
		if err := c.session.MayWrite(); err != nil {
			return err
		}
	}
	c.query, c.issues = c.operation.readQuery(c.request.URL.RawQuery)
	if c.operation.body == nil {
		return refused(c.issues)
	}
	if c.body, err = c.readBody(); err != nil {
		return err
	}
	issues, err := c.operation.body.check(c.body)
	c.issues = jsontree.Bounded(append(c.issues, issues...))
	return err
}

// route finds the operation.
func (c *call) route() error {
	path := c.request.URL.EscapedPath()
	for _, item := range c.server.paths {
		base := c.server.options.BasePath
		if item.beside {
			base = c.server.beside
		}
		rest, ours := strings.CutPrefix(path, base+"/")
		if !ours {
			continue
		}
		if values, fits := item.match(rest); fits {
			c.path = values
			return c.method(item)
		}
	}
	return fault.New(fault.NotFound, "there is nothing at this path; %s/docs lists what there is", c.server.options.BasePath)
}

// match takes a path apart at its slashes, before they are unescaped: a key
// may hold one.
func (item *pathItem) match(path string) (map[string]string, bool) {
	segments := strings.Split(path, "/")
	if len(segments) != len(item.segments) {
		return nil, false
	}
	values := map[string]string{}
	for i, want := range item.segments {
		got, err := url.PathUnescape(segments[i])
		if name, isParameter := strings.CutPrefix(want, "{"); isParameter && err == nil && got != "" {
			values[strings.TrimSuffix(name, "}")] = got
		} else if got != want {
			return nil, false
		}
	}
	return values, true
}

func (c *call) method(item *pathItem) error {
	method := c.request.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if c.operation = item.operations[method]; c.operation != nil {
		return nil
	}
	var known []string
	for m := range item.operations {
		known = append(known, m)
		if m == http.MethodGet {
			known = append(known, http.MethodHead)
		}
	}
	slices.Sort(known)
	c.header.Set("Allow", strings.Join(known, ", "))
	return fault.New(fault.MethodNotAllowed, "this path knows %s and not %s", strings.Join(known, ", "), brief(method))
}

// panicError is a panic on its way to the log.
type panicError struct {
	what  string
	stack []byte
}

func (e *panicError) Error() string { return "panic: " + e.what }

// describePanic leaves out what anybody panicked with but the runtime: it
// could hold a part of a document.
func describePanic(p any) string {
	if err, ok := p.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a %T", p)
}

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
		c.header.Set("WWW-Authenticate", `Bearer realm="svc"`)
	}
	return &answer{status: f.Kind.Status(), contentType: jsonType, body: mustEncode(envelope)}
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
		attributes = append(attributes, slog.String("operation", c.operation.id))
	}
	if f.Cause != nil {
		attributes = append(attributes, slog.String("cause", f.Cause.Error()))
	}
	var p *panicError
	if errors.As(err, &p) {
		attributes = append(attributes, slog.String("stack", string(p.stack)))
	}
	c.server.options.Logger.LogAttrs(c.request.Context(), level, "request failed", attributes...)
}
