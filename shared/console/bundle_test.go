package console_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/negotiation"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

var record = flag.Bool("record", false, "make the bundle of what is in app")

const (
	howToRecord = "npm ci in devserver/browsertest, then go test ./shared/console -run Bundle -record"
	packages    = "../../devserver/browsertest/node_modules"
)

// vendored are the packages that are in the bundle, and their licences.
var vendored = []struct{ name, licence string }{
	{"preact", "MIT"}, {"@preact/signals", "MIT"}, {"@preact/signals-core", "MIT"},
}

// TestTheBundleIsMadeOfTheSources needs no npm: the bundle names the sources that
// it was made of, and the style sheet is in it as it is.
func TestTheBundleIsMadeOfTheSources(t *testing.T) {
	if *record {
		t.Skip("the bundle is made by the next test")
	}
	if script := unpacked(t, "console.js"); !bytes.Contains(script, []byte(" "+sources(t)+"\n")) {
		t.Errorf("bundle/console.js.gz was made of other scripts than those in app. Make it again:\n  %s", howToRecord)
	}
	if style := read(t, "app/style.css"); !bytes.Equal(unpacked(t, "style.css"), style) {
		t.Errorf("bundle/style.css.gz is not app/style.css. Make it again:\n  %s", howToRecord)
	}
}

// TestTheBundleIsWhatThePackagesMake bundles again: nobody has edited the bundle, and
// the packages in it are those that devserver/browsertest pins.
func TestTheBundleIsWhatThePackagesMake(t *testing.T) {
	testenv.File(t, "run `make test`, or npm ci in devserver/browsertest", filepath.Join(packages, ".package-lock.json"))
	testenv.Program(t, "on Debian, apt-get install nodejs", "node") // esbuild's command is a script
	for name, want := range map[string][]byte{"console.js": bundled(t), "console.js.LICENSE.txt": licences(t), "style.css": read(t, "app/style.css")} {
		if *record {
			must.Do(t, os.WriteFile("bundle/"+name+".gz", packed(t, want), 0o666))
		} else if !bytes.Equal(unpacked(t, name), want) {
			t.Errorf("bundle/%s.gz is not what the sources and the packages make. Make it again:\n  %s", name, howToRecord)
		}
	}
}

// bundled is the program as one script that is not minified, so that a browser's tools
// show something that can be read.
func bundled(t *testing.T) []byte {
	t.Helper()
	with := make([]string, len(vendored))
	for i, p := range vendored {
		with[i] = p.name + " " + version(t, p.name) + " (" + p.licence + ")"
	}
	banner := "/*! svc console, with " + strings.Join(with, ", ") + ": see console.js.LICENSE.txt.\n * Made of shared/console/app, whose scripts are " + sources(t) + "\n */"
	cmd := exec.Command(filepath.Join(packages, ".bin", "esbuild"), "--bundle", "--format=esm", "--preserve-symlinks", "--target=es2022", "--charset=utf8",
		"--legal-comments=none", "--log-level=warning", "--banner:js="+banner, "app/main.tsx")
	where := must.Get(filepath.Abs(packages))(t)
	cmd.Env = append(os.Environ(), "NODE_PATH="+where)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("esbuild: %v\n%s", err, &stderr)
	}
	return out
}

// sources is a hash over the scripts in app.
func sources(t *testing.T) string {
	t.Helper()
	names, err := filepath.Glob("app/*.ts*") // sorted
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	all := sha256.New()
	for _, name := range names {
		fmt.Fprintf(all, "%s %x\n", name, sha256.Sum256(read(t, name)))
	}
	return fmt.Sprintf("%x", all.Sum(nil)[:16])
}

func licences(t *testing.T) []byte {
	t.Helper()
	var all bytes.Buffer
	for _, p := range vendored {
		fmt.Fprintf(&all, "%s %s\n\n%s\n\n", p.name, version(t, p.name), read(t, filepath.Join(packages, p.name, "LICENSE")))
	}
	return all.Bytes()
}

func version(t *testing.T, name string) string {
	t.Helper()
	var p struct{ Version, License string }
	if err := json.Unmarshal(read(t, filepath.Join(packages, name, "package.json")), &p); err != nil || p.Version == "" {
		t.Fatal(name, err)
	}
	for _, v := range vendored {
		if v.name == name && v.licence != p.License {
			t.Errorf("%s is under the licence %s, not %s", name, p.License, v.licence)
		}
	}
	return p.Version
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text := must.Get(os.ReadFile(name))(t)
	return text
}

func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	text := must.Get(negotiation.Decompress(read(t, "bundle/"+name+".gz")))(t)
	return text
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
