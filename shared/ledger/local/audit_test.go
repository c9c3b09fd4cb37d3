package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/ledgertest"
)

func TestAudit(t *testing.T) {
	ledgertest.RunAudit(t, func(t *testing.T) *access.Registry { return registryOf(t, created(t)).By("Ada") })
}

// TestAnEditThatDidNotLandIsNotTold: a line that was written for it stays, and
// counts for nothing.
func TestAnEditThatDidNotLandIsNotTold(t *testing.T) {
	dir := created(t)
	r := registryOf(t, dir)
	ada, err := addUser(t, r, "Ada")
	must(t, err)
	path := filepath.Join(dir, auditName)
	before, err := os.ReadFile(path)
	must(t, err)

	fail := errors.New("the disk is full")
	r.files.step = func(op Operation, _ string) error {
		if op == OpRename {
			return fail
		}
		return nil
	}
	if err := r.SetDisabled(background, ada.ID, true); !errors.Is(err, fail) {
		t.Fatal(err)
	}
	r.files.step = nil
	entries, err := r.Audit(background)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("%+v", entries)
	}
	// A power cut in the middle of a line.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = f.WriteString(`{"version":3,"by":"a torn li`)
	must(t, errors.Join(err, f.Close()))
	must(t, r.SetRoles(background, ada.ID, []string{"support"}))
	entries, err = r.Audit(background)
	must(t, err)
	if len(entries) != 2 || entries[1].Changes[0].Action != access.RolesChanged {
		t.Errorf("%+v", entries)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if !bytes.HasPrefix(after, before) {
		t.Error("what was told first was changed")
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != registryMode {
		t.Errorf("the file has the permissions %v", info.Mode())
	}
}

// TestEveryStepOfAnEditMayFail: an edit that landed is told, one that did not is
// not, wherever it fails.
func TestEveryStepOfAnEditMayFail(t *testing.T) {
	dir := created(t)
	r := registryOf(t, dir)
	ada, err := addUser(t, r, "Ada")
	must(t, err)
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
		was, err := registryOf(t, dir).Principals(background)
		must(t, err)
		err = r.SetDisabled(background, ada.ID, !was[0].Disabled)
		r.files.step = nil
		is, readErr := registryOf(t, dir).Principals(background)
		must(t, readErr)
		if was[0].Disabled != is[0].Disabled {
			edits++
		} else if err == nil {
			t.Fatalf("step %d: nothing was changed, and there is no error", step)
		}
		entries, auditErr := registryOf(t, dir).Audit(background)
		must(t, auditErr)
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
