// Package router installs the endpoints of a process into one ServeMux, which
// matches the path of a request once.
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
	"net/http"
	"net/url"
	"path"
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
// routes are for one path, like http.ServeMux.
func New(routes []Route, notFound http.Handler) http.Handler {
	s := &server{notFound: notFound}
	s.mux.Handle("/", notFound)
	bare := map[string]bool{}
	for _, route := range routes {
		s.mux.Handle(route.Path, route.Handler)
		bare[route.Path] = true
	}
	for _, route := range routes {
		if above, isTree := strings.CutSuffix(route.Path, "/"); isTree {
			s.trees = append(s.trees, route)
			s.mux.Handle(route.Path+"{rest}", route.Handler) // most often; else ServeMux looks for a redirect first
			if !bare[above] {
				s.mux.Handle(above, notFound) // ServeMux would redirect to the tree
			}
		}
	}
	return s
}

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
	if isClean(sent) {
		s.mux.ServeHTTP(w, r)
		return
	}
	for _, tree := range s.trees {
		if strings.HasPrefix(sent, tree.Path) {
			tree.Handler.ServeHTTP(w, r)
			return
		}
	}
	s.notFound.ServeHTTP(w, r)
}

// isClean says whether ServeMux would take a path as it is.
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
