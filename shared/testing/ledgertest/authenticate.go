package ledgertest

import (
	"errors"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/testing/must"
)

func authenticate(b *bench) {
	entry, err := b.Authenticator.Authenticate(background, b.key, "")
	must.Do(b, err)
	if entry.Workspace.ID != string(b.Workspace) {
		b.Errorf("workspace %q, want %q", entry.Workspace.ID, b.Workspace)
	}
	keys, err := b.Registry.Keys(background)
	must.Do(b, err)
	if entry.Key != keys[0] || entry.Principal.ID != b.key.Principal() || entry.Principal.Name != "Ada" {
		b.Errorf("entered as %+v with %+v", entry.Principal, entry.Key)
	}
	if err := entry.Key.Admits(b.key, time.Now()); err != nil || entry.Key.Name != "Ada" || entry.Key.ExpiresAt.IsZero() {
		b.Errorf("%+v: %v", entry.Key, err)
	}
	finder, finds := b.Authenticator.(control.KeyFinder)
	if !finds {
		b.Fatal("it does not find keys by their ids")
	}
	found, err := finder.FindKey(background, b.Workspace, b.key.ID())
	must.Do(b, err)
	if found.Key.ID != b.key.ID() || found.Principal.ID != b.key.Principal() || found.Workspace.ID != string(b.Workspace) || found.Head != entry.Head {
		b.Errorf("found as %+v", found)
	}
	for name, key := range b.unknownKeys() {
		if _, err := b.Authenticator.Authenticate(background, key, ""); !errors.Is(err, access.ErrNotFound) {
			b.Errorf("%s: %v, want ErrNoEntry", name, err)
		}
		if found, err := finder.FindKey(background, b.Workspace, key.ID()); !errors.Is(err, access.ErrNotFound) {
			b.Errorf("%s: found %+v, %v, want ErrNotFound", name, found, err)
		}
	}
}

// unknownKeys are keys of which one row is missing.
func (b *bench) unknownKeys() map[string]access.Key {
	other, err := access.NewID(b.random)
	must.Do(b, err)
	make := func(workspace, principal access.ID) access.Key {
		key, err := access.NewKey(b.random, access.KindUser, workspace, principal)
		must.Do(b, err)
		return key
	}
	elsewhere := make(other, b.key.Principal())
	_, _, err = b.Registry.IssueKey(background, access.KeyRequest{Kind: access.KindServiceAccount, Name: "ci"})
	must.Do(b, err)
	return map[string]access.Key{
		"another workspace":    elsewhere,
		"a key never made":     make(b.Workspace, b.key.Principal()),
		"a principal not made": make(b.Workspace, access.ID("zzzzzzzzzzzzzzzz")),
	}
}

func (b *bench) revoke(key access.Key) {
	b.Helper()
	_, err := b.Registry.RevokeKey(background, key.ID(), time.Now())
	must.Do(b, err)
}

func revocation(b *bench) {
	key := b.admit("Grace")
	entry, err := b.Authenticator.Authenticate(background, key, "")
	must.Do(b, err)
	must.Do(b, entry.Key.LiveAt(time.Now()))
	b.revoke(key)
	after, err := b.Authenticator.Authenticate(background, key, "")
	must.Do(b, err)
	if err := after.Key.LiveAt(time.Now()); !errors.Is(err, access.ErrKeyRevoked) {
		b.Errorf("the revoked key is %v", err)
	}
	if after.Head.Access == entry.Head.Access {
		b.Error("a revocation leaves the access version as it was")
	}
	other, err := b.Authenticator.Authenticate(background, b.key, "")
	must.Do(b, err)
	must.Do(b, other.Key.LiveAt(time.Now()))
}
