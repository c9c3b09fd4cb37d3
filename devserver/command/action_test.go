package command

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.yaml.in/yaml/v3"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// compositeAction is action.yml, as far as it is run here.
type compositeAction struct {
	Inputs map[string]struct {
		Description, Default string
	}
	Outputs map[string]struct {
		Description, Value string
	}
	Runs struct {
		Using string
		Steps []actionStep
	}
}

type actionStep struct {
	Name, ID, If, Shell, Run string
	Env                      map[string]string
}

// action runs the steps of action.yml as GitHub Actions does, with inputs given as
// name=value. Once a step has failed, only those that say so run on.
func action(ts *testscript.TestScript, neg bool, args []string) {
	text, err := os.ReadFile("../../action.yml")
	ts.Check(err)
	var a compositeAction
	ts.Check(yaml.Unmarshal(text, &a))
	if a.Runs.Using != "composite" {
		ts.Fatalf("the action is no composite one: %s", a.Runs.Using)
	}
	known := map[string]string{"github.event.pull_request.base.sha": ts.Getenv("PULL_REQUEST_BASE")}
	for name, input := range a.Inputs {
		known["inputs."+name] = evaluated(ts, known, input.Default)
	}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		if _, declared := a.Inputs[name]; !declared {
			ts.Fatalf("the action has no input %s", name)
		}
		known["inputs."+name] = value
	}
	failed, stdout, stderr := false, "", ""
	for _, step := range a.Runs.Steps {
		switch step.If {
		case "":
			if failed {
				continue
			}
		case "${{ !cancelled() && inputs.base != '' }}":
			if known["inputs.base"] == "" {
				continue
			}
		default:
			ts.Fatalf("this test cannot judge the condition %s", step.If)
		}
		output := ts.MkAbs("github-output")
		ts.Check(os.WriteFile(output, nil, 0o666))
		ok := runStep(ts, step, known, output)
		failed = failed || !ok
		stdout, stderr = stdout+ts.ReadFile("stdout"), stderr+ts.ReadFile("stderr")
		written, err := os.ReadFile(output)
		ts.Check(err)
		for _, m := range regexp.MustCompile(`(?ms)^(\w+)<<(\w+)\n(.*?)\n(\w+)$`).FindAllStringSubmatch(string(written), -1) {
			if m[2] != m[4] {
				ts.Fatalf("%s ends with %s, not with %s", m[1], m[4], m[2])
			}
			known["steps."+step.ID+".outputs."+m[1]] = m[3]
		}
	}
	io.WriteString(ts.Stdout(), stdout)
	io.WriteString(ts.Stderr(), stderr)
	for name, output := range a.Outputs {
		ts.Check(os.WriteFile(ts.MkAbs("output-"+name), []byte(evaluated(ts, known, output.Value)), 0o666))
	}
	if failed != neg {
		ts.Fatalf("failed: %v", failed)
	}
}

// runStep runs a step's script as GitHub does: in a file, by bash with these options.
func runStep(ts *testscript.TestScript, step actionStep, known map[string]string, output string) (ok bool) {
	if step.Shell != "bash" {
		ts.Fatalf("the step %s needs shell: bash", step.Name)
	}
	if strings.Contains(step.Run, "${{") {
		ts.Fatalf("the step %s has an expression in its script, which would run what an input holds", step.Name)
	}
	script := ts.MkAbs("step.sh")
	ts.Check(os.WriteFile(script, []byte(step.Run), 0o666))
	restore := map[string]string{}
	for name, value := range step.Env {
		restore[name] = ts.Getenv(name)
		ts.Setenv(name, evaluated(ts, known, value))
	}
	restore["GITHUB_OUTPUT"], restore["GITHUB_STEP_SUMMARY"] = "", ""
	ts.Setenv("GITHUB_OUTPUT", output)
	ts.Setenv("GITHUB_STEP_SUMMARY", ts.MkAbs("github-summary"))
	err := ts.Exec("bash", "--noprofile", "--norc", "-eo", "pipefail", script)
	for name, value := range restore {
		ts.Setenv(name, value)
	}
	return err == nil
}

// evaluated is a text whose expressions are values that are known; one that is not
// known, such as the output of a step that did not run, is empty for GitHub too.
func evaluated(ts *testscript.TestScript, known map[string]string, text string) string {
	return regexp.MustCompile(`\$\{\{\s*(.*?)\s*\}\}`).ReplaceAllStringFunc(text, func(expression string) string {
		name := strings.Trim(expression, "${} ")
		if _, is := known[name]; !is && !strings.HasPrefix(name, "steps.") {
			ts.Fatalf("this test does not know %s", name)
		}
		return known[name]
	})
}

// TestTheWorkflowOfTheGuide gives the action inputs that it has, and takes an output
// that it has; the hook has the name that the guide tells.
func TestTheWorkflowOfTheGuide(t *testing.T) {
	var a compositeAction
	var hooks []struct{ ID string }
	for file, into := range map[string]any{"action.yml": &a, ".pre-commit-hooks.yaml": &hooks} {
		must.Do(t, yaml.Unmarshal([]byte(guides.Read(t, file)), into))
	}
	blocks := 0
	for _, b := range guides.Blocks(guideToReview, guides.Read(t, guideToReview)) {
		if b.Language != "yaml" {
			continue
		}
		blocks++
		var w struct {
			Jobs map[string]struct {
				Steps []struct {
					ID, Uses string
					With     map[string]any
				}
			}
			Repos []struct{ Hooks []struct{ ID string } }
		}
		if err := yaml.Unmarshal([]byte(b.Text), &w); err != nil {
			t.Fatalf("%s:%d: %v", guideToReview, b.Line, err)
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				if step.ID != "flags" {
					continue
				}
				for name := range step.With {
					if _, declared := a.Inputs[name]; !declared {
						t.Errorf("the action has no input %s", name)
					}
				}
			}
		}
		for _, m := range regexp.MustCompile(`steps\.flags\.outputs\.(\w+)`).FindAllStringSubmatch(b.Text, -1) {
			if _, declared := a.Outputs[m[1]]; !declared {
				t.Errorf("the action has no output %s", m[1])
			}
		}
		for _, repo := range w.Repos {
			if repo.Hooks[0].ID != hooks[0].ID {
				t.Errorf("the hook is %s, not %s", hooks[0].ID, repo.Hooks[0].ID)
			}
		}
	}
	if blocks != 2 {
		t.Errorf("the guide has %d workflows", blocks)
	}
}

// TestPreCommit has pre-commit itself run the hook that the repository offers.
func TestPreCommit(t *testing.T) {
	environment := filepath.Join(guides.Root(t), "devserver/command/testdata/pre-commit/.venv/bin")
	t.Setenv("PATH", environment+string(filepath.ListSeparator)+os.Getenv("PATH"))
	testenv.Program(t, "make tools installs it", "pre-commit")
	testenv.Program(t, "your system's package", "git")
	testscript.Run(t, testscript.Params{
		Files:               []string{"testdata/pre-commit/hook.txtar"},
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0") // or each command with the race detector waits a second before it ends
			env.Setenv("PATH", env.Getenv("PATH")+string(filepath.ListSeparator)+environment)
			env.Setenv("REPOSITORY", guides.Root(t))
			return nil
		},
	})
}
