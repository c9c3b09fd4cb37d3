package access_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestLiveAt(t *testing.T) {
	tests := []struct {
		name             string
		expires, revoked time.Time
		want             error
	}{
		{"no end", time.Time{}, time.Time{}, nil},
		{"expires later", noon.Add(time.Nanosecond), time.Time{}, nil},
		{"expires now", noon, time.Time{}, access.ErrKeyExpired},
		{"expired", noon.Add(-time.Hour), time.Time{}, access.ErrKeyExpired},
		{"expires now elsewhere on the globe", noon.In(time.FixedZone("", 3600)), time.Time{}, access.ErrKeyExpired},
		{"revoked", time.Time{}, noon.Add(-time.Hour), access.ErrKeyRevoked},
		{"revoked by a faster clock", time.Time{}, noon.Add(time.Hour), access.ErrKeyRevoked},
		{"revoked before it expires", noon.Add(time.Hour), noon.Add(-time.Hour), access.ErrKeyRevoked},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := access.KeyRecord{ExpiresAt: test.expires, RevokedAt: test.revoked}
			if got := record.LiveAt(noon); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestAdmits(t *testing.T) {
	key := newKey(t, access.KindPublicSDK, 1)
	other := newKey(t, access.KindPublicSDK, 2)
	tests := []struct {
		name   string
		change func(*access.KeyRecord)
		want   error
	}{
		{"its own record", func(*access.KeyRecord) {}, nil},
		{"another secret", func(r *access.KeyRecord) { r.Digest = other.Digest() }, access.ErrKeyMismatch},
		{"another secret and revoked", func(r *access.KeyRecord) { r.Digest, r.RevokedAt = other.Digest(), noon }, access.ErrKeyMismatch},
		{"another key id", func(r *access.KeyRecord) { r.ID = other.ID() }, access.ErrKeyMismatch},
		{"another principal", func(r *access.KeyRecord) { r.PrincipalID = workspaceID }, access.ErrKeyMismatch},
		{"another workspace", func(r *access.KeyRecord) { r.WorkspaceID = principalID }, access.ErrKeyMismatch},
		{"another kind", func(r *access.KeyRecord) { r.Kind = access.KindUser }, access.ErrKeyMismatch},
		{"no record", func(r *access.KeyRecord) { *r = access.KeyRecord{} }, access.ErrKeyMismatch},
		{"revoked", func(r *access.KeyRecord) { r.RevokedAt = noon }, access.ErrKeyRevoked},
		{"expired", func(r *access.KeyRecord) { r.ExpiresAt = noon }, access.ErrKeyExpired},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			record := access.RecordOf(key, "web", noon.Add(-time.Hour))
			test.change(&record)
			if got := record.Admits(key, noon); !errors.Is(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if err := (access.KeyRecord{}).Admits(access.Key{}, noon); err != access.ErrKeyMismatch {
		t.Errorf("the zero record admits the zero key: %v", err)
	}
}

// The holder of a public SDK key can relabel it and fit the checksum.
func TestRelabelledKeyIsNotAdmitted(t *testing.T) {
	key := newKey(t, access.KindPublicSDK, 1)
	record := access.RecordOf(key, "web", noon)
	payload := "svc_uk_" + key.Reveal()[7:99]
	forged, err := access.ParseKey(payload + access.Checksum(payload))
	if err != nil || !forged.Kind().Manages() || !forged.Matches(record.Digest) {
		t.Fatalf("the forgery is not what this test is about: %v", err)
	}
	if err := record.Admits(forged, noon); err != access.ErrKeyMismatch {
		t.Errorf("got %v", err)
	}
}

func TestKeyRecordAsJSON(t *testing.T) {
	key := newKey(t, access.KindPublicSDK, 1)
	digest := must.Get(key.Digest().MarshalText())(t)
	record := access.RecordOf(key, "web", noon)
	start := `{"id":"` + string(key.ID()) + `","kind":"public_sdk","name":"web","principalId":"ghjkmnpqrstvwxyz",` +
		`"workspaceId":"0123456789abcdef",`
	middle := `"digest":"` + string(digest) + `","createdAt":"2026-03-01T12:00:00Z"`
	checkJSON(t, record, start+middle+"}")

	record.Environment, record.ExpiresAt, record.RevokedAt = "staging", noon, noon.Add(time.Millisecond)
	checkJSON(t, record, start+`"environment":"staging",`+middle+
		`,"expiresAt":"2026-03-01T12:00:00Z","revokedAt":"2026-03-01T12:00:00.001Z"}`)
}

func TestPrincipalAsJSON(t *testing.T) {
	checkJSON(t, access.Principal{
		Type: access.PrincipalUser, ID: principalID, Name: "Ada", Email: "ada@example.com", Roles: []string{"engineer"},
	}, `{"type":"user","id":"ghjkmnpqrstvwxyz","name":"Ada","email":"ada@example.com","roles":["engineer"]}`)
	checkJSON(t, access.Principal{
		Type: access.PrincipalServiceAccount, ID: principalID, Name: "CI", Roles: []string{}, Disabled: true,
	}, `{"type":"service_account","id":"ghjkmnpqrstvwxyz","name":"CI","roles":[],"disabled":true}`)
}

func checkJSON[T any](t *testing.T, value T, want string) {
	t.Helper()
	encoded := must.Get(json.Marshal(value))(t)
	if string(encoded) != want {
		t.Errorf("encoded\n%s, want\n%s", encoded, want)
	}
	var decoded T
	must.Do(t, json.Unmarshal(encoded, &decoded))
	if !reflect.DeepEqual(decoded, value) {
		t.Errorf("decoded %+v, want %+v", decoded, value)
	}
}

func TestMalformedDigestIsRefused(t *testing.T) {
	good := must.Get(newKey(t, access.KindUser, 1).Digest().MarshalText())(t)
	for _, text := range []string{"", "00", string(good[1:]), string(good) + "00", "g" + string(good[1:])} {
		digest := access.Digest{1}
		if err := digest.UnmarshalText([]byte(text)); err == nil || digest != (access.Digest{1}) {
			t.Errorf("%q: error %v, digest changed: %t", text, err, digest != access.Digest{1})
		}
	}
}

func TestEffectiveRoles(t *testing.T) {
	stored := append(make([]string, 0, 8), "support", "engineer", "member", "support")
	roles := access.Principal{Roles: stored}.EffectiveRoles()
	if !slices.Equal(roles, []string{"engineer", "member", "support"}) {
		t.Errorf("got %v", roles)
	}
	if stored[0] != "support" || stored[1] != "engineer" {
		t.Errorf("the principal's own list was changed: %v", stored)
	}
	if roles := (access.Principal{}).EffectiveRoles(); !slices.Equal(roles, []string{"member"}) {
		t.Errorf("without roles: %v", roles)
	}
}

func TestCommitEmail(t *testing.T) {
	user := access.Principal{Type: access.PrincipalUser, ID: principalID, Email: "ada@example.com"}
	account := access.Principal{Type: access.PrincipalServiceAccount, ID: principalID, Email: "ignored@example.com"}
	if got := user.CommitEmail(); got != "ada@example.com" {
		t.Errorf("user: %s", got)
	}
	if got := account.CommitEmail(); got != "ghjkmnpqrstvwxyz@service-accounts.svc" {
		t.Errorf("service account: %s", got)
	}
}
