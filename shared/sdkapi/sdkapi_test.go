package sdkapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/testing/documents"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/telemetrytest"
	"svc.example/svc/shared/versions"
)

const (
	polling = "/api/v2/configs/eval-with-context/e30"
	configs = "/api/v2/configs"
	posting = "/api/v1/telemetry/"
)

var shop = documents.Files("testdata/shop.txtar")

func TestConfigs(t *testing.T) {
	w := newWorld(t, shop)
	answer := w.send("GET", configs, w.key(access.KindSecretSDK, "production"), "")
	if answer.Code != 200 {
		t.Fatal(answer.Code, answer.Body)
	}
	text := answer.Body.String()
	if strings.Contains(text, "hunter2") {
		t.Errorf("a confidential value is sent: %s", text)
	}
	var got struct {
		Configs []map[string]json.RawMessage
		Meta    map[string]string
	}
	must.Do(t, json.Unmarshal(answer.Body.Bytes(), &got))
	rows := map[string]string{}
	var order []string
	for _, row := range got.Configs {
		key := strings.Trim(string(row["key"]), `"`)
		order = append(order, key)
		all := must.Get(json.Marshal(row))(t)
		rows[key] = string(all)
	}
	if strings.Join(order, " ") != "beta dark json key leaky log-level.shop master plain split" {
		t.Errorf("%v", order)
	}
	head := must.Get(w.ledger.Head(ctx))(t)
	state, _ := w.state(head)
	if got.Meta["version"] != state.Of("production", versions.SaltOf([]byte(secret))).SDK.String() || got.Meta["environment"] != "production" || got.Meta["workspaceId"] != string(w.id) {
		t.Errorf("%v", got.Meta)
	}
	for key, want := range map[string]string{
		"dark": `{"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]},"environment":{"id":"production","rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"beta"}}],"value":{"type":"bool","value":true}}]},"id":"17","key":"dark","sendToClientSdk":false,"type":"feature_flag","valueType":"bool","variants":[{"name":"on","value":{"type":"bool","value":true}}]}`,
		"key":  `{"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"Y2lwaGVy","confidential":true,"decryptWith":"master"}}]},"environment":null,"id":"key","key":"key","sendToClientSdk":false,"type":"config","valueType":"string"}`,
	} {
		if rows[key] != want {
			t.Errorf("%s:\n got %s\nwant %s", key, rows[key], want)
		}
	}
	for key, part := range map[string]string{
		"master": `"value":{"source":"ENV_VAR","lookup":"MASTER"}`,
		"plain":  `"value":{"type":"string","confidential":true}`,
		"split":  `"weightedValues":[{"weight":1,"value":{"type":"string","confidential":true}},{"weight":1,"value":{"type":"string","value":"open"}}]`,
		"json":   `"value":{"confidential":true,"value":1.0,"weightedValues":[{"value":{"confidential":true,"value":2}}]}`,
	} {
		if !strings.Contains(rows[key], part) {
			t.Errorf("%s: %s", key, rows[key])
		}
	}
	// The workspace itself is as it was.
	if again := w.send("GET", configs, w.key(access.KindSecretSDK, "production"), ""); again.Body.String() != text {
		t.Error("a second answer is another one")
	}
}

func TestConfigsIsCachedAndCompressed(t *testing.T) {
	w := newWorld(t, shop)
	key := w.key(access.KindSecretSDK, "development")
	plain := w.send("GET", configs, key, "")
	packed := w.send("GET", configs, key, "", "Accept-Encoding", "br, gzip")
	if body, err := negotiation.Decompress(packed.Body.Bytes()); err != nil || !bytes.Equal(body, plain.Body.Bytes()) || packed.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("the compressed answer is another one: %v, %s", err, packed.Header())
	}
	asked := w.send("GET", configs, key, "", "Accept-Encoding", "gzip, zstd")
	decoder := must.Get(zstd.NewReader(asked.Body))(t)
	if body, err := io.ReadAll(decoder); err != nil || !bytes.Equal(body, plain.Body.Bytes()) || asked.Header().Get("Content-Encoding") != "zstd" {
		t.Errorf("as Zstandard the answer is another one: %v, %s", err, asked.Header())
	}
	tags := []string{plain.Header().Get("ETag"), packed.Header().Get("ETag"), asked.Header().Get("ETag")}
	if tags[0] == tags[1] || tags[1] == tags[2] || tags[0] == tags[2] || tags[0] == "" {
		t.Errorf("%q", tags)
	}
	for _, tag := range append(tags, `"x", W/`+tags[0], "*") {
		answer := w.send("GET", configs, key, "", "If-None-Match", tag)
		if answer.Code != 304 || answer.Body.Len() > 0 || answer.Header().Get("ETag") == "" {
			t.Errorf("%s: %d", tag, answer.Code)
		}
	}
	if other := w.send("GET", configs, w.key(access.KindSecretSDK, "production"), "", "If-None-Match", tags[0]); other.Code != 200 {
		t.Errorf("another environment has the same tag")
	}
	for _, header := range []string{"Cache-Control", "Vary"} {
		if plain.Header().Get(header) == "" {
			t.Errorf("%s is missing", header)
		}
	}
	if plain.Header().Get("Access-Control-Allow-Origin") != "" || w.send("OPTIONS", configs, "", "", "Origin", "https://x").Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("a page may read what a secret key reads")
	}
	w.commit(map[string]string{"feature-flags/dark.json": ""})
	if answer := w.send("GET", configs, key, "", "If-None-Match", tags[0]); answer.Code != 200 || strings.Contains(answer.Body.String(), `"key":"dark"`) {
		t.Errorf("%d after a change", answer.Code)
	}
	if answer := w.send("POST", configs, key, ""); answer.Code != 405 || answer.Header().Get("Allow") != "GET" {
		t.Errorf("%d", answer.Code)
	}
	if answer := w.send("HEAD", configs, key, ""); answer.Code != 200 {
		t.Errorf("%d", answer.Code)
	}
}

// TestAnUnchangedPollIsOneBackendRequest: one read of the gate, whatever is
// asked for and whether or not it is in memory already.
func TestAnUnchangedPollIsOneBackendRequest(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	tag := w.send("GET", configs, secret, "").Header().Get("ETag")
	w.send("GET", polling, public, "")
	example := `{"events":[{"exampleContexts":{"examples":[{"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"u"}}}]}}]}}]}`
	for name, send := range map[string]func() *httptest.ResponseRecorder{
		"poll":        func() *httptest.ResponseRecorder { return w.send("GET", polling, public, "") },
		"ofrep":       func() *httptest.ResponseRecorder { return w.send("POST", "/ofrep/v1/evaluate/flags", public, "{}") },
		"configs":     func() *httptest.ResponseRecorder { return w.send("GET", configs, secret, "") },
		"configs 304": func() *httptest.ResponseRecorder { return w.send("GET", configs, secret, "", "If-None-Match", tag) },
		"telemetry":   func() *httptest.ResponseRecorder { return w.send("POST", posting, secret, example) },
	} {
		gate, storage := w.cost(func() {
			if code := send().Code; code >= 400 {
				t.Errorf("%s: %d", name, code)
			}
		})
		if gate != 1 || storage != 0 {
			t.Errorf("%s costs %d reads of the gate and %d of the repository", name, gate, storage)
		}
	}
	if n := w.store.Records(); n != 1 {
		t.Errorf("one upload is %d calls of the store", n)
	}
	w.commit(map[string]string{"configs/json.json": ""})
	gate, storage := w.cost(func() {
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { w.send("GET", configs, secret, "") })
			group.Go(func() { w.send("GET", polling, public, "") })
		}
		group.Wait()
	})
	if gate != 40 || storage != 2 {
		t.Errorf("after a change 40 polls cost %d reads of the gate and %d of the repository, and each kind of answer should be made once", gate, storage)
	}
}

func TestKeysOfTheWrongKind(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	user := w.key(access.KindUser, "")
	for _, test := range []struct{ method, path, key, says string }{
		{"GET", polling, secret, "takes a public SDK key (svc_pk_…); this is a secret SDK key, which must not leave a server"},
		{"GET", polling, user, "takes a public SDK key (svc_pk_…); this is a user key of the REST API"},
		{"GET", polling, "", "no key was sent in the form that is read here: evaluation for browsers and OpenFeature takes a public SDK key"},
		{"POST", "/ofrep/v1/evaluate/flags", secret, "takes a public SDK key"},
		{"GET", configs, public, "take a secret SDK key (svc_sk_…); this is a public SDK key"},
		{"GET", configs, user, "take a secret SDK key"},
		{"GET", configs, "", "no key was sent in the form that is read here: the documents of an environment take a secret SDK key (svc_sk_…); send it as Authorization: Basic base64(1:<key>)"},
		{"GET", configs, "nonsense", "this is not a key of this service: a key has 105 characters; the documents of an environment take a secret SDK key"},
		{"GET", configs, secret[:len(secret)-1] + "!", "take a secret SDK key"},
		{"POST", posting, user, "telemetry takes an SDK key (svc_pk_… or svc_sk_…); this is a user key"},
		{"POST", posting, "", "telemetry takes an SDK key"},
	} {
		gate, _ := w.cost(func() {
			answer := w.send(test.method, test.path, test.key, "{}")
			if answer.Code != 401 || !strings.Contains(message(answer), test.says) || answer.Header().Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s: %d %s", test.method, test.path, answer.Code, message(answer))
			}
			if len(test.key) > 20 && strings.Contains(answer.Body.String(), test.key[7:]) {
				t.Error("the key is repeated")
			}
		})
		if gate != 0 {
			t.Errorf("%s: a key that cannot fit was looked up", test.path)
		}
	}
	w.edit(func(r *local.Registry) error {
		keys := must.Get(r.Keys(ctx))(t)
		for _, k := range keys {
			if _, err := r.RevokeKey(ctx, k.ID, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	for _, path := range []string{configs, polling} {
		for _, key := range []string{public, secret} {
			if answer := w.send("GET", path, key, ""); answer.Code != 401 {
				t.Errorf("%s: %d for a revoked key", path, answer.Code)
			}
		}
	}
}

// TestEveryAnswerHasAName, under which the log tells of it.
func TestEveryAnswerHasAName(t *testing.T) {
	w := newWorld(t, shop)
	seen := map[string]bool{}
	for _, path := range []string{polling, configs, posting, "/nowhere"} {
		for _, method := range []string{"GET", "POST", "OPTIONS"} {
			id := w.send(method, path, w.key(access.KindPublicSDK, "production"), "{}").Header().Get("X-Request-Id")
			if len(id) != 32 || seen[id] {
				t.Errorf("%s %s: X-Request-Id is %q", method, path, id)
			}
			seen[id] = true
		}
	}
}

func TestKeysOfAnEnvironmentThatIsGone(t *testing.T) {
	w := newWorld(t, shop)
	for environment, says := range map[string]string{"old": `the environment "old", which the workspace has archived`, "qa": `the environment "qa", which the workspace does not have`} {
		for range 2 { // the second time from memory
			for path, key := range map[string]string{polling: w.key(access.KindPublicSDK, environment), configs: w.key(access.KindSecretSDK, environment)} {
				for _, known := range []string{"", `"x"`, "*"} {
					if answer := w.send("GET", path, key, "", "If-None-Match", known); answer.Code != 401 || !strings.Contains(message(answer), says) {
						t.Errorf("%s of whoever knows %q: %d %s", path, known, answer.Code, message(answer))
					}
				}
				// What a relay is told, or it would go on serving the environment.
				asking := map[string]string{"/api/v2/key": key}
				if parsed, err := access.ParseKey(key); err == nil && parsed.Kind() == access.KindPublicSDK {
					asking["/api/v2/key?token="+access.TokenOf(parsed.ID(), parsed.Digest(), environment).String()] = w.key(access.KindSecretSDK, "production")
				}
				for path, key := range asking {
					if answer := w.send("GET", path, key, ""); answer.Code != 401 || !strings.Contains(message(answer), says) {
						t.Errorf("%.20s: %d %s", path, answer.Code, answer.Body)
					}
				}
			}
		}
	}
	key := w.key(access.KindPublicSDK, "qa")
	w.commit(map[string]string{"svc.json": `{"environments":["development","production","qa"]}`})
	_, storage := w.cost(func() { // what telemetry would have to read to know
		if answer := w.send("POST", posting, w.key(access.KindPublicSDK, "old"), "{}"); answer.Code != 202 {
			t.Errorf("telemetry answers %d", answer.Code)
		}
	})
	if storage != 0 {
		t.Errorf("telemetry reads the repository %d times", storage)
	}
	if answer := w.send("GET", polling, key, ""); answer.Code != 200 {
		t.Errorf("%d after the environment came back", answer.Code)
	}
	w.commit(map[string]string{"svc.json": ""}) // those that were declared last are there still
	for environment, status := range map[string]int{"qa": 200, "anything": 401} {
		if answer := w.send("GET", polling, w.key(access.KindPublicSDK, environment), ""); answer.Code != status {
			t.Errorf("%s: %d after the workspace file was deleted, want %d", environment, answer.Code, status)
		}
	}
	undeclared := maps.Clone(shop)
	delete(undeclared, "svc.json")
	w = newWorld(t, undeclared)
	if answer := w.send("GET", polling, w.key(access.KindPublicSDK, "anything"), ""); answer.Code != 200 {
		t.Errorf("%d where nothing was ever declared", answer.Code)
	}
}

func TestTelemetry(t *testing.T) {
	w := newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "development")
	body := `{"batchId":"1","events":[{"exampleContexts":{"examples":[{"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"u-1"}}},{"type":"device","values":{"ip":{"string":"x"}}}]}}]}}]}`
	for _, key := range []string{public, secret, public} {
		answer := w.send("POST", posting, key, body, "Origin", "https://shop.example")
		if answer.Code != 202 || answer.Body.String() != `{"accepted":true,"contexts":1,"keyless":1,"tooOld":0,"shapes":2,"unknownEvents":0}` || answer.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d %s %v", answer.Code, answer.Body, answer.Header())
		}
	}
	usage := must.Get(w.store.Usage(ctx, string(w.id), telemetrytest.Month))(t)
	found := must.Get(w.store.Contexts(ctx, string(w.id), telemetry.Query{Limit: 10}))(t)
	if usage.Keys != 1 || len(found) != 2 || found[0].Environment == found[1].Environment {
		t.Errorf("%+v %+v", usage, found)
	}
	for _, test := range []struct {
		method, path, body string
		code               int
		says               string
		headers            []string
	}{
		{"POST", "/api/v1/telemetry", body, 202, "", nil},
		{"POST", "//api/v1/telemetry/", body, 202, "", nil},
		{"GET", posting, "", 405, "METHOD_NOT_ALLOWED: this path takes POST", nil},
		{"POST", posting, `{"events":7}`, 400, "BAD_REQUEST: nothing of the batch was taken: /events: events is an array", nil},
		{"POST", posting, body + strings.Repeat(" ", telemetry.MaxBody), 413, "PAYLOAD_TOO_LARGE: the body is larger than 1 MiB (1048576 bytes); send it in several batches", nil},
		{"POST", posting, body, 400, "Content-Encoding; send it plain", []string{"Content-Encoding", "gzip"}},
	} {
		answer := w.send(test.method, test.path, public, test.body, test.headers...)
		if answer.Code != test.code || test.says != "" && !strings.Contains(message(answer), test.says) {
			t.Errorf("%s %s: %d %s", test.method, test.path, answer.Code, message(answer))
		}
		if answer.Header().Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%d has no CORS headers", answer.Code)
		}
	}
	if preflight := w.send("OPTIONS", posting, "", "", "Origin", "https://shop.example", "Access-Control-Request-Method", "POST"); preflight.Code != 204 || !strings.Contains(preflight.Header().Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("%d %v", preflight.Code, preflight.Header())
	}
}

// TestTelemetryNeverHoldsUpEvaluation: with a store that does not answer,
// uploads are sent away and polls are answered.
func TestTelemetryNeverHoldsUpEvaluation(t *testing.T) {
	w := newWorld(t, shop)
	public := w.key(access.KindPublicSDK, "production")
	stuck := stuckStore{w.store, make(chan struct{}), make(chan struct{}, 100)}
	service := control.New(control.Settings{Authenticator: countedGate{w}, Now: time.Now,
		Repository: func(context.Context, string) (control.Repository, error) { return w.counted(), nil }})
	w.handler = all(sdkapi.Options{Service: service, Intake: &telemetry.Intake{Store: stuck, Now: time.Now}})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { w.send("POST", posting, public, `{}`) })
	}
	for range 8 {
		<-stuck.came
	}
	if answer := w.send("GET", polling, public, ""); answer.Code != 200 {
		t.Errorf("evaluation answers %d", answer.Code)
	}
	if answer := w.send("POST", posting, public, `{}`); answer.Code != 503 || answer.Header().Get("Retry-After") != "1" {
		t.Errorf("one upload too many gets %d", answer.Code)
	}
	close(stuck.gate)
	group.Wait()
	if answer := w.send("POST", posting, public, `{}`); answer.Code != 202 {
		t.Errorf("afterwards %d", answer.Code)
	}
}

// TestNoLargeBodyWaitsForTheStore that another's is recorded in.
func TestNoLargeBodyWaitsForTheStore(t *testing.T) {
	w := newWorld(t, shop)
	stuck := stuckStore{w.store, make(chan struct{}), make(chan struct{}, 100)}
	service := control.New(control.Settings{Authenticator: countedGate{w}, Now: time.Now,
		Repository: func(context.Context, string) (control.Repository, error) { return w.counted(), nil }})
	w.handler = all(sdkapi.Options{Service: service, Intake: &telemetry.Intake{Store: stuck, Now: time.Now}})
	answers := make(chan int, 2)
	for range cap(answers) {
		key := w.key(access.KindSecretSDK, "production")
		go func() { answers <- w.send("POST", posting, key, "{}"+strings.Repeat(" ", 1_000_000)).Code }()
	}
	for came := range cap(answers) {
		select {
		case <-stuck.came:
		case code := <-answers:
			t.Fatalf("only %d of 2 came to the store, one answers %d", came, code)
		}
	}
	close(stuck.gate)
	for range cap(answers) {
		if code := <-answers; code != 202 {
			t.Errorf("answers %d", code)
		}
	}
}

func TestPartsServeTheirPart(t *testing.T) {
	w := newWorld(t, shop)
	service := control.New(control.Settings{Authenticator: countedGate{w}, Now: time.Now,
		Repository: func(context.Context, string) (control.Repository, error) { return w.counted(), nil }})
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	w.handler = sdkapi.Delivery(sdkapi.Options{Service: service})
	if a, b, c := w.send("GET", polling, public, "").Code, w.send("GET", configs, secret, "").Code, w.send("POST", posting, public, "{}").Code; a != 200 || b != 200 || c != 404 {
		t.Errorf("delivery answers %d %d %d", a, b, c)
	}
	for most, advice := range map[int]string{2000: "accept gzip", 100: "compressed it is too long too"} {
		w.handler = sdkapi.Delivery(sdkapi.Options{Service: service, MaxAnswer: most})
		for _, known := range []string{"", "*"} {
			if answer := w.send("GET", configs, secret, "", "If-None-Match", known); answer.Code != 400 || !strings.Contains(message(answer), advice) {
				t.Errorf("of whoever knows %q: %d %s, want %s", known, answer.Code, message(answer), advice)
			}
		}
	}
	w.handler = sdkapi.Telemetry(sdkapi.Options{Service: service, Intake: &telemetry.Intake{Store: w.store, Now: time.Now}})
	if a, b := w.send("GET", polling, public, "").Code, w.send("POST", posting, public, "{}").Code; a != 404 || b != 202 {
		t.Errorf("telemetry answers %d %d", a, b)
	}
}

// TestNoEventStreams: a server that has none says so to everybody, and not that the key
// is a wrong one: relays and clients then poll.
func TestNoEventStreams(t *testing.T) {
	w := newWorld(t, nil)
	for _, key := range []string{w.key(access.KindSecretSDK, "production"), w.key(access.KindPublicSDK, "production"), ""} {
		for _, path := range []string{"/api/v2/sse/config", "/ofrep/v1/events", "/ofrep/v1/events?token=x"} {
			if answer := w.send("GET", path, key, ""); answer.Code != 404 || !strings.Contains(message(answer), "no event streams") || strings.Contains(path, "ofrep") != strings.Contains(answer.Body.String(), `"errorCode"`) {
				t.Errorf("GET %s: %d %s", path, answer.Code, answer.Body)
			}
		}
	}
}

// TestBrokenDocumentsAreServedAndTold: a document that is broken at the head is
// served as it last was good, to browsers and to servers, and the log says which
// and since when, once for each commit.
func TestBrokenDocumentsAreServedAndTold(t *testing.T) {
	const flag = `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}`
	w := newWorld(t, map[string]string{"svc.json": `{"environments": ["production"]}`, "feature-flags/f.json": flag})
	w.commit(map[string]string{"feature-flags/f.json": "{", "svc.json": "["})
	head := must.Get(w.ledger.Head(ctx))(t)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	for range 2 {
		for path, key := range map[string]string{"/api/v2/configs/eval-with-context/e30": public, "/api/v2/configs": secret} {
			if a := w.send("GET", path, key, ""); a.Code != 200 || !strings.Contains(a.Body.String(), `"f"`) {
				t.Errorf("%s: %d %s", path, a.Code, a.Body)
			}
		}
	}
	other := w.key(access.KindPublicSDK, "elsewhere")
	if a := w.send("GET", "/api/v2/configs/eval-with-context/e30", other, ""); a.Code != 401 {
		t.Errorf("an environment that was never there: %d %s", a.Code, a.Body)
	}
	log := w.log.String()
	for _, file := range []string{"feature-flags/f.json", "svc.json"} {
		if n := strings.Count(log, "problem=\""+file); n != 1 {
			t.Errorf("%s is told of %d times:\n%s", file, n, log)
		}
	}
	if strings.Count(log, "since="+head.Commit) != 2 {
		t.Errorf("the log does not say since when:\n%s", log)
	}
}
