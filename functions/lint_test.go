package functions

import (
	"os"
	"os/exec"
	"testing"

	"svc.example/svc/shared/testing/standin"
	"svc.example/svc/shared/testing/testenv"
)

func TestTheTemplateIsValid(t *testing.T) {
	program, err := standin.Tool("sam")
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	cmd := exec.Command(program, "validate", "--lint", "--region", "eu-central-1") // which has cfn-lint read it
	cmd.Dir, cmd.Env = "..", append(os.Environ(), "SAM_CLI_TELEMETRY=0", "AWS_ACCESS_KEY_ID=none", "AWS_SECRET_ACCESS_KEY=none")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
