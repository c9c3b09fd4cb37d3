package pull_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/devserver/pull"
	"svc.example/svc/devserver/remote"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/workspace"
)

func TestPullAndPullAgain(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", `"n":1.0,`))
	f.set("b", flag("b", ""))
	f.others = []string{beta, `{"type":"schema","key":"s","commitSha":"s2","document":{"type":"object"}}`}
	f.paged = 3
	f.pull()
	if got := strings.Join(f.reads, ", "); got != "/export 200, /export 200, /whoami 200, /environments 200" && got != "/export 200, /export 200, /environments 200, /whoami 200" {
		t.Errorf("the first pull read %s", got)
	}
	if got := f.file("feature-flags/a.json"); got != "{\n  \"key\": \"a\",\n  \"type\": \"feature_flag\",\n  \"valueType\": \"bool\",\n  \"n\": 1.0,\n  \"default\": {\n    \"rules\": []\n  }\n}\n" {
		t.Error(got)
	}
	if got := f.file("segments/beta.json") + f.file("schemas/s.json"); !strings.Contains(got, `"access": "support"`) || !strings.Contains(got, `"type": "object"`) {
		t.Error(got)
	}
	p := f.pull()
	if got := strings.Join(f.reads, ", "); got != "/export 304" {
		t.Errorf("the second pull read %s", got)
	}
	if p.Same != 5 || len(p.Write)+len(p.Remove) != 0 {
		t.Errorf("%+v", p)
	}
	// The address that a workspace stamps on documents is no news; the dialect of a
	// schema is.
	f.set("b", flag("b", `"$schema":"http://svc.test/stored-config.json",`))
	f.others[1] = strings.Replace(f.others[1], `{"type":"object"}`, `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`, 1)
	f.set("a", flag("a", `"name":"A",`))
	if p = f.pull(); strings.Join(p.Write, " ") != "feature-flags/a.json schemas/s.json" {
		t.Errorf("%+v", p)
	}
	f.set("a", flag("a", `"name":"B",`))
	f.remove("b")
	if p = f.pull(); strings.Join(p.Write, " ") != "feature-flags/a.json" || strings.Join(p.Remove, " ") != "feature-flags/b.json" || f.file("feature-flags/b.json") != "" {
		t.Errorf("%+v", p)
	}
	left, _ := filepath.Glob(filepath.Join(f.dir, "*", ".svc-*"))
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func TestLocalChangesAreNotLost(t *testing.T) {
	f := newFake(t)
	for _, key := range []string{"changed", "deleted", "both", "gone", "tidied", "plain"} {
		f.set(key, flag(key, ""))
	}
	f.pull()
	f.write("feature-flags/changed.json", flag("changed", `"name":"mine",`))
	f.write("feature-flags/gone.json", flag("gone", `"name":"mine",`))
	f.write("feature-flags/tidied.json", flag("tidied", "")) // the same in another layout
	f.write("feature-flags/both.json", flag("both", `"name":"same",`))
	f.write("feature-flags/new.json", flag("new", `"name":"mine",`))
	f.write("feature-flags/mine.json", flag("mine", ""))
	must.Do(t, os.Remove(filepath.Join(f.dir, "feature-flags", "deleted.json")))
	f.set("both", flag("both", `"name":"same",`))
	f.set("plain", flag("plain", `"name":"theirs",`))
	f.set("new", flag("new", ""))
	f.remove("gone")
	p := f.plan(pull.Options{})
	want := []pull.Change{{"feature-flags/changed.json", "was changed here"}, {"feature-flags/deleted.json", "was deleted here"},
		{"feature-flags/new.json", "is here and was not pulled"}, {"feature-flags/gone.json", "was changed here, and deleted in the workspace"}}
	if fmt.Sprint(p.Changed) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", p.Changed, want)
	}
	if strings.Join(p.OnlyHere, " ") != "feature-flags/mine.json" || strings.Join(p.Write, " ") != "feature-flags/plain.json" {
		t.Errorf("%+v", p)
	}
	p = f.plan(pull.Options{Force: true})
	must.Do(t, p.Apply(ctx))
	for path, has := range map[string]string{"changed": "default", "deleted": "default", "plain": "theirs", "mine": "default"} {
		if got := f.file("feature-flags/" + path + ".json"); !strings.Contains(got, has) || strings.Contains(got, `"mine",`) && path != "mine" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if f.file("feature-flags/gone.json") != "" {
		t.Error("it is still there")
	}
	if p = f.plan(pull.Options{}); len(p.Changed)+len(p.Write)+len(p.Remove) > 0 {
		t.Errorf("%+v", p)
	}
}

// TestOneStateIsRead: what changes while it is read is read again.
func TestOneStateIsRead(t *testing.T) {
	f := newFake(t)
	f.paged = 2
	for _, key := range []string{"a", "b", "c"} {
		f.set(key, flag(key, ""))
	}
	reads := 0
	f.onRead = func(path string) {
		if reads++; path == "/export" && reads < 7 && reads%2 == 0 {
			f.set("a", flag("a", fmt.Sprintf(`"name":"%d",`, reads)))
			f.remove("c")
			f.set("d", flag("d", ""))
			f.set("e", flag("e", ""))
		}
	}
	f.pull()
	if !strings.Contains(f.file("feature-flags/a.json"), `"6"`) || f.file("feature-flags/c.json") != "" || f.file("feature-flags/d.json") == "" {
		t.Error(f.file("feature-flags/a.json"))
	}
	f.onRead = func(string) { f.set("a", flag("a", "")) }
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "kept changing") {
		t.Error(err)
	}
}

func TestTheWorkspaceFile(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", `"environments":[{"id":"old","rules":[]},{"id":"production","rules":[]},{"id":"Legacy","rules":[]}],`))
	f.pull()
	ws, problems := workspace.Read(map[string][]byte{"svc.json": []byte(f.file("svc.json"))})
	if len(problems) > 0 || len(ws.Environments) != 2 {
		t.Fatalf("%v %+v", problems, ws.Environments)
	}
	if e, _ := ws.Environment("old"); !e.Archived {
		t.Errorf("%+v", e)
	}
	if e, _ := ws.Environment("production"); !e.Protected || e.Archived {
		t.Errorf("%+v", e)
	}
	// Another way to say the same stays, more archived ones too.
	f.write("svc.json", `{"mine": 1, "environments": [{"name":"older","archived":true}, {"name":"old","environmentType":"test","archived":true}, {"name":"production","protected":true}]}`)
	if p := f.plan(pull.Options{}); len(p.Changed)+len(p.Write) > 0 {
		t.Errorf("%+v", p)
	}
	f.write("svc.json", `{"environments": ["production"]}`)
	if p := f.plan(pull.Options{}); len(p.Changed) != 1 {
		t.Errorf("%+v", p)
	}
	// What the API does not tell stays when the environments are written again.
	f.write("svc.json", `{"secretReferences": "protected", "environments": ["production"]}`)
	must.Do(t, f.plan(pull.Options{Force: true}).Apply(ctx))
	if ws, _ := workspace.Read(map[string][]byte{"svc.json": []byte(f.file("svc.json"))}); !ws.GuardedReferences() || len(ws.Environments) != 2 {
		t.Errorf("%s", f.file("svc.json"))
	}
}

// TestKeysThatWindowsCannotHave are files elsewhere, and there left out, by name.
func TestKeysThatWindowsCannotHave(t *testing.T) {
	for system, pulled := range map[string]int{"linux": 4, "darwin": 4, "windows": 1} {
		pull.On(t, system)
		f := newFake(t)
		for _, key := range []string{"good", "con", "NUL.x", "trailing."} {
			f.set(key, flag(key, ""))
		}
		p, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{})
		if err != nil {
			t.Fatal(system, err)
		}
		if err := p.Apply(ctx); err != nil {
			t.Fatal(system, err)
		}
		files, err := filepath.Glob(filepath.Join(f.dir, "feature-flags", "*.json"))
		if err != nil || len(files) != pulled || len(p.LeftOut) != 4-pulled {
			t.Errorf("%s: %v, left out %v, %v", system, files, p.LeftOut, err)
		}
	}
}

// TestAWorkspaceWithoutEndIsNotTaken: neither one of many bytes, nor of many values or pages.
func TestAWorkspaceWithoutEndIsNotTaken(t *testing.T) {
	for name, document := range map[string]string{
		"bytes":  `{"x": "` + strings.Repeat("x", 4<<20) + `"}`,
		"values": `{"x": [` + strings.Repeat("0,", 1<<20) + `0]}`,
		"pages":  `{}`,
	} {
		pages := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if pages++; pages > 1000 {
				http.Error(w, "too many", http.StatusGone)
				return
			}
			fmt.Fprintf(w, `{"commitSha": "c", "total": 1000000000, "nextCursor": "%d", "documents": [{"type": "config", "key": "k%d", "commitSha": "c", "document": %s}]}`, pages, pages, document)
		}))
		t.Cleanup(server.Close)
		api, err := remote.New(server.URL+"/v1", "key")
		must.Do(t, err)
		_, _, err = pull.Files(ctx, api)
		if err == nil || !strings.Contains(err.Error(), map[string]string{"bytes": "64 MiB", "values": "4194304 values", "pages": "500 pages"}[name]) || pages > map[string]int{"bytes": 17, "values": 17, "pages": 500}[name] {
			t.Errorf("%s: %v after %d pages", name, err, pages)
		}
	}
}

// TestKeysThatAreNoFileNames: keys come over the network. One that breaks the
// contract's rule ends the pull.
func TestKeysThatAreNoFileNames(t *testing.T) {
	for _, key := range []string{
		"../../evil", "a/b", "..", ".", ".hidden", "", "a\\b", "c:x", "a b", "a:b", "a*",
		"a\x00b", "a\nb", "a\x1b[2J", "\u202eb", "größe", strings.Repeat("k", 201),
	} {
		f := newFake(t)
		f.set("good", flag("good", ""))
		f.set(key, flag("x", ""))
		_, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{Force: true})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("nothing written: the workspace has a flag with the key %q, which cannot be a file here: ", key)) {
			t.Errorf("%q: %v", key, err)
		}
		if _, err := os.Stat(f.dir); err == nil {
			t.Errorf("%q: something was written", key)
		}
	}
	f := newFake(t)
	f.set("checkout", flag("checkout", ""))
	f.set("Checkout", flag("Checkout", ""))
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "in case only, and they are one file on Windows and macOS") {
		t.Error(err)
	}
}

// TestAFolderThatLeadsElsewhere: a link in the directory may lead to any place
// on the disk, and may be put there while the pull reads the workspace.
func TestAFolderThatLeadsElsewhere(t *testing.T) {
	link := func(t *testing.T, f *fake, name string) (outside string) {
		outside = t.TempDir()
		must.Do(t, errors.Join(os.MkdirAll(f.dir, 0o777), os.Symlink(outside, filepath.Join(f.dir, name))))
		return outside
	}
	empty := func(t *testing.T, dir string) {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("outside lies %v %v", entries, err)
		}
	}
	t.Run("from the beginning", func(t *testing.T) {
		f := newFake(t)
		f.set("a", flag("a", ""))
		outside := link(t, f, "feature-flags")
		_, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{Force: true})
		if err == nil || !strings.Contains(err.Error(), "nothing written: feature-flags: this is a symbolic link that leads out of the config directory") {
			t.Error(err)
		}
		empty(t, outside)
	})
	t.Run("the state", func(t *testing.T) {
		f := newFake(t)
		f.set("a", flag("a", ""))
		f.pull()
		outside := filepath.Join(t.TempDir(), "state")
		state := filepath.Join(f.dir, pull.StateName)
		must.Do(t, errors.Join(os.Rename(state, outside), os.Symlink(outside, state)))
		if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "it is a link or no file") {
			t.Error(err)
		}
	})
}

// TestAStateThatCameWithTheFilesDecidesNothing: its author may say that a file is what
// was pulled, of which a pull could then dispose and a push would not tell.
func TestAStateThatCameWithTheFilesDecidesNothing(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", ""))
	mine, gone := flag("a", `"name":"mine",`), flag("gone", "")
	f.write("feature-flags/a.json", mine)
	f.write("feature-flags/gone.json", gone)
	for _, workspace := range []string{"ws", ""} {
		for _, more := range []string{"", `"seal":"","stored":true,`, `"seal":"` + strings.Repeat("0", 64) + `",`} {
			f.write(pull.StateName, fmt.Sprintf(`{"workspaceId":%q,%s"tag":%q,"commitSha":"1","files":{"../evil":{"sha256":"x"},"feature-flags/a.json":{"commitSha":"1","sha256":"%x"},"feature-flags/gone.json":{"commitSha":"1","sha256":"%x"}}}`,
				workspace, more, `"ws-1"`, sha256.Sum256([]byte(mine)), sha256.Sum256([]byte(gone))))
			p := f.plan(pull.Options{})
			if len(p.Changed) != 1 || p.Changed[0].How != "is here and was not pulled" || len(p.Remove) > 0 || len(p.OnlyHere) != 1 || !p.Foreign {
				t.Errorf("%s: %+v, removed %v, only here %v", more, p.Changed, p.Remove, p.OnlyHere)
			}
			if _, err := pull.NewPush(ctx, f.api, f.dir, pull.PushOptions{}); err == nil || !strings.Contains(err.Error(), "svc pull first") {
				t.Errorf("%s: %v", more, err)
			}
		}
	}
	f.write(pull.StateName, `{"workspaceId":"another","files":{}}`)
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "the key is one of the workspace") {
		t.Error(err)
	}
	must.Do(t, os.Truncate(filepath.Join(f.dir, pull.StateName), 1<<40))
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "bytes; remove it") {
		t.Errorf("of a terabyte: %v", err)
	}
}

func TestAnotherWorkspace(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.pull()
	f.workspace = "another"
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "pulled from the workspace ws, and the key is one of the workspace another") {
		t.Error(err)
	}
	f.plan(pull.Options{Force: true})
}

func TestEnvironmentsThatCannotBeDeclared(t *testing.T) {
	for _, name := range []string{"default", "a b", "../x", "x\u001b[2J", ""} {
		f := newFake(t)
		f.set("a", flag("a", ""))
		text, _ := json.Marshal(name)
		f.environments = `{"name":` + string(text) + `}`
		if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil || !strings.Contains(err.Error(), "nothing written: the workspace has an environment that cannot be declared here") {
			t.Errorf("%q: %v", name, err)
		}
	}
	f := newFake(t)
	f.environments = `{"name":"Production","environmentType":"production"}`
	f.pull()
}

// TestWhatTheWorkspaceCannotReadStays: a file that the export leaves out, since somebody
// broke it in git, is named, and is not taken for deleted here.
func TestWhatTheWorkspaceCannotReadStays(t *testing.T) {
	f := newFake(t)
	f.set("a", flag("a", ""))
	f.set("b", flag("b", ""))
	f.pull()
	f.remove("b")
	f.omitted = `{"type":"feature_flag","key":"b","commitSha":"2"},{"type":"schema","key":"s","commitSha":"3"}`
	for i := range 2 {
		p := f.pull()
		if want := []string{"feature-flags/b.json", "schemas/s.json"}; !slices.Equal(p.Omitted, want) || len(p.Remove) > 0 || len(p.OnlyHere) > 0 {
			t.Errorf("omitted are %v, removed %v, only here %v", p.Omitted, p.Remove, p.OnlyHere)
		}
		if f.file("feature-flags/b.json") == "" {
			t.Fatal("the file is gone")
		}
		f.set("a", flag("a", fmt.Sprintf(`"n":%d,`, i)))
	}
	f.omitted = ""
	if p := f.pull(); !slices.Equal(p.Remove, []string{"feature-flags/b.json"}) {
		t.Errorf("deleted in the workspace, and removed here is %v", p.Remove)
	}
	f.set("a", flag("a", `"name":"A",`))
	f.omitted = `{"type":"feature_flag","key":""}`
	if _, err := pull.NewPlan(ctx, f.api, f.dir, pull.Options{}); err == nil {
		t.Error("an entry without key and commit was taken")
	}
}
