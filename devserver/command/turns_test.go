package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/datadir"
)

// TestVerifyFixesInItsTurn: others who write files of the directory are waited for, and
// who fixes nothing waits for nobody.
func TestVerifyFixesInItsTurn(t *testing.T) {
	dir := t.TempDir()
	const broken = `{"key": "another", "type": "feature_flag", "valueType": "bool", "default": {"rules": []}}`
	path := filepath.Join(dir, "feature-flags", "a.json")
	must(t, errors.Join(os.Mkdir(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(broken), 0o666)))
	lock, err := datadir.Lock(t.Context(), dir)
	must(t, err)
	defer lock.Close()
	in := Invocation{&cli.Caller{Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}}
	for _, tt := range []struct {
		name  string
		flags verifyFlags
		held  bool
	}{
		{"a fix", verifyFlags{fix: true}, true},
		{"a dry run", verifyFlags{fix: true, dryRun: true}, false},
		{"a look", verifyFlags{}, false},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := verify(ctx, in, dir, tt.flags); errors.Is(err, datadir.ErrHeld) != tt.held {
			t.Errorf("%s: %v", tt.name, err)
		}
		cancel()
	}
	if text, _ := os.ReadFile(path); string(text) != broken {
		t.Errorf("it is fixed out of turn: %s", text)
	}
}
