package embedded

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/served"
	"svc.example/svc/shared/workspace"
)

// What git brings may be nothing but mistakes, and is brought again at each start.
func TestTheLogOfBrokenFilesIsBounded(t *testing.T) {
	var log bytes.Buffer
	reporter := &reporter{logger: slog.New(slog.NewTextHandler(&log, nil))}
	var broken []served.Broken
	for i := range 400 {
		b := served.Broken{File: &repository.File{Path: fmt.Sprintf("feature-flags/f%03d.json", i), Blob: "1"}, Since: "c"}
		for rule := range 1000 {
			b.Problems = append(b.Problems, workspace.Problem{Severity: workspace.Fatal, File: b.File.Path, Pointer: fmt.Sprintf("/default/rules/%d", rule), Message: "is wrong"})
		}
		broken = append(broken, b)
	}
	seen := func() string {
		defer log.Reset()
		reporter.see(repository.SnapshotOf(repository.Head{Commit: "c"}, repository.Tree{}, nil), broken)
		return log.String()
	}
	first := seen()
	if lines := strings.Count(first, "\n"); lines != maxTold+1 || !strings.Contains(first, "f000.json") || !strings.Contains(first, "more=999") || !strings.Contains(first, "more=380") {
		t.Errorf("%d lines:\n%s", lines, first[:min(len(first), 1000)])
	}
	if again := seen(); again != "" {
		t.Errorf("it is told again: %s", again)
	}
	broken[399].File.Blob = "2"
	if changed := seen(); strings.Count(changed, "\n") != 1 || !strings.Contains(changed, "f399.json") {
		t.Errorf("after one file has changed: %s", changed)
	}
}
