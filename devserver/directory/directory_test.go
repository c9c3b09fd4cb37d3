package directory

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/fault"
)

func flagFile(key, value string) string {
	return `{"key":"` + key + `","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":` + value + `}}]}}`
}

// lines collects what is reported.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

func write(t *testing.T, dir, path, text string) {
	t.Helper()
	path = filepath.Join(dir, path)
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must(t, os.WriteFile(path, []byte(text), 0o666))
}

func TestTheLastGoodStateStays(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "svc.json", `{"environments":["development"]}`)
	write(t, dir, "feature-flags/a.json", flagFile("a", "true"))
	var out lines
	d, err := Open(dir, "development", out.add)
	must(t, err)
	d.Warn()
	step := func(want ...string) {
		t.Helper()
		d.update(datadir.Look(dir))
		d.Warn()
		got := out.take()
		if !slices.EqualFunc(got, want, strings.Contains) {
			t.Errorf("reported %q, want %q", got, want)
		}
	}

	write(t, dir, "feature-flags/a.json", flagFile("a", "maybe"))
	write(t, dir, "feature-flags/b.json", flagFile("b", "true"))
	step("feature-flags/a.json:1:145: not valid JSON", "serving 2 flags, 0 configs: what is broken as it last was good")
	if served, behind := d.Behind(); !behind || string(served.Files["feature-flags/a.json"]) != flagFile("a", "true") {
		t.Error("nobody hears that it is not the one on disk", behind)
	}
	write(t, dir, "feature-flags/c.json", flagFile("c", "true"))
	step("reloaded: 3 flags, 0 configs") // the same problem is not told twice
	write(t, dir, "svc.json", `{"environments":["staging"]}`)
	step(`is not declared; known are staging`, "serving 3 flags") // and only what is new is told
	write(t, dir, "svc.json", `{"environments":["staging",{"name":"development","archived":true}]}`)
	step(`is archived, so that nothing is served there; known are staging`, "serving 3 flags")
	for what, open := range map[string]func() error{
		"serve":    func() error { _, err := Open(dir, "development", out.add); return err },
		"evaluate": func() error { _, err := Read("evaluate", dir, "development"); return err },
	} {
		if err := open(); err == nil || !strings.Contains(err.Error(), "is archived") {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(t, dir, "svc.json", `{"environments":["development"]}`)
	write(t, dir, "feature-flags/a.json", flagFile("a", "false"))
	step("fixed: serving the directory as it is now, 3 flags, 0 configs")
	if served, behind := d.Behind(); behind || string(served.Files["feature-flags/a.json"]) != flagFile("a", "false") {
		t.Error("the fixed state is not served")
	}
	if _, behind := d.Behind(); behind {
		t.Error("the fixed state is not the one on disk")
	}
	must(t, os.RemoveAll(filepath.Join(dir, "feature-flags")))
	step("reloaded: 0 flags, 0 configs")
}

func TestAVanishedDirectoryGoesOnBeingServed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "datadir")
	write(t, dir, "feature-flags/a.json", flagFile("a", "true"))
	var out lines
	d, err := Open(dir, "development", out.add)
	must(t, err)
	good := d.table.Load()
	must(t, os.RemoveAll(dir))
	d.update(datadir.Look(dir))
	if d.table.Load() != good {
		t.Error("the last good state is gone with the directory")
	}
}

func TestWarningsAreToldOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/a.json", strings.Replace(flagFile("a", "true"), "ALWAYS_TRUE", "NO_SUCH_OPERATOR", 1))
	var out lines
	d, err := Open(dir, "development", out.add)
	must(t, err)
	d.Warn()
	first := strings.Join(out.take(), "\n")
	for _, want := range []string{"NO_SUCH_OPERATOR", `no document names the environment "development"`} {
		if strings.Count(first, want) != 1 {
			t.Errorf("%s is not told once:\n%s", want, first)
		}
	}
	write(t, dir, "feature-flags/b.json", flagFile("b", "true"))
	d.update(datadir.Look(dir))
	d.Warn()
	if got := out.take(); len(got) != 1 || !strings.HasPrefix(got[0], "reloaded: 2 flags") {
		t.Errorf("reported %q", got)
	}
}

func TestManyWarningsAreCut(t *testing.T) {
	dir := t.TempDir()
	for i := range maxWarnings + 7 {
		key := strings.Repeat("k", i+1)
		write(t, dir, "feature-flags/"+key+".json", strings.Replace(flagFile(key, "true"), "ALWAYS_TRUE", "NO_SUCH_OPERATOR", 1))
	}
	var out lines
	d, err := Open(dir, "development", out.add)
	must(t, err)
	d.Warn()
	if got := out.take(); len(got) != maxWarnings+1 || !strings.Contains(got[maxWarnings], "svc verify") {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

func TestTheKey(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/a.json", flagFile("a", "true"))
	d, err := Open(dir, "development", func(string) {})
	must(t, err)
	for _, tt := range []struct {
		configured, presented string
		ok                    bool
	}{{"", "", true}, {"", "anything", true}, {"dev", "dev", true}, {"dev", "", false}, {"dev", "de", false}, {"dev", "devs", false}} {
		table, err := d.Tables(tt.configured)(nil, nil, tt.presented)
		if (err == nil) != tt.ok || (table != nil) != tt.ok {
			t.Errorf("key %q, presented %q: %v", tt.configured, tt.presented, err)
		}
		var f *fault.Fault
		if err != nil && (!errors.As(err, &f) || f.Kind != fault.Unauthorized) {
			t.Errorf("the error is %v", err)
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
