package svcbinary

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

var folder string

// Run runs a package's tests with a Folder, which it removes afterwards, and
// returns their status.
func Run(tests func() int) (status int) {
	var err error
	if folder, err = os.MkdirTemp("", "svc-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return tests()
}

// Folder is a folder of this run, in which the binaries are.
func Folder() string { return folder }

// Watched returns the path of an svc with the race detector, if the tests have
// it: the server then exits with a status other than 0 when it finds one.
func Watched() (path string, err error) { return watched() }

// Swift returns the path of an svc without, for a test that starts it hundreds
// of times.
func Swift() (path string, err error) { return swift() }

// For returns the path of an svc for another platform, as a release is built.
func For(goos, goarch string) (path string, err error) {
	return build("svc-"+goos+"-"+goarch+".exe", []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + goarch}, "-trimpath")
}

var (
	watched = sync.OnceValues(func() (string, error) { return build("svc-watched.exe", nil, flags...) })
	swift   = sync.OnceValues(func() (string, error) { return build("svc-swift.exe", nil) })
)

func build(name string, env []string, flags ...string) (string, error) {
	if folder == "" {
		return "", errors.New("there is no folder to build svc in: call svcbinary.Run in TestMain")
	}
	path := filepath.Join(folder, name) // Windows insists on the ending
	cmd := exec.Command("go", append(append([]string{"build", "-tags", "nethttpomithttp2", "-o", path}, flags...), "svc.example/svc/devserver/svc")...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return path, nil
}
