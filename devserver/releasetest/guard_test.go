package releasetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// A shop is an application with an error rate, a Prometheus that scrapes it, and a svc api
// where others have to approve what production serves.
type shop struct {
	t                 *testing.T
	binary, dir, data string
	rate              atomic.Value // the errors that the application tells of
	address, api      string       // of Prometheus, and of svc api
	ada, grace        []string     // the keys of who launches and of who approves
	launches          int
}

// newShop starts one. Settings are what Prometheus is told beyond that it scrapes.
func newShop(t *testing.T, settings string) *shop {
	prometheus := testenv.Program(t, "on Debian, apt-get install prometheus", "prometheus")
	s := &shop{t: t, binary: must.Get(svcbinary.Swift())(t), dir: t.TempDir()}
	s.data = filepath.Join(s.dir, "data")
	s.rate.Store("0.01")
	application := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "error_rate %s\n", s.rate.Load())
	}))
	t.Cleanup(application.Close)
	address := "127.0.0.1:" + freeport.Take()
	s.address = "http://" + address
	write(t, filepath.Join(s.dir, "prometheus.yaml"), fmt.Appendf(nil, "global: {scrape_interval: 200ms, evaluation_interval: 1s}\nscrape_configs: [{job_name: shop, static_configs: [{targets: [%q]}]}]\n%s",
		strings.TrimPrefix(application.URL, "http://"), settings))
	s.start(prometheus, "--config.file=prometheus.yaml", "--storage.tsdb.path=series", "--web.listen-address="+address, "--log.level=error")

	files := filepath.Join(s.dir, "files")
	write(t, filepath.Join(files, "svc.json"), []byte(`{"environments": ["staging", "production"], "review": {"production": {"approvals": 1}}}`))
	write(t, filepath.Join(files, "feature-flags", "shop.json"), []byte(`{"key": "shop", "type": "feature_flag", "valueType": "bool", "default": {"rules": [{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}]}}`))
	port := freeport.Take()
	s.api = "http://127.0.0.1:" + port
	server := must.Get(svcbinary.Start(s.binary, "api", "--data", s.data, "--import", files, "--port", port))(t)
	t.Cleanup(server.Kill)
	s.ada, s.grace = s.key("ada", "user"), s.key("grace", "user")
	s.until("Prometheus scrapes", func() bool { return found(t, s.address, "error_rate") })
	return s
}

// start runs a program until the test ends.
func (s *shop) start(program string, args ...string) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stderr = s.dir, s.t.Output()
	must.Do(s.t, cmd.Start())
	s.t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

// secret makes a key of an account.
func (s *shop) secret(name, kind string) string {
	return strings.TrimSpace(run(s.t, s.dir, nil, s.binary, "key", "create", "--data", s.data, "--name", name, "--kind", kind, "--role", "engineer"))
}

// key is the environment of commands with a new key of an account.
func (s *shop) key(name, kind string) []string {
	return []string{"SVC_API_URL=" + s.api + "/v1", "SVC_API_KEY=" + s.secret(name, kind)}
}

// launch has the flag live in production: ada asks, grace approves.
func (s *shop) launch(guard string) {
	write(s.t, filepath.Join(s.dir, "change.json"), []byte(`[{"op": "patch", "type": "feature_flag", "key": "shop", "environment": "production", "body": {"enabled": true}}]`))
	s.launches++
	number := strconv.Itoa(s.launches)
	run(s.t, s.dir, s.ada, s.binary, "request", "create", "change.json", "--title", "Launch")
	run(s.t, s.dir, s.grace, s.binary, "request", "approve", number)
	run(s.t, s.dir, s.ada, s.binary, "request", "apply", number, "--guard", guard)
}

// until waits, half a minute at most.
func (s *shop) until(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not within 30 s: %s", what)
		}
	}
}

// last is the message of the last commit, behind who made it.
func (s *shop) last() string {
	return run(s.t, s.dir, nil, "git", "--git-dir", filepath.Join(s.data, "repository.git"), "log", "-1", "--format=%an%n%B", "main")
}

// TestAGuardTakesARolloutBack has a real Prometheus scrape an application whose error rate
// rises: svc guard takes back what others had approved.
func TestAGuardTakesARolloutBack(t *testing.T) {
	s := newShop(t, "")
	watch, other := s.key("watch", "service-account"), s.key("other", "service-account")
	s.launch("watch")

	guard := func(env []string) (cmd *exec.Cmd, said *bytes.Buffer) {
		cmd, said = exec.Command(s.binary, "guard", "--key", "shop", "--environment", "production", "--prometheus", s.address,
			"--query", "error_rate", "--above", "0.05", "--for", "2m", "--hold", "2s", "--every", "1s"), &bytes.Buffer{}
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), env...), said, said
		return cmd, said
	}
	if cmd, said := guard(other); cmd.Run() == nil || !strings.Contains(said.String(), "does not name the account of this key as its guard") {
		t.Errorf("another account: %s", said)
	}
	cmd, said := guard(watch)
	must.Do(t, cmd.Start())
	time.Sleep(3 * time.Second) // of what is well
	risen := time.Now()
	s.rate.Store("0.23")
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
	message := s.last()
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

// TestAnAlertTakesARolloutBack has a real Prometheus tell a real Alertmanager, set up as the
// guide says, of an error rate that rises: it is enough to take back what others had approved,
// and again what they approved after that, and nothing else.
func TestAnAlertTakesARolloutBack(t *testing.T) {
	alertmanager := testenv.Program(t, "on Debian, apt-get install prometheus-alertmanager", "prometheus-alertmanager", "alertmanager")
	dir, address := t.TempDir(), "127.0.0.1:"+freeport.Take()
	rules, config, key := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "alertmanager.yaml"), filepath.Join(dir, "guard.key")
	write(t, rules, []byte(`groups:
  - name: shop
    rules:
      - alert: CheckoutErrors
        expr: error_rate > 0.05
        for: 2s
        annotations: {summary: "{{ $value | humanizePercentage }} of the orders fail"}
`))
	s := newShop(t, fmt.Sprintf("rule_files: [%q]\nalerting: {alertmanagers: [{static_configs: [{targets: [%q]}]}]}\n", rules, address))
	write(t, key, []byte(s.secret("error-rate-watch", "guard")+"\n"))
	guide := guides.Snippet(t, "devserver/guides/scripts.md", "alertmanager")
	for documented, here := range map[string]string{"https://flags.example.com": s.api, "/etc/alertmanager/svc-guard.key": key} {
		if strings.Count(guide, documented) != 1 {
			t.Fatalf("the guide has not one %s", documented)
		}
		guide = strings.Replace(guide, documented, here, 1)
	}
	write(t, config, []byte(guide))
	s.start(alertmanager, "--config.file="+config, "--storage.path=alerts", "--web.listen-address="+address, "--cluster.listen-address=", "--log.level=warn")
	s.until("Alertmanager is ready", func() bool { return len(fetch(t, "http://"+address+"/-/ready", "")) > 0 })
	s.until("Prometheus knows Alertmanager", func() bool {
		return strings.Contains(string(fetch(t, s.address+"/api/v1/alertmanagers", "")), address)
	})

	s.secret("other", "service-account")
	authorization := "Bearer " + s.secret("reader", "service-account")
	statuses := func() string {
		var flag struct{ EnvironmentStatuses map[string]string }
		must.Do(t, json.Unmarshal(fetch(t, s.api+"/v1/flags/shop", authorization), &flag))
		return fmt.Sprint(flag.EnvironmentStatuses)
	}
	fires := func() bool { return found(t, s.address, `ALERTS{alertstate="firing"}`) }
	const launched, back = "map[production:live staging:live]", "map[production:pre_rollout staging:live]"
	for round := range 2 {
		s.launch("error-rate-watch")
		if round == 0 { // of somebody else, in the same document, for another guard
			run(t, s.dir, s.grace, s.binary, "copy", "production", "staging", "shop", "--guard", "other")
		}
		if got := statuses(); got != launched {
			t.Fatalf("launched, it is %s", got)
		}
		s.rate.Store("0.23")
		s.until("the alert fires", fires)
		fired := time.Now()
		s.until("the alert that fires takes the launch back", func() bool { return statuses() == back })
		t.Logf("taken back %v after the alert fired", time.Since(fired).Round(100*time.Millisecond))
		message := s.last()
		for _, line := range []string{"error-rate-watch\nTaken back by a guard: Alertmanager says that CheckoutErrors fires\n", "\n23% of the orders fail\n", "\nSvc-Undoes: ", "\nSvc-Review-Exempt: production\n"} {
			if !strings.Contains(message, line) {
				t.Errorf("the commit lacks %q: %s", line, message)
			}
		}
		s.rate.Store("0.01")
		s.until("the alert ends", func() bool { return !fires() })
		if round == 0 {
			time.Sleep(15 * time.Second) // more than the guide's group_interval, after which Alertmanager knows
		}
	}
}
