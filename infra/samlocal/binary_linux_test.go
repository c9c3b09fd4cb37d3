package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/admin"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/source"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/template"
)

// TestEachBinary starts the functions' binaries as Lambda does, with the variables that the
// template sets, and asks each for something of a large workspace: none takes more than
// its MemorySize.
func TestEachBinary(t *testing.T) {
	s := started(t)
	w, public := s.large(t, 10_000)
	key, _, err := w.IssueKey(t.Context(), "", access.KeyRequest{Kind: access.KindUser, Name: "you", Roles: []string{"protected_engineer"}})
	must(t, err)
	binaries := s.startBinaries(t)
	front, err := instance.Front(binaries.invoke, slog.New(slog.NewTextHandler(refusals{t}, nil)))
	must(t, err)
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
		{"GET", "/v1/activity", "", editor, apiload.FlagKey(1)},
		{"GET", "/v1/contexts", "", editor, `"contexts"`},
		{"GET", "/api/v2/configs/eval-with-context/e30=", "", reader, `"` + apiload.FlagKey(1) + `"`},
		{"POST", "/api/v1/telemetry/", `{"instanceHash":"i","batchId":"b","events":[]}`, reader, ""},
		{"GET", "/v1/openapi.json", "", "", `"openapi"`},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
		if c.key != "" {
			r.Header.Set("Authorization", c.key)
		}
		answer := httptest.NewRecorder()
		if front.ServeHTTP(answer, r); answer.Code/100 != 2 || !strings.Contains(answer.Body.String(), c.text) {
			t.Errorf("%s %s: %d %.300s", c.method, c.path, answer.Code, answer.Body)
		}
	}
	answer, err := binaries.invoke(t.Context(), "maintenance", fmt.Appendf(nil, `{"Records":[{"messageId":"1","body":"{\"workspace\":\"%s\"}"}]}`, s.workspace.ID))
	if err != nil || !strings.Contains(string(answer), `"batchItemFailures":[]`) {
		t.Errorf("maintenance: %s, %v", answer, err)
	}
	for name, b := range binaries {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.process))
		must(t, err)
		_, after, _ := strings.Cut(string(status), "VmHWM:")
		kilobytes, err := strconv.Atoi(strings.Fields(after)[0])
		must(t, err)
		if t.Logf("%s: %d of %d MB", name, kilobytes>>10, b.memory); kilobytes>>10 > b.memory || b.invocations == 0 {
			t.Errorf("%s has held %d MB in %d invocations, and its MemorySize is %d MB", name, kilobytes>>10, b.invocations, b.memory)
		}
	}
}

// large makes a workspace of so many flags, and a key to poll it.
func (s *service) large(t *testing.T, flags int) (w *admin.Workspace, public string) {
	t.Helper()
	from := &source.Source{Name: "large", Files: map[string][]byte{}}
	for path, text := range apiload.ManyFlags(flags) {
		from.Files[path] = []byte(text)
	}
	w, err := s.stores.Create(t.Context(), admin.Creation{Name: "large", Source: from, Author: repository.Committer(time.Now().UTC())})
	must(t, err)
	key, _, err := w.IssueKey(t.Context(), "", access.KeyRequest{Kind: access.KindPublicSDK, Name: "app", Environment: "production"})
	must(t, err)
	return w, key.Reveal()
}

// binary is a function's program, and what Lambda's runtime API is to it: a server that
// hands out events and takes answers.
type binary struct {
	memory, process, invocations int
	events, answers              chan []byte
}

type binaries map[string]*binary

// startBinaries builds and starts all functions, by their folders.
func (s *service) startBinaries(t *testing.T) binaries {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", dir, "../../functions/...")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	read, err := template.Read("../../template.yaml")
	must(t, err)
	functions, err := read.Functions()
	must(t, err)
	shared, _ := template.At(read.Globals, "Function", "Environment", "Variables").(map[string]any)
	values := map[string]string{"TABLE": s.Table, "BUCKET": s.Bucket, "QUEUE": s.Queue, "DEAD_LETTERS": s.DeadLetters,
		"AWS_ENDPOINT_URL_DYNAMODB": s.DynamoDB, "AWS_ENDPOINT_URL_S3": s.S3, "AWS_ENDPOINT_URL_SQS": s.SQS}
	all := binaries{}
	for _, f := range functions {
		b := &binary{memory: f.Memory, events: make(chan []byte), answers: make(chan []byte)}
		runtime := httptest.NewServer(b)
		t.Cleanup(runtime.Close)
		cmd := exec.Command(filepath.Join(dir, f.Group()))
		cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(runtime.URL, "http://"), fmt.Sprint("AWS_LAMBDA_FUNCTION_MEMORY_SIZE=", f.Memory),
			"AWS_REGION=" + s.config.Region, "AWS_ACCESS_KEY_ID=" + s.credentials.AccessKeyID, "AWS_SECRET_ACCESS_KEY=" + s.credentials.SecretAccessKey}
		for _, variables := range []map[string]any{shared, f.Variables} {
			for name := range variables {
				cmd.Env = append(cmd.Env, name+"="+values[name])
			}
		}
		cmd.Stderr = t.Output()
		must(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		b.process, all[f.Group()] = cmd.Process.Pid, b
	}
	return all
}

// invoke hands an event to a function, and waits for its answer.
func (all binaries) invoke(ctx context.Context, function string, event []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, apiload.Patience)
	defer cancel()
	b := all[function]
	select {
	case b.events <- event:
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not ask for an event", function)
	}
	select {
	case answer := <-b.answers:
		return answer, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s does not answer", function)
	}
}

// ServeHTTP is the runtime API.
func (b *binary) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/invocation/next") { // an answer, or an error
		text, _ := io.ReadAll(r.Body) // an answer that is cut off is none
		w.WriteHeader(http.StatusAccepted)
		b.answers <- text
		return
	}
	select {
	case event := <-b.events:
		b.invocations++
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprint(b.invocations))
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		_, _ = w.Write(event)
	case <-r.Context().Done():
	}
}
