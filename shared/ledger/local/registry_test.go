package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
)

// newID draws an id; a test of access says that it is one.
func newID(t testing.TB) access.ID {
	t.Helper()
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	return must.Get(access.NewID(rand.NewChaCha8(seed)))(t)
}

func addUser(t testing.TB, r *Registry, name string) (access.Principal, error) {
	t.Helper()
	p := access.Principal{Type: access.PrincipalUser, ID: newID(t), Name: name, Email: name + "@example.com", Roles: []string{"engineer"}}
	_, _, err := r.EnsurePrincipal(background, p)
	return p, err
}

func addKey(t testing.TB, r *Registry, p access.Principal) access.Key {
	t.Helper()
	key, _, err := r.IssueKey(background, access.KeyRequest{Kind: access.KindUser, Name: "a key", Email: p.Email})
	must.Do(t, err)
	return key
}

func registryOf(t testing.TB, dir string) *Registry {
	t.Helper()
	r := must.Get(OpenRegistry(dir))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

// What another process changes is seen by the very next request, and raises
// the access version.
func TestChangesOfAnotherProcessBiteAtOnce(t *testing.T) {
	l := started(t)
	other := registryOf(t, l.dir)
	ada := must.Get(addUser(t, other, "ada"))(t)
	key := addKey(t, other, ada)
	enter := func() control.Entry {
		t.Helper()
		return must.Get(l.Authenticate(background, key, ""))(t)
	}
	before := enter()
	edits := []struct {
		name string
		edit func() error
		seen func(control.Entry) bool
	}{
		{"disable", func() error { return other.SetDisabled(background, ada.ID, true) }, func(e control.Entry) bool { return e.Principal.Disabled }},
		{"enable", func() error { return other.SetDisabled(background, ada.ID, false) }, func(e control.Entry) bool { return !e.Principal.Disabled }},
		{"roles", func() error { return other.SetRoles(background, ada.ID, []string{"support", "admin"}) }, func(e control.Entry) bool { return slices.Equal(e.Principal.Roles, []string{"support", "admin"}) }},
		{"billing", func() error {
			return other.SetWorkspace(background, func(w *access.Workspace) { w.BillingInactive = true })
		}, func(e control.Entry) bool { return e.Workspace.BillingInactive && e.Workspace.Name == "shop" }},
		{"provisioning", func() error {
			return other.SetWorkspace(background, func(w *access.Workspace) { w.Provisioning = true })
		}, func(e control.Entry) bool { return e.Workspace.Provisioning }},
		{"revoke", func() error { _, err := other.RevokeKey(background, key.ID(), noon); return err }, func(e control.Entry) bool { return e.Key.RevokedAt.Equal(noon) }},
	}
	for _, test := range edits {
		must.Do(t, test.edit())
		after := enter()
		if !test.seen(after) || after.Head.Access != before.Head.Access+1 {
			t.Errorf("%s: %+v, before %+v", test.name, after, before)
		}
		must.Do(t, test.edit())
		if again := enter(); again.Head.Access != after.Head.Access {
			t.Errorf("%s: doing it twice raised the version", test.name)
		}
		before = after
	}
}

func TestEditsThatAreRefused(t *testing.T) {
	r := started(t).Registry()
	ada := must.Get(addUser(t, r, "ada"))(t)
	key := addKey(t, r, ada)
	text := must.Get(os.ReadFile(r.path()))(t)
	pasted := access.ID(key.Reveal())
	tests := []struct {
		name  string
		edit  func() error
		parts []string
	}{
		{"no principal", func() error {
			_, _, err := r.EnsurePrincipal(background, access.Principal{Roles: []string{"boss"}})
			return err
		}, []string{"16 characters", "user or service_account", `"boss"`, "protected_engineer"}},
		{"unknown key", func() error { _, err := r.RevokeKey(background, newID(t), noon); return err }, []string{"no key with the id"}},
		{"a key for an id", func() error { _, err := r.RevokeKey(background, pasted, noon); return err }, []string{"16 characters"}},
		{"unknown principal", func() error { return r.SetDisabled(background, newID(t), true) }, []string{"no principal"}},
		{"unknown role", func() error { return r.SetRoles(background, ada.ID, []string{"boss"}) }, []string{`"boss"`, "engineer"}},
		{"another id", func() error {
			return r.SetWorkspace(background, func(w *access.Workspace) { w.ID = string(newID(t)) })
		}, []string{"cannot be changed"}},
	}
	for _, test := range tests {
		err := test.edit()
		if err == nil {
			t.Errorf("%s: accepted", test.name)
			continue
		}
		for _, part := range test.parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %q does not tell of %q", test.name, err, part)
			}
		}
		if strings.Contains(err.Error(), key.Reveal()) {
			t.Errorf("%s: %q repeats a key", test.name, err)
		}
	}
	if after, err := os.ReadFile(r.path()); err != nil || !bytes.Equal(after, text) {
		t.Errorf("the file changed: %v", err)
	}
	if bytes.Contains(text, []byte(key.Reveal()[56:])) || !bytes.Contains(text, []byte(fmt.Sprintf("%x", key.Digest()))) {
		t.Error("the file has to hold the digest and not the secret")
	}
}

func TestTwoProcessesEditAtOnce(t *testing.T) {
	if dir := os.Getenv(crashDir); dir != "" {
		r := registryOf(t, dir)
		for n := range 20 {
			must.Get(addUser(t, r, fmt.Sprint(os.Getpid(), "-", n)))(t)
		}
		return
	}
	l := started(t)
	var children []*exec.Cmd
	for range 3 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTwoProcessesEditAtOnce$")
		cmd.Env = append(os.Environ(), crashDir+"="+l.dir)
		must.Do(t, cmd.Start())
		children = append(children, cmd)
	}
	for n := range 10 { // writers are not kept out
		write(t, l, "a", fmt.Sprint(n))
	}
	for _, child := range children {
		must.Do(t, child.Wait())
	}
	all := must.Get(l.Registry().Principals(background))(t)
	if at := head(t, l); len(all) != 60 || at.Access != 61 {
		t.Errorf("%d principals at version %d, want 60 at 61", len(all), at.Access)
	}
	agree(t, l, 10)
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	mode := func(path string) fs.FileMode {
		info := must.Get(os.Stat(path))(t)
		return info.Mode().Perm()
	}
	dir := created(t)
	check := func(when string) {
		t.Helper()
		if got := mode(dir); got != 0o700 {
			t.Errorf("%s: the directory has mode %o", when, got)
		}
		if got := mode(filepath.Join(dir, registryName)); got != 0o600 {
			t.Errorf("%s: the registry has mode %o", when, got)
		}
	}
	check("created")
	must.Do(t, os.Chmod(dir, 0o755))
	must.Do(t, os.Chmod(filepath.Join(dir, registryName), 0o644))
	l := opened(t, dir, Options{})
	check("opened")
	must.Do(t, os.Chmod(filepath.Join(dir, registryName), 0o644))
	must.Get(addUser(t, l.Registry(), "ada"))(t)
	check("edited")
}

func TestRegistryFilesThatAreRefused(t *testing.T) {
	good := must.Get(encodeRegistry(nil, access.NewState(access.Workspace{ID: string(workspaceID), Name: "shop", Secret: []byte("s")})))(t)
	must.Get(decodeRegistry(good))(t)
	tests := []struct{ name, text, part string }{
		{"empty", "", "unexpected end"},
		{"cut", string(good[:len(good)/2]), "unexpected end"},
		{"newer", strings.Replace(string(good), `"format": 1`, `"format": 2`, 1), "it is of format 2, and this svc knows formats up to 1"},
		{"no format", strings.Replace(string(good), `"format": 1`, `"form": 1`, 1), "names no format"},
		{"wrong type", strings.Replace(string(good), `"shop"`, `7`, 1), "line 6: what stands there (number) is of the wrong type"},
		{"a second value", string(good) + "{}", "after top-level value"},
		{"syntax", strings.Replace(string(good), `"principals": []`, `"principals": [}`, 1), "line"},
		{"no workspace", strings.Replace(string(good), string(workspaceID), "shop", 1), "workspace: an id has 16"},
	}
	for _, test := range tests {
		if _, err := decodeRegistry([]byte(test.text)); err == nil || !strings.Contains(err.Error(), test.part) {
			t.Errorf("%s: %v, want %q", test.name, err, test.part)
		}
	}
}

func TestOpenAndCreateRefuse(t *testing.T) {
	dir := created(t)
	w := access.Workspace{ID: string(workspaceID), Name: "shop", Secret: []byte("s")}
	if err := Create(dir, w); !errors.Is(err, fs.ErrExist) {
		t.Errorf("creating twice: %v", err)
	}
	if _, err := Open(background, t.TempDir(), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening an empty directory: %v", err)
	}
	if _, err := OpenRegistry(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the registry of an empty directory: %v", err)
	}
	if err := Create(t.TempDir(), access.Workspace{ID: "shop", Name: "shop"}); err == nil || !strings.Contains(err.Error(), "16 characters") || !strings.Contains(err.Error(), "secret") {
		t.Errorf("creating one without an id and a secret: %v", err)
	}
	l := opened(t, dir, Options{})
	_, err := Open(background, dir, Options{})
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("already served by another svc (process %d)", os.Getpid())) {
		t.Errorf("opening twice: %v", err)
	}
	must.Do(t, l.Close())
	opened(t, dir, Options{}).Close()
	must.Do(t, os.WriteFile(filepath.Join(dir, RepositoryName, "shallow"), nil, 0o644))
	if _, err := Open(background, dir, Options{}); err == nil || !strings.Contains(err.Error(), "unshallow") {
		t.Errorf("a shallow clone: %v", err)
	}
}

func TestAudit(t *testing.T) {
	ledgertest.RunAudit(t, func(t *testing.T) *access.Registry { return registryOf(t, created(t)).By("Ada") })
}

// TestEveryStepOfAnEditMayFail: an edit that landed is told, one that did not is
// not, wherever it fails.
func TestEveryStepOfAnEditMayFail(t *testing.T) {
	dir := created(t)
	r := registryOf(t, dir)
	ada := must.Get(addUser(t, r, "Ada"))(t)
	edits := 1
	for step := 0; ; step++ {
		left, failed := step, false
		r.files.step = func(Operation, string) error {
			if left--; left < 0 && !failed {
				failed = true
				return errors.New("it fails here")
			}
			return nil
		}
		was := must.Get(registryOf(t, dir).Principals(background))(t)
		err := r.SetDisabled(background, ada.ID, !was[0].Disabled)
		r.files.step = nil
		is, readErr := registryOf(t, dir).Principals(background)
		must.Do(t, readErr)
		if was[0].Disabled != is[0].Disabled {
			edits++
		} else if err == nil {
			t.Fatalf("step %d: nothing was changed, and there is no error", step)
		}
		entries, auditErr := registryOf(t, dir).Audit(background, 0)
		must.Do(t, auditErr)
		if len(entries) != edits {
			text, _ := json.Marshal(entries)
			t.Fatalf("step %d: %d edits landed and %d are told: %s", step, edits, len(entries), text)
		}
		if !failed {
			break
		}
	}
	if edits < 2 {
		t.Error("no edit landed")
	}
}

func TestLastUses(t *testing.T) {
	dir := created(t)
	path := filepath.Join(dir, usedName)
	key := access.KeyRecord{ID: newID(t)}
	uses := OpenUses(dir)
	writes := 0
	uses.files.step = func(op Operation, _ string) error {
		if op == OpRename {
			writes++
		}
		return nil
	}
	for _, at := range []time.Time{noon, noon.Add(time.Hour), noon.Add(-48 * time.Hour)} {
		uses.Used(key, at)
		must.Do(t, uses.Flush())
	}
	if writes != 1 {
		t.Errorf("%d writes for one day", writes)
	}
	uses.Used(key, noon.Add(24*time.Hour))
	must.Do(t, uses.Flush())
	days, err := registryOf(t, dir).LastUses(background)
	must.Do(t, err)
	if want := map[access.ID]string{key.ID: noon.Add(24 * time.Hour).UTC().Format(time.DateOnly)}; !maps.Equal(days, want) {
		t.Errorf("%v, want %v", days, want)
	}
	// What an earlier process noted stays; what cannot be read is begun again.
	again := OpenUses(dir)
	again.Used(access.KeyRecord{ID: newID(t)}, noon)
	must.Do(t, again.Flush())
	if days, err = registryOf(t, dir).LastUses(background); err != nil || len(days) != 2 {
		t.Errorf("%v, %v", days, err)
	}
	must.Do(t, os.WriteFile(path, []byte("{"), 0o600))
	if _, err := registryOf(t, dir).LastUses(background); err == nil {
		t.Error("a damaged file was read")
	}
	again = OpenUses(dir)
	again.Used(key, noon)
	must.Do(t, again.Flush())
	if days, err = registryOf(t, dir).LastUses(background); err != nil || len(days) != 1 {
		t.Errorf("%v, %v", days, err)
	}
}

// TestADataDirectoryIsWrittenAndRead: nothing of them is lost, what this version does not
// know neither.
func TestADataDirectoryIsWrittenAndRead(t *testing.T) {
	dir := t.TempDir()
	must.Get(disk.Init(filepath.Join(dir, RepositoryName)))(t)
	w := access.Workspace{ID: "0123456789abcdef0123", Name: "acme", Secret: []byte(strings.Repeat("s", 32))}
	id := must.Get(access.NewID(strings.NewReader(strings.Repeat("a", 1000))))(t)
	w.ID = string(id)
	principal := fmt.Sprintf(`{"id":%q,"type":"user","name":"Ada","roles":["member"],"later":{"x":1}}`, id)
	p := Parts{Workspace: w, Version: 7, Principals: []json.RawMessage{json.RawMessage(principal)}, Keys: []json.RawMessage{}, Uses: map[access.ID]string{id: "2026-11-22"}}
	lines := []string{`{"version":2,"by":"x"}`, `{"version":7,"by":"y"}`}
	must.Do(t, WriteDataDir(dir, strings.Repeat("1", 40), p, func(line func([]byte) error) error {
		for _, l := range lines {
			if err := line([]byte(l)); err != nil {
				return err
			}
		}
		return nil
	}))
	got, err := ReadDataDir(t.Context(), dir)
	var compact strings.Builder
	if err == nil {
		var value any
		err = json.Unmarshal(got.Principals[0], &value)
		text, _ := json.Marshal(value)
		compact.Write(text)
	}
	if err != nil || got.Workspace.Name != "acme" || got.Version != 7 || !strings.Contains(compact.String(), `"later":{"x":1}`) || got.Uses[id] != "2026-11-22" || idOf(got.References, branch) != strings.Repeat("1", 40) {
		t.Errorf("%+v, %v", got, err)
	}
	var read []string
	if err := EachAudit(dir, 7, 0, func(_ int64, line []byte) error {
		read = append(read, string(line))
		return nil
	}); err != nil || fmt.Sprint(read) != fmt.Sprint(lines) {
		t.Errorf("%q, %v", read, err)
	}
}

// TestWhichLinesOfTheAuditTrailCount: the last of a version, none that never came to be.
func TestWhichLinesOfTheAuditTrailCount(t *testing.T) {
	dir := t.TempDir()
	text := `{"version":2,"by":"a"}
{"version":3,"by":"never landed"}
{"version":3,"by":"b"}
{"versi
{"version":0}
{"version":4,"by":"c"}
{"version":5,"by":"of a registry that was put back"}
{"version":3,"by":"d"}
{"version":9,"by":"too late"}
{"version":4,"by":"e"}
{"version":5`
	must.Do(t, os.WriteFile(filepath.Join(dir, auditName), []byte(text), 0o600))
	var got []string
	err := EachAudit(dir, 5, 0, func(version int64, line []byte) error {
		got = append(got, fmt.Sprintf("%d %s", version, line))
		return nil
	})
	if want := `2 {"version":2,"by":"a"};3 {"version":3,"by":"d"};4 {"version":4,"by":"e"}`; err != nil || strings.Join(got, ";") != want {
		t.Errorf("%q, %v", got, err)
	}
}

// FuzzEachAudit: whatever stands in the file, versions rise.
func FuzzEachAudit(f *testing.F) {
	f.Add([]byte("{\"version\":2}\n{\"version\":2}\n{\"version\":3}\n"))
	f.Add([]byte("{\"version\":9}\nx\n\n{\"version\":-1}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		before := int64(0)
		must.Do(t, eachEntry(strings.NewReader(string(text)), 5, 0, func(version int64, line []byte) error {
			var e access.Entry
			if version <= before || version > 5 || !json.Valid(line) {
				t.Fatalf("%d %q after %d (%v)", version, line, before, json.Unmarshal(line, &e))
			}
			before = version
			return nil
		}))
	})
}
