package releasetest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// TestAGuardTakesARolloutBack has a real Prometheus scrape an application whose error rate
// rises: svc guard takes back what others had approved.
func TestAGuardTakesARolloutBack(t *testing.T) {
	prometheus := testenv.Program(t, "on Debian, apt-get install prometheus", "prometheus")
	binary := must.Get(svcbinary.Swift())(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	var rate atomic.Value
	rate.Store("0.01")
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "error_rate %s\n", rate.Load())
	}))
	t.Cleanup(application.Close)
	settings, address := filepath.Join(dir, "prometheus.yaml"), "127.0.0.1:"+freeport.Take()
	write(t, settings, fmt.Appendf(nil, "global: {scrape_interval: 200ms}\nscrape_configs: [{job_name: shop, static_configs: [{targets: [%q]}]}]\n",
		strings.TrimPrefix(application.URL, "http://")))
	scraper := exec.Command(prometheus, "--config.file="+settings, "--storage.tsdb.path="+filepath.Join(dir, "series"),
		"--web.listen-address="+address, "--log.level=error")
	scraper.Stderr = t.Output()
	must.Do(t, scraper.Start())
	t.Cleanup(func() { scraper.Process.Kill(); scraper.Wait() })

	files := filepath.Join(dir, "files")
	must.Do(t, os.MkdirAll(filepath.Join(files, "feature-flags"), 0o755))
	write(t, filepath.Join(files, "svc.json"), []byte(`{"environments": ["production"], "review": {"production": {"approvals": 1}}}`))
	write(t, filepath.Join(files, "feature-flags", "shop.json"), []byte(`{"key": "shop", "type": "feature_flag", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}}`))
	port := freeport.Take()
	server := must.Get(svcbinary.Start(binary, "api", "--data", data, "--import", files, "--port", port))(t)
	t.Cleanup(server.Kill)
	key := func(name, kind string) []string {
		secret := strings.TrimSpace(run(t, dir, nil, binary, "key", "create", "--data", data, "--name", name, "--kind", kind, "--role", "engineer"))
		return []string{"SVC_API_URL=http://127.0.0.1:" + port + "/v1", "SVC_API_KEY=" + secret}
	}
	ada, grace, watch, other := key("ada", "user"), key("grace", "user"), key("watch", "service-account"), key("other", "service-account")
	write(t, filepath.Join(dir, "change.json"), []byte(`[{"op": "patch", "type": "feature_flag", "key": "shop", "environment": "production", "body": {"enabled": true}}]`))
	svc := func(env []string, args ...string) string { return run(t, dir, env, binary, args...) }
	svc(ada, "request", "create", "change.json", "--title", "Launch")
	svc(grace, "request", "approve", "1")
	svc(ada, "request", "apply", "1", "--guard", "watch")

	guard := func(env []string) (cmd *exec.Cmd, said *bytes.Buffer) {
		cmd, said = exec.Command(binary, "guard", "--key", "shop", "--environment", "production", "--prometheus", "http://"+address,
			"--query", "error_rate", "--above", "0.05", "--for", "2m", "--hold", "2s", "--every", "1s"), &bytes.Buffer{}
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), said, said
		return cmd, said
	}
	if cmd, said := guard(other); cmd.Run() == nil || !strings.Contains(said.String(), "does not name the account of this key as its guard") {
		t.Errorf("another account: %s", said)
	}
	for end := time.Now().Add(30 * time.Second); !found(t, "http://"+address, "error_rate") && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	cmd, said := guard(watch)
	must.Do(t, cmd.Start())
	time.Sleep(3 * time.Second) // of what is well
	risen := time.Now()
	rate.Store("0.23")
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the guard ends with %v", err)
	}
	if took := time.Since(risen); took > 30*time.Second {
		t.Errorf("taken back after %v", took)
	} else {
		t.Logf("taken back %v after the rate rose, which has to be so for 2 s", took.Round(100*time.Millisecond))
	}
	for _, line := range []string{"fine: nothing is above 0.05", "wrong since ", "Taken back by a guard: the value is 0.23, above 0.05", "1 item changed by the commit "} {
		if !strings.Contains(said.String(), line) {
			t.Errorf("it has not said %q: %s", line, said)
		}
	}
	message := run(t, dir, nil, "git", "--git-dir", filepath.Join(data, "repository.git"), "log", "-1", "--format=%an%n%B", "main")
	for _, line := range []string{"watch\nTaken back by a guard: the value is 0.23, above 0.05\n", "\nThe query error_rate\n", "\nSvc-Undoes: ", "\nSvc-Review-Exempt: production\n"} {
		if !strings.Contains(message, line) {
			t.Errorf("the commit lacks %q: %s", line, message)
		}
	}
	// The last change is the guard's own by now: taken back, it would be what did harm.
	if cmd, said := guard(watch); cmd.Run() == nil || !strings.Contains(said.String(), "which took one back: there is nothing to watch") {
		t.Errorf("again: %s", said)
	}
}
