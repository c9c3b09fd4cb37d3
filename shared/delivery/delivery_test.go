package delivery

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
)

const directory = `[
{"key":"redesign","type":"feature_flag","valueType":"bool","variants":[{"name":"off","value":{"type":"bool","value":false}},{"name":"on","value":{"type":"bool","value":true}}],
 "default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}],"value":{"type":"bool","value":true}},
 {"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}},
{"key":"banner","type":"feature_flag","valueType":"string","id":"1001","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"hi \u00e9"}}]}},
{"key":"split","type":"feature_flag","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"weighted_values","value":{"hashByPropertyName":"user.key","weightedValues":[{"value":{"type":"string","value":"a"},"weight":50000},{"value":{"type":"string","value":"b"},"weight":50000}]}}}]}},
{"key":"limit","type":"config","valueType":"int","sendToClientSdk":true,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":"9007199254740993"}}]}},
{"key":"origins","type":"config","valueType":"string_list","sendToClientSdk":true,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string_list","value":["x"]}}]}},
{"key":"settings","type":"config","valueType":"json","sendToClientSdk":true,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"json","value":{"n":1.0}}}]}},
{"key":"beta-only","type":"config","valueType":"string","sendToClientSdk":true,"default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.beta","valueToMatch":{"type":"string_list","value":["true"]}}],"value":{"type":"string","value":"yes"}}]}},
{"key":"server-only","type":"config","valueType":"string","sendToClientSdk":false,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"no"}}]}},
{"key":"unmarked","type":"config","valueType":"string","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"no"}}]}},
{"key":"password","type":"config","valueType":"string","sendToClientSdk":true,"default":{"rules":[
 {"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["open"]}}],"value":{"type":"string","value":"plain"}},
 {"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["enc"]}}],"value":{"type":"string","value":"c1ph3r","decryptWith":"k"}},
 {"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["env"]}}],"value":{"type":"provided","value":{"source":"ENV_VAR","lookup":"S3CRET"}}},
 {"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","value":"s3cret","confidential":true}}]}},
{"key":"log-level.app","type":"log_level","valueType":"log_level","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"log_level","value":"INFO"}}]}},
{"key":"staff","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":true}}]}}
]`

func sources(t testing.TB, text string) []evaluation.Source {
	t.Helper()
	tree := must.Get(jsontree.Parse([]byte(text)))(t)
	var list []evaluation.Source
	for _, item := range tree.Items {
		doc, issues := document.Decode(item)
		if len(issues) > 0 {
			t.Fatalf("%s: %v", doc.Key, issues)
		}
		list = append(list, evaluation.Source{Key: doc.Key, Document: doc})
	}
	return list
}

// newTable compiles and encodes documents. The version is theirs, before any
// rule on the current time has turned.
func newTable(sources []evaluation.Source, environment, version string) *Table {
	b := NewBuilder(environment)
	for _, source := range slices.SortedStableFunc(slices.Values(sources), func(a, b evaluation.Source) int { return strings.Compare(a.Key, b.Key) }) {
		b.Add(source)
	}
	name := func(turn int64) string {
		if turn == 0 {
			return version
		}
		return version + "-" + strconv.FormatInt(turn, 10)
	}
	return b.Table(name, b.compiler.Snapshot().Turns())
}

const testKey = "frontend"

// serve answers with the test directory; with a key when locked.
func serve(t testing.TB, locked bool) http.Handler {
	table := newTable(sources(t, directory), "development", "v1")
	return CORS([]string{AnyOrigin}, (&Handler{
		Tables: func(_ http.ResponseWriter, _ *http.Request, key string) (*Table, error) {
			if locked && key != testKey {
				return nil, fault.New(fault.Unauthorized, "no key")
			}
			return table, nil
		},
		Now:    func() time.Time { return time.UnixMilli(1_700_000_000_000) },
		Random: func() float64 { return 0 },
	}).Mux())
}

// do sends a request whose path goes over the wire as it is written.
func do(h http.Handler, method, path, body string, header ...string) *http.Response {
	r := httptest.NewRequest(method, "http://svc.test/", strings.NewReader(body))
	r.URL, _ = url.Parse("http://svc.test" + path) // which net/http would clean
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func text(t testing.TB, r *http.Response) string {
	t.Helper()
	b := must.Get(io.ReadAll(r.Body))(t)
	return string(b)
}

func token(context string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(context))
}

func poll(h http.Handler, context string, header ...string) *http.Response {
	return do(h, "GET", evalPrefix+token(context), "", header...)
}

func TestPollAnswer(t *testing.T) {
	r := poll(serve(t, false), `{"user":{"key":"u1","plan":"pro"}}`)
	want := `{"evaluations":{` +
		`"banner":{"value":{"type":"string","value":"hi \u00e9"},"configId":"1001","configType":"feature_flag","valueType":"string","reason":"STATIC"},` +
		`"limit":{"value":{"type":"int","value":9007199254740993},"configId":"limit","configType":"config","valueType":"int","reason":"STATIC"},` +
		`"origins":{"value":{"type":"string_list","value":["x"]},"configId":"origins","configType":"config","valueType":"string_list","reason":"STATIC"},` +
		`"redesign":{"value":{"type":"bool","value":true},"configId":"redesign","configType":"feature_flag","valueType":"bool","reason":"TARGETING_MATCH","ruleSource":"default","ruleIndex":0},` +
		`"settings":{"value":{"type":"json","value":{"n":1.0}},"configId":"settings","configType":"config","valueType":"json","reason":"STATIC"},` +
		`"split":{"value":{"type":"string","value":"a"},"configId":"split","configType":"feature_flag","valueType":"string","reason":"SPLIT","ruleSource":"default","ruleIndex":0,"weightedValueIndex":0}` +
		`},"meta":{"version":"v1","environment":"development"}}`
	if got := text(t, r); r.StatusCode != 200 || got != want {
		t.Errorf("%d\n got %s\nwant %s", r.StatusCode, got, want)
	}
	for name, want := range map[string]string{"Content-Type": "application/json", "Cache-Control": "private, no-cache", "Access-Control-Allow-Origin": "*"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestNothingServed(t *testing.T) {
	table := newTable(nil, "development", "v0")
	h := (&Handler{Tables: func(http.ResponseWriter, *http.Request, string) (*Table, error) { return table, nil }, Now: time.Now}).Mux()
	if got, want := text(t, poll(h, `{}`)), `{"evaluations":{},"meta":{"version":"v0","environment":"development"}}`; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := text(t, do(h, "POST", ofrepFlags, `{}`)), `{"flags":[],"metadata":{"version":"v0","environment":"development"}}`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestWithheldValues(t *testing.T) {
	h := serve(t, false)
	for plan, want := range map[string]bool{"open": true, "enc": false, "env": false, "other": false} {
		context := `{"user":{"plan":"` + plan + `"}}`
		body := text(t, poll(h, context))
		if got := strings.Contains(body, `"password"`); got != want {
			t.Errorf("plan %s: password served: %v, want %v", plan, got, want)
		}
		bulk := text(t, do(h, "POST", ofrepFlags, `{"context":{"user.plan":"`+plan+`"}}`))
		if got := strings.Contains(bulk, `"password"`); got != want {
			t.Errorf("plan %s: password in bulk: %v, want %v", plan, got, want)
		}
		if status := do(h, "POST", ofrepFlags+"/password", `{"context":{"user.plan":"`+plan+`"}}`).StatusCode; (status == 200) != want {
			t.Errorf("plan %s: single answers %d", plan, status)
		}
		for _, secret := range []string{"s3cret", "S3CRET", "c1ph3r"} {
			if strings.Contains(body+bulk, secret) {
				t.Errorf("plan %s: %s went out", plan, secret)
			}
		}
	}
	split := `[{"key":"s","type":"feature_flag","valueType":"string","default":{"rules":[{"criteria":[],"value":{"type":"weighted_values",%s,"value":{"weightedValues":[{"value":{"type":"string","value":"x"},"weight":1}]}}}]}}]`
	for _, mark := range []string{`"confidential":true`, `"decryptWith":"k"`} {
		table := newTable(sources(t, fmt.Sprintf(split, mark)), "development", "v1")
		if len(table.Withheld) != 1 || table.answers[0].from < table.answers[0].to {
			t.Errorf("a split with %s is not withheld", mark)
		}
	}
	withheld := newTable(sources(t, directory), "development", "v1").Withheld
	if len(withheld) != 1 || withheld[0].Key != "password" || withheld[0].Values != 3 {
		t.Errorf("withheld %+v", withheld)
	}
}

func TestNeverServed(t *testing.T) {
	h := serve(t, false)
	for _, key := range []string{"server-only", "unmarked", "log-level.app", "staff", "nowhere", "..%2f..%2fetc", "", "a/b"} {
		if strings.Contains(text(t, poll(h, `{}`)), `"`+key+`"`) {
			t.Errorf("%s is in a poll", key)
		}
		r := do(h, "POST", ofrepFlags+"/"+key, `{}`)
		if body := text(t, r); r.StatusCode != 404 || !strings.Contains(body, `"errorCode":"FLAG_NOT_FOUND"`) {
			t.Errorf("%q: %d %s", key, r.StatusCode, body)
		}
	}
}

func TestTokenForms(t *testing.T) {
	h := serve(t, false)
	// Chosen so that the standard alphabet needs +, / and padding, twice a slash.
	context := `{"user":{"plan":"pro","x":"~~~???>>>` + "\u00ff\u00ff" + `"}}`
	want := text(t, poll(h, context))
	std, raw := base64.StdEncoding.EncodeToString([]byte(context)), base64.RawURLEncoding.EncodeToString([]byte(context))
	if !strings.ContainsAny(std, "+/") || !strings.Contains(std, "=") {
		t.Fatalf("the example proves nothing: %s", std)
	}
	slashes := base64.StdEncoding.EncodeToString([]byte("{\"a\":{\"b\":\"\u00ff\u00ff\u00ff\xef\xbf\xbf\xef\xbf\xbf\xef\xbf\xbf\xef\xbf\xbf??>\"}}"))
	for name, escaped := range map[string]string{
		"standard": std, "url": raw, "escaped": url.PathEscape(std), "all escaped": strings.ReplaceAll(url.QueryEscape(std), "+", "%2B"),
		"lower-case escapes": strings.NewReplacer("/", "%2f", "+", "%2b", "=", "%3d").Replace(std),
		"url padded":         base64.URLEncoding.EncodeToString([]byte(context)),
	} {
		r := do(h, "GET", evalPrefix+escaped+"?collectContextMode=PERIODIC", "")
		if got := text(t, r); r.StatusCode != 200 || got != want {
			t.Errorf("%s: %d %s", name, r.StatusCode, got)
		}
	}
	if r := do(h, "GET", evalPrefix+slashes, ""); r.StatusCode != 200 {
		t.Errorf("slashes %s: %d %s", slashes, r.StatusCode, text(t, r))
	}
}

func TestBadTokens(t *testing.T) {
	h := serve(t, false)
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, tt := range []struct {
		name, escaped string
		status        int
		words         string
	}{
		{"missing", "", 400, "missing"},
		{"not base64", "{}", 400, "not base64"},
		{"path trick", "../../../etc/passwd", 400, "not base64"},
		{"escaped path trick", "..%2f..%2fetc%2fpasswd", 400, "not base64"},
		{"not UTF-8", token("{\"a\":{\"b\":\"\xff\"}}"), 400, "not UTF-8"},
		{"not JSON", token("hello"), 400, "not JSON"},
		{"cut off", token(`{"user":{"key":`), 400, "not JSON"},
		{"empty text", token(" "), 400, "not JSON"},
		{"an array", token(`[]`), 400, "not an array"},
		{"null", token(`null`), 400, "not null"},
		{"a string", token(`"x"`), 400, "not a string"},
		{"flat", token(`{"user":"u1"}`), 400, `"user" is an object of properties, not a string`},
		{"null context", token(`{"user":null}`), 400, "not null"},
		{"text after", token(`{} {}`), 400, "text after"},
		{"double name", token(`{"user":{"plan":"a","plan":"b"}}`), 400, "twice"},
		{"double context", token(`{"user":{},"user":{}}`), 400, "twice"},
		{"too deep a property", token(`{"user":{"plan":` + deep + `}}`), 400, "nested deeper"},
		{"too long", strings.Repeat("A", MaxToken+1), 414, "at most"},
		{"too long, and escaped", strings.Repeat("%41", MaxToken+1), 414, "at most"},
		{"far too long", strings.Repeat("A", 3*MaxToken+1), 414, "at most"},
		{"longest, and escaped", url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(`{"user":{"plan":"` + strings.Repeat("~?>", 16370) + `"}}`))), 200, ""},
		{"nested values", token(`{"user":{"plan":{"deep":[1,{}]},"beta":[true,null,["x"]],"n":null}}`), 200, ""},
		{"longest", token(`{"user":{"plan":"` + strings.Repeat("x", 49100) + `"}}`), 200, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := do(h, "GET", evalPrefix+tt.escaped, "", "If-None-Match", "*")
			if tt.status == 200 {
				r = do(h, "GET", evalPrefix+tt.escaped, "")
			}
			body := text(t, r)
			if r.StatusCode != tt.status || !strings.Contains(body, jsonWords(tt.words)) {
				t.Fatalf("%d %s, want %d …%s…", r.StatusCode, body, tt.status, tt.words)
			}
			if tt.status != 200 {
				checkEnvelope(t, r, body)
			}
		})
	}
}

func jsonWords(words string) string {
	b, _ := json.Marshal(words)
	return strings.Trim(string(b), `"`)
}

func checkEnvelope(t *testing.T, r *http.Response, body string) {
	t.Helper()
	var e struct{ Error, Message string }
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == "" || e.Message == "" {
		t.Errorf("no envelope: %s", body)
	}
	if r.Header.Get("Access-Control-Allow-Origin") != "*" || r.Header.Get("Etag") != "" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", r.Header)
	}
}

func TestETags(t *testing.T) {
	h := serve(t, false)
	pro, free := `{"user":{"plan":"pro"}}`, `{"user":{"plan":"free"}}`
	tag := poll(h, pro).Header.Get("Etag")
	for _, tt := range []struct {
		context, noneMatch string
		status             int
	}{
		{pro, tag, 304}, {pro, "W/" + tag, 304}, {pro, `"x", ` + tag, 304}, {pro, "*", 304},
		{pro, `"x"`, 200}, {pro, "", 200}, {free, tag, 200}, {free, "*", 304}, {pro, strings.Trim(tag, `"`), 200},
	} {
		r := poll(h, tt.context, "If-None-Match", tt.noneMatch)
		if r.StatusCode != tt.status {
			t.Errorf("%s with %s: %d, want %d", tt.context, tt.noneMatch, r.StatusCode, tt.status)
		}
		if body := text(t, r); r.StatusCode == 304 && (body != "" || r.Header.Get("Etag") == "" || r.Header.Get("Access-Control-Allow-Origin") == "") {
			t.Errorf("304 with body %q and headers %v", body, r.Header)
		}
	}
	bulk := func(context, noneMatch string) *http.Response {
		return do(h, "POST", ofrepFlags+"?flagConfigEtag="+url.QueryEscape(noneMatch), `{"context":`+context+`}`, "If-None-Match", noneMatch)
	}
	tag = bulk(`{"user.plan":"pro"}`, "").Header.Get("Etag")
	if got := bulk(`{"user.plan":"pro"}`, tag).StatusCode; got != 304 {
		t.Errorf("same context: %d", got)
	}
	if got := bulk(`{"user.plan":"free"}`, tag).StatusCode; got != 200 {
		t.Errorf("another context: %d", got)
	}
}

func TestETagCoversVersionEnvironmentAndTime(t *testing.T) {
	timed := `[{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_AFTER","propertyName":"svc.current-time","valueToMatch":{"type":"int","value":5000}}],"value":{"type":"bool","value":true}}]}}]`
	base := newTable(sources(t, timed), "development", "v1")
	tag := base.etag('n', 4000, "")
	if base.etag('n', 4999, "") != tag {
		t.Error("the tag changes while nothing does")
	}
	others := map[string]string{
		"time":        base.etag('n', 5001, ""),
		"version":     newTable(sources(t, timed), "development", "v2").etag('n', 4000, ""),
		"environment": newTable(sources(t, timed), "production", "v1").etag('n', 4000, ""),
		"protocol":    base.etag('o', 4000, ""),
		"context":     base.etag('n', 4000, "x"),
	}
	for what, other := range others {
		if other == tag {
			t.Errorf("the tag does not cover the %s", what)
		}
	}
}

func TestAuthentication(t *testing.T) {
	h := serve(t, true)
	basic := func(credentials string) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))}
	}
	native := evalPrefix + token(`{}`)
	for _, tt := range []struct {
		name          string
		header        []string
		native, ofrep int
	}{
		{"none", nil, 401, 401},
		{"basic", basic("1:" + testKey), 200, 200},
		{"basic, lower-case scheme", []string{"Authorization", "basic " + base64.StdEncoding.EncodeToString([]byte("1:"+testKey))}, 200, 200},
		{"another user", basic("2:" + testKey), 401, 401},
		{"no user", basic(testKey), 401, 401},
		{"wrong key", basic("1:x"), 401, 401},
		{"more than the key", basic("1:" + testKey + ":x"), 401, 401},
		{"not base64", []string{"Authorization", "Basic !!!"}, 401, 401},
		{"bearer", []string{"Authorization", "Bearer " + testKey}, 401, 200},
		{"api key", []string{"X-API-Key", testKey}, 401, 200},
		{"wrong api key", []string{"X-API-Key", "x"}, 401, 401},
	} {
		if r := do(h, "GET", native, "", tt.header...); r.StatusCode != tt.native {
			t.Errorf("%s: native %d, want %d", tt.name, r.StatusCode, tt.native)
		}
		if r := do(h, "POST", ofrepFlags, `{}`, tt.header...); r.StatusCode != tt.ofrep {
			t.Errorf("%s: OFREP %d, want %d", tt.name, r.StatusCode, tt.ofrep)
		}
		if r := do(h, "POST", ofrepFlags+"/banner", `{}`, tt.header...); r.StatusCode != tt.ofrep {
			t.Errorf("%s: OFREP single %d, want %d", tt.name, r.StatusCode, tt.ofrep)
		}
	}
	for path, want := range map[string]int{"/healthz": 200, "/api/v1/telemetry/": 404, "/nowhere": 401, ofrepFlags: 401} {
		if got := do(h, "GET", path, "").StatusCode; got != want {
			t.Errorf("%s without a key: %d, want %d", path, got, want)
		}
	}
}

func TestRoutes(t *testing.T) {
	h := serve(t, false)
	for _, tt := range []struct {
		method, path, body string
		status             int
		words              string
	}{
		{"POST", "/api/v1/telemetry/", "{}", 404, "telemetry is not served"},
		{"POST", "/api/v1/telemetry", "{}", 404, "telemetry is not served"},
		{"GET", "/", "", 404, "nothing is served at this path"},
		{"GET", "//etc//passwd", "", 404, "nothing is served"},
		{"GET", "/api/v2/configs/eval-with-context", "", 404, "nothing is served"},
		{"POST", evalPrefix + "e30", "", 405, "takes GET, not POST"},
		{"GET", ofrepFlags, "", 405, "takes POST, not GET"},
		{"DELETE", ofrepFlags + "/banner", "", 405, "takes POST, not DELETE"},
		{"POST", "/healthz", "", 405, "takes GET"},
		{"HEAD", evalPrefix + "e30", "", 200, ""},
	} {
		r := do(h, tt.method, tt.path, tt.body)
		if body := text(t, r); r.StatusCode != tt.status || !strings.Contains(body, tt.words) {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, r.StatusCode, body)
		}
		if tt.status == 405 && !strings.Contains(r.Header.Get("Allow"), map[bool]string{true: "POST", false: "GET"}[strings.HasPrefix(tt.path, ofrepFlags)]) {
			t.Errorf("%s %s: Allow %q", tt.method, tt.path, r.Header.Get("Allow"))
		}
	}
}

func FuzzToken(f *testing.F) {
	for _, seed := range []string{token(`{"user":{"key":"u1","plan":"pro","beta":[true,1.5e3]}}`), "", "%2F%3F//", "e30=", "e30", token("\xef\xbb\xbf{}"), token(`{"":{"":null}}`), token(`{"user":{"pl\u0061n":"pro"}}`)} {
		f.Add(seed)
	}
	h := serve(f, false)
	f.Fuzz(func(t *testing.T, escaped string) {
		if _, err := url.Parse("http://svc.test" + evalPrefix + escaped); err != nil || strings.ContainsAny(escaped, "?#") {
			return
		}
		r := do(h, "GET", evalPrefix+escaped, "")
		if body := text(t, r); r.StatusCode != 200 && r.StatusCode != 400 && r.StatusCode != 414 || !json.Valid([]byte(body)) {
			t.Fatalf("%d %s", r.StatusCode, body)
		}
	})
}

func FuzzOFREP(f *testing.F) {
	for _, seed := range []string{`{"context":{"targetingKey":"u","user.plan":"pro","n":[1]}}`, `{`, `{"context":{"user.key":null}}`} {
		f.Add(seed)
	}
	h := serve(f, false)
	f.Fuzz(func(t *testing.T, body string) {
		for _, path := range []string{ofrepFlags, ofrepFlags + "/redesign"} {
			r := do(h, "POST", path, body)
			if answer := text(t, r); r.StatusCode != 200 && r.StatusCode != 400 || !json.Valid([]byte(answer)) {
				t.Fatalf("%d %s", r.StatusCode, answer)
			}
		}
	})
}
