package gateway

import (
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// escapedPath is the path as a client would have to send it so that nothing
// of it is lost: each segment escaped by itself. The stage is $default, whose name does
// not stand in it.
func escapedPath(event *events.APIGatewayV2HTTPRequest) string {
	path := "/" + strings.TrimPrefix(event.RawPath, "/")
	for _, read := range []func(string) (string, error){asItIs, url.PathUnescape} {
		if escaped, fits := followRoute(event.RouteKey, event.PathParameters, path, read); fits {
			return escaped
		}
	}
	return escapeSegments(path)
}

// A parameter is documented to arrive decoded. These are the two ways to read
// one; what the path itself says decides.
func asItIs(value string) (string, error) { return value, nil }

// followRoute writes the path along the route that the gateway chose. It does
// not fit when the route and its parameters do not give the path that came.
func followRoute(routeKey string, parameters map[string]string, path string, read func(string) (string, error)) (escaped string, fits bool) {
	_, route, found := strings.Cut(routeKey, " ")
	if !found {
		return "", false // $default
	}
	var decoded, out strings.Builder
	for _, segment := range strings.Split(strings.TrimPrefix(route, "/"), "/") {
		name := strings.Trim(segment, "{}")
		isParameter := segment == "{"+name+"}"
		if isParameter && strings.HasSuffix(name, "+") {
			rest, found := strings.CutPrefix(path, decoded.String()+"/")
			return out.String() + "/" + escapeSegments(rest), found
		}
		value := segment
		if isParameter {
			var err error
			if value, err = read(parameters[name]); err != nil || value == "" {
				return "", false
			}
		}
		decoded.WriteString("/" + value)
		out.WriteString("/" + url.PathEscape(value))
	}
	switch path {
	case decoded.String():
		return out.String(), true
	case decoded.String() + "/":
		return out.String() + "/", true
	}
	return "", false
}

func escapeSegments(decoded string) string {
	segments := strings.Split(decoded, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
