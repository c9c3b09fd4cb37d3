package relay

import (
	"maps"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
)

// TestOtherAnswersHaveOtherVersions: a document that the service keeps to itself is
// missing here, so no client may take these answers for the service's own. All relays
// name them alike, and a change still reaches clients.
func TestOtherAnswersHaveOtherVersions(t *testing.T) {
	t.Parallel()
	files := maps.Clone(shop)
	files["feature-flags/hidden.json"] = `{"key":"hidden","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["hunter2"],"confidential":true}}],"value":{"type":"bool","value":true}},` + always + `{"type":"bool","value":false}}]}}`
	w := newWorld(t, files)
	public, secret, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production"), w.key(access.KindSecretSDK, "production")
	one, two := w.relay(Options{Keys: []string{secret}}), w.relay(Options{Keys: []string{other}})
	w.must(one.Await(t.Context()))
	w.must(two.Await(t.Context()))
	for _, q := range []struct{ method, path, body string }{
		{"GET", polls + someone, ""}, {"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u-9"}}`},
	} {
		service, first, second := w.ask(w.front, q.method, q.path, public, q.body), w.ask(one.Server, q.method, q.path, public, q.body), w.ask(two.Server, q.method, q.path, public, q.body)
		if !strings.Contains(service.body, `"hidden"`) || strings.Contains(first.body, `"hidden"`) {
			t.Fatalf("the service answers %s, a relay %s", service, first)
		}
		if first.String() != second.String() {
			t.Errorf("two relays answer %s and %s", first, second)
		}
		if again := w.ask(one.Server, q.method, q.path, public, q.body, "If-None-Match", service.header.Get("Etag")); again.status != 200 {
			t.Errorf("the tag of the service: %d", again.status)
		}
	}
	events := w.stream(one.Server, w.eventsOf(one.Server, public), "")
	w.patch("flags/timed/environments/production", `{"value":7}`)
	version := strings.Fields(<-events)[0]
	if got := w.ask(one.Server, "GET", polls+someone, public, ""); !strings.Contains(got.body, `"value":7`) || !strings.Contains(got.body, version) {
		t.Errorf("after the event %s: %s", version, got)
	}
}
