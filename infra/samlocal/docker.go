package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"svc.example/svc/infra/samlocal/service"
)

// usable says why sam local can not be used; nil when it can.
func usable(ctx context.Context) error {
	if _, err := exec.LookPath("sam"); err != nil {
		return fmt.Errorf("sam is not installed: pip install aws-sam-cli")
	}
	if err := exec.CommandContext(ctx, "docker", "info").Run(); err != nil {
		return fmt.Errorf("no Docker engine answers (docker info: %w)", err)
	}
	return nil
}

// architecture is this machine's, in AWS's words.
func architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// serveInDocker runs sam local start-api on a template that sam build has
// built, over the stores of this machine.
func serveInDocker(ctx context.Context, built string, port int, s service.Settings) error {
	variables := map[string]map[string]string{"Parameters": {
		"TABLE": s.Table, "BUCKET": s.Bucket, "PUBLIC_URL": s.PublicURL,
		"AWS_ENDPOINT_URL_DYNAMODB": s.DynamoDB, "AWS_ENDPOINT_URL_S3": s.S3,
	}}
	dir, err := os.MkdirTemp("", "svc-sam-local-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	text, err := json.Marshal(variables)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "env.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	sam := exec.CommandContext(ctx, "sam", "local", "start-api", "--template", built, "--port", strconv.Itoa(port),
		"--env-vars", file, "--docker-network", "host", "--warm-containers", "LAZY", "--parameter-overrides", "Architecture="+architecture())
	sam.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_DEFAULT_REGION="+s.Region, "AWS_ACCESS_KEY_ID="+s.AccessKey, "AWS_SECRET_ACCESS_KEY="+s.Secret)
	sam.Stdout, sam.Stderr = os.Stdout, os.Stderr
	sam.Cancel = func() error { return sam.Process.Signal(os.Interrupt) }
	err = sam.Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}
