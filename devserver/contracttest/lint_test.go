package contracttest

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTheDescriptionLints: with the recommended rules of Redocly, and its warnings taken
// for errors.
func TestTheDescriptionLints(t *testing.T) {
	s := serve(t)
	cmd := npm(t, filepath.Dir(s.description), "redocly", "lint", "--extends=recommended-strict", "--format=json", filepath.Base(s.description))
	out, err := cmd.Output() // its exit status is how many problems there are
	var report struct {
		Problems []struct {
			RuleID, Message string
			Location        []struct{ Pointer string }
		}
	}
	if problem := json.Unmarshal(out, &report); problem != nil {
		stderr := ""
		if exit, is := err.(*exec.ExitError); is {
			stderr = string(exit.Stderr)
		}
		t.Fatalf("redocly lint: %v, %v\n%s%s", err, problem, out, stderr)
	}
	for _, p := range report.Problems {
		t.Errorf("%v: %s: %s", p.Location, p.RuleID, p.Message)
	}
	if err != nil && len(report.Problems) == 0 {
		t.Fatalf("redocly lint: %v", err)
	}
}
