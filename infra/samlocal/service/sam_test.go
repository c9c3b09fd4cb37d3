package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/infra/admin"
	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/engine"
	"svc.example/svc/infra/samlocal/sam"
	"svc.example/svc/infra/samlocal/template"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/importing"
	"svc.example/svc/shared/minting"
	"svc.example/svc/shared/needs"
	"svc.example/svc/shared/repository"
)

// startSAM starts the service in sam local start-api, in containers.
func startSAM(t *testing.T) (*local, *sam.SAM, *engine.Engine, sam.Options) {
	t.Helper()
	if err := sam.Installed(); errors.Is(err, emulator.ErrMissing) {
		needs.Skip(t, err.Error())
	}
	e := engine.Test(t)
	l := prepare(t)
	l.inSAM = true
	port := sam.FreePort()
	settings := l.stores.Settings
	l.url = "http://127.0.0.1:" + strconv.Itoa(port)
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
	const flags = 10_000
	source := &importing.Source{Name: "large", Files: map[string][]byte{"svc.json": []byte("{\n  \"environments\": [\n    \"production\"\n  ]\n}\n")}}
	for i := range flags {
		key := fmt.Sprintf("flag-%d", i)
		source.Files["feature-flags/"+key+".json"] = fmt.Appendf(nil, `{
  "key": "%s",
  "type": "feature_flag",
  "valueType": "bool",
  "description": "What this switches on, for whom, and until when",
  "default": {
    "rules": [
      {
        "criteria": [{"operator": "PROP_IS_ONE_OF", "propertyName": "user.plan", "valueToMatch": {"type": "string_list", "value": ["plan-%d", "team"]}}],
        "value": {"type": "bool", "value": true}
      },
      {"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}
    ]
  }
}
`, key, i%50)
	}
	author := repository.Signature{Name: "svc", Email: "noreply@svc", When: time.Now().UTC().Truncate(time.Second)}
	w, err := l.stores.Admin.Create(t.Context(), admin.Creation{Name: "large", Source: source, Author: author})
	if err != nil {
		t.Fatal(err)
	}
	mint := func(r minting.Request) string {
		r.Name = "large"
		key, _, err := w.Mint(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		return key.Reveal()
	}
	editor := http.Header{"Authorization": {"Bearer " + mint(minting.Request{Kind: access.KindUser, Roles: []string{"protected_engineer"}})}}
	public := basic(mint(minting.Request{Kind: access.KindPublicSDK, Environment: "production"}))
	secret := basic(mint(minting.Request{Kind: access.KindSecretSDK, Environment: "production"}))
	for round := range 3 {
		r, body := l.do(t, "GET", "/v1/flags?limit=100", "", editor)
		var list struct{ Total int }
		if err := json.Unmarshal([]byte(body), &list); r.StatusCode != 200 || err != nil || list.Total != flags {
			t.Errorf("the list: %d %v %.300s", r.StatusCode, err, body)
		}
		key := fmt.Sprintf("flag-%d", round)
		if r, body := l.do(t, "PATCH", "/v1/flags/"+key+"/environments/production", `{"enabled":true}`, editor); r.StatusCode != 200 {
			t.Errorf("a write: %d %.300s", r.StatusCode, body)
		}
		for _, c := range []struct {
			method, path, body string
			header             http.Header
		}{
			{"GET", "/api/v2/configs/eval-with-context/e30=", "", public},
			{"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u-1"}}`, public},
			{"GET", "/api/v2/configs", "", secret},
		} {
			if r, body := l.do(t, c.method, c.path, c.body, c.header); r.StatusCode != 200 || strings.Count(body, `"flag-`) < flags {
				t.Errorf("%s %s: %d %.300s", c.method, c.path, r.StatusCode, body)
			}
		}
	}
}
