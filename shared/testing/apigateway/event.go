package apigateway

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

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
