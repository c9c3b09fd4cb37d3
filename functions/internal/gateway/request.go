package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"svc.example/svc/shared/ratelimit"
)

// request is the request that an event tells of.
func request(ctx context.Context, event *events.APIGatewayV2HTTPRequest) (*http.Request, error) {
	body := []byte(event.Body)
	if event.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(event.Body); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, strings.ToUpper(event.RequestContext.HTTP.Method), "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header = header(event)
	r.Host = r.Header.Get("Host")
	r.Header.Del("Host")
	if r.Host == "" {
		r.Host = event.RequestContext.DomainName
	}
	r.URL = address(event)
	r.RequestURI = r.URL.RequestURI()
	return r, nil
}

// proxies is the variable of the gateway's stage that names the proxies in front, by
// addresses and ranges with commas between them.
const proxies = "trustedProxies"

var errNoProxy = errors.New("the service is not reached at this address; use the one that its operator has told you")

// comesFrom is the address from which a request comes: the one at the other end of the
// gateway's connection, or where proxies stand in front, the one that they tell. Then
// they alone are answered.
func comesFrom(event *events.APIGatewayV2HTTPRequest, r *http.Request) (string, error) {
	peer := net.JoinHostPort(event.RequestContext.HTTP.SourceIP, "0")
	list := event.StageVariables[proxies]
	if list == "" {
		return peer, nil
	}
	trusted, err := ratelimit.ParseProxies(strings.Split(list, ","))
	if err != nil {
		return "", err
	}
	r.RemoteAddr = peer
	if !trusted.Trust(r) {
		return "", errNoProxy
	}
	return net.JoinHostPort(trusted.Address(r).String(), "0"), nil
}

// header is the event's headers. The gateway has joined those that came
// several times with commas, and taken the cookies out.
func header(event *events.APIGatewayV2HTTPRequest) http.Header {
	out := make(http.Header, len(event.Headers)+1)
	for name, value := range event.Headers {
		name = textproto.CanonicalMIMEHeaderKey(name)
		out[name] = append(out[name], value)
	}
	if len(event.Cookies) > 0 {
		out["Cookie"] = []string{strings.Join(event.Cookies, "; ")}
	}
	return out
}

func address(event *events.APIGatewayV2HTTPRequest) *url.URL {
	escaped := escapedPath(event)
	decoded, err := url.PathUnescape(escaped)
	if err != nil { // it was escaped here, so this does not happen
		decoded = escaped
	}
	return &url.URL{Path: decoded, RawPath: escaped, RawQuery: event.RawQueryString}
}

// KeepPlus takes a space for a plus in paths below a prefix. A base64 token
// has no space; something on the way decoded its plus as a form would.
func KeepPlus(prefix string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		if strings.HasPrefix(escaped, prefix) && strings.Contains(escaped, "%20") {
			r.URL.RawPath = strings.ReplaceAll(escaped, "%20", "+")
			r.URL.Path = strings.ReplaceAll(r.URL.Path, " ", "+")
		}
		next.ServeHTTP(w, r)
	})
}
