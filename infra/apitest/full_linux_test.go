package apitest

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"svc.example/svc/shared/testing/testenv"
)

// TestAFullDisk: a backup and a restore that find no room say so, leave no files, and an
// earlier backup stays as it was.
func TestAFullDisk(t *testing.T) {
	testenv.Program(t, "install Go", "go")
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=48k"); err != nil {
		t.Skipf("only root can mount a small disk: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(disk, syscall.MNT_DETACH)) })
	d := newDrill(t)
	svcadmin := program(t)
	earlier := filepath.Join(disk, "acme.tar")
	put(t, earlier, []byte("an earlier backup"))
	archive := filepath.Join(d.dir, "acme.tar")
	for _, c := range []struct{ args []string }{{[]string{"backup", "acme.tar"}}, {[]string{"backup", "-"}}, {[]string{"restore", archive}}} {
		table := d.Table
		if c.args[0] == "restore" {
			table = d.otherTable(false)
		}
		cmd, said := d.started(svcadmin, table, d.Bucket, disk, c.args...)
		failed := cmd.Wait()
		left, err := os.ReadDir(disk)
		text, _ := os.ReadFile(earlier)
		if cmd.ProcessState.ExitCode() != 1 || err != nil || len(left) != 1 || string(text) != "an earlier backup" || !strings.Contains(said.String(), "no space left on device") {
			t.Errorf("svcadmin %v: %v, %v, %v: %s", c.args, failed, left, err, said)
		}
	}
}
