package directory

import (
	"bufio"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/devserver/overrides"
	"svc.example/svc/shared/datadir"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/jsontree"
)

func overridesOf(t *testing.T, dir string) overrides.File {
	t.Helper()
	state := t.TempDir()
	file, err := overrides.Of(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, dir, "development")
	must(t, err)
	return file
}

func set(t *testing.T, file overrides.File, o overrides.Override) {
	t.Helper()
	must(t, file.Set(t.Context(), o))
}

// TestStreamsTellOfOverrides that are set, changed and cleared, and of one that ends
// by itself.
func TestStreamsTellOfOverrides(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "feature-flags/f.json", plainFlag)
	d, err := Open(dir, "development", func(string) {})
	must(t, err)
	file := overridesOf(t, dir)
	h := &delivery.Handler{Tables: d.Tables(""), Now: time.Now, Streams: d.Streams("", 2)}
	server := httptest.NewServer(h.Mux())
	t.Cleanup(server.Close)
	t.Cleanup(h.Streams.Hub.Close)
	go d.FollowOverrides(t.Context(), file)

	poll := func(context string) (body, tag string) {
		t.Helper()
		answer, err := http.Get(server.URL + "/api/v2/configs/eval-with-context/" + base64.RawURLEncoding.EncodeToString([]byte(context)))
		must(t, err)
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		body, _, _ = strings.Cut(string(text), `,"meta"`)
		return body, answer.Header.Get("Etag")
	}
	const u1, u2 = `{"user":{"key":"u1"}}`, `{"user":{"key":"u2"}}`
	plain, firstTag := poll(u1)
	stream, err := http.Get(server.URL + "/ofrep/v1/events")
	must(t, err)
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
	if _, err := file.ClearAll(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	d, err := Open(dir, "development", out.add)
	must(t, err)
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
		must(t, os.WriteFile(file.Path, []byte(text), 0o600))
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
	must(t, os.Remove(file.Path))
	if n, changed := d.ReadOverrides(file); n != 0 || !changed || len(out.take()) != 0 {
		t.Error(n, changed)
	}
	must(t, os.Remove(filepath.Join(dir, "feature-flags/gone.json")))
	if d.update(datadir.Look(dir)); d.table.Load().Version != plain {
		t.Error("without overrides the version is another one")
	}
}
