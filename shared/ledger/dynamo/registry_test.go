package dynamo_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
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

	same := access.Principal{Type: access.PrincipalUser, ID: newID(t), Name: "A.", Email: "ADA@example.com", Roles: []string{"support"}}
	if found, created, err := registry.EnsurePrincipal(background, same); err != nil || created || found.ID != ada.ID {
		t.Errorf("%+v, %t, %v", found, created, err)
	}
	bot := access.Principal{Type: access.PrincipalServiceAccount, ID: newID(t), Name: "ci"}
	if found, created, err := registry.EnsurePrincipal(background, bot); err != nil || !created || found.ID != bot.ID {
		t.Errorf("%+v, %t, %v", found, created, err)
	}
	if version(t, table, ws) != access0+2 {
		t.Error("an edit that changes nothing raises the access version, or one that does leaves it")
	}
	must(t, registry.SetRoles(background, ada.ID, []string{"engineer"}))
	if version(t, table, ws) != access0+2 {
		t.Error("the same roles raise the access version")
	}
	must(t, registry.SetRoles(background, ada.ID, []string{"support"}))
	must(t, registry.SetDisabled(background, bot.ID, true))
	if e, err = table.Authenticate(background, key, ""); err != nil || len(e.Principal.Roles) != 1 || e.Principal.Roles[0] != "support" || e.Head.Access != access0+4 {
		t.Errorf("%+v, %v", e, err)
	}
	revoked, err := registry.RevokeKey(background, key.ID(), noon)
	must(t, err)
	again, err := registry.RevokeKey(background, key.ID(), noon.Add(time.Minute))
	must(t, err)
	if !revoked.RevokedAt.Equal(noon) || !again.RevokedAt.Equal(noon) {
		t.Errorf("revoked at %v, and again at %v", revoked.RevokedAt, again.RevokedAt)
	}
	principals, err := registry.Principals(background)
	must(t, err)
	if len(principals) != 2 || principals[0].ID != ada.ID || !principals[1].Disabled {
		t.Errorf("%+v", principals)
	}
	if _, err := registry.RevokeKey(background, newID(t), noon); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("revoking a key that is not there: %v", err)
	}
}

func version(t *testing.T, table *dynamo.Table, ws access.ID) int64 {
	t.Helper()
	head, err := table.Ledger(ws).Head(background)
	must(t, err)
	return head.Access
}

// TestEditsAtOnce: none is lost, and nobody is made twice.
func TestEditsAtOnce(t *testing.T) {
	table := newTable(t)
	ws := newWorkspace(t, table)
	const editors = 6
	errs := make([]error, editors)
	var all sync.WaitGroup
	for i := range editors {
		all.Go(func() {
			p := access.Principal{Type: access.PrincipalServiceAccount, ID: newID(t), Name: "ci"}
			_, _, first := table.Registry(ws).EnsurePrincipal(background, p)
			p.ID, p.Name = newID(t), fmt.Sprint("own ", i)
			errs[i] = errors.Join(first, table.Registry(ws).CreatePrincipal(background, p))
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	principals, err := table.Registry(ws).Principals(background)
	must(t, err)
	if len(principals) != editors+1 {
		t.Errorf("%d principals, want %d", len(principals), editors+1)
	}
}
