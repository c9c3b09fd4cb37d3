package service

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

const root = "../../.."

// local is the service, running on this machine.
type local struct {
	*Service
	url       string
	workspace *admin.Workspace
	key       string
	log       *lockedBuffer
	rie       string
	binaries  string
	stores    *Stores
	settings  Settings
	inSAM     bool
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// build builds the functions for this machine.
func build(dir string) error {
	mains, err := filepath.Glob(filepath.Join(root, "functions", "*", "main.go"))
	if err != nil {
		return err
	}
	for _, m := range mains {
		group := filepath.Base(filepath.Dir(m))
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", filepath.Join(dir, group, "bootstrap"), "./functions/"+group)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	return nil
}

// prepare makes stores and a workspace for a service that is not started yet.
func prepare(t *testing.T) *local {
	t.Helper()
	rie, err := emulator.Find()
	if errors.Is(err, emulator.ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	standin.DynamoDB(t) // skips where it is missing
	standin.S3(t)
	standin.SQS(t)
	l := &local{rie: rie, binaries: built(t), log: &lockedBuffer{}}
	if l.stores, err = NewStores(t.Context()); err != nil {
		t.Fatal(err)
	}
	var key access.Key
	if l.workspace, key, err = l.stores.Workspace(t.Context(), "local"); err != nil {
		t.Fatal(err)
	}
	l.key = key.Reveal()
	return l
}

// start starts the service, over stores and a workspace of its own.
func start(t *testing.T, more ...string) *local {
	t.Helper()
	return startWith(t, options{}, more...)
}

// options change what a service is made of.
type options struct {
	template string                // "" is template.yaml
	queue    func(*template.Queue) // changes a queue
}

func startWith(t *testing.T, with options, more ...string) *local {
	t.Helper()
	if with.template == "" {
		with.template = filepath.Join(root, "template.yaml")
	}
	l := prepare(t)
	front := httptest.NewUnstartedServer(nil)
	settings := l.stores.Settings
	settings.PublicURL, settings.PerSecond, settings.Burst = "http://"+front.Listener.Addr().String(), 1_000_000, 1_000_000
	settings.More = more
	if err := settings.MakeQueues(t.Context(), with.template, with.queue); err != nil {
		t.Fatal(err)
	}
	l.settings = settings
	var err error
	l.Service, err = New(Options{Template: with.template, Binaries: l.binaries, RIE: l.rie, Instances: 3, Log: l.log, Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	front.Config.Handler = l.Service
	front.Start()
	l.url = front.URL
	t.Cleanup(func() {
		front.Close()
		l.Close()
		if t.Failed() {
			t.Logf("the functions' log:\n%s", l.log)
		}
	})
	return l
}

var (
	buildOnce sync.Once
	buildDir  string
	buildErr  error
)

func built(t *testing.T) string {
	t.Helper()
	buildOnce.Do(func() {
		if buildDir, buildErr = os.MkdirTemp("", "svc-functions-"); buildErr == nil {
			buildErr = build(buildDir)
		}
	})
	if buildErr != nil {
		t.Fatal(buildErr)
	}
	return buildDir
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

func (l *local) do(t *testing.T, method, path, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, l.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if r.Header = header.Clone(); header == nil {
		r.Header = http.Header{"Authorization": {"Bearer " + l.key}}
	}
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func (l *local) issueKey(t *testing.T, kind access.Kind, environment string) string {
	t.Helper()
	key, _, err := l.workspace.IssueKey(t.Context(), "", access.KeyRequest{Kind: kind, Name: "app", Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	return key.Reveal()
}

func basic(key string) http.Header {
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte("1:"+key))}}
}

// TestTheFunctions drives the functions' own binaries, over real stores.
func TestTheFunctions(t *testing.T) {
	l := start(t)
	t.Run("every path knows its methods", l.everyPath)
	t.Run("paths", l.paths)
	t.Run("console", l.console)
	t.Run("headers", l.headers)
	t.Run("bodies", l.bodies)
	t.Run("walk-through", l.walkThrough)
	t.Run("delivery", l.delivery)
	t.Run("telemetry", l.telemetry)
	t.Run("maintenance", l.maintenance)
	t.Run("a change is seen by every instance", l.instances)
	for _, err := range l.Denied.Take() {
		t.Errorf("AWS would deny this: %v", err)
	}
	for name, f := range l.Functions {
		if len(l.Pool.InitTimes(name)) == 0 {
			t.Errorf("no test has started %s", name)
		}
		t.Logf("%-12s %v", f.Group(), l.Pool.InitTimes(name))
	}
}

func (l *local) everyPath(t *testing.T) {
	_, text := l.do(t, "GET", "/v1/openapi.json", "", http.Header{})
	var description struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal([]byte(text), &description); err != nil || len(description.Paths) < 20 {
		t.Fatalf("%v %.200s", err, text)
	}
	for path, item := range description.Paths {
		at := "/v1" + path
		if item["servers"] != nil {
			at = path
		}
		at = strings.NewReplacer("{key}", "k", "{env}", "e").Replace(at)
		var allow []string
		other := ""
		for _, m := range []string{"delete", "get", "head", "patch", "post", "put"} {
			if item[m] != nil || m == "head" && item["get"] != nil {
				allow = append(allow, strings.ToUpper(m))
			} else if m != "head" {
				other = strings.ToUpper(m)
			}
		}
		refusal := `"METHOD_NOT_ALLOWED"`
		if strings.HasPrefix(at, "/openfeature/") {
			refusal = `"status":405` // the OpenFeature CLI's envelope
		}
		r, body := l.do(t, other, at, "", nil)
		if r.StatusCode != 405 || r.Header.Get("Allow") != strings.Join(allow, ", ") || !strings.Contains(body, refusal) {
			t.Errorf("%s %s: %d, Allow %q, want %v; %s", other, at, r.StatusCode, r.Header.Get("Allow"), allow, body)
		}
		if item["get"] != nil && !strings.Contains(path, "{") {
			if path == "/contexts/export" {
				at += "?environment=production" // which it cannot do without
			}
			if r, body := l.do(t, "HEAD", at, "", nil); r.StatusCode != 200 || body != "" {
				t.Errorf("HEAD %s: %d", at, r.StatusCode)
			}
			if r, body := l.do(t, "GET", at, "", nil); r.StatusCode != 200 {
				t.Errorf("GET %s: %d %s", at, r.StatusCode, body)
			}
		}
	}
}

func (l *local) paths(t *testing.T) {
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/nothing":                       {404, `"error":"NOT_FOUND"`},
		"/v1":                            {404, `"error":"NOT_FOUND"`},
		"/v1/flags/":                     {404, `"error":"NOT_FOUND"`},
		"/v1/flags/a/b/c":                {404, `"error":"NOT_FOUND"`},
		"/v1/flags/no-such":              {404, `no-such`},
		"/v1/flags/a%2Fb":                {404, `"error":"NOT_FOUND"`},
		"/v1/flags/a%20b/document":       {404, `a b`},
		"/v1/flags/what%253F/document":   {404, `what?`},
		"/v1/flags/%CE%BB":               {404, "λ"},
		"/v1/flags/a%23b/history":        {404, "a#b"},
		"/v1//flags?limit=1":             {200, `"flags"`},
		"/healthz":                       {200, `"ok"`},
		"/schemas/v1/stored-config.json": {200, l.url + "/schemas/v1/stored-config.json"},
	} {
		if l.inSAM && samDecodes[path] {
			continue
		}
		r, body := l.do(t, "GET", path, "", nil)
		if r.StatusCode != want.status || !strings.Contains(body, want.text) {
			t.Errorf("GET %s: %d %.300s, want %d %s", path, r.StatusCode, body, want.status, want.text)
		}
	}
	if r, body := l.do(t, "GET", "/v1/flags?limit=&cursor=&tag=", "", nil); r.StatusCode != 200 {
		t.Errorf("empty parameters: %d %s", r.StatusCode, body)
	}
	if r, body := l.do(t, "GET", "/v1/flags?limit=1&limit=x", "", nil); r.StatusCode != 400 || !strings.Contains(body, "limit") {
		t.Errorf("a parameter that stands twice: %d %s", r.StatusCode, body)
	}
}

func (l *local) headers(t *testing.T) {
	authorization := "Bearer " + l.key
	r, plain := l.do(t, "GET", "/v1/flags", "", nil)
	tag := r.Header.Get("ETag")
	for _, list := range []string{tag, `"a,b", ` + tag, `"other" , W/` + tag + `,"x"`, "*"} {
		if r, body := l.do(t, "GET", "/v1/flags", "", http.Header{"Authorization": {authorization}, "If-None-Match": {list}}); r.StatusCode != 304 || body != "" {
			t.Errorf("If-None-Match: %s: %d", list, r.StatusCode)
		}
	}
	r, zipped := l.do(t, "GET", "/v1/flags", "", http.Header{"Authorization": {authorization}, "Accept-Encoding": {"br;q=1.0, gzip;q=0.8, *;q=0.1"}})
	reader, err := gzip.NewReader(strings.NewReader(zipped))
	if err != nil || r.Header.Get("Content-Encoding") != "gzip" || r.Header.Get("ETag") == tag {
		t.Fatalf("%v %v", err, r.Header)
	}
	if text, err := io.ReadAll(reader); err != nil || string(text) != plain {
		t.Errorf("what was compressed is another text: %v", err)
	}
	for what, header := range map[string]http.Header{
		"no key":   {},
		"two keys": {"Authorization": {authorization, authorization}},
		"a cookie": {"Cookie": {"session=1; other=2"}},
	} {
		r, body := l.do(t, "GET", "/v1/flags", "", header)
		if r.StatusCode != 401 || !strings.Contains(body, `"UNAUTHORIZED"`) || r.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", what, r.StatusCode, body)
		}
		if what == "a cookie" && !strings.Contains(body, "cookies are not accepted") {
			t.Errorf("the cookie was not seen: %s", body)
		}
	}
}

func (l *local) bodies(t *testing.T) {
	for kind, key := range map[string]string{"application/json": "from-json", "application/x-www-form-urlencoded": "from-curl", "": "from-nothing", "text/plain; charset=utf-8": "from-text"} {
		header := http.Header{"Authorization": {"Bearer " + l.key}}
		if kind != "" {
			header.Set("Content-Type", kind)
		}
		if r, body := l.do(t, "POST", "/v1/flags", `{"key":"`+key+`","description":"ünï ☃"}`, header); r.StatusCode != 200 || !strings.Contains(body, "ünï ☃") {
			t.Errorf("a body as %q: %d %s", kind, r.StatusCode, body)
		}
	}
	if r, body := l.do(t, "POST", "/v1/flags", `{"key":"`+strings.Repeat("x", 1<<20)+`"}`, nil); r.StatusCode != 413 || !strings.Contains(body, "PAYLOAD_TOO_LARGE") {
		t.Errorf("a body of more than a megabyte: %d %.200s", r.StatusCode, body)
	}
}

func (l *local) delivery(t *testing.T) {
	public, secret := l.issueKey(t, access.KindPublicSDK, "production"), l.issueKey(t, access.KindSecretSDK, "production")
	// A context whose base64 has both a slash and a plus in it.
	question := `{"user":{"key":"u-1","what":"???>>>~~~","name":"ÿÿÿ"}}`
	token := base64.StdEncoding.EncodeToString([]byte(question))
	if !strings.Contains(token, "/") || !strings.Contains(token, "+") {
		t.Fatalf("%s has no slash or no plus", token)
	}
	var tags []string
	for _, sent := range []string{token, url.PathEscape(token), strings.NewReplacer("+", "-", "/", "_", "=", "").Replace(token), strings.ReplaceAll(url.QueryEscape(token), "+", "%2B"), strings.ReplaceAll(token, "+", "%20")} {
		r, body := l.do(t, "GET", "/api/v2/configs/eval-with-context/"+sent+"?collectContextMode=NONE", "", basic(public))
		if r.StatusCode != 200 || !strings.Contains(body, `"evaluations"`) || !strings.Contains(body, `"environment":"production"`) {
			t.Errorf("token %s: %d %.300s", sent, r.StatusCode, body)
		}
		tags = append(tags, r.Header.Get("ETag"))
	}
	header := basic(public)
	header.Set("If-None-Match", `"a, b", `+tags[0])
	if r, _ := l.do(t, "GET", "/api/v2/configs/eval-with-context/"+token, "", header); r.StatusCode != 304 {
		t.Errorf("an unchanged poll: %d", r.StatusCode)
	}
	for _, c := range []struct {
		method, path, body string
		header             http.Header
		status             int
		text               string
	}{
		{"GET", "/api/v2/configs", "", basic(secret), 200, `"configs"`},
		{"GET", "/api/v2/configs", "", basic(public), 401, "secret"},
		{"GET", "/api/v2/configs/eval-with-context/e30=", "", http.Header{}, 401, "UNAUTHORIZED"},
		{"GET", "/api/v2/configs/eval-with-context/%21", "", basic(public), 400, "base64"},
		{"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u-1"}}`, http.Header{"Authorization": {"Bearer " + public}}, 200, `"flags"`},
		{"POST", "/ofrep/v1/evaluate/flags/new-checkout", `{"context":{}}`, http.Header{"X-Api-Key": {public}}, 200, `"new-checkout"`},
		{"POST", "/ofrep/v1/evaluate/flags/no%2Fsuch", `{}`, http.Header{"X-Api-Key": {public}}, 404, "FLAG_NOT_FOUND"},
		{"OPTIONS", "/api/v2/configs/eval-with-context/e30=", "", http.Header{"Origin": {"https://a.example"}, "Access-Control-Request-Method": {"GET"}}, 204, ""},
	} {
		r, body := l.do(t, c.method, c.path, c.body, c.header)
		if r.StatusCode != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s %s: %d %.300s, want %d %s", c.method, c.path, r.StatusCode, body, c.status, c.text)
		}
		if c.path != "/api/v2/configs" && r.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s %s: a page cannot read the answer", c.method, c.path)
		}
	}
}

func (l *local) telemetry(t *testing.T) {
	secret := l.issueKey(t, access.KindSecretSDK, "production")
	report := fmt.Sprintf(`{"instanceHash":"i","events":[{"exampleContexts":{"examples":[{"timestamp":%d,"contextSet":{"contexts":[{"type":"user","values":{"key":{"string":"u-77"},"name":{"string":"Ada"}}}]}}]}}]}`, time.Now().UnixMilli())
	for _, path := range []string{"/api/v1/telemetry/", "/api/v1/telemetry"} {
		header := basic(secret)
		header.Set("Content-Type", "application/json")
		if r, body := l.do(t, "POST", path, report, header); r.StatusCode/100 != 2 {
			t.Errorf("%s: %d %s", path, r.StatusCode, body)
		}
	}
	if r, body := l.do(t, "GET", "/v1/contexts?query=ADA", "", nil); r.StatusCode != 200 || !strings.Contains(body, `"u-77"`) {
		t.Errorf("what was saved is not found: %d %s", r.StatusCode, body)
	}
	if r, _ := l.do(t, "POST", "/api/v1/telemetry/", report, http.Header{}); r.StatusCode != 401 {
		t.Errorf("without a key: %d", r.StatusCode)
	}
}

// instances writes through one instance and reads through others.
func (l *local) instances(t *testing.T) {
	if r, body := l.do(t, "POST", "/v1/configs", `{"key":"seen","valueType":"int","value":0}`, nil); r.StatusCode != 200 {
		t.Fatalf("%d %s", r.StatusCode, body)
	}
	for n := 1; n <= 5; n++ {
		if r, body := l.do(t, "PATCH", "/v1/configs/seen/environments/default", fmt.Sprintf(`{"value":%d}`, n), nil); r.StatusCode != 200 {
			t.Fatalf("%d %s", r.StatusCode, body)
		}
		var wait sync.WaitGroup
		for range 6 {
			wait.Go(func() {
				if r, body := l.do(t, "GET", "/v1/configs/seen", "", nil); r.StatusCode != 200 || !strings.Contains(body, fmt.Sprintf(`"value":%d`, n)) {
					t.Errorf("after %d: %d %s", n, r.StatusCode, body)
				}
			})
		}
		wait.Wait()
	}
	if n := len(l.Pool.InitTimes("ConfigsFunction")); n < 2 {
		t.Errorf("all were answered by %d instance", n)
	}
}

func TestAFunctionThatCanNotStartSaysWhy(t *testing.T) {
	l := start(t, "TABLE=", "LIMIT_BURST=none")
	r, body := l.do(t, "GET", "/v1/flags", "", nil)
	if r.StatusCode != 500 || body != `{"message":"Internal Server Error"}` {
		t.Errorf("%d %s", r.StatusCode, body)
	}
	var entry struct{ Level, Msg, Error string }
	for _, line := range strings.Split(l.log.String(), "\n") {
		if text, found := strings.CutPrefix(line, "FlagsFunction "); found {
			if err := json.Unmarshal([]byte(text), &entry); err != nil {
				t.Errorf("a line of the log is no JSON: %s", text)
			}
		}
	}
	if entry.Level != "ERROR" || !strings.Contains(entry.Error, "TABLE is not set") || !strings.Contains(entry.Error, "LIMIT_BURST") {
		t.Errorf("%+v in\n%s", entry, l.log)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	l := start(t)
	l.do(t, "GET", "/v1/docs", "", nil)
	l.Pool.Close()
	deadline := time.Now().Add(5 * time.Second)
	for {
		out, _ := exec.CommandContext(context.Background(), "ps", "-eo", "args").Output()
		if !strings.Contains(string(out), l.binaries) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a function goes on:\n%s", out)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
