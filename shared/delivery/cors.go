package delivery

import (
	"net/http"
	"net/url"
	"strings"

	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/fault"
)

// AnyOrigin lets pages of every origin read the answers.
const AnyOrigin = "*"

// The headers of a preflight that do not depend on the request.
const (
	allowMethods  = "GET, POST, OPTIONS"
	allowHeaders  = "Authorization, Content-Type, If-None-Match, X-API-Key"
	exposeHeaders = "ETag, Retry-After"
	maxAge        = "7200" // the most that Chromium keeps
)

// CORS puts the headers of cross-origin requests on every answer of next and
// answers preflights itself, without a key: a browser sends none with them.
// A preflight happens in practice, since clients send Authorization.
func CORS(origins []string, next http.Handler) http.Handler {
	c := cors{origins: map[string]bool{}, next: next}
	for _, origin := range origins {
		c.any = c.any || origin == AnyOrigin
		c.origins[strings.ToLower(origin)] = true
	}
	return c
}

type cors struct {
	any     bool
	origins map[string]bool
	next    http.Handler
}

func (c cors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	allowed := c.allow(header, r.Header.Get("Origin"))
	if r.Method != http.MethodOptions {
		if allowed {
			header["Access-Control-Expose-Headers"] = exposed
		}
		c.next.ServeHTTP(w, r)
		return
	}
	if allowed {
		header.Set("Access-Control-Allow-Methods", allowMethods)
		header.Set("Access-Control-Allow-Headers", allowHeaders+otherHeaders(r.Header.Get("Access-Control-Request-Headers")))
		header.Set("Access-Control-Max-Age", maxAge)
		if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
			header.Set("Access-Control-Allow-Private-Network", "true")
		}
	}
	header.Set("Allow", allowMethods)
	w.WriteHeader(http.StatusNoContent)
}

var (
	anyOrigin = []string{AnyOrigin}
	exposed   = []string{exposeHeaders}
)

func (c cors) allow(header http.Header, origin string) bool {
	if c.any {
		header["Access-Control-Allow-Origin"] = anyOrigin
		return true
	}
	header.Add("Vary", "Origin")
	if origin == "" || !c.origins[strings.ToLower(origin)] {
		return false
	}
	header.Set("Access-Control-Allow-Origin", origin)
	return true
}

// otherHeaders are those a browser asks for beyond the usual, as long as they
// are header names and not too many.
func otherHeaders(asked string) string {
	const most = 4096
	if len(asked) > most {
		return ""
	}
	var more strings.Builder
	for _, name := range strings.Split(asked, ",") {
		name = strings.TrimSpace(name)
		if name != "" && strings.Trim(name, tokens) == "" && !strings.Contains(strings.ToLower(allowHeaders), strings.ToLower(name)) {
			more.WriteString(", " + name)
		}
	}
	return more.String()
}

// tokens is what the names of headers are made of.
const tokens = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"

// CheckOrigin says what is wrong with a value that should be an origin as a
// browser sends it, or nil.
func CheckOrigin(origin string) error {
	if origin == AnyOrigin {
		return nil
	}
	if origin == "null" {
		return fault.New(fault.BadRequest, "null is what every page without an origin of its own sends (a file, a sandboxed frame of any site), so it would admit everybody's; serve the page from an address, or write * where that is meant")
	}
	if strings.Contains(origin, "*") {
		return fault.New(fault.BadRequest, "%q: an origin is named in full; only * by itself stands for any", origin)
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || strings.TrimSuffix(origin, "/") != u.Scheme+"://"+u.Host {
		return fault.New(fault.BadRequest, "%q is not an origin: write scheme, host and port only, like http://localhost:3000", baseurl.Redacted(origin))
	}
	if strings.HasSuffix(origin, "/") {
		return fault.New(fault.BadRequest, "%q ends in a slash, which a browser never sends: write %s", origin, strings.TrimSuffix(origin, "/"))
	}
	return nil
}
