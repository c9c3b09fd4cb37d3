package directory_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

func TestMain(m *testing.M) { os.Exit(svcbinary.Run(m.Run)) }

// targeted is a flag with three targeting rules, a bit more than a kilobyte.
const targeted = `{
  "key": "%[1]s",
  "type": "feature_flag",
  "valueType": "string",
  "access": "standard",
  "tags": ["revision-%[2]d"],
  "default": {
    "rules": [
      {"criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["plan-%[3]d", "plan-%[4]d"]}}], "value": {"type": "string", "value": "by plan"}},
      {"criteria": [{"operator": "PROP_ENDS_WITH_ONE_OF", "propertyName": "user.email", "valueToMatch": {"type": "string_list", "value": ["@team%[3]d.example"]}}, {"operator": "PROP_IS_ONE_OF", "propertyName": "user.country", "valueToMatch": {"type": "string_list", "value": ["DE", "FR"]}}], "value": {"type": "string", "value": "by team"}},
      {"criteria": [{"operator": "PROP_GREATER_THAN", "propertyName": "user.orders", "valueToMatch": {"type": "int", "value": %[3]d}}], "value": {"type": "string", "value": "by orders"}},
      {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "string", "value": "everyone else %[2]d"}}
    ]
  },
  "environments": [],
  "variants": []
}
`

// TestResidentMemoryOfALargeDirectory serves 10,000 flags, 11 MB of text, and
// changes one of them 20 times. What counts is the most that the process has
// had resident at any moment: old and new state are both there while it reloads.
//
// They are the tables, 10 MB each, the texts, 17 MB as they are read, and what
// is decoded of one document at a time; the collector adds a third, the program
// itself some 25 MB. That is some 85 MB; the bound leaves room for a collector
// that is late on a busy machine.
func TestResidentMemoryOfALargeDirectory(t *testing.T) {
	const most = 120 << 20
	dir := t.TempDir()
	write := func(i, revision int) {
		t.Helper()
		key := fmt.Sprintf("team%d.feature-%d", i%20, i)
		text := fmt.Sprintf(targeted, key, revision, i%50, (i+7)%50)
		must.Do(t, os.WriteFile(filepath.Join(dir, "feature-flags", key+".json"), []byte(text), 0o666))
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "feature-flags"), 0o777))
	must.Do(t, os.WriteFile(filepath.Join(dir, "svc.json"), []byte(`{"environments": ["development"]}`), 0o666))
	for i := range 10_000 {
		write(i, 0)
	}
	program := must.Get(svcbinary.Swift())(t)
	port := freeport.Take()
	server := must.Get(svcbinary.Start(program, "serve", "--datadir", dir, "--port", port))(t)
	defer server.Kill()
	address := "http://127.0.0.1:" + port
	begin := versionServed(t, address)
	for round := range 20 {
		write(round, 1)
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			version := versionServed(t, address)
			if version != begin {
				begin = version
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("change %d is not served\n%s", round, server.Log)
			}
		}
		poll(t, address+"/api/v2/configs/eval-with-context/e30=", http.MethodGet, "")
	}
	peak := resident(t, server.Process(), "VmHWM:")
	t.Logf("%d MB at most, %d MB now", peak>>20, resident(t, server.Process(), "VmRSS:")>>20)
	if peak > most {
		t.Errorf("%d MB were resident, more than %d", peak>>20, most>>20)
	}
}

func versionServed(t *testing.T, address string) string {
	t.Helper()
	var answer struct{ Metadata struct{ Version string } }
	text := poll(t, address+"/ofrep/v1/evaluate/flags/team0.feature-0", http.MethodPost, `{"context":{}}`)
	if err := json.Unmarshal(text, &answer); err != nil || answer.Metadata.Version == "" {
		t.Fatalf("%v %.200s", err, text)
	}
	return answer.Metadata.Version
}

func poll(t *testing.T, address, method, body string) []byte {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body)))(t)
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%d %v %.200s", response.StatusCode, err, text)
	}
	return text
}

// resident is a figure of a process's status, in bytes.
func resident(t *testing.T, pid int, name string) int64 {
	t.Helper()
	status := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kilobytes := must.Get(strconv.ParseInt(fields[1], 10, 64))(t)
			return kilobytes << 10
		}
	}
	t.Fatalf("no %s in\n%s", name, status)
	return 0
}
