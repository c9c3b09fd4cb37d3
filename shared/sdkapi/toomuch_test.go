package sdkapi_test

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/sdkapi"
)

// TestAnEnvironmentThatServesTooMuchIsRefused, once for each head and at little
// cost while the documents that are too many are the same, and the
// documents for servers, of which no table is made, are sent all the same. It is
// served again when it has shrunk.
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
	refused := func(path, text string) (allocations uint64) {
		w.commit(map[string]string{path: text})
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		if answer := w.send("GET", nativePoll, public, ""); answer.Code != 503 {
			t.Errorf("with another %s: %d %.200s", path, answer.Code, answer.Body)
		}
		runtime.ReadMemStats(&to)
		return to.Mallocs - from.Mallocs
	}
	changed, before, after := refused("feature-flags/f0.json", flag("f0", 1001)), refused("feature-flags/a.json", flag("a", 1)), refused("feature-flags/z.json", flag("z", 1))
	t.Logf("allocations: %d when one of those that are too many has changed, %d and %d when another was added", changed, before, after)
	if asked != 4 || max(before, after) > changed/10 {
		t.Errorf("it was refused %d times; those that are too many were compiled again for another document: %d and %d allocations, and %d when one of them has changed", asked, before, after, changed)
	}
	w.commit(map[string]string{"feature-flags/f0.json": "", "feature-flags/f1.json": "", "feature-flags/f2.json": "", "feature-flags/f3.json": "", "feature-flags/f4.json": "", "feature-flags/f5.json": ""})
	if answer := w.send("GET", nativePoll, public, ""); answer.Code != 200 || !strings.Contains(answer.Body.String(), `"f7"`) {
		t.Errorf("smaller: %d %.200s", answer.Code, answer.Body)
	}
}
