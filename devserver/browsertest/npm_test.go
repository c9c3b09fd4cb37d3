package browsertest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/guides"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/svcbinary"
	"svc.example/svc/shared/testing/testenv"
)

func needsPackages(t *testing.T) {
	t.Helper()
	// npm writes this file last, so that a broken-off installation lacks it.
	testenv.File(t, "run `make test`, or npm ci in devserver/browsertest", filepath.Join("node_modules", ".package-lock.json"))
}

// node returns a command that runs a program, with the installed packages in
// reach.
func node(t *testing.T, program string) *exec.Cmd {
	t.Helper()
	needsPackages(t)
	path := testenv.Program(t, "on Debian, apt-get install nodejs", "node")
	return exec.Command(path, "--input-type=module", "--eval", program)
}

// bundles are those that were made, by their programs.
var bundles sync.Map

// bundle makes one script of a program and the packages that it imports, as
// the build of an application does.
func bundle(t *testing.T, program string) string {
	t.Helper()
	if made, was := bundles.Load(program); was {
		return made.(string)
	}
	needsPackages(t)
	testenv.Program(t, "on Debian, apt-get install nodejs", "node") // esbuild's command is a script
	esbuild := exec.Command(filepath.Join("node_modules", ".bin", "esbuild"), "--bundle", "--format=esm", "--log-level=warning")
	packages, err := filepath.Abs("node_modules") // for a program that lies elsewhere
	must.Do(t, err)
	esbuild.Env = append(os.Environ(), "NODE_PATH="+packages)
	esbuild.Stdin = strings.NewReader(program)
	var stderr bytes.Buffer
	esbuild.Stderr = &stderr
	out, err := esbuild.Output()
	if err != nil {
		t.Fatalf("esbuild: %v\n%s", err, &stderr)
	}
	bundles.Store(program, string(out))
	return string(out)
}

// bundleSite serves a page that runs a program.
func bundleSite(t *testing.T, program string) site {
	t.Helper()
	return newSite(t, map[string]string{
		"/":          `<!doctype html><title>app</title><body></body><script type="module" src="/bundle.js"></script>`,
		"/bundle.js": bundle(t, program),
	})
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	text := readFile(t, filepath.Join("testdata", name))
	return string(text)
}

const documentedPort = "6580"

// serveAsDocumented starts a server on the port that the guides name, and
// returns the snippet unchanged. Only when that port is taken is it another
// one, in the snippet too.
func serveAsDocumented(t *testing.T, datadir, snippet string) string {
	t.Helper()
	if !strings.Contains(snippet, "http://127.0.0.1:"+documentedPort) {
		t.Fatalf("the snippet does not name the documented address:\n%s", snippet)
	}
	problem := start(t, datadir, documentedPort)
	switch {
	case problem == "":
		return snippet
	case !strings.Contains(problem, "is taken"):
		t.Fatal(problem)
	}
	port := serve(t, datadir)
	t.Logf("port %s is taken, so that the snippet is tried with %s", documentedPort, port)
	return strings.ReplaceAll(snippet, ":"+documentedPort, ":"+port)
}

const (
	oldCheckout = "the old checkout"
	newCheckout = "the new checkout"
)

func TestBrowserSnippet(t *testing.T) {
	dir := copySample(t, nil)
	page := serveAsDocumented(t, dir, guides.Snippet(t, "README.md", "browser"))
	tab := openTab(t, newSite(t, map[string]string{"/": page}).origin("localhost"))
	tab.waitForText(t, newCheckout)

	switchOff(t, dir)
	eventually(t, "an edit is seen by a reload", func() (any, bool) {
		tab.reload(t)
		got := tab.settled(t)
		return got, got == oldCheckout
	})
}

// settled waits until the snippet has written something.
func (tab tab) settled(t *testing.T) string {
	t.Helper()
	var text string
	eventually(t, "the page says something", func() (any, bool) {
		text = tab.text(t)
		return text, text != ""
	})
	return text
}

func TestOpenFeatureServerSnippet(t *testing.T) {
	dir := copySample(t, nil)
	program := serveAsDocumented(t, dir, guides.Snippet(t, "shared/client/README.md", "openfeature-server"))
	run := func() string {
		cmd := node(t, program)
		cmd.Stderr = t.Output()
		out := must.Get(cmd.Output())(t)
		return strings.TrimSpace(string(out))
	}
	if got := run(); got != newCheckout {
		t.Errorf("the program says %q", got)
	}
	switchOff(t, dir)
	eventually(t, "an edit is seen by the next run", func() (any, bool) {
		got := run()
		return got, got == oldCheckout
	})
}

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
	app.run(t, "npx", "svc", "init")
	bin := filepath.Join(app.dir, "node_modules", ".bin") // where npx finds it too, more slowly
	if said, err := app.command(filepath.Join(bin, "svc"), "verify", "--no-such-flag").CombinedOutput(); app.status(err) != 2 {
		t.Errorf("svc's status 2 comes as %v: %s", err, said)
	}
	port := freeport.Take()
	t.Chdir(app.dir)
	// Its own wrapper rather than npm's, to which signals of a terminal come as
	// well.
	server := must.Get(svcbinary.Start(filepath.Join(bin, "svc"), "serve", "--port", port))(t)
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})

	app.run(t, filepath.Join(bin, "vite"), "build", "--logLevel=warn")
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
	must.Do(t, os.CopyFS(app.dir, os.DirFS(example)))
	return app
}

func (a application) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = a.dir
	// All is there: nothing is asked of a registry.
	cmd.Env = append(os.Environ(), "npm_config_offline=true", "npm_config_loglevel=error", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false")
	return cmd
}

func (a application) run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := a.command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
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
	program := must.Get(svcbinary.Swift())(t)
	binaries, packages := t.TempDir(), t.TempDir()
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64.exe", "windows_arm64.exe"} {
		var content []byte
		if strings.TrimSuffix(platform, ".exe") == runtime.GOOS+"_"+runtime.GOARCH {
			content = readFile(t, program)
		}
		must.Do(t, os.WriteFile(filepath.Join(binaries, "svc_"+platform), content, 0o666))
	}
	out, err := exec.Command("node", filepath.Join("..", "..", "packaging", "npm", "pack.js"), binaries, "v1.2.3", packages).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files := strings.Fields(string(out))
	a.depend(t, files)
	a.run(t, "npm", "install")
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
	must.Do(t, json.Unmarshal(readFile(t, path), &description))
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
	must.Do(t, err)
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return text
}

// TestEditorKnowsWhatInitWrites by the language service of VS Code: it completes and
// checks each document, from files of the directory alone.
func TestEditorKnowsWhatInitWrites(t *testing.T) {
	dir := t.TempDir()
	svc(t, "init", dir, "--samples")
	var files []string
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		folder := filepath.Dir(path)
		if filepath.Dir(folder) == dir && filepath.Base(folder) != "schemas" {
			files = append(files, path)
		}
		return err
	})
	if len(files) < 8 {
		t.Fatalf("svc init wrote only %q", files)
	}
	wrong := files[0]
	text := readFile(t, wrong)
	must.Do(t, os.WriteFile(wrong, []byte(strings.Replace(string(text), `"valueType": "`, `"valueType": "x`, 1)), 0o600))

	editor := node(t, testdata(t, "editor.js"))
	editor.Args = append(editor.Args, files...)
	editor.Stderr = t.Output()
	out := must.Get(editor.Output())(t)
	var answers map[string]struct {
		Problems, Operators, Types []string
		Hover                      any
	}
	must.Do(t, json.Unmarshal(out, &answers))

	operators := evaluation.Operators()
	for i, o := range operators {
		operators[i] = `"` + o + `"`
	}
	slices.Sort(operators)
	for _, path := range files {
		answer, ok := answers[path]
		switch {
		case !ok:
			t.Errorf("%s: nothing", path)
		case path == wrong && (len(answer.Problems) != 1 || !strings.HasPrefix(answer.Problems[0], "valueType is one of bool")):
			t.Errorf("%s has a wrong valueType, and is told %q", path, answer.Problems)
		case path != wrong && len(answer.Problems) > 0:
			t.Errorf("%s: %q", path, answer.Problems)
		}
		if !reflect.DeepEqual(answer.Operators, operators) {
			t.Errorf("%s: offers the operators %q, not %q", path, answer.Operators, operators)
		}
		if !slices.Contains(answer.Types, `"feature_flag"`) || !slices.Contains(answer.Types, `"segment"`) {
			t.Errorf("%s: offers the types %q", path, answer.Types)
		}
		if answer.Hover == nil {
			t.Errorf("%s: says nothing of valueType", path)
		}
	}
}
