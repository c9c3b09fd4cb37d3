package apitest

import (
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/relay"
	"svc.example/svc/shared/access"
)

// TestARelayOfTheFunctions answers as they do, learns from them what keys and tokens
// read within their rights, and hears of a write by polls.
func TestARelayOfTheFunctions(t *testing.T) {
	b := newBudgets(t, size{documents: 3, commits: 2})
	key, _, err := b.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindSecretSDK, Name: "relay", Environment: "production"})
	must(t, err)
	api := b.instance()
	functions := httptest.NewServer(api)
	defer functions.Close()
	r, err := relay.Open(relay.Options{URL: functions.URL + "/v1", Keys: []string{key.Reveal()}, Streams: 10, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	served := httptest.NewServer(r.Handler())
	defer served.Close()
	defer r.Close()
	must(t, r.Await(background(t)))
	ask := func(address string) (int, string, string) {
		t.Helper()
		q, err := http.NewRequest("GET", address+poll, nil)
		must(t, err)
		q.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+b.sdk)))
		answer, err := http.DefaultClient.Do(q)
		must(t, err)
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		must(t, err)
		return answer.StatusCode, answer.Header.Get("ETag"), string(body)
	}
	same := func() bool {
		t.Helper()
		wantStatus, wantTag, want := ask(functions.URL)
		status, tag, got := ask(served.URL)
		return wantStatus == 200 && status == wantStatus && tag == wantTag && got == want
	}
	if !same() {
		_, _, want := ask(functions.URL)
		_, _, got := ask(served.URL)
		t.Errorf("the relay answers %s, the functions %s", got, want)
	}
	// The token is of a key that the relay was shown, and of one that it was not.
	fresh, _, err := b.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "page", Environment: "production"})
	must(t, err)
	shown, err := access.ParseKey(b.sdk)
	must(t, err)
	for token, status := range map[string]int{
		access.TokenOf(fresh.ID(), fresh.Digest(), "production").String(): 200,
		access.TokenOf(shown.ID(), shown.Digest(), "production").String(): 200,
		access.TokenOf(shown.ID(), fresh.Digest(), "production").String(): 401,
	} {
		answer, err := http.Head(served.URL + "/ofrep/v1/events?token=" + token)
		must(t, err)
		answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("a token: %d, want %d", answer.StatusCode, status)
		}
	}
	q := httptest.NewRequest("PATCH", "/v1/flags/"+b.size.key(0)+"/environments/production", strings.NewReader(`{"enabled":true}`))
	q.Header.Set("Authorization", "Bearer "+b.keys[0])
	w := httptest.NewRecorder()
	api.ServeHTTP(w, q)
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	for end := time.Now().Add(20 * time.Second); !same(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a write does not reach the relay")
		}
	}
}
