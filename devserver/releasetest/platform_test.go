package releasetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/docker"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

func TestMain(m *testing.M) { os.Exit(svcbinary.Run(m.Run)) }

// context is base64 of {"user":{"key":"user-1"}}.
const context = "eyJ1c2VyIjp7ImtleSI6InVzZXItMSJ9fQ=="

// TestEveryPlatformDoesTheSame: a directory is made, checked, served and edited;
// a workspace is made of it, written, killed and served again.
func TestEveryPlatformDoesTheSame(t *testing.T) {
	for _, platform := range []struct {
		os, arch string
		runner   func(t *testing.T) string // the program that runs its programs
	}{
		{"linux", "arm64", func(t *testing.T) string {
			return testenv.Program(t, "on Debian, apt-get install qemu-user-static", "qemu-aarch64-static", "qemu-aarch64")
		}},
		{"windows", "amd64", wine},
	} {
		t.Run(platform.os+"/"+platform.arch, func(t *testing.T) {
			m := machine{T: t, runner: platform.runner(t)}
			var err error
			if m.binary, err = svcbinary.For(platform.os, platform.arch); err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if out := m.svc("--version"); !strings.Contains(out, platform.os+"/"+platform.arch) {
				t.Errorf("it says it is %s", out)
			}
			m.svc("init")
			m.svc("verify")
			t.Run("serve", func(t *testing.T) { m.in(t).serves() })
			t.Run("api", func(t *testing.T) { m.in(t).keeps() })
		})
	}
}

// wine returns the program that runs those of Windows, after it has pointed
// Wine at its prefix.
func wine(t *testing.T) string {
	path := testenv.Program(t, "on Debian, apt-get install wine gcc-mingw-w64-x86-64-win32", "wine")
	cache := must.Get(os.UserCacheDir())(t)
	prefix := filepath.Join(cache, "svc-test", "wine")
	testenv.File(t, "run devserver/releasetest/prepare.sh", filepath.Join(prefix, "ready"))
	t.Setenv("WINEPREFIX", prefix)
	t.Setenv("WINEDEBUG", "-all")
	t.Setenv("DISPLAY", "")
	return path
}

// machine runs the svc of a platform in the working directory.
type machine struct {
	*testing.T
	runner, binary string
}

func (m machine) in(t *testing.T) machine { m.T = t; return m }

func (m machine) svc(args ...string) string {
	m.Helper()
	cmd := exec.Command(m.runner, append([]string{m.binary}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		m.Fatalf("svc %s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}
	return strings.TrimSpace(string(out))
}

func (m machine) start(args ...string) *svcbinary.Server {
	m.Helper()
	server := must.Get(svcbinary.Start(m.runner, append([]string{m.binary}, args...)...))(m)
	m.Cleanup(server.Kill) // should the test end early
	return server
}

func (m machine) ask(method, url, key, body string) string {
	m.Helper()
	request := must.Get(http.NewRequest(method, url, strings.NewReader(body)))(m)
	request.Header.Set("Authorization", "Bearer "+key)
	response := must.Get(http.DefaultClient.Do(request))(m)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= 300 {
		m.Fatalf("%s %s: %s, %v\n%s", method, url, response.Status, err, text)
	}
	return string(text)
}

// serves: a directory is served, and an edit of it too.
func (m machine) serves() {
	port := freeport.Take()
	server := m.start("serve", "--port", port)
	checkout := func() any {
		var answer struct {
			Evaluations map[string]struct{ Value struct{ Value any } }
		}
		text := m.ask("GET", "http://127.0.0.1:"+port+"/api/v2/configs/eval-with-context/"+context, "", "")
		must.Do(m, json.Unmarshal([]byte(text), &answer))
		return answer.Evaluations["new-checkout"].Value.Value
	}
	if checkout() != true {
		m.Errorf("new-checkout is served as %v", checkout())
	}
	file := filepath.Join("our-config", "feature-flags", "new-checkout.json")
	text := must.Get(os.ReadFile(file))(m)
	edited := bytes.ReplaceAll(text, []byte(`"value": true`), []byte(`"value": false`))
	must.Do(m, os.WriteFile(file, edited, 0o666))
	for deadline := time.Now().Add(apiload.Patience); checkout() != false; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.Fatalf("the edit is never served:\n%s", server.Log)
		}
	}
	m.ends(server)
}

func (m machine) ends(server *svcbinary.Server) {
	m.Helper()
	must.Report(m, server.Stop())
	must.Report(m, server.Log.Quiet())
}

// keeps: what the API has acknowledged is there after a kill, and git reads it.
func (m machine) keeps() {
	port := freeport.Take()
	api := "http://127.0.0.1:" + port
	first := m.start("api", "--import", "our-config", "--data", "data", "--port", port)
	key := m.svc("key", "create", "--data", "data", "--kind", "user", "--name", "you", "--role", "protected_engineer")
	m.ask("POST", api+"/v1/flags", key, `{"key": "dark-mode"}`)
	first.Kill()

	second := m.start("api", "--data", "data", "--port", port)
	m.ask("PATCH", api+"/v1/flags/dark-mode/environments/development", key, `{"enabled": true}`)
	git := apiload.Git{Program: testenv.Program(m, "install git", "git"), Dir: filepath.Join("data", local.RepositoryName)}
	git.Agrees(m, http.DefaultClient, api, key, [2]string{"flags", "dark-mode"})
	if written := git.Lines(m, "log", "--format=%s", "refs/heads/main", "--", "feature-flags/dark-mode.json"); len(written) != 2 {
		m.Errorf("git has %q", written)
	}
	m.ends(second)
}

// TestTheImage: what the Dockerfile's last stage makes answers its health check,
// as a user without rights, and keeps nothing but its volume. One command serves a
// directory of flags by it, to this machine.
func TestTheImage(t *testing.T) {
	e := docker.New(t)
	dir := t.TempDir()
	binary := must.Get(svcbinary.For("linux", runtime.GOARCH))(t)
	for from, to := range map[string]string{binary: "src/bin/svc", filepath.Join(guides.Root(t), "LICENSE"): "src/LICENSE", "/dev/null": "etc/ssl/certs/ca-certificates.crt"} {
		text := must.Get(os.ReadFile(from))(t)
		write(t, filepath.Join(dir, to), text)
	}
	must.Do(t, os.Chmod(filepath.Join(dir, "src/bin/svc"), 0o755))
	must.Do(t, os.Mkdir(filepath.Join(dir, "data"), 0o777))
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
	binary := must.Get(svcbinary.Swift())(t)
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
	text := must.Get(os.ReadFile(file))(t)
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
			must.Report(t, os.RemoveAll(filepath.Join(cache, path)))
		}
	})
	// Only its own module comes from elsewhere than what this test was built of.
	run(t, t.TempDir(), []string{
		"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cache, "cache", "download"),
		"GOSUMDB=off", "GOFLAGS=-modcacherw '-gcflags=" + filepath.Dir(address) + "/...=-N -l' '-ldflags=-s -w'", "GOBIN=" + bin, // made soon
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
	must.Do(t, err)
}

// publish puts a module into a folder from which the go command gets it as from
// a proxy.
func publish(t *testing.T, dir, proxy, address, version string) {
	t.Helper()
	versions := filepath.Join(proxy, filepath.FromSlash(address), "@v")
	gomod := must.Get(os.ReadFile(filepath.Join(dir, "go.mod")))(t)
	write(t, filepath.Join(versions, version+".mod"), gomod)
	write(t, filepath.Join(versions, "list"), []byte(version+"\n"))
	write(t, filepath.Join(versions, version+".info"), []byte(`{"Version":"`+version+`"}`))
	file, err := os.Create(filepath.Join(versions, version+".zip"))
	if err == nil {
		err = errors.Join(zip.CreateFromDir(file, module.Version{Path: address, Version: version}, dir), file.Close())
	}
	must.Do(t, err)
}
