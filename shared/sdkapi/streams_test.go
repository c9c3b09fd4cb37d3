package sdkapi_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/client"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
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
	r := must.Get(http.NewRequestWithContext(s.Context(), "GET", s.URL+path, nil))(s.T)
	if key != "" {
		r.SetBasicAuth("1", key)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := must.Get(http.DefaultClient.Do(r))(s.T)
	s.Cleanup(func() { answer.Body.Close() })
	return answer
}

// event reads the id and the data of the next event.
func event(t *testing.T, in *bufio.Reader) (id, data string) {
	t.Helper()
	for {
		line := must.Get(in.ReadString('\n'))(t)
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
		if got := s.open(tt.path, tt.key, "X-Forwarded-For", "2001:db8:0:"+tt.address+"::1"); got.StatusCode != tt.status {
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

// TestStreamsTellOfPrerequisites: also who only asks for a flag is told of its change, in its
// environment alone, under the version that polls have.
func TestStreamsTellOfPrerequisites(t *testing.T) {
	const off = `{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}`
	flag := func(key, rules, environments string) map[string]string {
		return map[string]string{"feature-flags/" + key + ".json": `{"key":"` + key + `","type":"feature_flag","valueType":"bool","default":{"rules":[` + rules + `]},"environments":[` + environments + `]}`}
	}
	on := func(environment string) string {
		return `{"id":"` + environment + `","rules":[` + strings.Replace(off, "false", "true", 1) + `]}`
	}
	files := flag("base", off, "")
	maps.Copy(files, flag("asks", `{"criteria":[{"operator":"FLAG_IS_ONE_OF","propertyName":"base","valueToMatch":{"type":"string_list","value":["true"]}}],"value":{"type":"bool","value":true}},`+off, ""))
	files["svc.json"] = `{"environments":["development","production"],"prerequisites":true}`
	s := newStreaming(t, files)
	public, secret := s.key(access.KindPublicSDK, "production"), s.key(access.KindSecretSDK, "production")
	client, sdk := bufio.NewReader(s.open(s.address(public), "").Body), bufio.NewReader(s.open("/api/v2/sse/config", secret).Body)
	event(t, sdk) // the state at first
	before := s.send("POST", ofrepAll+"/asks", public, "{}").Body.String()
	s.commit(flag("base", off, on("development")))
	time.Sleep(150 * time.Millisecond)
	s.commit(flag("base", off, on("production")))
	if id, _ := event(t, client); id != versionIn(t, s.send("POST", ofrepAll, public, "{}")) {
		t.Errorf("browsers are told of %s", id)
	}
	if id, data := event(t, sdk); id != versionIn(t, s.send("GET", "/api/v2/configs", secret, "")) {
		t.Errorf("servers are told of %s, %s", id, data)
	}
	if after := s.send("POST", ofrepAll+"/asks", public, "{}").Body.String(); !strings.Contains(before, `"value":false`) || !strings.Contains(after, `"value":true`) {
		t.Errorf("who asks serves %s, then %s", before, after)
	}
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
	parsed := must.Get(access.ParseKey(secret))(t)
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

// TestWhatARelayIsToldOfKeys, and of tokens, which only the workspace's own secret keys
// may ask about.
func TestWhatARelayIsToldOfKeys(t *testing.T) {
	w, other := newWorld(t, shop), newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "development")
	parsed := must.Get(access.ParseKey(public))(t)
	token := access.TokenOf(parsed.ID(), parsed.Digest(), "production").String()
	forged := access.TokenOf(parsed.ID(), sha256.Sum256([]byte("guess")), "production").String()
	for name, tt := range map[string]struct {
		from       *world
		key, query string
		code       int
		kind, read string
	}{
		"a public key":                   {w, public, "", 200, "public_sdk", "production"},
		"a secret key":                   {w, secret, "", 200, "secret_sdk", "development"},
		"no key":                         {w, "", "", 401, "", ""},
		"a key of another workspace":     {other, public, "", 401, "", ""},
		"a management key":               {w, w.key(access.KindUser, ""), "", 401, "", ""},
		"a token":                        {w, secret, "?token=" + token, 200, "public_sdk", "production"},
		"a token, asked by a public key": {w, public, "?token=" + token, 401, "", ""},
		"a token, asked by a stranger":   {w, "", "?token=" + token, 401, "", ""},
		"a token that was made up":       {w, secret, "?token=" + forged, 401, "", ""},
		"a token of another workspace":   {other, other.key(access.KindSecretSDK, "production"), "?token=" + token, 401, "", ""},
		"a text that is no token":        {w, secret, "?token=x", 401, "", ""},
	} {
		answer := tt.from.send("GET", "/api/v2/key"+tt.query, tt.key, "")
		if answer.Code != tt.code {
			t.Errorf("%s: %d %s, want %d", name, answer.Code, answer.Body, tt.code)
			continue
		}
		if answer.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages may read the answer", name)
		}
		if tt.code != 200 {
			continue
		}
		var got sdkapi.KeyDescription
		must.Do(t, json.Unmarshal(answer.Body.Bytes(), &got))
		if string(got.Kind) != tt.kind || got.Environment != tt.read || got.WorkspaceID != w.id || got.ID == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A key that is taken back is so for relays too.
	w.edit(func(r *local.Registry) error { _, err := r.RevokeKey(ctx, parsed.ID(), time.Now()); return err })
	for _, answer := range []int{w.send("GET", "/api/v2/key", public, "").Code, w.send("GET", "/api/v2/key?token="+token, secret, "").Code} {
		if answer != 401 {
			t.Errorf("a revoked key: %d", answer)
		}
	}
}

// TestTheClientVersionIsToldWhereTheRestLeadsToTheSameAnswers.
func TestTheClientVersionIsToldWhereTheRestLeadsToTheSameAnswers(t *testing.T) {
	w := newWorld(t, shop) // where only a config for servers is left out
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	told := func() string {
		var got struct{ Meta map[string]string }
		must.Do(t, json.Unmarshal(w.send("GET", configs, secret, "").Body.Bytes(), &got))
		return got.Meta["clientVersion"]
	}
	if want := versionIn(t, w.send("GET", polling, public, "")); told() != want {
		t.Errorf("told %q, browsers have %q", told(), want)
	}
	for path, text := range map[string]string{
		"segments/beta.json": strings.Replace(shop["segments/beta.json"], `["u-1"]`, `["u-1"],"confidential":true`, 1),
		"feature-flags/dark.json": strings.NewReplacer(`"operator":"IN_SEG"`, `"operator":"PROP_IS_ONE_OF","propertyName":"user.key"`,
			`{"type":"string","value":"beta"}`, `{"type":"string_list","value":["x"],"confidential":true}`).Replace(shop["feature-flags/dark.json"]),
	} {
		w.commit(map[string]string{path: text})
		if got := told(); got != "" {
			t.Errorf("%s is left out, and the version of clients is told: %s", path, got)
		}
		w.commit(map[string]string{path: shop[path]})
		if told() == "" {
			t.Error("it is not told again")
		}
	}
}

// TestTheClientOfThisProject reads what is served here, decrypts, follows a
// change, and reports its contexts.
func TestTheClientOfThisProject(t *testing.T) {
	master := client.NewKey()
	secret := must.Get(client.Encrypt(master, "key", "hunter2"))(t)
	files := map[string]string{"configs/key.json": strings.Replace(shop["configs/key.json"], "Y2lwaGVy", secret, 1)}
	for path, text := range shop {
		if files[path] == "" {
			files[path] = text
		}
	}
	w := newWorld(t, files)
	server := httptest.NewServer(w.handler)
	defer server.Close()
	app := must.Get(client.Open(ctx, client.Options{URL: server.URL, Key: w.key(access.KindSecretSDK, "production"),
		PollEvery: 10 * time.Millisecond, Telemetry: true,
		Getenv: func(name string) (string, bool) { return master, name == "MASTER" }}))(t)
	defer app.Close()
	someone := func(key string) *contexts.Set {
		return contexts.Named("user", map[string]any{"key": key, "name": "Ada"})
	}
	if !app.Bool(ctx, "dark", false, someone("u-1")) || app.Bool(ctx, "dark", true, someone("u-2")) {
		t.Error("a flag with a segment is decided otherwise than by the server")
	}
	if got := app.String(ctx, "key", "default", someone("u-1")); got != "hunter2" {
		t.Errorf("the secret is %q", got)
	}
	if got := app.String(ctx, "plain", "default", someone("u-1")); got != "default" {
		t.Errorf("a confidential value was sent, or what stands for it is served: %q", got)
	}
	version := app.Version()
	w.commit(map[string]string{"configs/plain.json": ""})
	for begin := time.Now(); app.Version() == version && time.Since(begin) < time.Minute; time.Sleep(5 * time.Millisecond) {
	}
	if app.Version() == version {
		t.Error("a change does not arrive")
	}
	must.Do(t, app.Close()) // which uploads what is left
	usage := must.Get(w.store.Usage(ctx, string(w.id), telemetry.MonthOf(telemetrytest.Now)))(t)
	if found := must.Get(w.store.Contexts(ctx, string(w.id), telemetry.Query{Text: "ada", Limit: 10}))(t); usage.Keys != 2 || len(found) != 2 {
		t.Errorf("%+v %+v", usage, found)
	}
}
