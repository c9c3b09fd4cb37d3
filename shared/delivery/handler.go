package delivery

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/negotiation"
)

// Tables finds what to serve to the holder of a key; an empty key is a
// request without one. Its error is the answer, as a fault.
type Tables func(ctx context.Context, key string) (*Table, error)

// Handler serves the protocol. Put CORS around it.
type Handler struct {
	Tables Tables
	Now    func() time.Time
	// Random decides splits that have no property to hash; in [0, 1).
	Random func() float64
	// Admit refuses a request before its key is looked at; nil admits all.
	Admit func(*http.Request) error

	bodies bodies.Budget
}

// table finds what to serve to a request with a key.
func (h *Handler) table(r *http.Request, key string) (*Table, error) {
	if h.Admit != nil {
		if err := h.Admit(r); err != nil {
			return nil, err
		}
	}
	return h.Tables(r.Context(), key)
}

// The paths of the protocol.
const (
	evalPrefix    = "/api/v2/configs/eval-with-context/"
	ofrepFlags    = "/ofrep/v1/evaluate/flags"
	telemetryPath = "/api/v1/telemetry"
	healthPath    = "/healthz"
)

// Serves says whether a request is for one of the protocol's paths, where it
// shares an address with another API.
func Serves(r *http.Request) bool {
	path := RequestPath(r)
	return strings.HasPrefix(path, evalPrefix) || path == ofrepFlags || strings.HasPrefix(path, ofrepFlags+"/") ||
		path == telemetryPath || path == telemetryPath+"/" || path == healthPath
}

// RequestPath is the path as it was sent, less the doubled slash at its
// beginning that comes of a client's base URL which ends in one.
func RequestPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	for strings.HasPrefix(path, "//") {
		path = path[1:]
	}
	return path
}

// ServeHTTP routes by the path as it was sent: net/http's own multiplexer
// cleans doubled slashes, which a token may hold.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := RequestPath(r)
	switch {
	case strings.HasPrefix(path, evalPrefix):
		h.method(w, r, http.MethodGet, func() { h.evaluate(w, r, path[len(evalPrefix):]) })
	case path == ofrepFlags:
		h.method(w, r, http.MethodPost, func() { h.bulk(w, r) })
	case strings.HasPrefix(path, ofrepFlags+"/"):
		h.method(w, r, http.MethodPost, func() { h.single(w, r, path[len(ofrepFlags)+1:]) })
	case path == healthPath:
		h.method(w, r, http.MethodGet, func() { WriteJSON(w, http.StatusOK, []byte(`{"status":"ok"}`)) })
	case path == telemetryPath || path == telemetryPath+"/":
		WriteFault(w, fault.New(fault.NotFound, "telemetry is not served here; switch off evaluation summaries and context upload in the client"))
	default:
		h.unknown(w, r)
	}
}

func (h *Handler) method(w http.ResponseWriter, r *http.Request, allowed string, serve func()) {
	if r.Method == allowed || allowed == http.MethodGet && r.Method == http.MethodHead {
		serve()
		return
	}
	if RequestPath(r) != healthPath {
		if _, err := h.table(r, anyKey(r)); err != nil {
			WriteFault(w, fault.Of(err))
			return
		}
	}
	w.Header().Set("Allow", allowed+", OPTIONS")
	WriteFault(w, fault.New(fault.MethodNotAllowed, "this path takes %s, not %s", allowed, r.Method))
}

// unknown answers a path of no endpoint. Where a key is needed it is needed
// here too, so that a request without one learns nothing else first.
func (h *Handler) unknown(w http.ResponseWriter, r *http.Request) {
	if _, err := h.table(r, anyKey(r)); err != nil {
		WriteFault(w, fault.Of(err))
		return
	}
	WriteFault(w, fault.New(fault.NotFound, "nothing is served at this path; flags are at GET %s{token} and POST %s", evalPrefix, ofrepFlags))
}

// evaluate answers a native poll.
func (h *Handler) evaluate(w http.ResponseWriter, r *http.Request, token string) {
	table, err := h.table(r, BasicKey(r))
	if err != nil {
		WriteFault(w, fault.Of(err))
		return
	}
	if len(token) > 3*MaxToken { // each byte may be escaped as three
		WriteFault(w, tooLong(len(token)))
		return
	}
	now := h.Now().UnixMilli()
	tag := table.etag('n', now, token)
	known := negotiation.NoneMatch(r, tag)
	if known == negotiation.ThisOne { // so this very token was read before
		notModified(w, tag)
		return
	}
	text, bad := decodeToken(token)
	if bad != nil {
		WriteFault(w, bad)
		return
	}
	frame := table.snapshot.NewFrame(now, h.Random)
	defer frame.Release()
	if err := readNamed(text, frame); err != nil {
		WriteFault(w, fault.New(fault.BadRequest, "the decoded token is wrong: %s; %s", explain(err), tokenForm))
		return
	}
	if known == negotiation.Whichever {
		notModified(w, tag)
		return
	}
	b := buffer(table.size)
	defer buffers.Put(b)
	var whole bool
	if *b, whole = table.appendNative(r.Context(), (*b)[:0], frame); !whole {
		WriteFault(w, abandoned())
		return
	}
	setCaching(w, tag)
	WriteJSON(w, http.StatusOK, *b)
}

// abandoned answers a request that ended before its answer was whole: its
// client has gone, or it has taken too long.
func abandoned() *fault.Fault {
	return fault.New(fault.Unavailable, "the request ended before its answer was complete; it can be repeated")
}

// setCaching sets the headers by which a client may keep an answer.
func setCaching(w http.ResponseWriter, tag string) {
	header := w.Header()
	header["Etag"] = []string{tag}
	header["Cache-Control"] = cacheControl
}

func notModified(w http.ResponseWriter, tag string) {
	setCaching(w, tag)
	w.WriteHeader(http.StatusNotModified)
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
	w.Write(body)
}

// WriteFault writes the envelope of a refusal, which nobody may keep.
func WriteFault(w http.ResponseWriter, f *fault.Fault) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false) // people read it
	if err := enc.Encode(f.Envelope()); err != nil {
		body = *bytes.NewBufferString(`{"error":"INTERNAL","message":"something went wrong on our side"}`)
	}
	w.Header().Set("Cache-Control", "no-store")
	if f.Kind == fault.Unauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="svc", charset="UTF-8"`)
	}
	setRetryAfter(w, f)
	WriteJSON(w, f.Kind.Status(), bytes.TrimSpace(body.Bytes()))
}

func setRetryAfter(w http.ResponseWriter, f *fault.Fault) {
	if wait := f.RetryAfter(); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
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
