package releasetest

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/testenv"
)

// maxExposure is how exposed systemd may find the service, from 0 to 10.
const maxExposure = 2.0

func TestTheServiceIsHardened(t *testing.T) {
	program := testenv.Program(t, "on Debian, apt-get install systemd", "systemd-analyze")
	unit := filepath.Join(guides.Root(t), "packaging", "systemd", "svc.service")
	out, err := exec.Command(program, "security", "--offline=true", "--no-pager", unit).CombinedOutput()
	found := regexp.MustCompile(`exposure level for svc\.service: ([0-9.]+)`).FindSubmatch(out)
	if found == nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if level, _ := strconv.ParseFloat(string(found[1]), 64); level >= maxExposure {
		t.Errorf("its exposure is %v, and must be below %v:\n%s", level, maxExposure, out)
	}
}
