package sdkapi_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/sdkapi"
)

// TestAnEnvironmentThatServesTooMuchIsRefused, once for each version. The documents for
// servers, of which no table is made, are sent all the same. It is served again when it
// has shrunk.
func TestAnEnvironmentThatServesTooMuchIsRefused(t *testing.T) {
	flag := func(key string, arms int) string {
		return fmt.Sprintf(`{"key":%q,"type":"feature_flag","valueType":"int","default":{"rules":[{"criteria":[],"value":{"type":"weighted_values","value":{"weightedValues":[%s]}}}]}}`,
			key, strings.TrimSuffix(strings.Repeat(`{"value":{"type":"int","value":1},"weight":1},`, arms), ","))
	}
	files := map[string]string{"svc.json": `{"environments":["production"]}`, "feature-flags/small.json": flag("small", 1)}
	for i := range 8 {
		key := fmt.Sprintf("f%d", i)
		files["feature-flags/"+key+".json"] = flag(key, 1000)
	}
	asked := 0
	w := newWorldWith(t, files, sdkapi.Options{MaxTable: 1 << 20, TooLarge: func(environment string, bytes int64) error {
		if asked++; environment != "production" || bytes < 1500<<10 || bytes > 3<<20 {
			t.Errorf("%s is told to need %d bytes", environment, bytes)
		}
		return fault.New(fault.Unavailable, "too large")
	}})
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	for range 2 {
		for _, answer := range []*httptest.ResponseRecorder{w.send("GET", nativePoll, public, ""), w.send("POST", ofrepBulk, public, "{}")} {
			if answer.Code != 503 || !strings.Contains(answer.Body.String(), "too large") {
				t.Errorf("%d %.200s", answer.Code, answer.Body)
			}
		}
	}
	if asked != 1 {
		t.Errorf("the table was begun %d times", asked)
	}
	if answer := w.send("GET", "/api/v2/configs", secret, ""); answer.Code != 200 {
		t.Errorf("the documents: %d %.200s", answer.Code, answer.Body)
	}
	w.commit(map[string]string{"feature-flags/f0.json": "", "feature-flags/f1.json": "", "feature-flags/f2.json": "", "feature-flags/f3.json": "", "feature-flags/f4.json": "", "feature-flags/f5.json": ""})
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 || !strings.Contains(answer.Body.String(), `"f7"`) {
		t.Errorf("smaller: %d %.200s", answer.Code, answer.Body)
	}
}
