package browsertest

import (
	"strings"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/svcbinary"
)

// TestWebProviderHearsOfEdits with its default options, and of what was edited while
// the server was away.
func TestWebProviderHearsOfEdits(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"without a key": "", "with a key": "dev-key"} {
		t.Run(name, func(t *testing.T) {
			app := openWebApp(t)
			dir, port := everyTypeDir(t), freeport.Take()
			args := []string{"serve", "--datadir", dir, "--port", port}
			options := map[string]any{"baseUrl": "http://127.0.0.1:" + port}
			if key != "" {
				args = append(args, "--frontend-sdk-key", key)
				options["headers"] = [][2]string{{"X-API-Key", key}}
			}
			server, err := svcbinary.Here(args...)
			must(t, err)
			app.mustStart(t, options, member)
			app.waitForStream(t, options["baseUrl"].(string))
			if err := server.Stop(); err != nil { // there was no event yet
				t.Fatal(err)
			}
			edit(t, dir, "configs/ratio.json", "0.5", "0.25")
			if problem := launch(t, args...); problem != "" {
				t.Fatal(problem)
			}
			app.waitForValue(t, "an edit while the server was away", ratio, 0.25)
			edit(t, dir, "configs/ratio.json", "0.25", "0.75")
			app.waitForValue(t, "an edit", ratio, 0.75)
		})
	}
}

// waitForStream waits until the page has begun to listen.
func (app webApp) waitForStream(t *testing.T, base string) {
	t.Helper()
	app.log.wait(t, "an event stream", base+"/ofrep/v1/events", func(x exchange) bool { return x.Status == 200 })
}

// TestWebProviderOutlivesAServerBehindNginx, which answers 502 while the server is away:
// a browser takes that for the end of the stream, and does not connect again by itself.
func TestWebProviderOutlivesAServerBehindNginx(t *testing.T) {
	t.Parallel()
	app := openWebApp(t)
	dir, port := everyTypeDir(t), freeport.Take()
	base := behindNginx(t, "http://127.0.0.1:"+port)
	args := []string{"serve", "--datadir", dir, "--port", port}
	server, err := svcbinary.Here(args...)
	must(t, err)
	app.mustStart(t, map[string]any{"baseUrl": base}, member)
	app.waitForStream(t, base)
	must(t, server.Stop())
	app.log.wait(t, "a stream that is refused", base+"/ofrep/v1/events", func(x exchange) bool { return x.Status == 502 })
	edit(t, dir, "configs/ratio.json", "0.5", "0.25")
	if problem := launch(t, args...); problem != "" {
		t.Fatal(problem)
	}
	app.waitForValue(t, "an edit while the server was away", ratio, 0.25)
	edit(t, dir, "configs/ratio.json", "0.25", "0.75")
	app.waitForValue(t, "an edit", ratio, 0.75)
}

// TestOpenFeatureWebSnippetWithoutAServer shows its defaults, and recovers.
func TestOpenFeatureWebSnippetWithoutAServer(t *testing.T) {
	t.Parallel()
	browser(t)
	dir, port := copySample(t, nil), freeport.Take()
	program := strings.ReplaceAll(guides.Snippet(t, "shared/client/README.md", "openfeature-web"), ":"+documentedPort, ":"+port)
	tab := openTab(t, bundleSite(t, program).origin("localhost"))
	tab.waitForText(t, oldCheckout)
	if problem := start(t, dir, port); problem != "" {
		t.Fatal(problem)
	}
	tab.waitForText(t, newCheckout)
	switchOff(t, dir)
	tab.waitForText(t, oldCheckout)
}
