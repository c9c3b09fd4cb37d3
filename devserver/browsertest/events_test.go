package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// TestWebProviderHearsOfEdits with its default options, and of what was edited while
// the server was away. Behind nginx a stream is answered with 502 then: a browser takes that
// for its end, and does not connect again by itself.
func TestWebProviderHearsOfEdits(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"with a key": "dev-key", "behind nginx": ""} {
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
			server := must.Get(svcbinary.Here(args...))(t)
			app.mustStart(t, options, member)
			app.waitForStream(t, base)
			must.Do(t, server.Stop()) // there was no event yet
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
			must.Do(t, os.WriteFile(path, []byte(strings.Replace(string(text), `"42"`, fmt.Sprintf(`"%d"`, value), 1)), 0o644))
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
	dir := everyTypeDir(t)
	base := "http://127.0.0.1:" + serve(t, dir)
	site := bundleSite(t, testdata(t, "web-provider.js"))
	tabs := []webApp{{openTab(t, site.origin("localhost"))}}
	for range 7 {
		tabs = append(tabs, webApp{tabs[0].openBehind(t, site.origin("localhost"))})
	}
	limit := question{"number", "limit", 0}
	for i, tab := range tabs {
		tab.mustStart(t, map[string]any{"baseUrl": base}, member)
		if i > 0 && call[string](t, tab.tab, `() => document.visibilityState`) != "hidden" {
			t.Fatalf("tab %d is not in the background", i)
		}
		tab.waitForValue(t, "at first", limit, 42.0)
	}
	edit(t, dir, "configs/limit.json", `"42"`, `"43"`)
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
	made := must.Get(chromedp.CallBrowser(tab.ctx, target.CreateTarget, target.CreateTargetParams{URL: "about:blank", BrowserContextID: info.BrowserContextID, Background: &behind}))(t)
	ctx, cancel := chromedp.NewContext(tab.ctx, chromedp.WithTargetID(made.TargetID))
	t.Cleanup(cancel)
	return attach(t, ctx, url)
}

func (tab tab) bringToFront(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(tab.ctx, patience)
	defer cancel()
	must.Get(chromedp.Call(ctx, page.BringToFront, cdp.Empty{}))(t)
}

// behindNginx starts nginx in front of a server, with the settings that it has by
// itself, and returns its address.
func behindNginx(t *testing.T, server string) string {
	port := freeport.Take()
	return nginx(t, port, fmt.Sprintf("server {\n\tlisten 127.0.0.1:%s;\n\tlocation / { proxy_pass %s; }\n}\n", port, server))
}

// nginx starts one that has these servers, of which one listens at the port.
func nginx(t *testing.T, port, servers string) string {
	t.Helper()
	path := testenv.Program(t, "on Debian, apt-get install nginx", "nginx")
	dir := t.TempDir()
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(`
daemon off;
master_process off;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	%[2]s
}
`, dir, servers)
	must.Do(t, os.WriteFile(config, []byte(text), 0o600))
	address := proxy(t, port, exec.Command(path, "-p", dir, "-c", config))
	t.Cleanup(func() {
		if log, err := os.ReadFile(filepath.Join(dir, "error.log")); err == nil && len(log) > 0 {
			t.Logf("nginx:\n%.2000s", log)
		}
	})
	return address
}

// behindCaddy starts Caddy with a Caddyfile, which listens at the port.
func behindCaddy(t *testing.T, port, caddyfile string) string {
	t.Helper()
	path := testenv.Program(t, "on Debian, apt-get install caddy", "caddy")
	dir := t.TempDir()
	config := filepath.Join(dir, "Caddyfile")
	must.Do(t, os.WriteFile(config, []byte("{\n\tadmin off\n}\n"+caddyfile), 0o600))
	cmd := exec.Command(path, "run", "--config", config, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	return proxy(t, port, cmd)
}

// proxy starts one and waits until it listens.
func proxy(t *testing.T, port string, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = t.Output()
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	eventually(t, cmd.Path+" listens", func() (any, bool) {
		c, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err == nil {
			c.Close()
		}
		return err, err == nil
	})
	return "http://127.0.0.1:" + port
}

// here has a snippet of the guide proxy for servers of this test, at a port of it
// and without TLS, whose certificates a test does not have.
func here(snippet, port string, servers ...string) string {
	text := regexp.MustCompile(`(?m)^ *ssl_.*\n`).ReplaceAllString(snippet, "")
	text = strings.NewReplacer("listen 443 ssl;", "listen 127.0.0.1:"+port+";", "flags.acme.example {", "http://127.0.0.1:"+port+" {").Replace(text)
	for _, server := range servers {
		_, at, _ := strings.Cut(server, "://")
		documented := regexp.MustCompile(`127\.0\.0\.1:65\d\d`).FindString(text)
		text = strings.Replace(text, documented, at, 1)
	}
	return text
}

// TestEventStreamsPassTheGuidesProxies: nginx and Caddy as the guide has them pass
// event streams, large bodies and the addresses of clients, and not the metrics.
func TestEventStreamsPassTheGuidesProxies(t *testing.T) {
	t.Parallel()
	a, value := serveWorkspace(t, everyTypeDir(t)), 42
	for name, behind := range map[string]func(a *workspace, t *testing.T, port string) string{
		"nginx": func(a *workspace, t *testing.T, port string) string {
			return nginx(t, port, here(guides.Snippet(t, "devserver/guides/operate.md", "nginx"), port, a.base))
		},
		"Caddy": func(a *workspace, t *testing.T, port string) string {
			return behindCaddy(t, port, here(guides.Snippet(t, "devserver/guides/operate.md", "caddy"), port, a.base))
		},
		"relays": func(a *workspace, t *testing.T, port string) string {
			return nginx(t, port, here(guides.Snippet(t, "devserver/guides/relays.md", "relays"), port, a.relay(t), a.relay(t)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := behind(a, t, freeport.Take())
			testEventStreams(t, a, base, value+1, value+2)
			value += 2
			if name != "nginx" && name != "Caddy" {
				return
			}
			large := `{"operations": [` + strings.Repeat(" ", 4<<20) + `]}`
			if status, _ := request(t, "POST", base+"/v1/changes", a.key(t, "Ada", "protected_engineer"), large); status != 400 {
				t.Errorf("a body of 4 MiB is answered with %d, and not by svc", status)
			}
		})
	}
}

// set writes the value of limit in development.
func (w *workspace) set(t *testing.T, key string, value int) {
	t.Helper()
	w.send(t, key, "PATCH", "/v1/configs/limit/environments/development", fmt.Sprintf(`{"value": %d}`, value))
}

// relay starts a relay of the workspace in development, and returns its address.
func (w *workspace) relay(t *testing.T) string {
	t.Helper()
	key, port := filepath.Join(t.TempDir(), "key"), freeport.Take()
	must.Do(t, os.WriteFile(key, []byte(w.applicationKey(t, "secret", "development")), 0o600))
	if problem := launch(t, "serve", "--url", w.base, "--key-file", key, "--port", port); problem != "" {
		t.Fatal(problem)
	}
	return "http://127.0.0.1:" + port
}

// testEventStreams writes to a workspace, and looks at base for what comes of it.
func testEventStreams(t *testing.T, a *workspace, base string, values ...int) {
	writer := a.key(t, "Ada", "protected_engineer")

	listener := node(t, testdata(t, "sdk-stream.js"))
	listener.Args = append(listener.Args, base+"/api/v2/sse/config", a.applicationKey(t, "secret", "development"))
	listener.Stderr = t.Output()
	out := must.Get(listener.StdoutPipe())(t)
	must.Do(t, listener.Start())
	hung := time.AfterFunc(3*patience, func() { listener.Process.Kill() })
	defer func() {
		hung.Stop()
		listener.Process.Kill()
		listener.Wait()
	}()
	events := json.NewDecoder(out)
	last := ""
	next := func(want string) {
		t.Helper()
		var event struct {
			ID      string
			Configs json.RawMessage
		}
		if err := events.Decode(&event); err != nil {
			t.Fatalf("waiting for %s: %v", want, err)
		}
		if event.ID == "" || event.ID == last || !strings.Contains(string(event.Configs), want) {
			t.Errorf("the event %q after %q, without %s: %.300s", event.ID, last, want, event.Configs)
		}
		last = event.ID
	}
	next(`"limit"`) // the present state, at once

	app := openWebApp(t)
	app.mustStart(t, map[string]any{"baseUrl": base, "headers": [][2]string{{"X-API-Key", a.applicationKey(t, "public", "development")}}}, member)
	app.waitForStream(t, base)
	for _, value := range values {
		a.set(t, writer, value)
		next(fmt.Sprintf(`"value":%d`, value))
		app.waitForValue(t, "a write", question{"number", "limit", 7}, float64(value))
	}
}
