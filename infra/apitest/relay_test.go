package apitest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
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
	for end := time.Now().Add(time.Minute); !same(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a write does not reach the relay")
		}
	}
}

// TestAnswersOfTheFunctionsLeadToARelay: a page on another site asks the functions
// for values, and hears from the relay when there are others.
func TestAnswersOfTheFunctionsLeadToARelay(t *testing.T) {
	const site, bulk = "https://www.acme.example", "/ofrep/v1/evaluate/flags"
	b := newBudgets(t, size{documents: 1, commits: 1})
	key, _, err := b.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindSecretSDK, Name: "relay", Environment: "production"})
	must(t, err)
	served := httptest.NewUnstartedServer(nil)
	b.StreamURL = "http://" + served.Listener.Addr().String()
	api := b.instance()
	functions := httptest.NewServer(api)
	defer functions.Close()
	r, err := relay.Open(relay.Options{URL: functions.URL, Keys: []string{key.Reveal()}, Origins: []string{site}, Streams: 10, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	defer r.Close()
	served.Config.Handler = r.Handler()
	served.Start()
	defer served.Close()
	must(t, r.Await(background(t)))
	values := func(tag string) (answer *http.Response, stream string) {
		t.Helper()
		q, err := http.NewRequest("POST", functions.URL+bulk, strings.NewReader(`{"context":{}}`))
		must(t, err)
		q.Header.Set("Authorization", "Bearer "+b.sdk)
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("If-None-Match", tag)
		answer, err = http.DefaultClient.Do(q)
		must(t, err)
		defer answer.Body.Close()
		var body struct{ EventStreams []struct{ URL string } }
		if answer.StatusCode == 200 {
			must(t, json.NewDecoder(answer.Body).Decode(&body))
		}
		if len(body.EventStreams) == 1 {
			stream = body.EventStreams[0].URL
		}
		return answer, stream
	}
	before, stream := values("")
	if !strings.HasPrefix(stream, served.URL+"/") {
		t.Fatalf("%d; the stream is %q, not the relay's at %s", before.StatusCode, stream, served.URL)
	}
	q, err := http.NewRequestWithContext(background(t), "GET", stream, nil)
	must(t, err)
	q.Header.Set("Origin", site)
	q.Header.Set("Accept", "text/event-stream")
	events, err := http.DefaultClient.Do(q)
	must(t, err)
	defer events.Body.Close()
	if events.StatusCode != 200 || events.Header.Get("Access-Control-Allow-Origin") != site {
		t.Fatal(events.Status, events.Header)
	}
	w := httptest.NewRecorder()
	patch := httptest.NewRequest("PATCH", "/v1/flags/"+b.size.key(0)+"/environments/production", strings.NewReader(`{"enabled":true}`))
	patch.Header.Set("Authorization", "Bearer "+b.keys[0])
	api.ServeHTTP(w, patch)
	if w.Code != 200 {
		t.Fatal(w.Code, w.Body)
	}
	for lines := bufio.NewScanner(events.Body); ; {
		if !lines.Scan() {
			t.Fatal("the stream has ended: ", lines.Err())
		}
		if strings.Contains(lines.Text(), "refetchEvaluation") {
			break
		}
	}
	if after, _ := values(before.Header.Get("ETag")); after.StatusCode != 200 || after.Header.Get("ETag") == before.Header.Get("ETag") {
		t.Errorf("after the event the functions answer %s", after.Status)
	}
}
