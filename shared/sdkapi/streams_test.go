package sdkapi_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/must"
)

// streaming is a world with event streams, over real connections. Its clock is
// stopped.
type streaming struct {
	*world
	*httptest.Server
	hub *events.Hub
	now atomic.Int64
}

func newStreaming(t *testing.T, files map[string]string) *streaming {
	t.Helper()
	s := &streaming{hub: events.NewHub(10, 5*time.Millisecond)}
	s.now.Store(4000)
	s.world = newWorldWith(t, files, sdkapi.Options{Streams: s.hub, Proxies: ratelimit.Proxies{netip.MustParsePrefix("127.0.0.0/8")}, Now: func() time.Time { return time.UnixMilli(s.now.Load()) }})
	s.Server = httptest.NewServer(s.handler)
	t.Cleanup(s.Server.Close)
	t.Cleanup(s.hub.Close)
	return s
}

// address is where a bulk evaluation says that the stream of a key is.
func (s *streaming) address(key string) string {
	s.Helper()
	var answer struct {
		EventStreams []struct {
			Type     string
			Endpoint struct{ RequestURI string }
			Delay    int `json:"inactivityDelaySec"`
		}
	}
	body := s.send("POST", ofrepAll, key, "{}").Body.Bytes()
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.EventStreams) != 1 || answer.EventStreams[0].Type != "sse" || answer.EventStreams[0].Delay != 120 {
		s.Fatal(err, string(body))
	}
	return answer.EventStreams[0].Endpoint.RequestURI
}

// open opens a stream, with a secret key or none.
func (s *streaming) open(path, key string, header ...string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), "GET", s.URL+path, nil)
	must.Do(s.T, err)
	if key != "" {
		r.SetBasicAuth("1", key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	must.Do(s.T, err)
	s.Cleanup(func() { answer.Body.Close() })
	return answer
}

// event reads the id and the data of the next event.
func event(t *testing.T, in *bufio.Reader) (id, data string) {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		must.Do(t, err)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			return id, value
		}
	}
}

// TestEveryStreamIsCounted for the address and the key that it is of.
func TestEveryStreamIsCounted(t *testing.T) {
	s := newStreaming(t, shop)
	one, other, secret := s.address(s.key(access.KindPublicSDK, "production")), s.address(s.key(access.KindPublicSDK, "production")), s.key(access.KindSecretSDK, "production")
	for i, tt := range []struct {
		path, key, address string
		status             int
	}{
		{one, "", "a", 200}, {one, "", "a", 200}, {other, "", "a", 429}, {one, "", "b", 200}, {one, "", "b", 200}, {one, "", "c", 200}, {one, "", "c", 429}, {other, "", "c", 200},
		{"/api/v2/sse/config", secret, "a", 200}, {"/api/v2/sse/config", secret, "a", 200}, {"/api/v2/sse/config", secret, "a", 429}, {"/api/v2/sse/config", secret, "b", 200},
	} {
		got := s.open(tt.path, tt.key, "X-Forwarded-For", "2001:db8:0:"+tt.address+"::1")
		if got.StatusCode != tt.status {
			t.Errorf("%d: %d, want %d", i, got.StatusCode, tt.status)
		}
	}
}

// TestStreamsTellOfWhatPollsAnswer: of each change of the environment, and of no
// other; of rules that turn; and under the versions that polls have.
func TestStreamsTellOfWhatPollsAnswer(t *testing.T) {
	s := newStreaming(t, map[string]string{"svc.json": shop["svc.json"], "feature-flags/during.json": during})
	public, secret := s.key(access.KindPublicSDK, "production"), s.key(access.KindSecretSDK, "production")
	evaluations := s.open(s.address(public), "", "Origin", "https://shop.example")
	if evaluations.Header.Get("Access-Control-Allow-Origin") != "*" || evaluations.Header.Get("Content-Encoding") != "" {
		t.Error(evaluations.Header)
	}
	documents := s.open("/api/v2/sse/config", secret, "Accept-Encoding", "gzip")
	if documents.Header.Get("Access-Control-Allow-Origin") != "" || documents.Header.Get("Content-Encoding") != "" {
		t.Error(documents.Header)
	}
	client, sdk := bufio.NewReader(evaluations.Body), bufio.NewReader(documents.Body)
	check := func(what string, both bool) {
		t.Helper()
		if both {
			id, data := event(t, sdk)
			polled := s.send("GET", "/api/v2/configs", secret, "")
			if version := versionIn(t, polled); id != version || data != polled.Body.String() {
				t.Errorf("%s: documents of %s, %s\nwant %s, %s", what, id, data, version, polled.Body)
			}
		}
		if what == "at first" {
			return
		}
		id, data := event(t, client)
		var told struct {
			Type, ETag   string
			LastModified int64
		}
		must.Do(t, json.Unmarshal([]byte(data), &told))
		if version := versionIn(t, s.send("POST", ofrepAll, public, "{}")); id != version || told.Type != "refetchEvaluation" || told.ETag != `"`+version+`"` || told.LastModified == 0 {
			t.Errorf("%s: %s %s, want %s", what, id, data, version)
		}
	}
	check("at first", true)
	s.commit(map[string]string{"feature-flags/during.json": strings.Replace(during, "5000", "6000", 1)})
	check("a change", true)
	s.now.Store(7000)
	check("a rule that turns", false)
	// Nobody hears of what is another environment's: the next event is of the change after it.
	s.commit(map[string]string{"feature-flags/during.json": strings.Replace(strings.TrimSuffix(during, "}"), "5000", "6000", 1) +
		`,"environments":[{"id":"development","rules":[]}]}`})
	time.Sleep(150 * time.Millisecond)
	s.commit(map[string]string{"feature-flags/during.json": strings.Replace(during, "5000", "6500", 1)})
	check("a change after one elsewhere", true)
}

// TestWhoMayFollow: a token is good for the key that it stands for as long as that
// is good.
func TestWhoMayFollow(t *testing.T) {
	s := newStreaming(t, shop)
	public, secret := s.key(access.KindPublicSDK, "production"), s.key(access.KindSecretSDK, "production")
	good := s.address(public)
	id, mac, _ := strings.Cut(strings.TrimPrefix(good, "/ofrep/v1/events?token="), ".")
	other := s.address(s.key(access.KindPublicSDK, "development"))
	_, otherMAC, _ := strings.Cut(strings.TrimPrefix(other, "/ofrep/v1/events?token="), ".")
	parsed, err := access.ParseKey(secret)
	must.Do(t, err)
	const path = "/ofrep/v1/events"
	for name, tt := range map[string]struct {
		path, key string
		want      int
	}{
		"a good token":                       {good, "", 200},
		"a token with a key beside":          {good, public, 200},
		"a good token of another":            {other, "", 200},
		"no token":                           {path, "", 401},
		"a key and no token":                 {path, public, 401},
		"a key as a token":                   {path + "?token=" + public, "", 401},
		"one of another key's MAC":           {path + "?token=" + id + "." + otherMAC, "", 401},
		"one of a secret key":                {path + "?token=" + access.TokenOf(parsed.ID(), parsed.Digest(), "production").String(), "", 401},
		"documents with a secret key":        {"/api/v2/sse/config", secret, 200},
		"documents with a public key":        {"/api/v2/sse/config", public, 401},
		"documents without a key":            {"/api/v2/sse/config", "", 401},
		"documents with a token":             {"/api/v2/sse/config?token=" + id + "." + mac, "", 401},
		"evaluations of another environment": {path + "?token=" + access.TokenOf(parsed.ID(), parsed.Digest(), "development").String(), "", 401},
	} {
		answer := s.open(tt.path, tt.key)
		if answer.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, tt.want)
		}
		if strings.HasPrefix(answer.Header.Get("Www-Authenticate"), "Basic") && strings.HasPrefix(tt.path, path) {
			t.Errorf("%s: a browser would ask the user for a password", name)
		}
		answer.Body.Close()
	}
	for _, tt := range []struct{ path, key, origin string }{{good, "", "*"}, {"/api/v2/sse/config", secret, ""}} {
		if answer := s.send("POST", tt.path, tt.key, ""); answer.Code != 405 || answer.Header().Get("Access-Control-Allow-Origin") != tt.origin {
			t.Errorf("POST %s: %d %v", tt.path, answer.Code, answer.Header())
		}
	}
	s.edit(func(r *local.Registry) error { _, err := r.RevokeKey(ctx, access.ID(id), time.Now()); return err })
	if answer := s.open(good, ""); answer.StatusCode != 401 {
		t.Errorf("a revoked key: %d", answer.StatusCode)
	}
}

// TestAnEnvironmentThatGoes takes its streams with it.
func TestAnEnvironmentThatGoes(t *testing.T) {
	s := newStreaming(t, shop)
	address := s.address(s.key(access.KindPublicSDK, "production"))
	answer := s.open(address, "")
	s.commit(map[string]string{"svc.json": strings.Replace(shop["svc.json"], `"production"`, `"live"`, 1)})
	if _, err := bufio.NewReader(answer.Body).WriteTo(new(strings.Builder)); err != nil {
		t.Errorf("the stream does not end whole: %v", err)
	}
	if answer := s.open(address, ""); answer.StatusCode != 401 {
		t.Errorf("%d", answer.StatusCode)
	}
}

// TestAnswersNameAStreamServer where there is none here, and are told apart by the
// key that they name it to.
func TestAnswersNameAStreamServer(t *testing.T) {
	w := newWorldWith(t, shop, sdkapi.Options{StreamURL: "https://events.example.com"})
	one, other := w.key(access.KindPublicSDK, "production"), w.key(access.KindPublicSDK, "production")
	answer := w.send("POST", ofrepAll, one, "{}")
	if !strings.Contains(answer.Body.String(), `"eventStreams":[{"type":"sse","url":"https://events.example.com/ofrep/v1/events?token=`) {
		t.Error(answer.Body)
	}
	tag := answer.Header().Get("ETag")
	if again := w.send("POST", ofrepAll, one, "{}", "If-None-Match", tag); again.Code != 304 {
		t.Errorf("again: %d", again.Code)
	}
	if differs := w.send("POST", ofrepAll, other, "{}", "If-None-Match", tag); differs.Code != 200 {
		t.Errorf("another key, whose stream is another: %d", differs.Code)
	}
	if here := w.send("GET", "/ofrep/v1/events", "", ""); here.Code != 401 && here.Code != 404 {
		t.Errorf("here: %d", here.Code)
	}
}
