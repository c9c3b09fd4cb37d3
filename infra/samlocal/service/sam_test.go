package service

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/engine"
	"svc.example/svc/infra/samlocal/sam"
	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/testenv"
)

// startSAM starts the service in sam local start-api, in containers.
func startSAM(t *testing.T) (*local, *sam.SAM, *engine.Engine, sam.Options) {
	t.Helper()
	if err := sam.Installed(); errors.Is(err, emulator.ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	e := engine.Test(t)
	l := prepare(t)
	l.inSAM = true
	free := freeport.Take()
	port, _ := strconv.Atoi(free)
	settings := l.stores.Settings
	l.url = "http://127.0.0.1:" + free
	settings.PublicURL, settings.PerSecond, settings.Burst = l.url, 1000, 5000
	if err := settings.MakeQueues(t.Context(), filepath.Join(root, "template.yaml"), nil); err != nil {
		t.Fatal(err)
	}
	l.settings = settings
	options := sam.Options{
		Template: l.builtTemplate(t), Port: port, Log: l.log,
		Environment: append(settings.Environment(), settings.QueueVariables()...), Parameters: []string{"Architecture=" + sam.Architecture()},
	}
	s, err := sam.Start(t.Context(), e, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the log of SAM and its functions:\n%s", l.log)
		}
	})
	return l, s, e, options
}

// builtTemplate is the template as sam build leaves it: with the places of
// functions that are built.
func (l *local) builtTemplate(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	built := strings.ReplaceAll(string(text), "CodeUri: functions/", "CodeUri: "+l.binaries+"/")
	if built == string(text) {
		t.Fatal("template.yaml has no CodeUri: functions/...")
	}
	path := filepath.Join(t.TempDir(), "template.yaml")
	if err := os.WriteFile(path, []byte(built), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTheFunctionsInSAM drives the functions through sam local start-api, each
// in a container that has the template's MemorySize and no more.
func TestTheFunctionsInSAM(t *testing.T) {
	l, s, e, options := startSAM(t)
	t.Run("every path knows its methods", l.everyPath)
	t.Run("paths", l.paths)
	t.Run("what SAM does in its own way", l.samsOwnWay)
	t.Run("console", l.console)
	t.Run("headers", l.headers)
	t.Run("bodies", l.bodies)
	t.Run("walk-through", l.walkThrough)
	t.Run("delivery", l.delivery)
	t.Run("telemetry", l.telemetry)
	t.Run("maintenance", func(t *testing.T) {
		message := fmt.Sprintf(`{"Records":[{"messageId":"1","body":"{\"workspace\":\"%s\"}"}]}`, l.workspace.ID)
		for _, event := range []string{"{}", message} { // of the schedule, and of the queue
			answer, err := sam.Invoke(t.Context(), e, options, "MaintenanceFunction", []byte(event))
			if err != nil || strings.Contains(string(answer), "errorMessage") || strings.Contains(string(answer), "itemIdentifier") {
				t.Errorf("%s: %v %s", event, err, answer)
			}
		}
	})
	t.Run("10,000 flags", l.tenThousandFlags)
	read, err := template.Read(filepath.Join(root, "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	functions, err := read.Functions()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range s.Containers() {
		inspect := exec.CommandContext(t.Context(), "docker", "container", "inspect", "--format", `{{index .Config.Labels "sam.cli.function.name"}} {{.HostConfig.Memory}}`, id)
		inspect.Env = e.Environ()
		out, err := inspect.CombinedOutput()
		name, memory, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		if want := strconv.Itoa(functions[name].Memory << 20); err != nil || want == "0" || memory != want {
			t.Errorf("%s may take %s bytes of memory, want %s (%v)", name, memory, want, err)
		}
	}
}

// samDecodes are the paths that SAM takes for others than AWS does.
var samDecodes = map[string]bool{"/v1/flags/what%253F/document": true, "/v1//flags?limit=1": true}

// samsOwnWay holds what the documentation of the package sam says, so that a
// SAM which mends it is noticed.
func (l *local) samsOwnWay(t *testing.T) {
	authorization := []string{"Bearer " + l.key}
	for _, c := range []struct {
		method, path, body string
		header             http.Header
		status             int
		text               string
	}{
		{"TRACE", "/v1/flags", "", nil, 403, `{"message":"Missing Authentication Token"}`},
		{"GET", "/v1/flags/what%3F/document", "", nil, 404, `no flag \"what?\"`},
		{"GET", "/v1/flags/what%253F/document", "", nil, 404, `no flag \"what%3F\"`},
		{"GET", "/v1/flags/50%25done", "", nil, 404, `no flag \"50%done\"`},
		{"GET", "/v1//flags", "", nil, 404, "NOT_FOUND"},
		{"GET", "/v1/whoami", "", http.Header{"Authorization": authorization, "X-Long": {strings.Repeat("a", 11_000)}}, 200, "principal"},
		{"GET", "/v1/whoami", "", http.Header{"Authorization": authorization, "X-Amz-Tenant-Id": {"a"}}, 400, "tenan"},
		{"POST", "/v1/flags", "\xff{}", http.Header{"Authorization": authorization}, 502, `{"message":"Internal server error"}`},
		{"POST", "/v1/flags", strings.Repeat(" ", 7<<20), nil, 500, `{"message":"Internal server error"}`},
	} {
		r, body := l.do(t, c.method, c.path, c.body, c.header)
		if r.StatusCode != c.status || !strings.Contains(body, c.text) {
			t.Errorf("%s %s: %d %.300s, want %d %s", c.method, c.path, r.StatusCode, body, c.status, c.text)
		}
	}
}

// tenThousandFlags lists, writes and polls a large workspace.
func (l *local) tenThousandFlags(t *testing.T) {
	w := l.tenant(t, "large", 10_000)
	for round := range 3 {
		l.use(t, w, round)
	}
}
