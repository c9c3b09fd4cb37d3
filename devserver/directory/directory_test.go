package directory

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/testing/must"
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
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(t, os.WriteFile(path, []byte(text), 0o666))
}

func TestTheLastGoodStateStays(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "svc.json", `{"environments":["development"]}`)
	write(t, dir, "feature-flags/a.json", flagFile("a", "true"))
	var out lines
	d := must.Get(Open(dir, "development", out.add))(t)
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
	must.Do(t, os.RemoveAll(filepath.Join(dir, "feature-flags")))
	step("reloaded: 0 flags, 0 configs")
}

func TestAVanishedDirectoryGoesOnBeingServed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "datadir")
	write(t, dir, "feature-flags/a.json", flagFile("a", "true"))
	var out lines
	d := must.Get(Open(dir, "development", out.add))(t)
	good := d.table.Load()
	must.Do(t, os.RemoveAll(dir))
	d.update(datadir.Look(dir))
	if d.table.Load() != good {
		t.Error("the last good state is gone with the directory")
	}
}

func TestWarningsAreToldOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/a.json", strings.Replace(flagFile("a", "true"), "ALWAYS_TRUE", "NO_SUCH_OPERATOR", 1))
	var out lines
	d := must.Get(Open(dir, "development", out.add))(t)
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
	d := must.Get(Open(dir, "development", out.add))(t)
	d.Warn()
	if got := out.take(); len(got) != maxWarnings+1 || !strings.Contains(got[maxWarnings], "svc verify") {
		t.Errorf("%d lines, the last %q", len(got), got[len(got)-1])
	}
}

func TestTheKey(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/a.json", flagFile("a", "true"))
	d := must.Get(Open(dir, "development", func(string) {}))(t)
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

func overridesOf(t *testing.T, dir string) overrides.File {
	t.Helper()
	state := t.TempDir()
	file := must.Get(overrides.Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, dir, "development"))(t)
	return file
}

func set(t *testing.T, file overrides.File, o overrides.Override) {
	t.Helper()
	must.Do(t, file.Set(t.Context(), o))
}

// TestStreamsTellOfOverrides that are set, changed and cleared, and of one that ends
// by itself.
func TestStreamsTellOfOverrides(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/f.json", plainFlag)
	d := must.Get(Open(dir, "development", func(string) {}))(t)
	file := overridesOf(t, dir)
	h := &delivery.Handler{Tables: d.Tables(""), Now: time.Now, Streams: d.Streams("", 2)}
	server := httptest.NewServer(h.Mux())
	t.Cleanup(server.Close)
	t.Cleanup(h.Streams.Hub.Close)
	go d.FollowOverrides(t.Context(), file)

	poll := func(context string) (body, tag string) {
		t.Helper()
		answer := must.Get(http.Get(server.URL + "/api/v2/configs/eval-with-context/" + base64.RawURLEncoding.EncodeToString([]byte(context))))(t)
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		body, _, _ = strings.Cut(string(text), `,"meta"`)
		return body, answer.Header.Get("Etag")
	}
	const u1, u2 = `{"user":{"key":"u1"}}`, `{"user":{"key":"u2"}}`
	plain, firstTag := poll(u1)
	stream := must.Get(http.Get(server.URL + "/ofrep/v1/events"))(t)
	t.Cleanup(func() { stream.Body.Close() })
	lines := bufio.NewScanner(stream.Body)
	lines.Scan() // the comment at the beginning, so that what follows is told
	event := func() {
		t.Helper()
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "data: ") {
				return
			}
		}
		t.Fatal("the stream has ended")
	}
	tags := []string{firstTag}
	expect := func(when string, want bool) {
		t.Helper()
		event()
		body, tag := poll(u1)
		if strings.Contains(body, `"reason":"OVERRIDE"`) != want {
			t.Fatalf("%s: %s", when, body)
		}
		if !want && body != plain {
			t.Errorf("%s: %s, want %s", when, body, plain)
		}
		if slices.Contains(tags, tag) && tag != firstTag {
			t.Errorf("%s: the tag is one from before", when)
		}
		tags = append(tags, tag)
		if body, _ := poll(u2); body != plain {
			t.Errorf("%s: u2 gets %s, want %s", when, body, plain)
		}
	}
	for1 := &overrides.Property{Name: "user.key", Value: "u1"}
	set(t, file, overrides.Override{Key: "f", Value: jsontree.NewBool(true), For: for1})
	expect("set", true)
	set(t, file, overrides.Override{Key: "f", Value: jsontree.NewBool(false), For: for1})
	expect("changed", true)
	must.Get(file.ClearAll(t.Context()))(t)
	expect("cleared", false)
	if tags[len(tags)-1] != firstTag {
		t.Error("without overrides the tag is another one than before")
	}
	// One that is over before a busy machine has looked at it is set again for longer.
	overridden := func() bool {
		body, _ := poll(u1)
		return strings.Contains(body, `"reason":"OVERRIDE"`)
	}
	for holds, ttl := false, time.Second; !holds; ttl *= 4 {
		until := time.Now().Add(ttl)
		set(t, file, overrides.Override{Key: "f", Value: jsontree.NewBool(true), For: for1, Until: until})
		for !holds && time.Now().Before(until) {
			holds = overridden()
		}
	}
	for overridden() {
		event() // that of its beginning, and then that of its end
	}
	if body, _ := poll(u1); body != plain {
		t.Errorf("over: %s, want %s", body, plain)
	}
}

func TestBrokenOverridesAreReportedOnce(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/f.json", plainFlag)
	var out lines
	d := must.Get(Open(dir, "development", out.add))(t)
	file := overridesOf(t, dir)
	set(t, file, overrides.Override{Key: "f", Value: jsontree.NewBool(true)})
	set(t, file, overrides.Override{Key: "gone", Value: jsontree.NewBool(true)})
	set(t, file, overrides.Override{Key: "other", Value: jsontree.NewString("hush")})
	plain := d.table.Load().Version
	if n, changed := d.ReadOverrides(file); n != 1 || !changed {
		t.Error(n, changed)
	}
	version := d.table.Load().Version
	if got := out.take(); len(got) != 2 || !strings.Contains(got[0], "gone") || strings.Contains(strings.Join(got, ""), "hush") || version == plain {
		t.Errorf("%q", got)
	}
	for _, text := range []string{"", "{", "{"} {
		must.Do(t, os.WriteFile(file.Path, []byte(text), 0o600))
		if _, changed := d.ReadOverrides(file); changed || d.table.Load().Version != version {
			t.Error("what cannot be read has changed what is served")
		}
	}
	if got := out.take(); len(got) != 1 || !strings.Contains(got[0], file.Path) {
		t.Errorf("%q", got)
	}
	// An edit keeps them, and has the one that named no flag come to something.
	write(t, dir, "feature-flags/gone.json", strings.ReplaceAll(plainFlag, `"f"`, `"gone"`))
	d.update(datadir.Look(dir))
	if got := out.take(); len(got) != 1 || !strings.Contains(got[0], "reloaded") || len(d.fresh.Load().overrides.Effective) != 2 {
		t.Errorf("%q", got)
	}
	must.Do(t, os.Remove(file.Path))
	if n, changed := d.ReadOverrides(file); n != 0 || !changed || len(out.take()) != 0 {
		t.Error(n, changed)
	}
	must.Do(t, os.Remove(filepath.Join(dir, "feature-flags/gone.json")))
	if d.update(datadir.Look(dir)); d.table.Load().Version != plain {
		t.Error("without overrides the version is another one")
	}
}

const plainFlag = `{"key":"f","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":[{"operator":"ALWAYS_TRUE"}],"value":{"type":"bool","value":false}}]}}`

// TestStreamsOfADirectory: a stream reports edits; with a key it takes the key's token.
func TestStreamsOfADirectory(t *testing.T) {
	for _, tt := range []struct{ key, presented, address string }{
		{"", "", "/ofrep/v1/events"},
		{"dev", "dev", "/ofrep/v1/events?token=frontend."},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "feature-flags", "f.json")
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o777))
		save := func(text string) {
			t.Helper()
			must.Do(t, os.WriteFile(file, []byte(text), 0o666))
		}
		save(plainFlag)
		d := must.Get(Open(dir, "development", func(string) {}))(t)
		h := &delivery.Handler{Tables: d.Tables(tt.key), Now: time.Now, Streams: d.Streams(tt.key, 2)}
		server := httptest.NewServer(h.Mux())
		t.Cleanup(server.Close)
		t.Cleanup(h.Streams.Hub.Close)
		go d.Follow(t.Context())

		ask := func(method, path string) *http.Response {
			t.Helper()
			r, _ := http.NewRequest(method, server.URL+path, nil)
			r.Header.Set("X-API-Key", tt.presented)
			answer := must.Get(http.DefaultClient.Do(r))(t)
			t.Cleanup(func() { answer.Body.Close() })
			return answer
		}
		body, _ := bufio.NewReader(ask("POST", "/ofrep/v1/evaluate/flags").Body).ReadString('\n')
		_, rest, _ := strings.Cut(body, `"requestUri":"`)
		address, _, _ := strings.Cut(rest, `"`)
		if !strings.HasPrefix(address, tt.address) || !strings.Contains(body, `"inactivityDelaySec":5`) {
			t.Fatalf("%s in %s", address, body)
		}
		if tt.key != "" {
			for _, wrong := range []string{"/ofrep/v1/events", "/ofrep/v1/events?token=frontend", address + "x", "/ofrep/v1/events?token=" + tt.key} {
				if answer := ask("GET", wrong); answer.StatusCode != 401 {
					t.Errorf("%s: %d", wrong, answer.StatusCode)
				}
			}
		}
		stream := bufio.NewScanner(ask("GET", address).Body)
		for stream.Scan() && !strings.HasPrefix(stream.Text(), "id: ") {
		}
		save(strings.Replace(plainFlag, `"value":false`, `"value":true`, 1))
		for stream.Scan() && !strings.HasPrefix(stream.Text(), "id: ") {
		}
		if want := "id: " + d.table.Load().Version; stream.Text() != want {
			t.Errorf("%q, want %q", stream.Text(), want)
		}
		for _, path := range []string{"/api/v2/sse/config", "/ofrep/v1/events/x"} {
			if answer := ask("GET", path); answer.StatusCode != 404 {
				t.Errorf("%s: %d", path, answer.StatusCode)
			}
		}
	}
}
