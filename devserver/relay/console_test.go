package relay

import (
	"testing"

	"svc.example/svc/shared/access"
)

// The console of a relay is its service's: nobody shows a key to the relay, and the
// relay lends nobody its own.
func TestTheConsoleIsThatOfTheService(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	secret := w.key(access.KindSecretSDK, "production")
	leads := w.relay(Options{URL: w.front.URL + "/v1", Keys: []string{secret}, LeadToConsole: true})
	for _, path := range []string{"/", "/console", "/console/", "/console/0000000000000000/console.js"} {
		a := w.ask(leads.Server, "GET", path, "", "", "Host", "elsewhere.example")
		if a.status != 302 || a.header.Get("Location") != w.front.URL+"/console/" || len(a.header["Access-Control-Allow-Origin"]) > 0 {
			t.Errorf("%s: %s to %s", path, a, a.header["Location"])
		}
		if a := w.ask(leads.Server, "POST", path, "", "{}"); a.status != 405 {
			t.Errorf("POST %s: %s", path, a)
		}
	}
	if a := w.ask(w.relay(Options{Keys: []string{secret}}).Server, "GET", "/console/", "", ""); a.status != 401 {
		t.Errorf("nobody has asked for a console: %s", a)
	}
}
