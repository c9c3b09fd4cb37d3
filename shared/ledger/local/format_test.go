package local

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// TestUnknownFieldsStay: what a newer version has put into the registry
// survives every edit of this one.
func TestUnknownFieldsStay(t *testing.T) {
	dir := created(t)
	r := registryOf(t, dir)
	p, err := addUser(t, r, "ada")
	must.Do(t, err)
	key := addKey(t, r, p)
	path := filepath.Join(dir, registryName)
	text, err := os.ReadFile(path)
	must.Do(t, err)
	unknown := []string{`"quota": {"a": 1.0}`, `"region": "eu"`, `"team": [1, 2]`, `"lastUse": 7`}
	for i, after := range []string{`"version":`, `"workspace": {`, `"type":`, `"kind":`} {
		at := strings.Index(string(text), after)
		if strings.HasSuffix(after, "{") {
			at += len(after)
		}
		text = []byte(string(text[:at]) + unknown[i] + ",\n" + string(text[at:]))
	}
	must.Do(t, os.WriteFile(path, text, registryMode))
	edits := map[string]func() error{
		"a principal is added":   func() error { _, err := addUser(t, r, "bob"); return err },
		"a key is added":         func() error { addKey(t, r, p); return nil },
		"roles are set":          func() error { return r.SetRoles(background, p.ID, []string{"support"}) },
		"somebody is disabled":   func() error { return r.SetDisabled(background, p.ID, true) },
		"a key is revoked":       func() error { _, err := r.RevokeKey(background, key.ID(), noon); return err },
		"the workspace is named": func() error { return r.SetWorkspace(background, func(w *access.Workspace) { w.Name = "other" }) },
	}
	for name, edit := range edits {
		if err := edit(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(path)
		must.Do(t, err)
		plain := strings.Join(strings.Fields(string(text)), "")
		for _, field := range unknown {
			if !strings.Contains(plain, strings.ReplaceAll(field, " ", "")) {
				t.Errorf("%s: %s is gone", name, field)
			}
		}
	}
	principals, err := r.Principals(background)
	if err != nil || len(principals) != 2 || !principals[0].Disabled || principals[0].Roles[0] != "support" {
		t.Errorf("%+v, %v", principals, err)
	}
	keys, err := r.Keys(background)
	if err != nil || len(keys) != 2 || keys[0].RevokedAt.IsZero() {
		t.Errorf("%+v, %v", keys, err)
	}
}

// TestANewerFormatIsRefused: by whatever opens the directory, and while it is
// served. Nothing is written.
func TestANewerFormatIsRefused(t *testing.T) {
	dir := created(t)
	path := filepath.Join(dir, registryName)
	served := opened(t, dir, Options{})
	r := registryOf(t, dir)
	p, err := addUser(t, r, "ada")
	must.Do(t, err)
	key := addKey(t, r, p)
	text, err := os.ReadFile(path)
	must.Do(t, err)
	newer := bytes.Replace(text, []byte(`"format": 1`), []byte(`"format": 2`), 1)
	must.Do(t, os.WriteFile(path, newer, registryMode))
	// The identity of a file reports whether it changed; let it be another one.
	must.Do(t, os.Chtimes(path, time.Time{}, noon))
	for name, try := range map[string]func() error{
		"a request":    func() error { _, err := served.Authenticate(background, key, ""); return err },
		"an edit":      func() error { return r.SetDisabled(background, p.ID, true) },
		"the registry": func() error { _, err := OpenRegistry(dir); return err },
		"a write": func() error {
			_, err := served.Advance(background, repository.Head{}, repository.Commit{SHA: strings.Repeat("a", 40)})
			return err
		},
	} {
		if err := try(); !errors.Is(err, repository.ErrNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must.Do(t, served.Close())
	before := listing(t, dir)
	_, err = Open(background, dir, Options{})
	if !errors.Is(err, repository.ErrNewer) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("serving it: %v", err)
	}
	if after := listing(t, dir); after != before {
		t.Errorf("the directory was\n%s\nand is\n%s", before, after)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("the registry became %s, %v", now, err)
	}
}

// listing is the names, sizes and times of what is in a directory.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			b.WriteString(path + " " + info.ModTime().String() + "\n")
		}
		return err
	}))
	return b.String()
}
