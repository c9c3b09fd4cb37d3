package local

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/testing/must"
)

// newID draws an id; a test of access says that it is one.
func newID(t testing.TB) access.ID {
	t.Helper()
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rand.Uint32())
	}
	id, err := access.NewID(rand.NewChaCha8(seed))
	must.Do(t, err)
	return id
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
	r, err := OpenRegistry(dir)
	must.Do(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// What another process changes is seen by the very next request, and raises
// the access version.
func TestChangesOfAnotherProcessBiteAtOnce(t *testing.T) {
	l := started(t)
	other := registryOf(t, l.dir)
	ada, err := addUser(t, other, "ada")
	must.Do(t, err)
	key := addKey(t, other, ada)
	enter := func() control.Entry {
		t.Helper()
		entry, err := l.Authenticate(background, key, "")
		must.Do(t, err)
		return entry
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
	ada, err := addUser(t, r, "ada")
	must.Do(t, err)
	key := addKey(t, r, ada)
	text, err := os.ReadFile(r.path())
	must.Do(t, err)
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
			_, err := addUser(t, r, fmt.Sprint(os.Getpid(), "-", n))
			must.Do(t, err)
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
	all, err := l.Registry().Principals(background)
	must.Do(t, err)
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
		info, err := os.Stat(path)
		must.Do(t, err)
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
	_, err := addUser(t, l.Registry(), "ada")
	must.Do(t, err)
	check("edited")
}

func TestRegistryFilesThatAreRefused(t *testing.T) {
	good, err := encodeRegistry(nil, access.NewState(access.Workspace{ID: string(workspaceID), Name: "shop", Secret: []byte("s")}))
	must.Do(t, err)
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
