package releasetest

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
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

// TestTheServiceIsStartedWhenItAnswers: systemd is told so, as the unit has it wait
// for that.
func TestTheServiceIsStartedWhenItAnswers(t *testing.T) {
	if unit := guides.Read(t, "packaging/systemd/svc.service"); !regexp.MustCompile(`(?m)^Type=notify$`).MatchString(unit) {
		t.Error("the unit does not wait to be told")
	}
	socket := filepath.Join(t.TempDir(), "notify")
	systemd := must.Get(net.ListenPacket("unixgram", socket))(t)
	defer systemd.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	binary := must.Get(svcbinary.Swift())(t)
	server := must.Get(svcbinary.Start(binary, "api", "--data", filepath.Join(t.TempDir(), "data"), "--port", freeport.Take()))(t)
	t.Cleanup(server.Kill)
	systemd.SetReadDeadline(time.Now().Add(apiload.Patience))
	said := make([]byte, 100)
	n, _, err := systemd.ReadFrom(said)
	if err != nil || string(said[:n]) != "READY=1" {
		t.Errorf("systemd is told %q, %v", said[:n], err)
	}
}
