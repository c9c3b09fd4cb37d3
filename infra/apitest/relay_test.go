package apitest

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"svc.example/svc/devserver/relay"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// TestARelayOfTheFunctions: a page on another site asks the functions for values and is
// led to the relay. The relay answers as the functions do, learns from them what keys and
// tokens may read, and tells the page of a write.
func TestARelayOfTheFunctions(t *testing.T) {
	const site = "https://www.acme.example"
	b := newBudgets(t, size{documents: 3, commits: 2})
	key, _, err := b.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindSecretSDK, Name: "relay", Environment: "production"})
	must.Do(t, err)
	served := httptest.NewUnstartedServer(nil)
	b.StreamURL = "http://" + served.Listener.Addr().String()
	api := b.instance()
	functions := httptest.NewServer(api)
	defer functions.Close()
	r := must.Get(relay.Open(relay.Options{URL: functions.URL + "/v1", Keys: []string{key.Reveal()}, Origins: []string{site}, Streams: 10, Logger: slog.New(slog.DiscardHandler)}))(t)
	defer r.Close()
	served.Config.Handler = r.Handler()
	served.Start()
	defer served.Close()
	must.Do(t, r.Await(background(t)))
	evaluate := func(address string) (tag, body string) {
		t.Helper()
		q := must.Get(http.NewRequestWithContext(background(t), "POST", address+"/ofrep/v1/evaluate/flags", strings.NewReader(`{"context":{}}`)))(t)
		q.Header.Set("Authorization", "Bearer "+b.sdk)
		answer := must.Get(http.DefaultClient.Do(q))(t)
		defer answer.Body.Close()
		text := must.Get(io.ReadAll(answer.Body))(t)
		if answer.StatusCode != 200 {
			t.Fatalf("%s: %d %s", address, answer.StatusCode, text)
		}
		return answer.Header.Get("ETag"), string(text)
	}
	var told struct {
		Flags        json.RawMessage
		EventStreams []struct{ URL string }
	}
	flags := func(body string) string {
		t.Helper()
		must.Do(t, json.Unmarshal([]byte(body), &told))
		return string(told.Flags)
	}
	_, theirs := evaluate(served.URL)
	before, ours := evaluate(functions.URL)
	if flags(theirs) != flags(ours) || len(told.EventStreams) != 1 || !strings.HasPrefix(told.EventStreams[0].URL, served.URL+"/") {
		t.Fatalf("the relay answers %s, the functions %s", theirs, ours)
	}
	// The token is of a key that the relay was shown, and of one that it was not.
	fresh, _, err := b.workspace.IssueKey(background(t), "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "page", Environment: "production"})
	must.Do(t, err)
	shown := must.Get(access.ParseKey(b.sdk))(t)
	for token, status := range map[string]int{
		access.TokenOf(fresh.ID(), fresh.Digest(), "production").String(): 200,
		access.TokenOf(shown.ID(), shown.Digest(), "production").String(): 200,
		access.TokenOf(shown.ID(), fresh.Digest(), "production").String(): 401,
	} {
		answer := must.Get(http.Head(served.URL + "/ofrep/v1/events?token=" + token))(t)
		answer.Body.Close()
		if answer.StatusCode != status {
			t.Errorf("a token: %d, want %d", answer.StatusCode, status)
		}
	}
	q := must.Get(http.NewRequestWithContext(background(t), "GET", told.EventStreams[0].URL, nil))(t)
	q.Header.Set("Origin", site)
	events := must.Get(http.DefaultClient.Do(q))(t)
	defer events.Body.Close()
	if events.StatusCode != 200 || events.Header.Get("Access-Control-Allow-Origin") != site {
		t.Fatal(events.Status, events.Header)
	}
	b.asks(api, "PATCH", "/v1/flags/"+b.size.key(0)+"/environments/production", `{"enabled":true}`)
	for lines := bufio.NewScanner(events.Body); !strings.Contains(lines.Text(), "refetchEvaluation"); {
		if !lines.Scan() {
			t.Fatal("the stream has ended: ", lines.Err())
		}
	}
	_, theirs = evaluate(served.URL)
	if after, ours := evaluate(functions.URL); after == before || flags(theirs) != flags(ours) {
		t.Errorf("after the event the relay answers %s, the functions %s", theirs, ours)
	}
}
