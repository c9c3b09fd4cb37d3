package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"svc.example/svc/shared/console"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/testing/must"
)

// A document may be anything that somebody has pushed: what cannot be shown does
// not take the rest with it.
func TestConsoleOutlivesWhatItCannotShow(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	upstream := must.Get(url.Parse(w.base))(t)
	proxy, key := httputil.NewSingleHostReverseProxy(upstream), w.key(t, "Ada", "protected_engineer")
	odd := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/flags/new-checkout" {
			fmt.Fprint(rw, `{"key": "new-checkout", "tags": {}, "default": {"rules": [{"criteria": 7}]}, "environments": "none"}`)
			return
		}
		r.Header.Set("Authorization", "Bearer "+key)
		proxy.ServeHTTP(rw, r)
	})
	server := httptest.NewServer(router.New(console.Routes(true, ""), odd))
	t.Cleanup(server.Close)
	p := blankTab(t, desk)
	p.load(t, server.URL+"/console/#token=any")
	p.load(t, server.URL+"/console/#/flags/new-checkout")
	p.says(t, ".empty h2", "This could not be shown")
	p.click(t, ".empty .button")
	p.says(t, ".document pre", "new-checkout")
	p.visit(t, "#/flags/search.suggestions")
	p.wait(t, ".scope")
}

// An answer that got lost: the same request is sent again, and done once.
func TestConsoleAppliesOnceWhenAnAnswerGetsLost(t *testing.T) {
	t.Parallel()
	w := serveWorkspace(t, copySample(t, nil))
	upstream := must.Get(url.Parse(w.base))(t)
	proxy, key, lost := httputil.NewSingleHostReverseProxy(upstream), w.key(t, "Ada", "protected_engineer"), make(chan bool, 1)
	lossy := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+key)
		if r.Method == "PATCH" && r.URL.RawQuery == "" {
			select {
			case lost <- true:
				proxy.ServeHTTP(httptest.NewRecorder(), r)
				rw.WriteHeader(http.StatusBadGateway) // Chromium itself would send it again after a broken connection
				return
			default:
			}
		}
		proxy.ServeHTTP(rw, r)
	})
	server := httptest.NewServer(router.New(console.Routes(true, ""), lossy))
	t.Cleanup(server.Close)
	p := blankTab(t, desk)
	p.load(t, server.URL+"/console/#token=any")
	p.load(t, server.URL+"/console/#/flags/new-checkout?edit=staging&kind=value&set=true")
	p.wait(t, "dialog .review .messages")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.says(t, "dialog .box", "Applying it again is safe")
	p.gone(t, ".away p")
	p.says(t, "dialog .dialog-foot .primary:not([disabled])", "Try again")
	p.click(t, "dialog .dialog-foot .primary:not([disabled])")
	p.gone(t, "dialog")
	if history := get[struct{ History []any }](t, w.base+"/v1/flags/new-checkout/history", key).History; len(history) != 2 {
		t.Errorf("%d commits, of which one is the import", len(history))
	}
}
