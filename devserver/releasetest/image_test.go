package releasetest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/docker"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// TestTheImage: what the Dockerfile's last stage makes answers its health check,
// as a user without rights, and keeps nothing but its volume. One command serves a
// directory of flags by it, to this machine.
func TestTheImage(t *testing.T) {
	e := docker.New(t)
	dir := t.TempDir()
	binary, err := svcbinary.For("linux", runtime.GOARCH)
	must(t, err)
	for from, to := range map[string]string{binary: "src/bin/svc", filepath.Join(guides.Root(t), "LICENSE"): "src/LICENSE", "/dev/null": "etc/ssl/certs/ca-certificates.crt"} {
		text, err := os.ReadFile(from)
		must(t, err)
		write(t, filepath.Join(dir, to), text)
	}
	must(t, os.Chmod(filepath.Join(dir, "src/bin/svc"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, "data"), 0o777))
	// The first stage needs a base image from elsewhere, and does what make does.
	_, last, found := strings.Cut(guides.Read(t, "Dockerfile"), "\nFROM scratch\n")
	if !found {
		t.Fatal("the Dockerfile has no stage from scratch")
	}
	write(t, filepath.Join(dir, "Dockerfile"), []byte("FROM scratch\n"+strings.ReplaceAll(last, "--from=build ", "")))

	docker := func(args ...string) string { return e.Run(t, nil, args...) }
	const name = "svc-releasetest"
	docker("build", "--quiet", "--tag", name, dir)
	run := []string{"run", "--detach", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--health-interval", "1s"}
	id := docker(append(run, name)...)
	defer docker("rm", "--force", "--volumes", id)
	await := func(what string, is func() bool, id string) {
		t.Helper()
		for deadline := time.Now().Add(apiload.Patience); !is(); time.Sleep(100 * time.Millisecond) {
			if state := docker("inspect", "--format", "{{.State.Status}}", id); state != "running" || time.Now().After(deadline) {
				t.Fatalf("%s: the container is %s:\n%s", what, state, docker("logs", id))
			}
		}
	}
	await("its health", func() bool { return docker("inspect", "--format", "{{.State.Health.Status}}", id) == "healthy" }, id)
	key := docker("exec", id, "/svc", "key", "create", "--data", "/data/workspace", "--kind", "secret", "--name", "relay", "--environment", "production")
	if !strings.HasPrefix(key, "svc_sk_") {
		t.Errorf("the relay's key is %q", key)
	}
	file := filepath.Join(dir, "production.key")
	write(t, file, []byte(key))
	if err := os.Chmod(file, 0o444); err != nil { // for the image's user
		t.Fatal(err)
	}
	// As the guide to hosting has it, beside the service.
	relay := docker(append(run, "--network", "container:"+id, "--volume", file+":/run/secrets/production:ro", name,
		"serve", "--url", "http://127.0.0.1:6581", "--key-file", "/run/secrets/production", "--cache", "/data/cache", "--max-streams", "60000",
		"--host", "0.0.0.0", "--allow-non-loopback", "--cors-origin", "https://www.acme.example", "--trusted-proxy", "10.0.0.0/8")...)
	defer docker("rm", "--force", "--volumes", relay)
	await("a relay", func() bool { return strings.Contains(docker("logs", relay), "Listening") }, relay)
	if said := docker("exec", relay, "/svc", "health", "http://127.0.0.1:6580/readyz"); said != "ok" {
		t.Errorf("a relay says of its health: %s", said)
	}
	served(t, docker, name)
	if user := docker("inspect", "--format", "{{.Config.User}}", id); user != "65532:65532" {
		t.Errorf("it runs as %s", user)
	}
}

// served has the image serve a directory, as the guide says, and edits it.
func served(t *testing.T, docker func(args ...string) string, image string) {
	t.Helper()
	command := regexp.MustCompile(`(?m)^docker run (.* svc) \\\n +(serve .*)$`).FindStringSubmatch(guides.Read(t, "devserver/guides/operate.md"))
	if command == nil {
		t.Fatal("the guide has no command that serves a directory")
	}
	binary, err := svcbinary.Swift()
	must(t, err)
	dir, port := t.TempDir(), freeport.Take()
	if err := os.Chmod(dir, 0o755); err != nil { // the image's user has to read it
		t.Fatal(err)
	}
	run(t, dir, nil, binary, "init")
	here := strings.NewReplacer("127.0.0.1:6580", "127.0.0.1:"+port, "./our-config", filepath.Join(dir, "our-config"), "'*'", "*")
	args := append(strings.Fields(here.Replace(command[1])), strings.Fields(here.Replace(command[2]))...)
	args[slices.Index(args, "svc")] = image
	id := docker(append([]string{"run"}, args...)...)
	defer docker("rm", "--force", id)
	flag := func(want string) {
		t.Helper()
		var text string
		for end := time.Now().Add(apiload.Patience); !strings.Contains(text, `"new-checkout":{"value":{"type":"bool","value":`+want); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("new-checkout is never %s: %s\n%s", want, text, docker("logs", id))
			}
			text = string(fetch(t, "http://127.0.0.1:"+port+"/api/v2/configs/eval-with-context/"+context, ""))
		}
	}
	flag("true")
	file := filepath.Join(dir, "our-config", "feature-flags", "new-checkout.json")
	text, err := os.ReadFile(file)
	must(t, err)
	write(t, file, bytes.ReplaceAll(text, []byte(`"value": true`), []byte(`"value": false`)))
	flag("false")
}

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
