package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/console"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/router"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// ask asks for a path of a console.
func ask(environment, method, path string, header ...string) *http.Response {
	r := httptest.NewRequest(method, path, nil)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	router.New(console.Routes(environment != "", environment), http.NotFoundHandler()).ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text := must.Get(io.ReadAll(r.Body))(t)
	return string(text)
}

var addresses = regexp.MustCompile(`(?:src|href)="([0-9a-f]{16}/[^"]+)"`)

// files are the addresses that the page names: with the page, four requests of
// somebody who has nothing of it yet.
func files(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, match := range addresses.FindAllStringSubmatch(body(t, ask("", "GET", "/console/")), -1) {
		found = append(found, match[1])
	}
	if len(found) != 3 {
		t.Fatalf("the page names %v, which is not a script, a style sheet and an icon", found)
	}
	return found
}

func TestWhereThePageIs(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		location     string
	}{
		{"GET", "/", 302, "console/"},
		{"GET", "/console", 302, "console/"},
		{"GET", "/console/", 200, ""},
		{"HEAD", "/console/", 200, ""},
		{"POST", "/console/", 405, ""},
		{"GET", "/console/console.js", 404, ""},
		{"GET", "/console/0000000000000000/console.js", 404, ""},
		{"GET", "/console/../console.go", 404, ""},
		{"GET", "/other", 404, ""},
	} {
		if a := ask("", c.method, c.path); a.StatusCode != c.status || a.Header.Get("Location") != c.location {
			t.Errorf("%s %s: %s, %q", c.method, c.path, a.Status, a.Header.Get("Location"))
		}
	}
}

func TestThePageIsHardened(t *testing.T) {
	for _, path := range []string{"/console/", "/", "/console/nothing", "/console/" + files(t)[0]} {
		a := ask("", "GET", path)
		policy := a.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "connect-src 'self';", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q lacks %q", path, policy, want)
			}
		}
		if strings.Contains(policy, "unsafe") || a.Header.Get("X-Content-Type-Options") != "nosniff" || a.Header.Get("Referrer-Policy") != "no-referrer" || len(a.Cookies()) > 0 {
			t.Errorf("%s: %v", path, a.Header)
		}
	}
	if page := body(t, ask("", "GET", "/console/")); regexp.MustCompile(`(?i)<script>|<style|\son\w+=|javascript:|https?:`).MatchString(page) {
		t.Errorf("something is inline, or of another host:\n%s", page)
	}
}

func TestThePageOfADirectoryNamesItsEnvironment(t *testing.T) {
	if page := body(t, ask(`a"><b>`, "GET", "/console/")); !strings.Contains(page, `<meta name="svc-environment" content="a&#34;&gt;&lt;b&gt;">`) {
		t.Error(page)
	}
	if without := body(t, ask("", "GET", "/console/")); strings.Contains(without, "<meta name=\"svc-") {
		t.Error("that of a workspace names one")
	}
}

func TestFilesAreKeptForEverAndAskedAgainCheaply(t *testing.T) {
	for _, path := range append(files(t), "") {
		plain, packed := ask("", "GET", "/console/"+path), ask("", "GET", "/console/"+path, "Accept-Encoding: gzip")
		if plain.StatusCode != 200 || plain.Header.Get("Content-Type") == "" || plain.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %s, %v", path, plain.Status, plain.Header)
		}
		if immutable := strings.Contains(plain.Header.Get("Cache-Control"), "immutable"); immutable != (path != "") {
			t.Errorf("%s: %q", path, plain.Header.Get("Cache-Control"))
		}
		for _, a := range []*http.Response{plain, packed} {
			encoding := "Accept-Encoding: " + a.Header.Get("Content-Encoding")
			if again := ask("", "GET", "/console/"+path, encoding, "If-None-Match: "+a.Header.Get("ETag")); again.StatusCode != 304 {
				t.Errorf("%s with %s and its own tag: %s", path, encoding, again.Status)
			}
		}
		if head := ask("", "HEAD", "/console/"+path); body(t, head) != "" {
			t.Errorf("HEAD %s has a body", path)
		}
	}
}

// The number of bytes that a browser loads, and that svc has in it for the console:
// the licences of what others wrote are served beside it.
func TestTheConsoleIsSmall(t *testing.T) {
	page := ask("", "GET", "/console/", "Accept-Encoding: gzip")
	total := len(body(t, page))
	folder, _, _ := strings.Cut(files(t)[0], "/")
	size := func(path string) int {
		a := ask("", "GET", "/console/"+path, "Accept-Encoding: gzip")
		packed := body(t, a)
		if a.StatusCode != 200 || len(packed) > 8<<10 && a.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %s, %v", path, a.Status, a.Header)
		}
		return len(packed)
	}
	for _, path := range append(files(t), folder+"/console.js.LICENSE.txt") {
		total += size(path)
	}
	later := size(folder + "/later.js")
	editor := size(folder+"/editor.js") + size(folder+"/editor.js.LICENSE.txt")
	t.Logf("%d bytes as gzip at first, %d later, and %d of the editor", total, later, editor)
	for _, part := range []struct {
		name       string
		size, most int
	}{
		{"what the page loads at first", total, 70_000}, {"what it loads later", later, 100_000},
		{"the editor", editor, 150_000}, // which is loaded when somebody edits JSON
	} {
		if part.size >= part.most {
			t.Errorf("%s is %d bytes as gzip, not less than %d: what has become that large?", part.name, part.size, part.most)
		}
	}
	for name, author := range map[string]string{"console.js": "Jason Miller", "editor.js": "Marijn Haverbeke"} {
		if licences := body(t, ask("", "GET", "/console/"+folder+"/"+name+".LICENSE.txt")); !strings.Contains(licences, author) {
			t.Errorf("the licence of %s is missing beside %s", author, name)
		}
	}
}

// A client that does not take gzip gets the same, unpacked, under another tag.
func TestEncodings(t *testing.T) {
	path := "/console/" + files(t)[2]
	plain, packed := ask("", "GET", path), ask("", "GET", path, "Accept-Encoding: gzip")
	unpacked, err := negotiation.Decompress([]byte(body(t, packed)))
	if err != nil || string(unpacked) != body(t, plain) || plain.Header.Get("Content-Encoding") != "" || packed.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v, %v, %v", err, plain.Header, packed.Header)
	}
	if tag := plain.Header.Get("ETag"); packed.Header.Get("ETag") != strings.TrimSuffix(tag, `"`)+`-gzip"` {
		t.Errorf("the tags are %s and %s", tag, packed.Header.Get("ETag"))
	}
}

// What somebody may send who means no good, or reads the protocol well.
func TestOddRequests(t *testing.T) {
	script := files(t)[2]
	folder, _, _ := strings.Cut(script, "/")
	tag := ask("", "GET", "/console/"+script).Header.Get("ETag")
	for _, c := range []struct {
		method, path, header string
		status               int
	}{
		{"GET", folder, "", 404}, {"GET", folder + "/", "", 404}, {"GET", folder + "/../" + script, "", 404}, {"GET", "../" + script, "", 404},
		{"GET", folder + "/shell.html", "", 404}, {"GET", folder + "/console.js.gz", "", 404}, {"GET", folder + "/bundle/console.js.gz", "", 404},
		{"GET", folder + "%2Fconsole.js", "", 200}, {"GET", folder + "/..%2F..%2Fconsole.go", "", 404}, {"GET", "%2e%2e/console.js", "", 404}, {"GET", folder + "/console.js%00", "", 404},
		{"GET", "/" + script, "", 404}, {"GET", script + "/", "", 404}, {"GET", strings.ToUpper(script), "", 404}, {"GET", script + "?a=" + strings.Repeat("b", 5000), "", 200},
		{"GET", script, "Range: bytes=0-9", 200}, {"GET", script, "Range: bytes=999999999-", 200}, {"GET", script, "If-Modified-Since: Mon, 01 Jan 2035 00:00:00 GMT", 200},
		{"GET", script, "If-None-Match: " + tag, 304}, {"GET", script, `If-None-Match: "a"`, 200},
		{"HEAD", script, "", 200}, {"HEAD", script, "If-None-Match: " + tag, 304}, {"HEAD", "nothing", "", 404},
		{"POST", script, "", 405}, {"PUT", "", "", 405}, {"DELETE", script, "", 405}, {"OPTIONS", "", "", 405}, {"TRACE", "", "", 405},
	} {
		a := ask("", c.method, "/console/"+c.path, c.header)
		if text := body(t, a); a.StatusCode != c.status || (a.StatusCode == 304 || c.method == "HEAD" && a.StatusCode == 200) && text != "" {
			t.Errorf("%s %s, %.60q: %s, %d bytes", c.method, c.path, c.header, a.Status, len(text))
		}
		if a.StatusCode >= 400 && (strings.Contains(a.Header.Get("Cache-Control"), "immutable") || a.Header.Get("Content-Security-Policy") == "") {
			t.Errorf("%s %s: %v", c.method, c.path, a.Header)
		}
	}
}

var record = flag.Bool("record", false, "make the bundle of what is in app")

const (
	howToRecord = "make console"
	packages    = "../../devserver/browsertest/node_modules"
)

type vendored struct{ name, licence string }

// scripts are the bundles: what each is made of, the packages that are in it, and the files
// that it is. The editor is minified, for it is large and mostly others' work.
var scripts = map[string]struct {
	about, entry, sources string
	files                 []string
	minified              bool
	packages              []vendored
}{
	"console.js": {"svc console", "app/main.tsx", "app", []string{"console.js", "later.js"}, false, []vendored{
		{"preact", "MIT"}, {"@preact/signals", "MIT"}, {"@preact/signals-core", "MIT"},
	}},
	"editor.js": {"svc console, its editor", "app/editor/editor.ts", "app/editor", []string{"editor.js"}, true, []vendored{
		{"@codemirror/autocomplete", "MIT"}, {"@codemirror/commands", "MIT"}, {"@codemirror/lang-json", "MIT"}, {"@codemirror/language", "MIT"},
		{"@codemirror/lint", "MIT"}, {"@codemirror/state", "MIT"}, {"@codemirror/streamparser", "MIT"}, {"@codemirror/view", "MIT"},
		{"@lezer/common", "MIT"}, {"@lezer/highlight", "MIT"}, {"@lezer/json", "MIT"}, {"@lezer/lr", "MIT"},
		{"@marijn/find-cluster-break", "MIT"}, {"crelt", "MIT"}, {"style-mod", "MIT"}, {"w3c-keyname", "MIT"},
	}},
}

// TestTheBundleIsMadeOfTheSources needs no npm: the bundles name the sources that
// they were made of, and the style sheet is in it as it is.
func TestTheBundleIsMadeOfTheSources(t *testing.T) {
	if *record {
		t.Skip("the bundle is made by the next test")
	}
	for _, s := range scripts {
		for _, name := range s.files {
			if script := unpacked(t, name); !bytes.Contains(script, []byte(" "+sources(t, s.sources)+"\n")) {
				t.Errorf("bundle/%s.gz was made of other scripts than those in %s. Make it again:\n  %s", name, s.sources, howToRecord)
			}
		}
	}
	if style := read(t, "app/style.css"); !bytes.Equal(unpacked(t, "style.css"), style) {
		t.Errorf("bundle/style.css.gz is not app/style.css. Make it again:\n  %s", howToRecord)
	}
}

// TestTheBundleIsWhatThePackagesMake bundles again: nobody has edited the bundles, and
// the packages in them are those that devserver/browsertest pins.
func TestTheBundleIsWhatThePackagesMake(t *testing.T) {
	testenv.File(t, "run `make test`, or npm ci in devserver/browsertest", filepath.Join(packages, ".package-lock.json"))
	testenv.Program(t, "on Debian, apt-get install nodejs", "node") // esbuild's command is a script
	made := map[string][]byte{"style.css": read(t, "app/style.css")}
	for name := range scripts {
		maps.Copy(made, bundled(t, name))
		made[name+".LICENSE.txt"] = licences(t, name)
	}
	for name, want := range made {
		if *record {
			must.Do(t, os.WriteFile("bundle/"+name+".gz", packed(t, want), 0o666))
		} else if !bytes.Equal(unpacked(t, name), want) {
			t.Errorf("bundle/%s.gz is not what the sources and the packages make. Make it again:\n  %s", name, howToRecord)
		}
	}
}

// bundled is a bundle: a script, and another one where the program asks for some of its parts
// later. Those of the console have no white space, and their names, so that a browser's tools
// show something that can be read.
func bundled(t *testing.T, name string) map[string][]byte {
	t.Helper()
	s := scripts[name]
	with := make([]string, len(s.packages))
	for i, p := range s.packages {
		with[i] = p.name + " " + version(t, p) + " (" + p.licence + ")"
	}
	banner := "/*! " + s.about + ", with " + strings.Join(with, ", ") + ": see " + name + ".LICENSE.txt.\n * Made of shared/console/" + s.sources + ", whose scripts are " + sources(t, s.sources) + "\n */"
	folder := t.TempDir()
	meta := filepath.Join(t.TempDir(), "meta.json")
	cmd := exec.Command(filepath.Join(packages, ".bin", "esbuild"), "--bundle", "--splitting", "--chunk-names=[name]", "--outdir="+folder, "--metafile="+meta, "--format=esm", "--preserve-symlinks", "--target=es2022", "--charset=utf8",
		"--legal-comments=none", "--log-level=warning", "--minify-whitespace", "--minify-syntax", fmt.Sprint("--minify-identifiers=", s.minified), "--banner:js="+banner, s.entry)
	where := must.Get(filepath.Abs(packages))(t)
	cmd.Env = append(os.Environ(), "NODE_PATH="+where)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("esbuild: %v\n%s", err, out)
	}
	var made struct{ Inputs map[string]any }
	must.Do(t, json.Unmarshal(read(t, meta), &made))
	for input := range made.Inputs {
		_, path, _ := strings.Cut(input, "/node_modules/")
		if of := func(p vendored) bool { return strings.HasPrefix(path, p.name+"/") }; path != "" && !slices.ContainsFunc(s.packages, of) {
			t.Errorf("%s is in %s, and its package is not named there", path, name)
		}
	}
	files := map[string][]byte{}
	for _, entry := range must.Get(os.ReadDir(folder))(t) {
		files[entry.Name()] = read(t, filepath.Join(folder, entry.Name()))
	}
	// Of a bundle in parts, what its entry and the others share is a script that the entry
	// imports. The entry is in it as a whole, so the page loads that in its place.
	if shared, split := files["chunk.js"]; split {
		if entry := string(bytes.TrimPrefix(files["main.js"], []byte(banner))); strings.TrimSpace(entry) != `import"./chunk.js";` {
			t.Errorf("not all of the first script is in the one that is shared: what imports no ./main? %.200s", entry)
		}
		delete(files, "main.js")
		delete(files, "chunk.js")
		for other, script := range files {
			files[other] = bytes.ReplaceAll(script, []byte(`"./chunk.js"`), []byte(`"./`+name+`"`))
		}
		files[name] = shared
	}
	if names := slices.Sorted(maps.Keys(files)); !slices.Equal(names, s.files) {
		t.Errorf("the bundle is %q, not %q", names, s.files)
	}
	return files
}

// sources is a hash over the scripts in a folder.
func sources(t *testing.T, folder string) string {
	t.Helper()
	names, err := filepath.Glob(folder + "/*.ts*") // sorted
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := sha256.New()
	for _, name := range names {
		fmt.Fprintf(all, "%s %x\n", name, sha256.Sum256(read(t, name)))
	}
	return fmt.Sprintf("%x", all.Sum(nil)[:16])
}

func licences(t *testing.T, name string) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, p := range scripts[name].packages {
		fmt.Fprintf(&all, "%s %s\n\n%s\n\n", p.name, version(t, p), read(t, filepath.Join(packages, p.name, "LICENSE")))
	}
	return all.Bytes()
}

func version(t *testing.T, of vendored) string {
	t.Helper()
	var p struct{ Version, License string }
	if err := json.Unmarshal(read(t, filepath.Join(packages, of.name, "package.json")), &p); err != nil || p.Version == "" {
		t.Fatal(of.name, err)
	}
	if of.licence != p.License {
		t.Errorf("%s is under the licence %s, not %s", of.name, p.License, of.licence)
	}
	return p.Version
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	return must.Get(os.ReadFile(name))(t)
}

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	return must.Get(negotiation.Decompress(read(t, "bundle/"+name+".gz")))(t)
}

func packed(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	must.Do(t, errors.Join(err, w.Close()))
	return b.Bytes()
}

// The console's table of operators has those that are evaluated, and no others.
func TestTheConsoleHasEveryOperator(t *testing.T) {
	text := must.Get(os.ReadFile("app/operators.ts"))(t)
	var names []string
	for _, row := range regexp.MustCompile(`(?m)^    ([A-Z_]+): \[`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, row[1])
	}
	slices.Sort(names)
	if want := evaluation.Operators(); !slices.Equal(names, want) {
		t.Errorf("the console has %q, and %q are evaluated", names, want)
	}
}
