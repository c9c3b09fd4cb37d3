package functions

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"svc.example/svc/infra/samlocal/emulator"
	"svc.example/svc/shared/testing/testenv"
)

func TestTheTemplateIsValid(t *testing.T) {
	for _, command := range [][]string{
		{"cfn-lint", "template.yaml"},
		{"sam", "validate", "--lint", "--region", "eu-central-1"},
	} {
		t.Run(command[0], func(t *testing.T) {
			program, err := emulator.Tool(command[0])
			if err != nil {
				testenv.Skip(t, command[0]+" is not installed: make functions installs it")
			}
			cmd := exec.Command(program, command[1:]...)
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
			}
		})
	}
}
