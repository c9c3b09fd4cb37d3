package sdkapi_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
)

// TestTheClientOfThisProject reads what is served here, decrypts, follows a
// change, and reports its contexts.
func TestTheClientOfThisProject(t *testing.T) {
	master := client.NewKey()
	secret, err := client.Encrypt(master, "key", "hunter2")
	must.Do(t, err)
	files := map[string]string{"configs/key.json": strings.Replace(shop["configs/key.json"], "Y2lwaGVy", secret, 1)}
	for path, text := range shop {
		if files[path] == "" {
			files[path] = text
		}
	}
	w := newWorld(t, files)
	server := httptest.NewServer(w.handler)
	defer server.Close()
	app, err := client.Open(ctx, client.Options{URL: server.URL, Key: w.key(access.KindSecretSDK, "production"),
		PollEvery: 10 * time.Millisecond, Telemetry: true,
		Getenv: func(name string) (string, bool) { return master, name == "MASTER" }})
	must.Do(t, err)
	defer app.Close()
	someone := func(key string) *contexts.Set {
		return contexts.Named("user", map[string]any{"key": key, "name": "Ada"})
	}
	if !app.Bool(ctx, "dark", false, someone("u-1")) || app.Bool(ctx, "dark", true, someone("u-2")) {
		t.Error("a flag with a segment is decided otherwise than by the server")
	}
	if got := app.String(ctx, "key", "default", someone("u-1")); got != "hunter2" {
		t.Errorf("the secret is %q", got)
	}
	if got := app.String(ctx, "plain", "default", someone("u-1")); got != "default" {
		t.Errorf("a confidential value was sent, or what stands for it is served: %q", got)
	}
	version := app.Version()
	w.commit(map[string]string{"configs/plain.json": ""})
	for begin := time.Now(); app.Version() == version && time.Since(begin) < time.Minute; time.Sleep(5 * time.Millisecond) {
	}
	if app.Version() == version {
		t.Error("a change does not arrive")
	}
	must.Do(t, app.Close()) // which uploads what is left
	usage, err := w.store.Usage(ctx, string(w.id), telemetry.MonthOf(telemetrytest.Now))
	must.Do(t, err)
	found, err := w.store.Contexts(ctx, string(w.id), telemetry.Query{Text: "ada", Limit: 10})
	must.Do(t, err)
	if usage.Keys != 2 || len(found) != 2 {
		t.Errorf("%+v %+v", usage, found)
	}
}
