package releasetest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

const monitoring = "../../packaging/monitoring"

func TestAlertsRingWhenTheyShould(t *testing.T) {
	promtool := testenv.Program(t, "on Debian, apt-get install prometheus", "promtool")
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = monitoring
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	tests := must.Get(os.ReadFile(filepath.Join(monitoring, "alerts_test.yaml")))(t)
	guide := must.Get(os.ReadFile(filepath.Join(monitoring, "README.md")))(t)
	for _, rule := range alerts(t) {
		if !strings.Contains(string(tests), "alertname: "+rule.Alert+"\n") {
			t.Errorf("%s: no test has it ring", rule.Alert)
		}
		if !strings.Contains(string(guide), "| `"+rule.Alert+"` |") {
			t.Errorf("%s: the guide does not say what to do", rule.Alert)
		}
	}
}

// TestMonitoringShowsWhatThereIs has a real Prometheus scrape a real svc api and a
// relay of it: every panel of the dashboard shows something, and whatever an alert
// looks at is there.
func TestMonitoringShowsWhatThereIs(t *testing.T) {
	prometheus := testenv.Program(t, "on Debian, apt-get install prometheus", "prometheus")
	binary := must.Get(svcbinary.Swift())(t)
	dir := t.TempDir()
	data, keyFile, settings := filepath.Join(dir, "data"), filepath.Join(dir, "relay.key"), filepath.Join(dir, "prometheus.yaml")
	start := func(args ...string) (address, metrics string) {
		port := freeport.Take()
		address, metrics = "127.0.0.1:"+port, "127.0.0.1:"+freeport.Take()
		server := must.Get(svcbinary.Start(binary, append(args, "--port", port, "--metrics-address", metrics)...))(t)
		t.Cleanup(server.Kill)
		return address, metrics
	}
	key := func(args ...string) string {
		return strings.TrimSpace(run(t, dir, nil, binary, append([]string{"key", "create", "--data", data, "--name", "a"}, args...)...))
	}
	api, apiMetrics := start("api", "--data", data, "--remote", "https://127.0.0.1:1/flags.git")
	ada, secret := key("--kind", "user", "--role", "engineer"), key("--kind", "secret", "--environment", "production")
	write(t, keyFile, []byte(secret))
	relay, relayMetrics := start("serve", "--url", "http://"+api, "--key-file", keyFile)

	write(t, settings, fmt.Appendf(nil, `global: {scrape_interval: 200ms}
scrape_configs: [{job_name: svc, static_configs: [{targets: ["%s", "%s"]}]}]
`, apiMetrics, relayMetrics))
	address := "127.0.0.1:" + freeport.Take()
	scraper := exec.Command(prometheus, "--config.file="+settings, "--storage.tsdb.path="+filepath.Join(dir, "series"),
		"--web.listen-address="+address, "--log.level=error")
	scraper.Stderr = t.Output()
	must.Do(t, scraper.Start())
	t.Cleanup(func() { scraper.Process.Kill(); scraper.Wait() })

	asked := map[string]string{} // by what it is for
	for _, rule := range alerts(t) {
		for _, name := range metric.FindAllString(rule.Expr, -1) {
			asked[name+" of the alert "+rule.Alert] = name
		}
	}
	for title, expr := range panels(t) {
		asked["the panel "+title] = expr
	}
	if len(asked) < 25 {
		t.Fatalf("only %d expressions were found: %v", len(asked), asked)
	}
	for end := time.Now().Add(time.Minute); len(asked) > 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		fetch(t, "http://"+api+"/v1/flags", "Bearer "+ada)
		fetch(t, "http://"+relay+"/api/v2/configs/eval-with-context/"+context, "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+secret)))
		for title, expr := range asked {
			if found(t, "http://"+address, expr) {
				delete(asked, title)
			}
		}
	}
	for title, expr := range asked {
		t.Errorf("%s shows nothing: %s", title, expr)
	}
	for _, metrics := range []string{apiMetrics, relayMetrics} {
		check := exec.Command(testenv.Program(t, "on Debian, apt-get install prometheus", "promtool"), "check", "metrics")
		check.Stdin = bytes.NewReader(fetch(t, "http://"+metrics+"/metrics", ""))
		if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, out)
		}
	}
}

var metric = regexp.MustCompile(`\b(svc_\w+|process_\w+|go_\w+|up\b)`)

type alert struct{ Alert, Expr string }

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	text, err := os.ReadFile(filepath.Join(monitoring, "alerts.yaml"))
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil || len(file.Groups) != 1 || len(file.Groups[0].Rules) == 0 {
		t.Fatalf("alerts.yaml: %v", err)
	}
	return file.Groups[0].Rules
}

// panels returns what the dashboard asks for, as Grafana would send it.
func panels(t *testing.T) map[string]string {
	t.Helper()
	type target struct{ Expr string }
	var dashboard struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []target
		}
		Annotations struct{ List []target }
	}
	text, err := os.ReadFile(filepath.Join(monitoring, "dashboard.json"))
	if err == nil {
		err = json.Unmarshal(text, &dashboard)
	}
	if err != nil {
		t.Fatalf("dashboard.json: %v", err)
	}
	filled := strings.NewReplacer("$__rate_interval", "2s", "$job", ".*", "$instance", ".*")
	exprs := map[string]string{}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %q asks for nothing", p.Title)
		}
		for i, of := range p.Targets {
			exprs[fmt.Sprintf("%s/%d", p.Title, i)] = filled.Replace(of.Expr)
		}
	}
	return exprs
}

// found reports whether Prometheus has any series for an expression.
func found(t *testing.T, base, expr string) bool {
	t.Helper()
	text := fetch(t, base+"/api/v1/query?query="+url.QueryEscape(expr), "")
	if text == nil {
		return false // it starts
	}
	var answer struct {
		Status, Error string
		Data          struct{ Result []any }
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %v %s", expr, err, answer.Error)
	}
	return len(answer.Data.Result) > 0
}

// fetch returns what an address answers, and nothing while nobody is ready there.
func fetch(t *testing.T, address, authorization string) []byte {
	t.Helper()
	request := must.Get(http.NewRequest(http.MethodGet, address, nil))(t)
	if authorization != "" {
		request.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusServiceUnavailable {
		return nil
	}
	text := must.Get(io.ReadAll(answer.Body))(t)
	return text
}
