package main

import (
	"context"
	"errors"
	"io"
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
	"svc.example/svc/infra/samlocal/service"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

// TestServingInDocker does what make sam-local does where an engine runs.
func TestServingInDocker(t *testing.T) {
	if err := sam.Installed(); errors.Is(err, emulator.ErrMissing) {
		testenv.Skip(t, err.Error())
	}
	standin.DynamoDB(t) // skips where it is missing
	standin.S3(t)
	t.Setenv("DOCKER_HOST", engine.Test(t).Host)
	if err := usable(t.Context()); err != nil {
		t.Fatal(err)
	}
	stores, err := service.NewStores(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := stores.Workspace(t.Context(), "local")
	if err != nil {
		t.Fatal(err)
	}
	free, settings := freeport.Take(), stores.Settings
	port, _ := strconv.Atoi(free)
	settings.PublicURL = "http://127.0.0.1:" + free

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	asked := false
	err = serveInDocker(ctx, built(t, "workspace", "flags"), port, settings, key, func() {
		asked = true
		defer stop()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, settings.PublicURL+"/v1/flags", nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Authorization", "Bearer "+key.Reveal())
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return
		}
		defer response.Body.Close()
		if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusOK || !strings.Contains(string(body), "new-checkout") {
			t.Errorf("GET /v1/flags: %d %.300s", response.StatusCode, body)
		}
	})
	if err != nil || !asked {
		t.Errorf("it was ready: %v; it ended with %v", asked, err)
	}
}

// built is the template with some of its functions built.
func built(t *testing.T, groups ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, group := range groups {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=lambda.norpc", "-ldflags=-s -w", "-o", filepath.Join(dir, group, "bootstrap"), "./functions/"+group)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "template.yaml")
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), "CodeUri: functions/", "CodeUri: ")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestNoEngine: what is missing is said, so that make can take the emulator.
func TestNoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	if _, err := engine.Running(t.Context()); !errors.Is(err, engine.ErrNone) {
		t.Errorf("without an engine: %v", err)
	}
}
