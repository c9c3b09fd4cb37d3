package local

import (
	"encoding/json"
	"errors"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/ledgertest"
	"svc.example/svc/shared/testing/must"
)

func TestAudit(t *testing.T) {
	ledgertest.RunAudit(t, func(t *testing.T) *access.Registry { return registryOf(t, created(t)).By("Ada") })
}

// TestEveryStepOfAnEditMayFail: an edit that landed is told, one that did not is
// not, wherever it fails.
func TestEveryStepOfAnEditMayFail(t *testing.T) {
	dir := created(t)
	r := registryOf(t, dir)
	ada, err := addUser(t, r, "Ada")
	must.Do(t, err)
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
		must.Do(t, err)
		err = r.SetDisabled(background, ada.ID, !was[0].Disabled)
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
