package contracttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDescriptionLints: with the recommended rules, and its warnings taken
// for errors.
func TestTheDescriptionLints(t *testing.T) {
	s := serve(t)
	for _, problem := range lint(t, s.description) {
		t.Error(problem)
	}
}

// TestTheLinterObjects: a description with mistakes does not pass.
func TestTheLinterObjects(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "shared", "httpapi", "openapi.json"))
	must(t, err)
	for rule, mistake := range map[string][2]string{
		"no-unresolved-refs":             {`#/components/schemas/FlagList"`, `#/components/schemas/FlagLisst"`},
		"no-invalid-media-type-examples": {`"workspaceId": "00000000000000a1"`, `"workspaceId": 161`},
		"operation-summary":              {`"summary": "List flags",`, ``},
	} {
		broken := strings.Replace(string(text), mistake[0], mistake[1], 1)
		if broken == string(text) {
			t.Errorf("%s: openapi.json does not hold %s", rule, mistake[0])
			continue
		}
		file := filepath.Join(t.TempDir(), "openapi.json")
		must(t, os.WriteFile(file, []byte(broken), 0o666))
		if problems := lint(t, file); !strings.Contains(strings.Join(problems, "\n"), ": "+rule+": ") {
			t.Errorf("the linter does not object by %s: %q", rule, problems)
		}
	}
}

// lint returns what Redocly says of a description, an entry a problem.
func lint(t *testing.T, description string) []string {
	t.Helper()
	cmd := npm(t, filepath.Dir(description), "redocly", "lint", "--extends=recommended-strict", "--format=json", filepath.Base(description))
	out, err := cmd.Output() // its exit status says how many problems there are
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
	var problems []string
	for _, p := range report.Problems {
		where := ""
		if len(p.Location) > 0 {
			where = p.Location[0].Pointer
		}
		problems = append(problems, strings.Join([]string{where, p.RuleID, p.Message}, ": "))
	}
	if err != nil && len(problems) == 0 {
		t.Fatalf("redocly lint: %v", err)
	}
	return problems
}
