package access_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/must"
)

func oneTime(t *testing.T, r *access.Registry, q access.KeyRequest) (access.Key, access.Principal) {
	t.Helper()
	q.Kind, q.Expires = access.KindOneTime, access.OneTimeFor
	key, owner, err := r.IssueKey(t.Context(), q)
	must.Do(t, err)
	return key, owner
}

func TestAOneTimeKeySignsInOnce(t *testing.T) {
	m, r := newRegistry(t)
	key, ada := oneTime(t, r, access.KeyRequest{Name: "Ada", Roles: []string{"admin"}})
	m.lost = 2 // answers: it is the same session when it is asked for again
	session, owner, err := r.SignIn(t.Context(), key, access.Key{})
	must.Do(t, err)
	record := m.state.Keys[len(m.state.Keys)-1]
	if owner.ID != ada.ID || owner.Type != access.PrincipalUser || !record.ExpiresAt.Equal(record.CreatedAt.Add(access.SessionFor)) {
		t.Errorf("%+v, %+v", owner, record)
	}
	must.Do(t, record.Admits(session, registryNow))
	if by := m.trail[len(m.trail)-1].By; by != "Ada ("+string(ada.ID)+")" {
		t.Errorf("told to be by %q", by)
	}
	if _, _, err := r.SignIn(t.Context(), key, access.Key{}); !errors.Is(err, access.ErrKeyRevoked) {
		t.Errorf("twice: %v", err)
	}
	if _, _, err := r.SignIn(t.Context(), session, access.Key{}); !errors.Is(err, access.ErrNotFound) {
		t.Errorf("a session in its place: %v", err)
	}
	for _, key := range []access.Key{session, key} { // a script could read what this answers
		if _, _, err := r.RotateKey(t.Context(), key.ID(), time.Hour); !errors.Is(err, access.ErrNotFound) {
			t.Errorf("in the place of a %s: %v", key.Kind(), err)
		}
	}
	late, _ := oneTime(t, r, access.KeyRequest{Principal: ada.ID, Name: "Ada"})
	must.Do(t, r.SetDisabled(t.Context(), ada.ID, true))
	if _, _, err := r.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindOneTime, Name: "Ada", Principal: ada.ID}); !errors.Is(err, access.ErrDisabled) {
		t.Errorf("an address for who is disabled: %v", err)
	}
	must.Do(t, r.SetDisabled(t.Context(), ada.ID, false))
	for _, k := range m.state.Keys { // nothing comes back
		if k.LiveAt(registryNow) == nil {
			t.Errorf("still live: %+v", k)
		}
	}
	if _, _, err := r.SignIn(t.Context(), late, access.Key{}); !errors.Is(err, access.ErrKeyRevoked) {
		t.Errorf("an address from before: %v", err)
	}
	again, _ := oneTime(t, r, access.KeyRequest{Principal: ada.ID, Name: "Ada"})
	_, _, err = r.SignIn(t.Context(), again, access.Key{})
	must.Do(t, err)
	must.Do(t, r.EndSessions(t.Context(), ada.ID))
	for _, k := range m.state.Keys {
		if k.LiveAt(registryNow) == nil {
			t.Errorf("still live: %+v", k)
		}
	}
	ci, _, err := r.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindServiceAccount, Name: "ci"})
	must.Do(t, err)
	if _, _, err := r.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindOneTime, Name: "ci", Principal: ci.Principal()}); err == nil {
		t.Error("a service account was let sign in")
	}
}

func TestSessionsAreBounded(t *testing.T) {
	m, r := newRegistry(t)
	_, ada := oneTime(t, r, access.KeyRequest{Name: "Ada"})
	var sessions []access.Key
	for range 50 {
		key, _ := oneTime(t, r, access.KeyRequest{Principal: ada.ID, Name: "Ada"})
		session, _, err := r.SignIn(t.Context(), key, access.Key{})
		must.Do(t, err)
		sessions = append(sessions, session)
	}
	admitted := 0
	for _, session := range sessions {
		if slices.ContainsFunc(m.state.Keys, func(k access.KeyRecord) bool { return k.Admits(session, registryNow) == nil }) {
			admitted++
		}
	}
	if admitted != 20 || len(m.state.Keys) > 40 {
		t.Errorf("%d sessions are admitted, and there are %d keys", admitted, len(m.state.Keys))
	}
	if !slices.ContainsFunc(m.state.Keys, func(k access.KeyRecord) bool { return k.Admits(sessions[49], registryNow) == nil }) {
		t.Error("the newest session is not among them")
	}
	made, ended := map[string]int{}, map[string]int{}
	for _, e := range m.trail {
		for _, c := range e.Changes {
			switch c.Action {
			case access.KeyCreated:
				made[c.Subject]++
			case access.KeyRevoked:
				ended[c.Subject]++
			}
		}
	}
	for id, times := range made { // what is told of an id is told of one key
		if times != 1 || ended[id] > 1 {
			t.Errorf("key %s was made %d times, and ended %d times", id, times, ended[id])
		}
	}
	if len(made) != 101 || len(ended) != 50+30 { // the first address is not used
		t.Errorf("%d keys were made, and %d have ended", len(made), len(ended))
	}
}

// TestAOneTimeKeyNeedsNoAddress where the name is that of one person alone.
func TestAOneTimeKeyNeedsNoAddress(t *testing.T) {
	_, r := newRegistry(t)
	_, ada := oneTime(t, r, access.KeyRequest{Name: "Ada", Email: "ada@acme.example", Roles: []string{"admin"}})
	if _, same := oneTime(t, r, access.KeyRequest{Name: "Ada"}); same.ID != ada.ID {
		t.Errorf("signs in %s, not %s", same.Words(), ada.Words())
	}
	oneTime(t, r, access.KeyRequest{Name: "Ada", Email: "ada@other.example"})
	if _, _, err := r.IssueKey(t.Context(), access.KeyRequest{Kind: access.KindOneTime, Name: "Ada"}); !errors.Is(err, access.ErrSeveral) || !strings.Contains(err.Error(), "ada@other.example") {
		t.Errorf("of two: %v", err)
	}
}

func TestWhomAnIssuerTellsOf(t *testing.T) {
	m, r := newRegistry(t)
	ada := access.Identity{Issuer: "https://issuer.example", Subject: "ada"}
	a := access.Arrival{Identity: ada, Name: "Ada", Email: "ada@acme.example", Claimed: []string{"engineer"}, Refresh: "ask again"}
	if _, _, err := r.Arrive(t.Context(), a); !errors.Is(err, access.ErrNotInvited) || m.edits != 0 {
		t.Errorf("%v after %d edits", err, m.edits)
	}
	_, invited := oneTime(t, r, access.KeyRequest{Name: "Ada", Email: a.Email, Roles: []string{"admin"}})
	a.Welcome = true
	session, owner, err := r.Arrive(t.Context(), a)
	must.Do(t, err)
	if owner.ID == invited.ID || slices.Contains(owner.EffectiveRoles(), "admin") || !slices.Contains(owner.EffectiveRoles(), "engineer") {
		t.Errorf("an e-mail address has linked %+v", owner)
	}
	record := m.state.Keys[len(m.state.Keys)-1]
	if strings.Contains(fmt.Sprintf("%+v", m.state), a.Refresh) || must.Get(session.Unseal(record.Refresh))(t) != a.Refresh {
		t.Errorf("the refresh token is not sealed: %+v", record)
	}
	if other, _, err := r.Arrive(t.Context(), a); err != nil || must.Get(other.Unseal(""))(t) != "" {
		t.Error("nothing is something, sealed")
	} else if _, err := other.Unseal(record.Refresh); err == nil {
		t.Error("another session reads it")
	}
	must.Do(t, r.Refreshed(t.Context(), session, []string{"support"}, "ask later"))
	if roles := m.state.Principals[1].EffectiveRoles(); !slices.Equal(roles, []string{"member", "support"}) {
		t.Errorf("%v", roles)
	}
	if err := r.SetIdentity(t.Context(), invited.ID, ada); !errors.Is(err, access.ErrLinked) {
		t.Errorf("linked to two: %v", err)
	}
	must.Do(t, r.SetIdentity(t.Context(), owner.ID, access.Identity{}))
	must.Do(t, r.SetIdentity(t.Context(), invited.ID, ada))
	if _, owner, err := r.Arrive(t.Context(), access.Arrival{Identity: ada}); err != nil || owner.ID != invited.ID {
		t.Errorf("%+v, %v", owner, err)
	}
	var told []string
	for _, e := range m.trail {
		for _, c := range e.Changes {
			if c.Action == access.IdentityChanged || c.Action == access.RolesChanged {
				told = append(told, c.Words())
			}
		}
	}
	for n, want := range []string{"signs in as: ada of https://issuer.example, before none", "support (claimed), before engineer (claimed)", "none, before support (claimed)", "signs in as: none", "signs in as: ada of"} {
		if n >= len(told) || !strings.Contains(told[n], want) {
			t.Errorf("told %q, want %q at %d", told, want, n)
		}
	}
	if m.trail[len(m.trail)-1].At.After(registryNow.Add(time.Second)) {
		t.Error("a clock was read")
	}
}
