package directory

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/delivery"
)

const plainFlag = `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`

// TestStreamsOfADirectory: a stream reports edits; with a key it takes the key's token.
func TestStreamsOfADirectory(t *testing.T) {
	for _, tt := range []struct{ key, presented, address string }{
		{"", "", "/ofrep/v1/events"},
		{"dev", "dev", "/ofrep/v1/events?token=frontend."},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "feature-flags", "f.json")
		must(t, os.MkdirAll(filepath.Dir(file), 0o777))
		save := func(text string) {
			t.Helper()
			must(t, os.WriteFile(file, []byte(text), 0o666))
		}
		save(plainFlag)
		d, err := Open(dir, "development", func(string) {})
		must(t, err)
		h := &delivery.Handler{Tables: d.Tables(tt.key), Now: time.Now, Streams: d.Streams(tt.key, 2)}
		server := httptest.NewServer(h.Mux())
		t.Cleanup(server.Close)
		t.Cleanup(h.Streams.Hub.Close)
		go d.Follow(t.Context())

		ask := func(method, path string) *http.Response {
			t.Helper()
			r, _ := http.NewRequest(method, server.URL+path, nil)
			r.Header.Set("X-API-Key", tt.presented)
			answer, err := http.DefaultClient.Do(r)
			must(t, err)
			t.Cleanup(func() { answer.Body.Close() })
			return answer
		}
		body, _ := bufio.NewReader(ask("POST", "/ofrep/v1/evaluate/flags").Body).ReadString('\n')
		_, rest, _ := strings.Cut(body, `"requestUri":"`)
		address, _, _ := strings.Cut(rest, `"`)
		if !strings.HasPrefix(address, tt.address) || !strings.Contains(body, `"inactivityDelaySec":5`) {
			t.Fatalf("%s in %s", address, body)
		}
		if tt.key != "" {
			for _, wrong := range []string{"/ofrep/v1/events", "/ofrep/v1/events?token=frontend", address + "x", "/ofrep/v1/events?token=" + tt.key} {
				if answer := ask("GET", wrong); answer.StatusCode != 401 {
					t.Errorf("%s: %d", wrong, answer.StatusCode)
				}
			}
		}
		stream := bufio.NewScanner(ask("GET", address).Body)
		for stream.Scan() && !strings.HasPrefix(stream.Text(), "id: ") {
		}
		save(strings.Replace(plainFlag, `"value":false`, `"value":true`, 1))
		for stream.Scan() && !strings.HasPrefix(stream.Text(), "id: ") {
		}
		if want := "id: " + d.table.Load().Version; stream.Text() != want {
			t.Errorf("%q, want %q", stream.Text(), want)
		}
		for _, path := range []string{"/api/v2/sse/config", "/ofrep/v1/events/x"} {
			if answer := ask("GET", path); answer.StatusCode != 404 {
				t.Errorf("%s: %d", path, answer.StatusCode)
			}
		}
	}
}
