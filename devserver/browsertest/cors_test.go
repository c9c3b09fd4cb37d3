package browsertest

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPageOfAnotherOriginReadsFlags(t *testing.T) {
	site := blankSite(t)
	port := serve(t, sampleDir(t), "--host", "localhost")
	for _, page := range []string{"127.0.0.1", "localhost"} {
		tab := openTab(t, site.origin(page))
		for _, api := range []string{"127.0.0.1", "localhost", "[::1]"} {
			t.Run("from "+page+" to "+api, func(t *testing.T) {
				url := pollPath("http://"+api+":"+port, tokenOf(someone))
				simple := tab.fetch(t, url, fetchInit{})
				if got := simple.values(t)["new-checkout"]; got != true {
					t.Errorf("new-checkout is %v, not true", got)
				}
				if simple.Headers["etag"] == "" {
					t.Errorf("the page reads no ETag: %v", simple.Headers)
				}
				placeholder := tab.fetch(t, url, fetchInit{Headers: basic("placeholder")})
				if got := placeholder.values(t)["new-checkout"]; got != true {
					t.Errorf("with a key that nobody asked for, new-checkout is %v, not true", got)
				}
				tab.log.waitForPreflight(t, url)
			})
		}
	}
}

func TestKeyFromABrowser(t *testing.T) {
	base := "http://127.0.0.1:" + serve(t, sampleDir(t), "--frontend-sdk-key", "dev-key")
	tab := openTab(t, blankSite(t).origin("localhost"))
	for _, c := range []struct {
		name    string
		headers map[string]string
		status  int
	}{
		{"right", basic("dev-key"), 200},
		{"wrong", basic("dev-kex"), 401},
		{"right, but not Basic", map[string]string{"Authorization": "Bearer dev-key"}, 401},
		{"right, in a header of OFREP's", map[string]string{"X-API-Key": "dev-key"}, 401},
		{"none", nil, 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			url := pollPath(base, tokenOf(`{"user":{"key":"`+c.name+`"}}`))
			a := tab.fetch(t, url, fetchInit{Headers: c.headers})
			if c.status == 200 {
				a.values(t)
			} else {
				a.wantError(t, c.status, "UNAUTHORIZED")
			}
			if c.headers != nil {
				tab.log.waitForPreflight(t, url)
			}
		})
	}
}

func TestOrigins(t *testing.T) {
	site := blankSite(t)
	base := "http://127.0.0.1:" + serve(t, sampleDir(t), "--frontend-sdk-key", "dev-key",
		"--cors-origin", "https://app.example", "--cors-origin", site.origin("127.0.0.1"))
	url := pollPath(base, tokenOf(someone))

	allowed := openTab(t, site.origin("127.0.0.1"))
	allowed.fetch(t, url, fetchInit{Headers: basic("dev-key")}).values(t)
	allowed.log.waitForPreflight(t, url)
	allowed.fetch(t, url, fetchInit{}).wantError(t, 401, "UNAUTHORIZED")

	refused := openTab(t, site.origin("localhost"))
	for name, headers := range map[string]map[string]string{"preflighted": basic("dev-key"), "simple": nil} {
		t.Run("refused, "+name, func(t *testing.T) {
			if a := refused.fetch(t, url, fetchInit{Headers: headers}); a.Failure != "TypeError" {
				t.Errorf("the page reads %+v, and should read nothing", a)
			}
		})
	}
	// It is the browser that refuses: the server answers as it always does.
	refused.log.waitForPreflight(t, url)
	x := refused.log.wait(t, "an answer that the page may not read", url, func(x exchange) bool { return x.Method == "GET" })
	if _, there := x.Received["access-control-allow-origin"]; there || x.Status != 401 {
		t.Errorf("the refused origin was answered %v %v", x, x.Received)
	}
}

func TestTelemetryIsReadableAsNotServed(t *testing.T) {
	base := "http://127.0.0.1:" + serve(t, sampleDir(t), "--frontend-sdk-key", "dev-key")
	tab := openTab(t, blankSite(t).origin("127.0.0.1"))
	for name, headers := range map[string]map[string]string{
		"as a beacon":   {"Content-Type": "text/plain"},
		"as JSON":       {"Content-Type": "application/json"},
		"with a key":    {"Content-Type": "application/json", "Authorization": basic("dev-key")["Authorization"]},
		"with more yet": {"X-Client-Version": "1.2.3"},
	} {
		t.Run(name, func(t *testing.T) {
			url := base + "/api/v1/telemetry/?" + strings.ReplaceAll(name, " ", "-")
			a := tab.fetch(t, url, fetchInit{Method: "POST", Headers: headers, Body: `{"instanceHash":"x","events":[]}`})
			a.wantError(t, 404, "NOT_FOUND")
			if name != "as a beacon" {
				tab.log.waitForPreflight(t, url)
			}
		})
	}
}

func TestPreflightIsRemembered(t *testing.T) {
	base := "http://127.0.0.1:" + serve(t, sampleDir(t), "--frontend-sdk-key", "dev-key")
	tab := openTab(t, blankSite(t).origin("127.0.0.1"))
	url := pollPath(base, tokenOf(someone))
	for range 3 {
		tab.fetch(t, url, fetchInit{Headers: basic("dev-key")}).values(t)
	}
	var preflights []exchange
	eventually(t, "three polls on the wire", func() (any, bool) {
		all := tab.log.answered(url)
		preflights = slices.DeleteFunc(slices.Clone(all), func(x exchange) bool { return !x.preflight() })
		return all, len(all)-len(preflights) == 3
	})
	if len(preflights) != 1 {
		t.Fatalf("%d preflights for three polls of one page, not 1", len(preflights))
	}
	// A browser that is told nothing forgets after five seconds.
	if age, err := strconv.Atoi(preflights[0].Received["access-control-max-age"]); err != nil || age < 600 {
		t.Errorf("a browser may remember the preflight for %q seconds", preflights[0].Received["access-control-max-age"])
	}
}
