package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"svc.example/svc/shared/testing/must"
	"testing"
)

// tree lays out files under dir: a path with forward slashes to its content.
// A path that ends in a slash is a directory, and "-> target" as the content
// makes a symbolic link.
func tree(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(path))
		must.Do(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch target, isLink := strings.CutPrefix(text, "-> "); {
		case strings.HasSuffix(path, "/"):
			must.Do(t, os.MkdirAll(full, 0o755))
		case isLink:
			must.Do(t, os.Symlink(filepath.FromSlash(target), full))
		default:
			must.Do(t, os.WriteFile(full, []byte(text), 0o644))
		}
	}
}

// realTempDir is a temporary directory without symbolic links in its path.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Do(t, err)
	return dir
}

func TestDiscover(t *testing.T) {
	for _, tt := range []struct {
		name      string
		files     map[string]string
		flag, env string
		want      string // in the working directory
		err       []string
	}{
		{name: "the flag wins", files: map[string]string{"given/": "", "our-config/": "", ".svc/": "", "env/": ""}, flag: "given", env: "env", want: "given"},
		{name: "our-config", files: map[string]string{"our-config/": "", ".svc/": "", "env/": ""}, env: "env", want: "our-config"},
		{name: "hidden", files: map[string]string{".svc/": "", "env/": ""}, env: "env", want: ".svc"},
		{name: "the variable", files: map[string]string{"env/": ""}, env: "env", want: "env"},
		{name: "a link to a directory", files: map[string]string{"real/": "", "our-config": "-> real"}, want: "our-config"},
		{name: "a link to elsewhere", files: map[string]string{".svc": "-> ..", "env/": ""}, env: "env", err: []string{"./.svc", "leads from it to", "--datadir"}},
		{name: "a path that climbs", files: map[string]string{"given/": ""}, flag: "given/../given/.", want: "given"},
		{name: "nothing", err: []string{"./our-config", "./.svc", "SVC_DIR is not set", "--datadir", "svc init"}},
		{name: "the flag names nothing", files: map[string]string{"our-config/": ""}, flag: "nope", err: []string{"--datadir nope", "there is no directory", "svc init nope"}},
		{name: "the flag names a file", files: map[string]string{"f": "x", "our-config/": ""}, flag: "f", err: []string{"--datadir f", "is a file"}},
		{name: "the flag names a link to nothing", files: map[string]string{"l": "-> nowhere"}, flag: "l", err: []string{"--datadir l", "link to nowhere, which does not exist"}},
		{name: "the flag names what is below a file", files: map[string]string{"f": "x"}, flag: "f/g", err: []string{"--datadir f/g", "not a directory"}},
		{name: "the variable names nothing", env: "nope", err: []string{"SVC_DIR nope", "there is no directory"}},
		{name: "the variable names a file", files: map[string]string{"f": "x"}, env: "f", err: []string{"SVC_DIR f", "is a file"}},
		{name: "our-config is a file", files: map[string]string{"our-config": "x", ".svc/": "", "env/": ""}, env: "env", err: []string{"./our-config", "is a file", "--datadir"}},
		{name: "our-config is a link to nothing", files: map[string]string{"our-config": "-> nowhere", ".svc/": ""}, err: []string{"./our-config", "link to nowhere"}},
		{name: "our-config is a circle", files: map[string]string{"our-config": "-> our-config"}, err: []string{"./our-config", "circle"}},
		{name: "the hidden one is a file", files: map[string]string{".svc": "x", "env/": ""}, env: "env", err: []string{"./.svc", "is a file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			workdir := realTempDir(t)
			tree(t, workdir, tt.files)
			got, err := Discover(tt.flag, func(name string) string {
				if name != "SVC_DIR" {
					t.Errorf("asked for %s", name)
				}
				return tt.env
			}, workdir)
			if tt.err == nil && (err != nil || got != filepath.Join(workdir, tt.want)) {
				t.Fatalf("Discover = %q, %v; want %q", got, err, tt.want)
			}
			for _, part := range tt.err {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("error %v does not say %q", err, part)
				}
			}
		})
	}
}

func TestDiscoverAbsolute(t *testing.T) {
	dir := realTempDir(t)
	none := func(string) string { return "" }
	if got, err := Discover(dir, none, "/elsewhere"); err != nil || got != dir {
		t.Errorf("an absolute flag: %q, %v", got, err)
	}
	tree(t, dir, map[string]string{"our-config/": ""})
	t.Chdir(dir)
	if got, err := Discover("", none, "."); err != nil || got != filepath.Join(dir, "our-config") {
		t.Errorf("a relative working directory: %q, %v", got, err)
	}
}
