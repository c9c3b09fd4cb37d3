package main

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/docker"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/template"
	"svc.example/svc/shared/testing/testenv"
)

// TestEachFunctionInSAM asks each function for something in sam local: the binaries
// that are shipped, started as Lambda starts them, each in a container that has the
// template's MemorySize and is killed when it takes more. The workspace is a large one.
func TestEachFunctionInSAM(t *testing.T) {
	program, err := standin.Tool("sam")
	if errors.Is(err, standin.ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	e := docker.New(t)
	s := started(t)
	w, public := s.large(t, 10_000)
	key, _, err := w.IssueKey(t.Context(), "", access.KeyRequest{Kind: access.KindUser, Name: "you", Roles: []string{"protected_engineer"}})
	must.Do(t, err)
	sam := newSAM(t, program, e, s)
	url := sam.startAPI(t)
	editor, reader := "Bearer "+key.Reveal(), "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+public))
	flag := "/v1/flags/" + apiload.FlagKey(1)
	for _, c := range []struct{ method, path, body, key, text string }{
		{"GET", "/v1/whoami", "", editor, `"principal"`},
		{"GET", "/v1/flags", "", editor, `"total":10000`},
		{"PATCH", flag + "/environments/production", `{"enabled":false}`, editor, `"commitSha"`},
		{"GET", flag + "/history", "", editor, `"sha"`},
		{"GET", "/v1/configs", "", editor, `"configs"`},
		{"GET", "/v1/segments", "", editor, `"segments"`},
		{"GET", "/v1/log-levels", "", editor, `"logLevels"`},
		{"POST", "/v1/changes", `{"operations":[{"op":"create","type":"feature_flag","body":{"key":"made"}}]}`, editor, `"commitSha"`},
		{"GET", "/v1/change-requests", "", editor, `"changeRequests"`},
		{"GET", "/v1/activity", "", editor, apiload.FlagKey(1)},
		{"GET", "/v1/contexts", "", editor, `"contexts"`},
		{"GET", "/api/v2/configs/eval-with-context/e30=", "", reader, `"` + apiload.FlagKey(1) + `"`},
		{"POST", "/api/v1/telemetry/", `{"instanceHash":"i","batchId":"b","events":[]}`, reader, ""},
		{"GET", "/v1/openapi.json", "", "", `"openapi"`},
		{"POST", "/console/api/session", fmt.Sprintf(`{"oneTimeKey":%q}`, s.oneTime.Reveal()), "", `"administers":true`},
	} {
		r := must.Get(http.NewRequestWithContext(t.Context(), c.method, url+c.path, strings.NewReader(c.body)))(t)
		if c.key != "" {
			r.Header.Set("Authorization", c.key)
		}
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Svc-Console", "1")
		status, body := send(t, r)
		if status/100 != 2 || !strings.Contains(body, c.text) {
			t.Errorf("%s %s: %d %.300s", c.method, c.path, status, body)
		}
	}
	sam.keepsToItsMemory(t)
	if answer := sam.invoke(t, "MaintenanceFunction", fmt.Sprintf(`{"Records":[{"messageId":"1","body":"{\"workspace\":\"%s\"}"}]}`, s.workspace.ID)); !strings.Contains(answer, `"batchItemFailures": []`) {
		t.Errorf("maintenance: %s", answer)
	}
}

// large makes a workspace of so many flags, and a key to poll it.
func (s *service) large(t *testing.T, flags int) (w *admin.Workspace, public string) {
	t.Helper()
	from := &source.Source{Name: "large", Files: map[string][]byte{}}
	for path, text := range apiload.ManyFlags(flags) {
		from.Files[path] = []byte(text)
	}
	w = must.Get(s.stores.Create(t.Context(), admin.Creation{Name: "large", Source: from, Author: repository.Committer(time.Now().UTC())}))(t)
	key, _, err := w.IssueKey(t.Context(), "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "app", Environment: "production"})
	must.Do(t, err)
	return w, key.Reveal()
}

func send(t *testing.T, r *http.Request) (status int, body string) {
	t.Helper()
	response := must.Get(http.DefaultClient.Do(r))(t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(text)
}

// sam is sam local, of functions that are built, over a service's stores.
type sam struct {
	program string
	engine  *docker.Engine
	args    []string // of all of its commands
	env     []string
}

func newSAM(t *testing.T, program string, e *docker.Engine, s *service) *sam {
	t.Helper()
	dir := t.TempDir()
	architecture := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	settings := must.Get(json.Marshal(map[string]any{"Parameters": map[string]string{"TABLE": s.Table, "BUCKET": s.Bucket, "PUBLIC_URL": "", "SIGN_IN": "", "QUEUE": s.Queue, "DEAD_LETTERS": s.DeadLetters,
		"AWS_ENDPOINT_URL_DYNAMODB": e.Reach(t, s.DynamoDB), "AWS_ENDPOINT_URL_S3": e.Reach(t, s.S3), "AWS_ENDPOINT_URL_SQS": s.SQS}}))(t)
	write(t, dir+"/env.json", settings)
	write(t, dir+"/metadata.json", fmt.Appendf(nil, `{"lastVersionCheck": %d}`, time.Now().Unix())) // of SAM, which else looks for a newer one
	write(t, dir+"/template.yaml", []byte(built(t, dir)))
	return &sam{program: program, engine: e,
		args: []string{"--template", dir + "/template.yaml", "--env-vars", dir + "/env.json", "--skip-pull-image", "--invoke-image", image(t, program, e, architecture),
			"--parameter-overrides", "Architecture=" + architecture},
		env: append(e.Environ(), "SAM_CLI_TELEMETRY=0", "__SAM_CLI_APP_DIR="+dir, "SAM_CLI_CONTAINER_CONNECTION_TIMEOUT=60",
			"AWS_REGION="+s.config.Region, "AWS_ACCESS_KEY_ID="+s.credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+s.credentials.SecretAccessKey)}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path, text, 0o600))
}

// built builds the functions, and is the template that names where.
func built(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", filepath.Join(dir, "built")+"/", "./functions/...")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	groups := must.Get(os.ReadDir(filepath.Join(dir, "built")))(t)
	for _, group := range groups {
		must.Do(t, os.Mkdir(filepath.Join(dir, group.Name()), 0o755))
		must.Do(t, os.Rename(filepath.Join(dir, "built", group.Name()), filepath.Join(dir, group.Name(), "bootstrap")))
	}
	text := must.Get(os.ReadFile("../../template.yaml"))(t)
	return strings.ReplaceAll(string(text), "CodeUri: functions/", "CodeUri: "+dir+"/")
}

// image imports an image that holds nothing but the runtime interface emulator, which
// SAM brings itself, so that no registry is asked. It returns what SAM is to be told:
// from that SAM makes the name of the one with the emulator in it.
func image(t *testing.T, program string, e *docker.Engine, architecture string) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(program), "../lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-"+architecture))
	if len(found) == 0 {
		t.Fatal("SAM brings no runtime interface emulator")
	}
	content, err := os.ReadFile(found[0])
	must.Do(t, err)
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, dir := range []string{"tmp/", "var/", "var/rapid/", "var/runtime/", "var/task/"} {
		err = errors.Join(err, w.WriteHeader(&tar.Header{Name: dir, Mode: 0o1777, Typeflag: tar.TypeDir}))
	}
	err = errors.Join(err, w.WriteHeader(&tar.Header{Name: "var/rapid/aws-lambda-rie", Mode: 0o755, Size: int64(len(content))}))
	_, err1 := w.Write(content)
	if err = errors.Join(err, err1, w.Close()); err != nil {
		t.Fatal(err)
	}
	e.Run(t, &archive, "import", "-", "svc-sam-local:rapid-"+architecture)
	return "svc-sam-local:latest"
}

// startAPI starts sam local start-api, and returns where it listens.
func (s *sam) startAPI(t *testing.T) string {
	t.Helper()
	port := freeport.Take()
	cmd := exec.Command(s.program, append([]string{"local", "start-api", "--port", port, "--warm-containers", "LAZY"}, s.args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = s.env, t.Output(), t.Output()
	must.Do(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it removes its containers
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(apiload.Patience); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return "http://127.0.0.1:" + port
		}
		if time.Now().After(deadline) {
			t.Fatal("sam local start-api does not listen")
		}
	}
}

// invoke invokes a function with an event, as a queue does.
func (s *sam) invoke(t *testing.T, function, event string) string {
	t.Helper()
	cmd := exec.Command(s.program, append([]string{"local", "invoke", function, "--event", "-"}, s.args...)...)
	cmd.Env, cmd.Stdin, cmd.Stderr = s.env, strings.NewReader(event), t.Output()
	out, err := cmd.Output()
	must.Report(t, err)
	return string(out)
}

// keepsToItsMemory holds the bound of each container against the template.
func (s *sam) keepsToItsMemory(t *testing.T) {
	t.Helper()
	read := must.Get(template.Read("../../template.yaml"))(t)
	functions := must.Get(read.Functions())(t)
	seen := 0
	for _, id := range strings.Fields(s.engine.Run(t, nil, "ps", "--quiet", "--filter", "label=sam.cli.function.name")) {
		out := s.engine.Run(t, nil, "inspect", "--format", `{{index .Config.Labels "sam.cli.function.name"}} {{.HostConfig.Memory}} {{.State.OOMKilled}}`, id)
		name, rest, _ := strings.Cut(out, " ")
		if want := fmt.Sprintf("%d false", functions[name].Memory<<20); rest != want {
			t.Errorf("%s: memory and whether it was killed: %s, want %s", name, rest, want)
		}
		seen++
	}
	if seen != len(functions)-2 { // neither maintenance nor webhooks are asked by the gateway
		t.Errorf("%d functions have answered, of %d", seen, len(functions))
	}
}

// refusals fails a test with what the service logs: what AWS would deny, and what failed.
type refusals struct{ t *testing.T }

func (r refusals) Write(text []byte) (int, error) {
	if strings.Contains(string(text), "level=ERROR") {
		r.t.Errorf("it logs %s", text)
	}
	return len(text), nil
}

func started(t *testing.T) *service {
	t.Helper()
	for _, name := range []string{"AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3"} {
		t.Setenv(name, "") // is set anew, and restored after the test
	}
	standin.DynamoDB(t) // skips where it is missing
	standin.S3(t)
	s := must.Get(start(t.Context(), "../../template.yaml", "http://127.0.0.1:3000", refusals{t}))(t)
	return s
}

// TestTheHostedServiceOnThisMachine asks for paths as they come through the gateway, and
// runs maintenance.
func TestTheHostedServiceOnThisMachine(t *testing.T) {
	s := started(t)
	send := func(method, path string) (status int, body string) {
		r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		r.Header.Set("Authorization", "Bearer "+s.key)
		w := httptest.NewRecorder()
		s.api.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/nothing":                       {404, `"error":"NOT_FOUND"`},
		"/v1/flags/a/b/c":                {404, `"error":"NOT_FOUND"`},
		"/v1/flags/a%2Fb":                {404, `"error":"NOT_FOUND"`},
		"/v1/flags/what%253F/document":   {404, `what?`},
		"/v1/flags/%CE%BB":               {404, "λ"},
		"/v1/flags/a%23b/history":        {404, "a#b"},
		"/v1//flags?limit=1":             {200, `"flags"`},
		"/healthz":                       {200, `"ok"`},
		"/console/":                      {200, "<script"},
		"/schemas/v1/stored-config.json": {200, "http://127.0.0.1:3000/schemas/v1/stored-config.json"},
	} {
		if status, body := send("GET", path); status != want.status || !strings.Contains(body, want.text) {
			t.Errorf("GET %s: %d %.300s, want %d %s", path, status, body, want.status, want.text)
		}
	}
	if status, body := send("DELETE", "/v1/flags"); status != 405 || !strings.Contains(body, "METHOD_NOT_ALLOWED") {
		t.Errorf("DELETE /v1/flags: %d %s", status, body)
	}
	sign := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1:3000/console/api/session", strings.NewReader(fmt.Sprintf(`{"oneTimeKey":%q}`, s.oneTime.Reveal())))
	sign.Header = http.Header{"Sec-Fetch-Site": {"same-origin"}, "Svc-Console": {"1"}}
	w := httptest.NewRecorder()
	if s.api.ServeHTTP(w, sign); w.Code != 200 || len(w.Result().Cookies()) != 1 {
		t.Errorf("signing in: %d %s", w.Code, w.Body)
	}
	must.Report(t, s.maintainOnce(t.Context()))
}
