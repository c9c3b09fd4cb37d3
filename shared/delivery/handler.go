package delivery

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/router"
)

// Tables authenticates a request by the key that it carries, "" for none, and
// finds what to serve to it. Its error is the answer, as a fault.
type Tables func(w http.ResponseWriter, r *http.Request, key string) (*Table, error)

// Handler has the endpoints of the protocol. Put CORS around them.
type Handler struct {
	Tables Tables
	Now    func() time.Time
	// Random decides splits that have no property to hash; in [0, 1).
	Random func() float64
	// Proxies are believed where they say whose request they pass on.
	Proxies ratelimit.Proxies
	// Streams are the event streams that bulk evaluations name; nil is none.
	Streams *Streams
	// Compress has evaluations sent compressed to clients that take it. It is
	// worth nothing on a loopback address.
	Compress bool

	bodies  bodies.Budget
	answers bodies.Answers
}

// The paths of the protocol.
var (
	evalPrefix = endpoints.Evaluate.Path
	ofrepFlags = endpoints.EvaluateFlags.Path
)

// ofrepPaths is what the paths of OFREP begin with.
const ofrepPaths = "/ofrep/v1/"

// protocol is how each endpoint of the protocol is answered: how a request sends
// its key, and what answers with the table that this key reads.
var protocol = []answering{
	{endpoints.Evaluate, BasicKey, (*Handler).evaluate},
	{endpoints.EvaluateFlags, anyKey, (*Handler).bulk},
	{endpoints.EvaluateFlag, anyKey, (*Handler).single},
}

type answering struct {
	endpoints.Endpoint
	key    func(*http.Request) string
	answer func(h *Handler, w http.ResponseWriter, r *http.Request, table *Table, key string)
}

// Routes are the endpoints of the protocol, and that of health.
func (h *Handler) Routes() []router.Route {
	routes := []router.Route{{Path: endpoints.Health.Path, Handler: http.HandlerFunc(health)}, {Path: ofrepPaths + "{rest...}", Handler: http.HandlerFunc(h.NotFound)}}
	for _, e := range protocol {
		routes = append(routes, router.Route{Path: e.Path, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.serve(&e, w, r) })})
	}
	if h.Streams != nil && h.Streams.Hub != nil {
		return append(routes, router.Route{Path: endpoints.EvaluationEvents.Path, Handler: http.HandlerFunc(h.stream)})
	}
	// There are none, whatever the key: who asks for one polls instead.
	noStreams := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, r, fault.New(fault.NotFound, "this server has no event streams; poll it"))
	})
	for _, e := range []endpoints.Endpoint{endpoints.EvaluationEvents, endpoints.DocumentEvents} {
		routes = append(routes, router.Route{Path: e.Path, Handler: noStreams})
	}
	return routes
}

// Mux serves the protocol and nothing beside it.
func (h *Handler) Mux() http.Handler {
	return router.New(append(h.Routes(), NoTelemetry()...), http.HandlerFunc(h.NotFound))
}

// NoTelemetry are routes for a server that takes no telemetry.
func NoTelemetry() []router.Route {
	refused := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Refuse(w, r, fault.New(fault.NotFound, "telemetry is not served here; switch off evaluation summaries and context upload in the client"))
	})
	return TelemetryRoutes(refused)
}

// TelemetryRoutes are the paths that telemetry is sent to: with and without a
// slash at the end.
func TelemetryRoutes(handler http.Handler) []router.Route {
	path := endpoints.ReportContexts.Path
	return []router.Route{{Path: path, Handler: handler}, {Path: path + "/{$}", Handler: handler}}
}

func (h *Handler) serve(e *answering, w http.ResponseWriter, r *http.Request) {
	key := e.key(r)
	if table, err := h.Tables(w, r, key); err != nil {
		Refuse(w, r, fault.Of(err))
	} else if Takes(w, r, e.Method) {
		e.answer(h, w, r, table, key)
	}
}

func health(w http.ResponseWriter, r *http.Request) {
	if Takes(w, r, http.MethodGet) {
		WriteJSON(w, http.StatusOK, []byte(`{"status":"ok"}`))
	}
}

// NotFound answers a path of no endpoint. Where a key is needed it is needed
// here too, so that a request without one learns nothing else first.
func (h *Handler) NotFound(w http.ResponseWriter, r *http.Request) {
	if _, err := h.Tables(w, r, anyKey(r)); err != nil {
		Refuse(w, r, fault.Of(err))
		return
	}
	Refuse(w, r, fault.New(fault.NotFound, "nothing is served at this path; flags are at GET %s{token} and POST %s", evalPrefix, ofrepFlags))
}

// evaluate answers a native poll.
func (h *Handler) evaluate(w http.ResponseWriter, r *http.Request, table *Table, _ string) {
	token := r.URL.Path[len(evalPrefix):]
	if len(token) > MaxToken {
		Refuse(w, r, fault.New(fault.URITooLong, "the token is %d bytes long; at most %d are read (a larger context goes by POST to %s)", len(token), MaxToken, ofrepFlags))
		return
	}
	now := h.Now().UnixMilli()
	h.poll(w, r, &question{native: true, table: table.at(now), token: token, now: now})
}

// hold takes the memory of an answer, or waits for it.
func (h *Handler) hold(r *http.Request, size int) (bodies.Held, error) {
	return h.answers.Hold(r.Context(), func() string { return h.owner(r) }, int64(size))
}

// owner is who takes turns with what is large.
func (h *Handler) owner(r *http.Request) string {
	return anyKey(r) + " " + h.Proxies.Address(r).String()
}

var (
	cacheControl = []string{"private, no-cache"}
	jsonType     = []string{"application/json"}
	buffers      sync.Pool
)

func buffer(size int) *[]byte {
	if b, ok := buffers.Get().(*[]byte); ok && cap(*b) >= size {
		return b
	}
	b := make([]byte, 0, size)
	return &b
}

// WriteJSON writes an answer with a body of JSON.
func WriteJSON(w http.ResponseWriter, status int, body []byte) {
	header := w.Header()
	header["Content-Type"] = jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	w.WriteHeader(status)
	bodies.Write(w, body)
}

// Takes reports whether a request's method is the one that an endpoint takes, and
// refuses any other. GET goes with HEAD.
func Takes(w http.ResponseWriter, r *http.Request, method string) bool {
	if r.Method == method || r.Method == http.MethodHead && method == http.MethodGet {
		return true
	}
	w.Header().Set("Allow", method+", OPTIONS")
	Refuse(w, r, fault.New(fault.MethodNotAllowed, "this path takes %s, not %s", method, r.Method))
	return false
}

// Refuse writes a refusal in the form that clients of the path read.
func Refuse(w http.ResponseWriter, r *http.Request, f *fault.Fault) {
	if !strings.HasPrefix(r.URL.Path, ofrepPaths) {
		WriteFault(w, f)
		return
	}
	code := general
	switch {
	case errors.As(f.Cause, new(contextError)):
		code = invalidContext
	case f.Kind == fault.BadRequest: // the body cannot be read
		code = parseError
	}
	writeRefusal(w, f, ofrepError{flagKey(r), code, f.Message})
}

// WriteFault writes the envelope of a refusal.
func WriteFault(w http.ResponseWriter, f *fault.Fault) { writeRefusal(w, f, f.Envelope()) }

// writeRefusal writes a refusal with its body, which nobody may keep.
func writeRefusal(w http.ResponseWriter, f *fault.Fault, body any) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false) // people read it
	if err := enc.Encode(body); err != nil {
		text = *bytes.NewBufferString(`{"error":"INTERNAL","message":"something went wrong on our side"}`)
	}
	w.Header().Set("Cache-Control", "no-store")
	if f.Kind == fault.Unauthorized && w.Header()["Www-Authenticate"] == nil {
		w.Header().Set("WWW-Authenticate", `Basic realm="svc", charset="UTF-8"`)
	}
	if wait := f.RetryAfter(); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
	WriteJSON(w, f.Kind.Status(), bytes.TrimSpace(text.Bytes()))
}

// BasicKey is the key of the native protocol: Basic credentials of the user 1.
func BasicKey(r *http.Request) string {
	scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials))
	if err != nil {
		return ""
	}
	user, key, _ := strings.Cut(string(text), ":")
	if user != "1" {
		return ""
	}
	return key
}

// anyKey also takes the two ways in which OFREP's own clients send a key.
func anyKey(r *http.Request) string {
	if key := BasicKey(r); key != "" {
		return key
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	return r.Header.Get("X-API-Key")
}
