package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"svc.example/svc/shared/cli"
	"svc.example/svc/shared/testing/standin"
)

// TestNothingIsPrintedThatATerminalObeys: names of files come from strangers.
func TestNothingIsPrintedThatATerminalObeys(t *testing.T) {
	const hostile = "x\x1b]0;pwned\x07\u202e\u009b2J\nforged: all is well\x7f\xff"
	dir := t.TempDir()
	folder := filepath.Join(dir, "c", "feature-flags")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, hostile+".json"), []byte("{"), 0o666); err != nil {
		t.Skipf("this file system takes no such name: %v", err)
	}
	t.Setenv("AWS_REGION", standin.Region)
	t.Setenv("AWS_ACCESS_KEY_ID", standin.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", standin.SecretKey)
	var stdout, stderr bytes.Buffer
	status := Main(t.Context(), []string{"--table", "t", "--bucket", "b", "workspace", "create", "acme", "--from", "c"},
		cli.Caller{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }, Workdir: dir, Now: time.Now})
	all := stdout.String() + stderr.String()
	if status != 1 || !utf8.ValidString(all) || strings.Contains(all, "\nforged") || !strings.Contains(all, `pwned\u0007\u202e\u009b2J`) {
		t.Errorf("status %d: %q", status, all)
	}
	for _, r := range all {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%U is printed in %q", r, all)
		}
	}
}
