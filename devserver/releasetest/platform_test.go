package releasetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
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
	cache, err := os.UserCacheDir()
	must(t, err)
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
	server, err := svcbinary.Start(m.runner, append([]string{m.binary}, args...)...)
	must(m, err)
	m.Cleanup(server.Kill) // should the test end early
	return server
}

func (m machine) ask(method, url, key, body string) string {
	m.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	must(m, err)
	request.Header.Set("Authorization", "Bearer "+key)
	response, err := http.DefaultClient.Do(request)
	must(m, err)
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
		must(m, json.Unmarshal([]byte(text), &answer))
		return answer.Evaluations["new-checkout"].Value.Value
	}
	if checkout() != true {
		m.Errorf("new-checkout is served as %v", checkout())
	}
	file := filepath.Join("our-config", "feature-flags", "new-checkout.json")
	text, err := os.ReadFile(file)
	must(m, err)
	edited := bytes.ReplaceAll(text, []byte(`"value": true`), []byte(`"value": false`))
	must(m, os.WriteFile(file, edited, 0o666))
	for deadline := time.Now().Add(apiload.Patience); checkout() != false; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.Fatalf("the edit is never served:\n%s", server.Log)
		}
	}
	m.ends(server)
}

func (m machine) ends(server *svcbinary.Server) {
	m.Helper()
	if err := server.Stop(); err != nil {
		m.Error(err)
	}
	if err := server.Log.Quiet(); err != nil {
		m.Error(err)
	}
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
