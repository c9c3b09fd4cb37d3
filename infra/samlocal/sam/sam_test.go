package sam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/infra/samlocal/engine"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/testenv"
)

// build puts a template and its function where SAM finds them.
func build(t *testing.T) (template string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-o", filepath.Join(dir, "hungry", "bootstrap"), "./testdata/hungry")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile("testdata/template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	template = filepath.Join(dir, "template.yaml")
	if err := os.WriteFile(template, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return template
}

func needed(t *testing.T) {
	t.Helper()
	if err := Installed(); errors.Is(err, emulator.ErrMissing) {
		testenv.Skip(t, err.Error())
	} else if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// TestAFunctionHasItsMemoryAndNoMore: SAM takes a container's memory from
// MemorySize, and the engine kills what takes more, as Lambda does.
func TestAFunctionHasItsMemoryAndNoMore(t *testing.T) {
	needed(t)
	store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer store.Close()
	e := engine.Test(t)
	free := freeport.Take()
	port, _ := strconv.Atoi(free)
	s, err := Start(t.Context(), e, Options{
		Template: build(t), Port: port, Log: t.Output(),
		Environment: []string{"TABLE=a-table", "AWS_ENDPOINT_URL_S3=" + store.URL, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"},
		Parameters:  []string{"Architecture=" + Architecture(), "Memory=128"},
	})
	if err != nil {
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + free + "/?megabytes="
	if status, body := get(t, url+"20"); status != 200 || body != "took 20 MB of 128, S3 said hello, table a-table" {
		t.Errorf("20 MB of 128: %d %s", status, body)
	}
	if status, body := get(t, url+"200"); status/100 != 5 {
		t.Errorf("200 MB of 128: %d %s", status, body)
	}
	if status, body := get(t, url+"20"); status != 200 {
		t.Errorf("after one was killed: %d %s", status, body)
	}
	made := s.Containers()
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if len(made) == 0 {
		t.Error("SAM has named no container")
	}
	for _, id := range made {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "docker", "container", "inspect", id)
		cmd.Env = e.Environ()
		if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "No such container") {
			t.Errorf("the container %s is left: %.200s", id, out)
		}
	}
}

// TestWhatSAMWritesIsPassedOn, however it is cut into pieces.
func TestWhatSAMWritesIsPassedOn(t *testing.T) {
	var out strings.Builder
	l := &log{next: &out}
	text := "2026-11-22 07:00:00,000 | SAM_CONTAINER_ID: 0123456789abcdef\nanother line\nthe rest"
	for _, piece := range []string{text[:40], text[40:50], text[50:]} {
		fmt.Fprint(l, piece)
	}
	if out.String() != text {
		t.Errorf("passed on: %q", out.String())
	}
	if ids := l.containers(); len(ids) != 1 || ids[0] != "0123456789abcdef" {
		t.Errorf("containers %q", ids)
	}
	if !strings.HasSuffix(l.tail(), "another line\nthe rest") {
		t.Errorf("the end is %q", l.tail())
	}
}
