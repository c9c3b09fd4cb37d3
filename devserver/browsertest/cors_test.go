package browsertest

import (
	"slices"
	"strconv"
	"testing"
)

func TestPageOfAnotherOriginReadsFlags(t *testing.T) {
	t.Parallel()
	site := blankSite(t)
	port := serve(t, copySample(t, nil), "--host", "localhost")
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

func TestOrigins(t *testing.T) {
	t.Parallel()
	site := blankSite(t)
	base := "http://127.0.0.1:" + serve(t, copySample(t, nil), "--frontend-sdk-key", "dev-key",
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

func TestPreflightIsRemembered(t *testing.T) {
	t.Parallel()
	base := "http://127.0.0.1:" + serve(t, copySample(t, nil), "--frontend-sdk-key", "dev-key")
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
