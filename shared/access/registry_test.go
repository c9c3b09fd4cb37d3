package access_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

// memory is a store. Answers of that many updates get lost: the edit is stored,
// and asked for again.
type memory struct {
	state access.State
	trail []access.Entry
	lost  int
	edits int
}

func (m *memory) Load(context.Context) (access.State, error) { return m.state, nil }

func (m *memory) Update(_ context.Context, edit func(access.State) (access.State, access.Entry, error)) error {
	for {
		before := m.state
		after, entry, err := edit(before)
		if err != nil || after.Version == before.Version {
			return err
		}
		m.state, m.edits = after, m.edits+1
		m.trail = append(m.trail, entry)
		if m.lost--; m.lost < 0 {
			return nil
		}
	}
}

func (m *memory) Trail(context.Context, int) ([]access.Entry, error) { return m.trail, nil }

func (m *memory) Uses(context.Context) (map[access.ID]string, error) { return nil, nil }

var registryNow = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)

func newRegistry(t *testing.T) (*memory, *access.Registry) {
	t.Helper()
	w := must.Get(access.NewWorkspace(rand.Reader, "shop"))(t)
	m := &memory{state: access.NewState(w)}
	return m, access.NewRegistry(m, rand.Reader, func() time.Time { return registryNow }).By("Ada")
}

func TestAllThatIsWrongWithAKeyRequestIsSaidAtOnce(t *testing.T) {
	m, r := newRegistry(t)
	for want, q := range map[string]access.KeyRequest{
		"needs a name;no role \"emperor\";lies in the past":    {Kind: access.KindUser, Roles: []string{"emperor"}, Expires: -time.Hour},
		"name it with --environment;edits nothing;only a user": {Kind: access.KindPublicSDK, Name: "web", Roles: []string{"engineer"}, Email: "a@b"},
		"only SDK keys": {Kind: access.KindServiceAccount, Name: "ci", Environment: "production"},
		"of kind user":  {Kind: "emperor", Name: "ci"},
	} {
		_, _, err := r.IssueKey(t.Context(), q)
		for part := range strings.SplitSeq(want, ";") {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%+v: %v, want %q", q, err, part)
			}
		}
	}
	if m.edits > 0 {
		t.Errorf("%d edits were stored", m.edits)
	}
}

func TestIssueKey(t *testing.T) {
	m, r := newRegistry(t)
	q := access.KeyRequest{Kind: access.KindServiceAccount, Name: " ci  bot ", Roles: []string{"engineer"}, Expires: time.Hour}
	key, p, err := r.IssueKey(t.Context(), q)
	if err != nil || p.Name != "ci bot" || key.Principal() != p.ID || string(key.Workspace()) != m.state.Workspace.ID {
		t.Fatalf("%v, %+v, %v", key, p, err)
	}
	if record := m.state.Keys[0]; record.Admits(key, registryNow) != nil || record.ExpiresAt.Sub(record.CreatedAt) != time.Hour {
		t.Errorf("%+v", record)
	}
	if m.edits != 1 || len(m.trail[0].Changes) != 2 || m.trail[0].By != "Ada" {
		t.Errorf("issuing a key made %d edits, told as %+v", m.edits, m.trail)
	}
	q.Roles = []string{"support"}
	if _, same, err := r.IssueKey(t.Context(), q); !errors.Is(err, access.ErrOtherRoles) || same.ID != p.ID {
		t.Errorf("with other roles: %+v, %v", same, err)
	}
	for _, kind := range []access.Kind{access.KindPublicSDK, access.KindSecretSDK} {
		if _, p, err = r.IssueKey(t.Context(), access.KeyRequest{Kind: kind, Name: "x", Environment: "production"}); err != nil || p.Name != "applications" || len(p.Roles) > 0 {
			t.Errorf("%s: %+v, %v", kind, p, err)
		}
	}
	for _, at := range []time.Time{registryNow, registryNow.Add(time.Minute)} {
		if revoked, err := r.RevokeKey(t.Context(), key.ID(), at); err != nil || !revoked.RevokedAt.Equal(registryNow) {
			t.Errorf("revoked at %v: %+v, %v", at, revoked, err)
		}
	}
	if len(m.state.Principals) != 2 || len(m.state.Keys) != 3 {
		t.Errorf("%d principals, %d keys", len(m.state.Principals), len(m.state.Keys))
	}
}

// TestAnEditWhoseAnswerIsLostIsMadeOnce: whatever is asked again finds its own
// work.
func TestAnEditWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	m, r := newRegistry(t)
	ada := access.Principal{Type: access.PrincipalUser, ID: "aaaaaaaaaaaaaaaa", Name: "Ada", Email: "ada@acme.example"}
	var issued access.Key
	for _, edit := range []func() error{
		func() error {
			_, created, err := r.EnsurePrincipal(t.Context(), ada)
			if !created {
				t.Error("Ada was added, and is not said to be new")
			}
			return err
		},
		func() (err error) {
			issued, _, err = r.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindUser, Name: "Ada", Email: ada.Email})
			return err
		},
		func() error { return r.SetRoles(t.Context(), ada.ID, []string{"engineer"}) },
	} {
		m.lost = 1
		must.Report(t, edit())
	}
	if m.edits != 3 || len(m.state.Principals) != 1 || len(m.state.Keys) != 1 || m.state.Keys[0].Admits(issued, registryNow) != nil {
		t.Errorf("%d edits, %+v", m.edits, m.state)
	}
}

// TestWhatWasHandedOutIsACopy: nobody changes the state but by an edit.
func TestWhatWasHandedOutIsACopy(t *testing.T) {
	m, r := newRegistry(t)
	if _, _, err := r.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindUser, Name: "Ada", Roles: []string{"engineer"}}); err != nil {
		t.Fatal(err)
	}
	before := m.state
	principals, _ := r.Principals(t.Context())
	keys, _ := r.Keys(t.Context())
	w, _ := r.Workspace(t.Context())
	principals[0].Roles[0], keys[0].Name, w.Secret[0] = "admin", "other", w.Secret[0]+1
	again, _ := r.Workspace(t.Context())
	if reflect.DeepEqual(w, again) || m.state.Principals[0].Roles[0] != "engineer" || m.state.Keys[0].Name != "Ada" || !reflect.DeepEqual(before, m.state) {
		t.Errorf("%+v", m.state)
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"Ada Lovelace": "Ada Lovelace", "  Ada\t\nLovelace ": "Ada Lovelace", "Größe 東京": "Größe 東京",
		"Ada\x1b[2J": "Ada [2J", "a\u202eb": "a b", "a\u009bb": "a b", "a\xffb": "a b", "\x00": "",
	} {
		if got := access.PlainName(name); got != want {
			t.Errorf("%q becomes %q, not %q", name, got, want)
		}
	}
}

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
