package browsertest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// site is where pages come from: another origin than svc's. It is reached
// under two names, so that it stands for two origins.
type site struct {
	port string
}

func newSite(t *testing.T, pages map[string]string) site {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", contentType(r.URL.Path))
		w.Write([]byte(page))
	}))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	must(t, err)
	return site{port}
}

func contentType(path string) string {
	if strings.HasSuffix(path, ".js") {
		return "text/javascript; charset=utf-8"
	}
	return "text/html; charset=utf-8"
}

// origin is the site's origin under one of its names, as a browser sends it.
func (s site) origin(host string) string { return "http://" + host + ":" + s.port }

// blank is a page that does nothing.
const blank = "<!doctype html><title>blank</title><body></body>"

func blankSite(t *testing.T) site {
	t.Helper()
	return newSite(t, map[string]string{"/": blank})
}
