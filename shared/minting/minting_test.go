package minting_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/minting"
)

const workspaceID = "w0000000000000w0"

// registry keeps what it is given.
type registry struct {
	there   []access.Principal
	records []access.KeyRecord
}

func (r *registry) Workspace(context.Context) (control.Workspace, error) {
	return control.Workspace{ID: workspaceID}, nil
}

func (r *registry) EnsurePrincipal(_ context.Context, p access.Principal) (access.Principal, bool, error) {
	for _, other := range r.there {
		if other.Type == p.Type && other.Name == p.Name {
			return other, false, nil
		}
	}
	r.there = append(r.there, p)
	return p, true, nil
}

func (r *registry) CreateKey(_ context.Context, record access.KeyRecord) error {
	r.records = append(r.records, record)
	return nil
}

func TestAllProblemsAtOnce(t *testing.T) {
	for want, r := range map[string]minting.Request{
		"needs a name;no role \"emperor\";lies in the past":    {Kind: access.KindUser, Roles: []string{"emperor"}, Expires: -time.Hour},
		"name it with --environment;edits nothing;only a user": {Kind: access.KindPublicSDK, Name: "web", Roles: []string{"engineer"}, Email: "a@b"},
		"only SDK keys": {Kind: access.KindServiceAccount, Name: "ci", Environment: "production"},
		"":              {Kind: access.KindSecretSDK, Name: "server", Environment: "production"},
	} {
		err := r.Check()
		if want == "" && err != nil {
			t.Errorf("%+v: %v", r, err)
		}
		for part := range strings.SplitSeq(want, ";") {
			if want != "" && (err == nil || !strings.Contains(err.Error(), part)) {
				t.Errorf("%+v: %v, want %q", r, err, part)
			}
		}
	}
}

func TestMint(t *testing.T) {
	r := &registry{}
	ask := minting.Request{Kind: access.KindServiceAccount, Name: " ci  bot ", Roles: []string{"engineer"}, Expires: time.Hour, Program: "svcadmin"}
	key, p, err := minting.Mint(t.Context(), r, ask)
	if err != nil || p.Name != "ci bot" || key.Principal() != p.ID || key.Workspace() != workspaceID {
		t.Fatalf("%v, %+v, %v", key, p, err)
	}
	record := r.records[0]
	if !key.Matches(record.Digest) || record.ExpiresAt.Sub(record.CreatedAt) != time.Hour {
		t.Errorf("%+v", record)
	}
	// Roles are not changed by the way.
	ask.Roles = []string{"support"}
	if _, _, err := minting.Mint(t.Context(), r, ask); err == nil || !strings.Contains(err.Error(), "svcadmin principal roles "+string(p.ID)+" support") {
		t.Errorf("with other roles: %v", err)
	}
	// All SDK keys belong to one principal, without roles.
	for _, kind := range []access.Kind{access.KindPublicSDK, access.KindSecretSDK} {
		if _, p, err = minting.Mint(t.Context(), r, minting.Request{Kind: kind, Name: "x", Environment: "production"}); err != nil || p.Name != "applications" || len(p.Roles) > 0 {
			t.Errorf("%s: %+v, %v", kind, p, err)
		}
	}
	if len(r.there) != 2 || len(r.records) != 3 {
		t.Errorf("%d principals, %d keys", len(r.there), len(r.records))
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "  Ada\t\nLovelace ": "Ada Lovelace", "Größe 東京": "Größe 東京",
		"Ada\x1b[2J": "Ada [2J", "a\u202eb": "a b", "a\u009bb": "a b", "a\xffb": "a b", "\x00": "",
	} {
		if got := minting.PlainName(name); got != want {
			t.Errorf("%q becomes %q, not %q", name, got, want)
		}
	}
}
