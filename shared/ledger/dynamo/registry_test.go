package dynamo_test

import (
	"errors"
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
)

func blobOf(text []byte) string { return object.Hash(object.Blob, text).String() }

func TestWorkspaces(t *testing.T) {
	table := newTable(t)
	if all, err := table.Workspaces(background); err != nil || len(all) != 0 {
		t.Errorf("%v, %v", all, err)
	}
	a, b := newWorkspace(t, table), newWorkspace(t, table)
	w := access.Workspace{ID: string(a), Name: "again", Secret: []byte("s")}
	if err := table.CreateWorkspace(background, w); !errors.Is(err, dynamo.ErrExists) {
		t.Errorf("a second one of the same id: %v", err)
	}
	must.Do(t, table.Registry(b).SetWorkspace(background, func(w *access.Workspace) { w.Name, w.Provisioning, w.BillingInactive = "other", true, true }))
	all, err := table.Workspaces(background)
	must.Do(t, err)
	if len(all) != 2 {
		t.Fatalf("%v", all)
	}
	for _, w := range all {
		if other := w.ID == string(b); w.Provisioning != other || w.BillingInactive != other || (w.Name == "other") != other || string(w.Secret) != "cursor secret" {
			t.Errorf("%+v", w)
		}
	}
	for _, bad := range []access.Workspace{{ID: "x", Secret: []byte("s")}, {ID: string(newID(t))}} {
		if err := table.CreateWorkspace(background, bad); err == nil {
			t.Errorf("%+v was created", bad)
		}
	}
	nowhere := table.Registry(newID(t))
	if _, err := nowhere.Workspace(background); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("a workspace that is not there: %v", err)
	}
	if _, err := nowhere.Keys(background); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("its keys: %v", err)
	}
}
