// Package router installs the endpoints of a process into one ServeMux, so that
// the path of a request is matched once.
//
// What must stay true:
//
//   - Nothing is cleaned and nothing is redirected, as ServeMux does by itself:
//     an empty or a dotted segment is a part of what an endpoint takes that
//     reads the rest of its path, such as base64, and is nowhere else.
//   - A path is matched as it was sent, segment by segment: a segment may hold
//     an escaped slash.
//   - A client's base URL may end in a slash: slashes that are doubled at the
//     beginning of a path count as one.
package router

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Route is what answers at one path, whatever the method.
type Route struct {
	// Path is a pattern of http.ServeMux without method and host. One that ends
	// in a slash also takes everything below it; its handler finds the rest in
	// the request's URL.Path.
	Path    string
	Handler http.Handler
}

// New serves routes, and has notFound answer everything else. It panics when two
// routes are for one path, like http.ServeMux, and when one is below a tree that is no
// tree itself.
func New(routes []Route, notFound http.Handler) http.Handler {
	s := &server{notFound: notFound}
	s.mux.Handle("/", notFound)
	for _, route := range routes {
		if strings.HasSuffix(route.Path, "/") {
			s.trees = append(s.trees, route)
		} else {
			s.mux.Handle(route.Path, route.Handler)
		}
	}
	slices.SortStableFunc(s.trees, func(a, b Route) int { return len(b.Path) - len(a.Path) })
	for _, tree := range s.trees {
		for _, route := range routes {
			if !strings.HasSuffix(route.Path, "/") && strings.HasPrefix(route.Path, tree.Path) {
				panic(fmt.Sprintf("the route %s is below the tree %s", route.Path, tree.Path))
			}
		}
	}
	return s
}

// server has trees beside its ServeMux, which would clean and unescape a rest of
// a path that may be long and is neither: that took longer than to answer that
// nothing has changed.
type server struct {
	mux      http.ServeMux
	trees    []Route
	notFound http.Handler
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := r.URL.Path
	if r.URL.RawPath != "" { // else escaping changes no slash and no dot
		sent = r.URL.EscapedPath()
	}
	if strings.HasPrefix(sent, "//") {
		sent = "/" + strings.TrimLeft(sent, "/")
		r = withPath(r, sent)
	}
	for _, tree := range s.trees {
		if strings.HasPrefix(sent, tree.Path) {
			r.Pattern = tree.Path
			tree.Handler.ServeHTTP(w, r)
			return
		}
	}
	if isClean(sent) {
		s.mux.ServeHTTP(w, r)
		return
	}
	s.notFound.ServeHTTP(w, r)
}

// isClean reports whether ServeMux would take a path as it is.
func isClean(sent string) bool {
	if !strings.HasPrefix(sent, "/") || strings.Contains(sent, "//") {
		return false
	}
	return !strings.Contains(sent, "/.") || path.Clean(sent) == strings.TrimSuffix(sent, "/")
}

// withPath is the request with the doubled slashes at its beginning gone.
func withPath(r *http.Request, sent string) *http.Request {
	u := *r.URL
	u.Path = "/" + strings.TrimLeft(u.Path, "/")
	if u.RawPath != "" {
		u.RawPath = sent
		if decoded, err := url.PathUnescape(sent); err == nil {
			u.Path = decoded
		}
	}
	trimmed := *r
	trimmed.URL = &u
	return &trimmed
}
