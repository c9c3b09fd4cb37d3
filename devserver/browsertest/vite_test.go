package browsertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

// TestViteAppWithSvcFromNPM: svc is installed into an application from its npm
// packages alone, serves its flags, and the built page shows them.
func TestViteAppWithSvcFromNPM(t *testing.T) {
	browser(t)
	app := viteApp(t)
	program := string(readFile(t, filepath.Join(app.dir, "src", "main.js")))
	if program != guides.Snippet(t, "shared/client/README.md", "openfeature-web") {
		t.Error("src/main.js of devserver/examples/vite is another program than the guide's")
	}
	app.installSvc(t)
	app.npx(t, "svc", "init")
	if said, err := app.command("npx", "svc", "verify", "--no-such-flag").CombinedOutput(); app.status(err) != 2 {
		t.Errorf("svc's status 2 comes as %v: %s", err, said)
	}
	port := freeport.Take()
	t.Chdir(app.dir)
	// Its own wrapper rather than npm's, to which signals of a terminal come as
	// well.
	server, err := svcbinary.Start(filepath.Join("node_modules", ".bin", "svc"), "serve", "--port", port)
	must(t, err)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})

	app.npx(t, "vite", "build", "--logLevel=warn")
	pages := map[string]string{"/": string(readFile(t, "dist/index.html"))}
	scripts, err := filepath.Glob("dist/assets/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatal("vite has built no script", err)
	}
	for _, script := range scripts {
		pages[strings.TrimPrefix(script, "dist")] = strings.ReplaceAll(string(readFile(t, script)), ":"+documentedPort, ":"+port)
	}
	tab := openTab(t, newSite(t, pages).origin("localhost"))
	tab.waitForText(t, newCheckout)
	edit(t, "our-config", "feature-flags/new-checkout.json", `"value": true`, `"value": false`)
	tab.waitForText(t, oldCheckout)
}

// application is a copy of the example.
type application struct{ dir string }

func viteApp(t *testing.T) application {
	t.Helper()
	example := filepath.Join("..", "examples", "vite")
	testenv.Program(t, "on Debian, apt-get install npm", "npm")
	testenv.File(t, "run `make test`, or npm ci in devserver/examples/vite", filepath.Join(example, "node_modules", ".package-lock.json"))
	app := application{t.TempDir()}
	must(t, os.CopyFS(app.dir, os.DirFS(example)))
	return app
}

func (a application) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = a.dir
	// All is there: nothing is asked of a registry.
	cmd.Env = append(os.Environ(), "npm_config_offline=true", "npm_config_loglevel=error", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false")
	return cmd
}

func (a application) npx(t *testing.T, args ...string) {
	t.Helper()
	if out, err := a.command("npx", args...).CombinedOutput(); err != nil {
		t.Fatalf("npx %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (application) status(err error) int {
	if exit, ok := err.(*exec.ExitError); ok {
		return exit.ExitCode()
	}
	return 0
}

// installSvc installs svc from packages that are made here, of which only this
// platform's holds a program. Of the others npm must take none.
func (a application) installSvc(t *testing.T) {
	t.Helper()
	program, err := svcbinary.Swift()
	must(t, err)
	binaries, packages := t.TempDir(), t.TempDir()
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64.exe", "windows_arm64.exe"} {
		var content []byte
		if strings.TrimSuffix(platform, ".exe") == runtime.GOOS+"_"+runtime.GOARCH {
			content = readFile(t, program)
		}
		must(t, os.WriteFile(filepath.Join(binaries, "svc_"+platform), content, 0o666))
	}
	out, err := exec.Command("node", filepath.Join("..", "..", "packaging", "npm", "pack.js"), binaries, "v1.2.3", packages).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := strings.Fields(string(out))
	a.depend(t, files)
	if out, err := a.command("npm", "install").CombinedOutput(); err != nil {
		t.Fatalf("npm install: %v\n%s", err, out)
	}
	installed, err := filepath.Glob(filepath.Join(a.dir, "node_modules", "@svc-example", "*"))
	if err != nil || len(installed) != 2 {
		t.Errorf("of %d packages npm has installed %q", len(files), installed)
	}
}

// depend names the packages' files in package.json: svc's as a dependency, and
// the others as where npm finds what svc depends on.
func (a application) depend(t *testing.T, files []string) {
	t.Helper()
	path := filepath.Join(a.dir, "package.json")
	var description map[string]any
	must(t, json.Unmarshal(readFile(t, path), &description))
	overrides := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(strings.Replace(filepath.Base(file), "svc-example-", "@svc-example/", 1), "-1.2.3.tgz")
		if name == "@svc-example/svc" {
			description["devDependencies"].(map[string]any)[name] = "file:" + file
			continue
		}
		overrides[name] = "file:" + file
	}
	description["overrides"] = overrides
	text, err := json.Marshal(description)
	if err == nil {
		err = os.WriteFile(path, text, 0o666)
	}
	must(t, err)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return text
}
