package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/devserver/mcpserver"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
)

func TestMain(m *testing.M) { os.Exit(svcbinary.Run(m.Run)) }

// maxResult is what the tools promise.
const maxResult = 16 << 10

var ctx = context.Background()

// world is a workspace that is served here.
type world struct {
	t   testing.TB
	dir string
	url string // of the API
	// cut, while it is set, has the answer to the next write cut off.
	cut atomic.Bool
}

const declared = `{"environments":[{"name":"development","environmentType":"development"},{"name":"production","environmentType":"production","protected":true}]}`

func flag(key, more string) string {
	return `{"key":"` + key + `","type":"feature_flag","valueType":"bool"` + more + `,"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`
}

// secret is what no tool tells.
const secret = "hunter2-hunter2"

func files() map[string]string {
	return map[string]string{
		"svc.json":                       declared,
		"feature-flags/dark.json":        flag("dark", `,"name":"Dark mode","tags":["ui"]`),
		"feature-flags/old.json":         flag("old", `,"readyForCleanup":true`),
		"feature-flags/guard.json":       flag("guard", `,"access":"protected-env"`),
		"feature-flags/pro.json":         `{"key":"pro","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.plan","valueToMatch":{"type":"string_list","value":["pro"]}}],"value":{"type":"bool","value":true}},{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`,
		"feature-flags/beta.json":        `{"key":"beta","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"IN_SEG","valueToMatch":{"type":"string","value":"testers"}}],"value":{"type":"bool","value":true}}]}}`,
		"configs/limit.json":             `{"key":"limit","type":"config","valueType":"int","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"int","value":7}}]}}`,
		"configs/password.json":          `{"key":"password","type":"config","valueType":"string","variants":[{"name":"` + secret + `","value":{"type":"string","value":"` + secret + `"}}],"default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"string","confidential":true,"value":"` + secret + `"}}]}}`,
		"log-levels/log-level.shop.json": `{"key":"log-level.shop","type":"log_level","valueType":"log_level","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"log_level","value":"INFO"}}]}}`,
		"segments/testers.json":          `{"key":"testers","type":"segment","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"PROP_IS_ONE_OF","propertyName":"user.key","valueToMatch":{"type":"string_list","value":["u-1"]}}],"value":{"type":"bool","value":true}},{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`,
		"schemas/any.json":               `{"type":"object"}`,
	}
}

func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, dir: filepath.Join(t.TempDir(), "data")}
	c := embedded.Creation{Name: "shop", Source: "the test's files", Files: map[string][]byte{}}
	for path, text := range files {
		c.Files[path] = []byte(text)
	}
	must.Get(embedded.Create(ctx, w.dir, c))(t)
	unlimited := ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}
	service := must.Get(embedded.Open(ctx, w.dir, embedded.Options{PublicURL: "https://svc.test", Limit: unlimited, Logger: slog.New(slog.DiscardHandler)}))(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if w.cut.Load() && r.Header.Get("Idempotency-Key") != "" {
			w.cut.Store(false)
			service.Handler().ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		service.Handler().ServeHTTP(rw, r)
	}))
	t.Cleanup(func() {
		server.Close()
		must.Report(t, service.Close())
	})
	w.url = server.URL + "/v1"
	return w
}

// key makes a key of somebody with roles.
func (w *world) key(name string, roles ...string) string {
	w.t.Helper()
	key, _, err := embedded.IssueKey(ctx, w.dir, "", access.KeyRequest{Kind: access.KindServiceAccount, Name: name, Roles: roles})
	must.Do(w.t, err)
	return key.Reveal()
}

// sdkKey makes a key of applications in production.
func (w *world) sdkKey() string {
	w.t.Helper()
	key, _, err := embedded.IssueKey(ctx, w.dir, "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "browsers", Environment: "production"})
	must.Do(w.t, err)
	return key.Reveal()
}

// see reports people, as applications do.
func (w *world) see(people ...string) {
	w.t.Helper()
	var examples []string
	for _, properties := range people {
		examples = append(examples, fmt.Sprintf(`{"timestamp":%d,"contextSet":{"contexts":[{"type":"user","values":%s}]}}`, time.Now().UnixMilli(), properties))
	}
	request := must.Get(http.NewRequest("POST", strings.TrimSuffix(w.url, "/v1")+"/api/v1/telemetry/",
		strings.NewReader(`{"instanceHash":"web-1","batchId":"`+fmt.Sprint(time.Now().UnixNano())+`","events":[{"exampleContexts":{"examples":[`+strings.Join(examples, ",")+`]}}]}`)))(w.t)
	request.SetBasicAuth("1", w.sdkKey())
	answer, err := http.DefaultClient.Do(request)
	if err != nil || answer.StatusCode != http.StatusAccepted {
		w.t.Fatal(answer, err)
	}
	_ = answer.Body.Close()
}

// reply is an answer of the API.
type reply struct {
	status int
	body   map[string]any
}

func codeOf(body map[string]any) string {
	details, _ := body["details"].(map[string]any)
	if details["code"] != nil {
		return fmt.Sprint(body["error"], " ", details["code"])
	}
	return fmt.Sprint(body["error"])
}

func (w *world) rest(key, method, path, body string) reply {
	w.t.Helper()
	request := must.Get(http.NewRequest(method, w.url+path, strings.NewReader(body)))(w.t)
	request.Header.Set("Authorization", "Bearer "+key)
	answer := must.Get(http.DefaultClient.Do(request))(w.t)
	defer answer.Body.Close()
	r := reply{status: answer.StatusCode}
	must.Do(w.t, json.NewDecoder(answer.Body).Decode(&r.body))
	return r
}

// commits is how many commits there are.
func (w *world) commits(key string) int {
	w.t.Helper()
	shas := map[any]bool{}
	for _, entry := range w.rest(key, "GET", "/activity?limit=100", "").body["activity"].([]any) {
		shas[entry.(map[string]any)["sha"]] = true
	}
	return len(shas)
}

// client is an MCP client of the tools.
type client struct {
	t       testing.TB
	session *mcp.ClientSession
	calls   int
}

func connect(t testing.TB, transport mcp.Transport) *client {
	t.Helper()
	session := must.Get(mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil))(t)
	t.Cleanup(func() { _ = session.Close() })
	return &client{t: t, session: session}
}

// serve serves the tools here.
func serve(t testing.TB, o mcpserver.Options) *client {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	o.In, o.Out = in, out
	served := make(chan error, 1)
	go func() {
		served <- mcpserver.Serve(ctx, o)
		_ = out.Close()
	}()
	c := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	t.Cleanup(func() {
		_ = c.session.Close()
		must.Report(t, <-served)
	})
	return c
}

// tools are those of the workspace with a key, served here.
func (w *world) tools(key string) *client {
	w.t.Helper()
	api := must.Get(remote.New(w.url, key))(w.t)
	return serve(w.t, mcpserver.Options{API: api})
}

// stdio starts svc mcp, and returns what it writes to standard error.
func stdio(t testing.TB, key string, args ...string) (*client, *svcbinary.Log) {
	t.Helper()
	path := must.Get(svcbinary.Watched())(t)
	cmd := exec.Command(path, append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), "SVC_API_KEY="+key, "SVC_DIR=", "GORACE=atexit_sleep_ms=0")
	cmd.Dir = t.TempDir()
	log := &svcbinary.Log{}
	cmd.Stderr = log
	return connect(t, &mcp.CommandTransport{Command: cmd}), log
}

// call calls a tool, and holds its answer to what all promise.
func (c *client) call(name string, arguments any) (body map[string]any, refused bool) {
	c.t.Helper()
	c.calls++
	if text, is := arguments.(string); is {
		arguments = json.RawMessage(text)
	}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	whole, err := json.Marshal(result)
	if err != nil || len(whole) > maxResult {
		c.t.Fatalf("%s answers %d bytes, %v", name, len(whole), err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		c.t.Fatalf("%s answers %s: %v", name, text, err)
	}
	if strings.Contains(text, secret) {
		c.t.Fatalf("%s tells the secret: %s", name, text)
	}
	if result.IsError != (body["error"] != nil) || result.IsError && body["message"] == nil {
		c.t.Fatalf("%s: an error that is none, or the other way round: %s", name, text)
	}
	return body, result.IsError
}

// ok calls a tool that must not refuse.
func (c *client) ok(name string, arguments any) map[string]any {
	c.t.Helper()
	body, refused := c.call(name, arguments)
	if refused {
		c.t.Fatalf("%s %s is refused: %v", name, arguments, body)
	}
	return body
}

// refused calls a tool that must refuse, and returns the code.
func (c *client) refused(name string, arguments any) string {
	c.t.Helper()
	body, refused := c.call(name, arguments)
	if !refused {
		c.t.Fatalf("%s %s is not refused: %v", name, arguments, body)
	}
	return codeOf(body)
}
