package client

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.example/svc/shared/testing/must"
)

func TestEditsOfADatadirAreServed(t *testing.T) {
	var j journal
	dir := datadirOf(t, switched("false"), planFlag())
	c := open(t, Options{Datadir: dir, Log: j.log()})
	events := make(chan Event, 100)
	c.Listen(func(e Event) { events <- e })
	write(t, dir, switched("true"))
	if e := <-events; strings.Join(e.Changed, " ") != "f" || !c.Bool(t.Context(), "f", false) {
		t.Errorf("%+v", e)
	}
	write(t, dir, `{"key":"f","type":"feature_flag","valueType":"bool"}`)
	if e := <-events; e.Status != Stale || !strings.Contains(e.Err.Error(), "feature-flags/f.json") {
		t.Errorf("%+v", e)
	}
	if !c.Bool(t.Context(), "f", false) || c.Status() != Stale {
		t.Error("the last good state is gone")
	}
	write(t, dir, switched("false"))
	if e := <-events; e.Status != Ready || c.Bool(t.Context(), "f", true) {
		t.Errorf("%+v", e)
	}
	if j.count("not reloaded") != 1 {
		t.Errorf("said %d times:\n%s", j.count("not reloaded"), j.String())
	}
}

func TestADirectoryThatCannotBeServedIsRefusedWithAllItsProblems(t *testing.T) {
	dir := datadirOf(t, switched("true"), `{"key":"a","type":"config","valueType":"string"}`, `{"key":"b","type":"config","valueType":"string"}`)
	_, err := Open(t.Context(), Options{Datadir: dir})
	var refusal *Refusal
	if !errors.As(err, &refusal) || len(refusal.Problems) < 2 || !strings.Contains(err.Error(), "configs/b.json") {
		t.Errorf("%v", err)
	}
	if _, err := Open(t.Context(), Options{Datadir: filepath.Join(dir, "nowhere")}); err == nil || !strings.Contains(err.Error(), "Options.Datadir") {
		t.Errorf("%v", err)
	}
}

func TestEnvironments(t *testing.T) {
	dir := datadirOf(t, `{"key":"f","type":"feature_flag","valueType":"string","default":{"rules":[`+always(plainValue("string", `"default"`))+`]},"environments":[{"id":"production","rules":[`+always(plainValue("string", `"production"`))+`]}]}`)
	value := func(o Options) string {
		o.Datadir = dir
		return open(t, o).String(t.Context(), "f", "")
	}
	if got := value(Options{}); got != "default" {
		t.Errorf("development: %s", got)
	}
	if got := value(Options{Environment: "production"}); got != "production" {
		t.Errorf("production: %s", got)
	}
	t.Setenv("SVC_ENVIRONMENT", "production")
	if got := value(Options{}); got != "production" {
		t.Errorf("from the variable: %s", got)
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "svc.json"), []byte(`{"environments":["staging"]}`), 0o644))
	if _, err := Open(t.Context(), Options{Datadir: dir}); err == nil || !strings.Contains(err.Error(), `"production"`) || !strings.Contains(err.Error(), "declared are staging") {
		t.Errorf("an environment that is not declared: %v", err)
	}
}

// TestAnArchivedEnvironmentIsNotServed, as svc serve and the service refuse it; one that is
// archived while it is served stays as it was, and it is said.
func TestAnArchivedEnvironmentIsNotServed(t *testing.T) {
	const active, archived = `{"environments":["development","staging"]}`, `{"environments":["development",{"name":"staging","archived":true}]}`
	var j journal
	dir := datadirOf(t, switched("true"))
	declare := func(text string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dir, "svc.json"), []byte(text), 0o666))
	}
	declare(archived)
	const want = `the environment "staging" (Options.Environment, else $SVC_ENVIRONMENT, else development) is archived, so that nothing is served there; declared are development`
	var refusal *Refusal
	if _, err := Open(t.Context(), Options{Datadir: dir, Environment: "staging"}); !errors.As(err, &refusal) || !strings.Contains(err.Error(), want) {
		t.Fatalf("%v", err)
	}
	declare(active)
	c := open(t, Options{Datadir: dir, Environment: "staging", Log: j.log()})
	declare(archived)
	eventually(t, "it is said", func() bool { return j.count("is archived") > 0 && c.Status() == Stale })
	if !c.Bool(t.Context(), "f", false) {
		t.Error("what was served last is gone")
	}
}

func TestTheDatadirIsDiscovered(t *testing.T) {
	dir := datadirOf(t, switched("true"))
	t.Chdir(t.TempDir())
	if _, err := Open(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "SVC_DIR") {
		t.Errorf("%v", err)
	}
	t.Setenv("SVC_DIR", dir)
	if !open(t, Options{}).Bool(t.Context(), "f", false) {
		t.Error("SVC_DIR is not used")
	}
}

func TestALinkOutOfADatadirIsLeftOutAndLogged(t *testing.T) {
	var j journal
	dir, far := datadirOf(t, switched("true"), planFlag()), filepath.Join(t.TempDir(), "f.json")
	must.Do(t, os.Rename(filepath.Join(dir, "feature-flags", "f.json"), far))
	if err := os.Symlink(far, filepath.Join(dir, "feature-flags", "f.json")); err != nil {
		t.Skip(err)
	}
	c := open(t, Options{Datadir: dir, Log: j.log()})
	if c.Bool(t.Context(), "f", false) || j.count("leads out of the config directory") != 1 {
		t.Errorf("logged: %s", j.String())
	}
}
