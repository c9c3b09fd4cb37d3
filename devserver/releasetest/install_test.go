package releasetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/testenv"
)

// TestGoInstallOnceTheModuleHasAnAddress: make address gives a copy of the tree
// an address, under which go install then finds svc, at a version.
func TestGoInstallOnceTheModuleHasAnAddress(t *testing.T) {
	const address = "svc-test.example/flags"
	// Another one each time: the go command takes a version for unchangeable, and
	// remembers which files it had.
	version := fmt.Sprint("v1.2.", time.Now().UnixNano())
	testenv.Program(t, "on Debian, apt-get install make", "make")
	testenv.Program(t, "install git", "git")
	root, dir := guides.Root(t), t.TempDir()
	for path := range strings.Lines(run(t, root, nil, "git", "ls-files", "--cached", "--others", "--exclude-standard")) {
		path = strings.TrimSuffix(path, "\n")
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			continue // removed, and not yet committed
		}
		write(t, filepath.Join(dir, path), text)
	}
	run(t, dir, nil, "git", "init", "--quiet")
	run(t, dir, nil, "git", "add", "--all")
	run(t, dir, nil, "make", "address", "MODULE="+address)
	if left := run(t, dir, nil, "git", "grep", "-cF", "svc.example/"+"svc", "--", ":!*.md"); left != "" {
		t.Errorf("the placeholder is still in\n%s", left)
	}
	if out := run(t, dir, nil, "gofmt", "-l", "."); out != "" {
		t.Errorf("gofmt would change %s", out)
	}

	proxy, bin := t.TempDir(), t.TempDir()
	publish(t, dir, proxy, address, version)
	cache := strings.TrimSpace(run(t, dir, nil, "go", "env", "GOMODCACHE"))
	t.Cleanup(func() {
		for _, path := range []string{filepath.Dir(address), filepath.Join("cache", "download", filepath.Dir(address))} {
			if err := os.RemoveAll(filepath.Join(cache, path)); err != nil {
				t.Error(err)
			}
		}
	})
	// Only its own module comes from elsewhere than what this test was built of.
	run(t, t.TempDir(), []string{
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download"),
		"GOSUMDB=off", "GOFLAGS=-modcacherw", "GOBIN=" + bin,
	}, "go", "install", address+"/devserver/svc@"+version)
	if out := run(t, bin, nil, filepath.Join(bin, "svc"), "--version"); !strings.HasPrefix(out, "svc version "+version) {
		t.Errorf("svc from go install says %q", out)
	}
}

func run(t *testing.T, dir string, env []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	cmd.Stderr = t.Output()
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); ok && len(out) == 0 && args[0] == "grep" && exit.ExitCode() == 1 {
		err = nil // nothing found
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	must(t, err)
}

// publish puts a module into a folder from which the go command gets it as from
// a proxy.
func publish(t *testing.T, dir, proxy, address, version string) {
	t.Helper()
	versions := filepath.Join(proxy, filepath.FromSlash(address), "@v")
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	must(t, err)
	write(t, filepath.Join(versions, version+".mod"), gomod)
	write(t, filepath.Join(versions, "list"), []byte(version+"\n"))
	write(t, filepath.Join(versions, version+".info"), []byte(`{"Version":"`+version+`"}`))
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	if err == nil {
		err = errors.Join(zip.CreateFromDir(file, module.Version{Path: address, Version: version}, dir), file.Close())
	}
	must(t, err)
}
