package browsertest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/testenv"
)

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
	must(t, os.WriteFile(config, []byte(text), 0o600))
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
	must(t, os.WriteFile(config, []byte("{\n\tadmin off\n}\n"+caddyfile), 0o600))
	cmd := exec.Command(path, "run", "--config", config, "--adapter", "caddyfile")
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	return proxy(t, port, cmd)
}

// proxy starts one and waits until it listens.
func proxy(t *testing.T, port string, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = t.Output()
	must(t, cmd.Start())
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
		"nginx with its own settings": func(a *workspace, t *testing.T, _ string) string { return behindNginx(t, a.base) },
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
	must(t, os.WriteFile(key, []byte(w.applicationKey(t, "secret", "development")), 0o600))
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
	out, err := listener.StdoutPipe()
	must(t, err)
	must(t, listener.Start())
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
