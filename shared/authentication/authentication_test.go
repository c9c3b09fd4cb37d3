package authentication_test

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/authentication"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/testing/must"
)

// ledger knows some keys, and counts how often it is asked.
type ledger struct {
	known map[access.ID]access.KeyRecord
	asked int
}

func (l *ledger) Authenticate(_ context.Context, key access.Key, _ string) (control.Entry, error) {
	l.asked++
	record, known := l.known[key.ID()]
	if !known {
		return control.Entry{}, access.ErrNotFound
	}
	return control.Entry{Key: record, Principal: access.Principal{ID: key.Principal()}, Workspace: access.Workspace{ID: string(key.Workspace())}}, nil
}

func newKey(t *testing.T, kind access.Kind) access.Key {
	t.Helper()
	workspace := must.Get(access.NewID(rand.Reader))(t)
	principal := must.Get(access.NewID(rand.Reader))(t)
	return must.Get(access.NewKey(rand.Reader, kind, workspace, principal))(t)
}

func TestTheOrderOfRefusals(t *testing.T) {
	now := func() time.Time { return time.Unix(1_700_000_000, 0) }
	l := &ledger{known: map[access.ID]access.KeyRecord{}}
	public, secret, user, unknown := newKey(t, access.KindPublicSDK), newKey(t, access.KindSecretSDK), newKey(t, access.KindUser), newKey(t, access.KindSecretSDK)
	for _, key := range []access.Key{public, secret, user} {
		l.known[key.ID()] = access.RecordOf(key, "test", now())
	}
	guard := authentication.Guard{
		Service: control.New(control.Settings{Authenticator: l, Now: now}),
		Keys:    ratelimit.New(ratelimit.Rate{PerSecond: 1, Burst: 2}, ratelimit.NewBuckets(ratelimit.Rate{PerSecond: 1, Burst: 6}, now), now),
	}
	keys := authentication.Keys{Kinds: []access.Kind{access.KindPublicSDK, access.KindSecretSDK}, Wanted: "this takes an SDK key"}
	const here, there, flood = "192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"
	for i, test := range []struct {
		from, key string
		want      fault.Kind // 0 is none
		says      string
		asks      int
	}{
		{here, secret.Reveal(), 0, "", 1},
		{here, secret.Reveal(), 0, "", 1},
		{here, secret.Reveal(), fault.RateLimited, "this key", 0},
		{there, secret.Reveal(), fault.RateLimited, "this key", 0}, // a secret key has one share
		{here, public.Reveal(), 0, "", 1},
		{here, public.Reveal(), 0, "", 1},
		{here, public.Reveal(), fault.RateLimited, "this key", 0},
		{there, public.Reveal(), 0, "", 1}, // of a public one each address has its own
		{here, user.Reveal(), fault.Unauthorized, "this takes an SDK key; this is a user key of the REST API", 0},
		{here, "nonsense", fault.Unauthorized, "a key has 105 characters; this takes an SDK key", 0},
		{here, unknown.Reveal(), fault.Unauthorized, "the key is not accepted", 1},
		{here, "nonsense", fault.Unauthorized, "a key has 105 characters", 0},
		{here, "nonsense", fault.RateLimited, "this address", 0},
		{here, user.Reveal(), fault.RateLimited, "this address", 0},
		{here, unknown.Reveal(), fault.RateLimited, "this address", 1}, // it may have been good
		{here, unknown.Reveal(), fault.RateLimited, "this address", 0},
		{flood, unknown.Reveal(), fault.Unauthorized, "the key is not accepted", 1},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.from
		before := l.asked
		_, err := guard.Authenticate(r, keys, test.key, nil, "")
		switch {
		case test.want == 0 && err != nil, test.want != 0 && (err == nil || fault.Of(err).Kind != test.want || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%d: %v", i, err)
		case l.asked-before != test.asks:
			t.Errorf("%d: the ledger was asked %d times", i, l.asked-before)
		case err != nil && len(test.key) > 20 && strings.Contains(err.Error(), test.key[7:]):
			t.Errorf("%d: the key is repeated", i)
		}
	}
}

// TestAKeyThatCannotBeRead is refused in the words of whoever tried.
func TestAKeyThatCannotBeRead(t *testing.T) {
	l := &ledger{}
	guard := authentication.Guard{Service: control.New(control.Settings{Authenticator: l, Now: time.Now})}
	unreadable := fault.New(fault.Unauthorized, "no key was sent")
	if _, err := guard.Authenticate(httptest.NewRequest("GET", "/", nil), authentication.Keys{}, "", unreadable, ""); err != error(unreadable) || l.asked != 0 {
		t.Errorf("%v, and the ledger was asked %d times", err, l.asked)
	}
}
