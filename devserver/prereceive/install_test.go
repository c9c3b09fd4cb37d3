package prereceive_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/devserver/prereceive"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/testenv"
)

// TestInstallInAStrangePlace: paths go through the shell and through git's
// settings.
func TestInstallInAStrangePlace(t *testing.T) {
	git := testenv.Program(t, "apt-get install git", "git")
	run := func(dir string, args ...string) (string, error) {
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@b")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	for _, name := range []string{"plain", `it's a "place"`, "two words $HOME"} {
		dir := filepath.Join(t.TempDir(), name)
		repository, work, program := filepath.Join(dir, "repository.git"), filepath.Join(dir, "work"), filepath.Join(dir, "program")
		if _, err := disk.Init(repository); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho asked to $1\nexit 1\n"), 0o777); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time, nothing is to be done
			if err := prereceive.Install(repository, program); err != nil {
				t.Fatal(err)
			}
		}
		for _, args := range [][]string{{"init", "-q", work}, {"-C", work, "commit", "-q", "--allow-empty", "-m", "one"}} {
			if out, err := run(dir, args...); err != nil {
				t.Fatal(out)
			}
		}
		if out, err := run(work, "push", repository, "HEAD:main"); err == nil || !strings.Contains(out, "asked to pre-receive") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
