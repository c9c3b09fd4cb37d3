package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/svcbinary"
)

// TestWebProviderHearsOfEdits with its default options, and of what was edited while
// the server was away. Behind nginx a stream is answered with 502 then: a browser takes that
// for its end, and does not connect again by itself.
func TestWebProviderHearsOfEdits(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"without a key": "", "with a key": "dev-key", "behind nginx": ""} {
		t.Run(name, func(t *testing.T) {
			app := openWebApp(t)
			dir, port := everyTypeDir(t), freeport.Take()
			args, base, options := []string{"serve", "--datadir", dir, "--port", port}, "http://127.0.0.1:"+port, map[string]any{}
			if key != "" {
				args = append(args, "--frontend-sdk-key", key)
				options["headers"] = [][2]string{{"X-API-Key", key}}
			}
			if name == "behind nginx" {
				base = behindNginx(t, base)
			}
			options["baseUrl"] = base
			server, err := svcbinary.Here(args...)
			must(t, err)
			app.mustStart(t, options, member)
			app.waitForStream(t, base)
			must(t, server.Stop()) // there was no event yet
			if name == "behind nginx" {
				app.log.wait(t, "a stream that is refused", base+"/ofrep/v1/events", func(x exchange) bool { return x.Status == 502 })
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

// TestOpenFeatureWebSnippet shows its defaults while there is no server, and then follows.
func TestOpenFeatureWebSnippet(t *testing.T) {
	t.Parallel()
	browser(t)
	dir, port := copySample(t, nil), freeport.Take()
	snippet := guides.Snippet(t, "shared/client/README.md", "openfeature-web")
	program := strings.ReplaceAll(snippet, "http://127.0.0.1:"+documentedPort, "http://127.0.0.1:"+port)
	if program == snippet {
		t.Fatal("the snippet does not name the documented address")
	}
	tab := openTab(t, bundleSite(t, program).origin("localhost"))
	tab.waitForText(t, oldCheckout)
	if problem := start(t, dir, port); problem != "" {
		t.Fatal(problem)
	}
	tab.waitForText(t, newCheckout)
	switchOff(t, dir)
	tab.waitForText(t, oldCheckout) // by itself
	tab.reload(t)
	if got := tab.settled(t); got != oldCheckout {
		t.Errorf("a page loaded after the edit first says %q", got)
	}
}

// TestPagesHearOfEachChangeOnce: a page with the web provider, whose options are the
// default ones, shows each save and each write, asks once for each, and polls for none.
func TestPagesHearOfEachChangeOnce(t *testing.T) {
	t.Parallel()
	t.Run("svc serve", func(t *testing.T) {
		app, dir := openWebApp(t), everyTypeDir(t)
		base := "http://127.0.0.1:" + serve(t, dir)
		app.mustStart(t, map[string]any{"baseUrl": base}, member)
		app.waitForStream(t, base)
		path := filepath.Join(dir, "configs", "limit.json")
		text := readFile(t, path)
		app.hearsOnceOf(t, base, func(value int) {
			must(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"42"`, fmt.Sprintf(`"%d"`, value), 1)), 0o644))
		})
	})
	t.Run("svc api", func(t *testing.T) {
		app, a := openWebApp(t), serveWorkspace(t, everyTypeDir(t))
		app.mustStart(t, a.options(t, a.base), member)
		app.waitForStream(t, a.base)
		key := a.key(t, "Ada", "protected_engineer")
		app.hearsOnceOf(t, a.base, func(value int) { a.set(t, key, value) })
	})
}

// hearsOnceOf makes changes of the config limit, one when the page shows the one before.
func (app webApp) hearsOnceOf(t *testing.T, base string, change func(value int)) {
	t.Helper()
	const changes = 8
	call[bool](t, app.tab, `() => { watch({type: "number", key: "limit", default: 0}); return true }`)
	before := len(app.log.answered(base + "/ofrep/v1/evaluate"))
	for i := range changes {
		change(1000 + i)
		call[float64](t, app.tab, `(text) => shown(text)`, fmt.Sprint(1000+i))
	}
	asked := 0
	for _, x := range app.log.answered(base + "/ofrep/v1/evaluate")[before:] {
		if x.Method == http.MethodPost {
			asked++
		}
	}
	// A stream that has to be opened anew adds a question; polls would be one for each second.
	if asked < changes || asked > changes+2 {
		t.Errorf("the page asked %d times for %d changes", asked, changes)
	}
}

// TestEightTabsOnOneServer of which seven were opened in the background: no poll waits
// for a connection, which are six for all of them, and each tab is right soon after it is
// shown.
func TestEightTabsOnOneServer(t *testing.T) {
	browser(t)
	for name, server := range map[string]func(t *testing.T) (base string, options map[string]any, set func(value int)){
		"svc serve": func(t *testing.T) (string, map[string]any, func(int)) {
			dir := everyTypeDir(t)
			base := "http://127.0.0.1:" + serve(t, dir)
			return base, map[string]any{"baseUrl": base}, func(value int) {
				edit(t, dir, "configs/limit.json", `"42"`, fmt.Sprintf(`"%d"`, value))
			}
		},
		"relay": func(t *testing.T) (string, map[string]any, func(int)) {
			a := serveWorkspace(t, everyTypeDir(t))
			base := a.relay(t)
			return base, a.options(t, base), func(value int) { a.set(t, a.key(t, "Ada", "protected_engineer"), value) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			base, options, set := server(t)
			site := bundleSite(t, testdata(t, "web-provider.js"))
			tabs := []webApp{{openTab(t, site.origin("localhost"))}}
			for range 7 {
				tabs = append(tabs, webApp{tabs[0].openBehind(t, site.origin("localhost"))})
			}
			limit := question{"number", "limit", 0}
			for i, tab := range tabs {
				tab.mustStart(t, options, member)
				if i > 0 && call[string](t, tab.tab, `() => document.visibilityState`) != "hidden" {
					t.Fatalf("tab %d is not in the background", i)
				}
				tab.waitForValue(t, "at first", limit, 42.0)
			}
			set(43)
			tabs[0].waitForValue(t, "the tab in front", limit, 43.0)
			var slowest time.Duration
			for i, tab := range tabs[1:] {
				tab.bringToFront(t)
				begin := time.Now()
				tab.waitForValue(t, fmt.Sprintf("tab %d, once it is shown", i+1), limit, 43.0)
				slowest = max(slowest, time.Since(begin))
			}
			waited := 0.0
			for _, tab := range tabs {
				waited = max(waited, tab.log.waited(base+"/ofrep/v1/evaluate"))
			}
			t.Logf("a tab was right at most %v after it was shown, and a poll waited at most %.0f ms for its connection", slowest.Round(time.Millisecond), waited)
			if waited > longWait {
				t.Errorf("a poll waited %.0f ms for its connection, as for a stream to end", waited)
			}
		})
	}
}

// longWait is what a poll waits only for a stream to end, in milliseconds, and not because
// the machine has much to do.
const longWait = 5000

// options are those of the web provider for a public key.
func (a *workspace) options(t *testing.T, base string) map[string]any {
	t.Helper()
	return map[string]any{"baseUrl": base, "headers": [][2]string{{"X-API-Key", a.applicationKey(t, "public", "development")}}}
}

// openBehind opens a tab beside another, which stays in front.
func (tab tab) openBehind(t *testing.T, url string) tab {
	t.Helper()
	behind := true
	info := chromedp.FromContext(tab.ctx)
	made, err := chromedp.CallBrowser(tab.ctx, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: info.BrowserContextID, Background: &behind})
	must(t, err)
	ctx, cancel := chromedp.NewContext(tab.ctx, chromedp.WithTargetID(made.TargetID))
	t.Cleanup(cancel)
	return attach(t, ctx, url)
}

func (tab tab) bringToFront(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	if _, err := chromedp.Call(ctx, page.BringToFront, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
}

// TestAPageOfTheFunctionsHearsFromARelay: the functions name its address, and have no
// streams of their own. The page's values are those of the functions.
func TestAPageOfTheFunctionsHearsFromARelay(t *testing.T) {
	app, port := openWebApp(t), freeport.Take()
	relay := "http://127.0.0.1:" + port
	base, workspace := startHosted(t, relay, nil)
	secret := issueKey(t, workspace, access.KeyRequest{Kind: access.KindSecretSDK, Name: "relay", Environment: "development"})
	public := issueKey(t, workspace, access.KeyRequest{Kind: access.KindPublicSDK, Name: "page", Environment: "development"})
	person := issueKey(t, workspace, access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: "ada@acme.example", Roles: []string{"protected_engineer"}})
	file := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(file, []byte(secret), 0o600))
	if problem := launch(t, "serve", "--url", base, "--key-file", file, "--port", port); problem != "" {
		t.Fatal(problem)
	}
	app.mustStart(t, map[string]any{"baseUrl": base, "headers": [][2]string{{"X-API-Key", public}}}, member)
	app.waitForStream(t, relay)
	headline := question{"string", "pricing.headline", "none"}
	before := app.value(t, headline)
	write := func(value string) {
		t.Helper()
		if status, answer := request(t, "PATCH", base+"/v1/flags/pricing.headline/environments/development", person, `{"value":"`+value+`"}`); status != 200 {
			t.Fatal(status, answer)
		}
		app.waitForValue(t, "a write", headline, value)
	}
	if before == "none" || before == "Buy now" {
		t.Fatalf("at first it is %v", before)
	}
	write("Buy now")
	write("Buy today")
	if asked := app.log.answered(relay + "/ofrep/v1/evaluate"); len(asked) > 0 {
		t.Errorf("the page asks the relay for values: %v", asked)
	}
}
