// Package apigateway is what an API Gateway HTTP API does between a client and
// a Lambda function, as far as functions can tell: it chooses a route, makes
// an event in the payload format 2.0 of the request, and a response of the
// function's answer.
//
// It is as careless with requests as the real one, so that what works with it
// works there; see the package documentation of functions/internal/gateway for
// what that is and where it is known from:
//
//   - a path is decoded, cut off at a question mark, decoded again, and runs
//     of slashes become one; where decoding fails the answer is 400;
//   - the route is chosen by the decoded path: an exact one before one with
//     parameters, that before a greedy one, that before $default; a slash at
//     the end does not count;
//   - headers have small letters, and those that came several times are joined
//     with commas; cookies stand apart; bodies that are not text are base64;
//   - request line and headers are at most 10,240 bytes, a body 10 MB;
//   - its own errors are {"message": "..."} and not ours.
//
// It does not throttle, and it does not time out before the function does. It
// passes on every method; what AWS does with TRACE and the like is not known.
package apigateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// Invoke invokes a function with an event. An error is one of the function or
// of what runs it, and is answered like the gateway does: 500 without a reason.
type Invoke func(ctx context.Context, function string, event []byte) (answer []byte, err error)

// Front answers HTTP requests through functions.
type Front struct {
	Routes Routes
	Invoke Invoke
	Logger *slog.Logger
}

// ServeHTTP answers a request.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := f.answer(r)
	var own *refusal
	if err != nil && !errors.As(err, &own) {
		f.Logger.Error("the function failed", "error", err.Error())
		own = &refusal{http.StatusInternalServerError, "Internal Server Error"}
	}
	if own != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(own.status)
		fmt.Fprintf(w, "{\"message\":%q}", own.message)
		return
	}
	if err := send(w, r, answer); err != nil {
		f.Logger.Error("the function's answer cannot be sent", "error", err.Error())
	}
}

func (f *Front) answer(r *http.Request) (*events.APIGatewayV2HTTPResponse, error) {
	route, event, err := f.Routes.newEvent(r)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	out, err := f.Invoke(r.Context(), route.Target, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", route.Target, err)
	}
	var answer events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(out, &answer); err != nil || answer.StatusCode == 0 {
		return nil, fmt.Errorf("%s answered %.200s", route.Target, out)
	}
	return &answer, nil
}

func send(w http.ResponseWriter, r *http.Request, a *events.APIGatewayV2HTTPResponse) error {
	body := []byte(a.Body)
	if a.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(a.Body); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return err
		}
	}
	header := w.Header()
	for name, value := range a.Headers {
		header.Set(name, value)
	}
	for _, cookie := range a.Cookies {
		header.Add("Set-Cookie", cookie)
	}
	if r.Method != http.MethodHead && a.StatusCode != http.StatusNotModified && a.StatusCode != http.StatusNoContent {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(a.StatusCode)
	_, err := w.Write(body)
	if errors.Is(err, http.ErrBodyNotAllowed) {
		err = nil // HEAD, 204 and 304 have none
	}
	return err
}

// What the gateway admits.
const (
	maxHead = 10_240
	maxBody = 10 << 20
)

// refusal is an answer of the gateway's own.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// newEvent makes the event of a request, and finds its route.
func (rs Routes) newEvent(r *http.Request) (Route, *events.APIGatewayV2HTTPRequest, error) {
	if headSize(r) > maxHead {
		return Route{}, nil, &refusal{http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large"}
	}
	path, err := decodePath(r.URL.EscapedPath())
	if err != nil {
		return Route{}, nil, &refusal{http.StatusBadRequest, "Bad Request"}
	}
	route, parameters, found := rs.find(r.Method, path)
	if !found {
		return Route{}, nil, &refusal{http.StatusNotFound, "Not Found"}
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return Route{}, nil, &refusal{http.StatusBadRequest, "Bad Request"}
	}
	if len(body) > maxBody {
		return Route{}, nil, &refusal{http.StatusRequestEntityTooLarge, "Request Entity Too Large"}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	now := time.Now().UTC()
	event := &events.APIGatewayV2HTTPRequest{
		Version: "2.0", RouteKey: route.Key, RawPath: path, RawQueryString: r.URL.RawQuery,
		PathParameters: parameters, QueryStringParameters: joined(r.URL.Query()),
		RequestContext: events.APIGatewayV2HTTPRequestContext{
			AccountID: "000000000000", APIID: "local", DomainName: r.Host, Stage: "$default", RouteKey: route.Key,
			RequestID: rand.Text()[:16], Time: now.Format("02/Jan/2006:15:04:05 -0700"), TimeEpoch: now.UnixMilli(),
			HTTP: events.APIGatewayV2HTTPRequestContextHTTPDescription{
				Method: r.Method, Path: path, Protocol: r.Proto, SourceIP: host, UserAgent: r.UserAgent(),
			},
		},
	}
	setHeaders(event, r, host)
	setBody(event, r.Header, body)
	return route, event, nil
}

func headSize(r *http.Request) int {
	size := len(r.Method) + len(r.RequestURI) + len(r.Proto)
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	return size
}

// decodePath does to a path what the gateway does.
func decodePath(escaped string) (string, error) {
	once, err := url.PathUnescape(escaped)
	if err != nil {
		return "", err
	}
	once, _, _ = strings.Cut(once, "?")
	twice, err := url.PathUnescape(once)
	if err != nil {
		return "", err
	}
	for strings.Contains(twice, "//") {
		twice = strings.ReplaceAll(twice, "//", "/")
	}
	if !strings.HasPrefix(twice, "/") {
		return "", errors.New("a path begins with a slash")
	}
	return twice, nil
}

func joined(values map[string][]string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	out := map[string]string{}
	for name, v := range values {
		out[name] = strings.Join(v, ",")
	}
	return out
}

func setHeaders(event *events.APIGatewayV2HTTPRequest, r *http.Request, source string) {
	event.Headers = map[string]string{}
	for name, values := range r.Header {
		if name == "Cookie" {
			for _, line := range values {
				for _, cookie := range strings.Split(line, ";") {
					event.Cookies = append(event.Cookies, strings.TrimSpace(cookie))
				}
			}
			continue
		}
		event.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	event.Headers["host"] = r.Host
	forwarded := source
	if before := event.Headers["x-forwarded-for"]; before != "" {
		forwarded = before + ", " + source
	}
	event.Headers["x-forwarded-for"] = forwarded
	event.Headers["x-forwarded-port"], event.Headers["x-forwarded-proto"] = "443", "https"
	event.Headers["x-amzn-trace-id"] = "Root=1-00000000-000000000000000000000000"
}

// setBody leaves only what the gateway knows as text as text.
func setBody(event *events.APIGatewayV2HTTPRequest, header http.Header, body []byte) {
	if len(body) == 0 {
		return
	}
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	isText := err == nil && header.Get("Content-Encoding") == "" &&
		(strings.HasPrefix(kind, "text/") || kind == "application/json" || kind == "application/javascript" || kind == "application/xml")
	if isText {
		event.Body = string(body)
		return
	}
	event.Body, event.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
}

// Route is a route and what it leads to.
type Route struct {
	Key    string // "ANY /v1/flags/{key}", "$default"
	Target string // a function's name

	method   string
	segments []string
}

// Routes are an API's routes, the most particular first.
type Routes []Route

// NewRoutes makes routes of their keys and targets.
func NewRoutes(routes []Route) (Routes, error) {
	out := slices.Clone(routes)
	seen := map[string]bool{}
	for i, r := range out {
		method, path, found := strings.Cut(r.Key, " ")
		if seen[r.Key] || !found && r.Key != "$default" || found && (!strings.HasPrefix(path, "/") || len(path) > 1 && strings.HasSuffix(path, "/")) {
			return nil, fmt.Errorf("the route %q stands twice, or is none", r.Key)
		}
		seen[r.Key] = true
		if found {
			out[i].method, out[i].segments = method, strings.Split(path[1:], "/")
		}
	}
	slices.SortStableFunc(out, func(a, b Route) int { return slices.Compare(a.rank(), b.rank()) })
	return out, nil
}

// rank is smaller for what the gateway prefers: segment by segment a text
// before a parameter before a greedy one; then a method before ANY.
func (r Route) rank() []int {
	if r.segments == nil {
		return []int{9}
	}
	var out []int
	for _, s := range r.segments {
		switch {
		case strings.HasSuffix(s, "+}"):
			out = append(out, 2)
		case strings.HasPrefix(s, "{"):
			out = append(out, 1)
		default:
			out = append(out, 0)
		}
	}
	if r.method == "ANY" {
		return append(out, 4)
	}
	return append(out, 3)
}

// find chooses the route of a decoded path.
func (rs Routes) find(method, path string) (found Route, parameters map[string]string, ok bool) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if last := len(segments) - 1; last > 0 && segments[last] == "" {
		segments = segments[:last]
	}
	for _, r := range rs {
		if r.segments == nil {
			return r, nil, true
		}
		if r.method != "ANY" && r.method != method {
			continue
		}
		if parameters, fits := r.match(segments); fits {
			return r, parameters, true
		}
	}
	return Route{}, nil, false
}

func (r Route) match(segments []string) (map[string]string, bool) {
	parameters := map[string]string{}
	for i, want := range r.segments {
		if i >= len(segments) || segments[i] == "" {
			return nil, false
		}
		name, isParameter := strings.CutPrefix(strings.TrimSuffix(want, "}"), "{")
		switch {
		case strings.HasSuffix(name, "+"):
			parameters[strings.TrimSuffix(name, "+")] = strings.Join(segments[i:], "/")
			return parameters, true
		case isParameter:
			parameters[name] = segments[i]
		case segments[i] != want:
			return nil, false
		}
	}
	return parameters, len(segments) == len(r.segments)
}
