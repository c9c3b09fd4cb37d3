package dynamo_test

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/repository/object"
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
	must(t, table.Registry(b).SetWorkspace(background, func(w *access.Workspace) { w.Name, w.Provisioning, w.BillingInactive = "other", true, true }))
	all, err := table.Workspaces(background)
	must(t, err)
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

func TestRegistry(t *testing.T) {
	table := newTable(t)
	ws := newWorkspace(t, table)
	registry := table.Registry(ws)
	ada := access.Principal{Type: access.PrincipalUser, ID: newID(t), Name: "Ada", Email: "ada@example.com", Roles: []string{"engineer"}}
	must(t, registry.CreatePrincipal(background, ada))
	access0 := version(t, table, ws)
	key, err := access.NewKey(rand.Reader, access.KindSecretSDK, ws, ada.ID)
	must(t, err)
	record := access.RecordOf(key, "backend", noon)
	record.Environment, record.ExpiresAt = "production", noon.Add(time.Hour)
	must(t, registry.CreateKey(background, record))
	e, err := table.Authenticate(background, key, "")
	must(t, err)
	if e.Key != record || e.Principal.Name != "Ada" || e.Workspace.Name != "shop" || e.Head.Access != access0+1 {
		t.Errorf("entered as %+v", e)
	}

	revoked, err := registry.RevokeKey(background, key.ID(), noon)
	must(t, err)
	again, err := registry.RevokeKey(background, key.ID(), noon.Add(time.Minute))
	must(t, err)
	if !revoked.RevokedAt.Equal(noon) || !again.RevokedAt.Equal(noon) {
		t.Errorf("revoked at %v, and again at %v", revoked.RevokedAt, again.RevokedAt)
	}
}

func version(t *testing.T, table *dynamo.Table, ws access.ID) int64 {
	t.Helper()
	head, err := table.Ledger(ws).Head(background)
	must(t, err)
	return head.Access
}
