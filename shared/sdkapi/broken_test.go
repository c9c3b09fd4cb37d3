package sdkapi_test

import (
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// TestBrokenDocumentsAreServedAndTold: a document that is broken at the head is
// served as it last was good, to browsers and to servers, and the log says which
// and since when, once for each commit.
func TestBrokenDocumentsAreServedAndTold(t *testing.T) {
	const flag = `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`
	w := newWorld(t, map[string]string{"svc.json": `{"environments": ["production"]}`, "feature-flags/f.json": flag})
	w.commit(map[string]string{"feature-flags/f.json": "{", "svc.json": "["})
	head, err := w.ledger.Head(ctx)
	must.Do(t, err)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	for range 2 {
		for path, key := range map[string]string{"/api/v2/configs/eval-with-context/e30": public, "/api/v2/configs": secret} {
			if a := w.send("GET", path, key, ""); a.Code != 200 || !strings.Contains(a.Body.String(), `"f"`) {
				t.Errorf("%s: %d %s", path, a.Code, a.Body)
			}
		}
	}
	other := w.key(access.KindPublicSDK, "elsewhere")
	if a := w.send("GET", "/api/v2/configs/eval-with-context/e30", other, ""); a.Code != 401 {
		t.Errorf("an environment that was never there: %d %s", a.Code, a.Body)
	}
	log := w.log.String()
	for _, file := range []string{"feature-flags/f.json", "svc.json"} {
		if n := strings.Count(log, "problem=\""+file); n != 1 {
			t.Errorf("%s is told of %d times:\n%s", file, n, log)
		}
	}
	if strings.Count(log, "since="+head.Commit) != 2 {
		t.Errorf("the log does not say since when:\n%s", log)
	}
}
