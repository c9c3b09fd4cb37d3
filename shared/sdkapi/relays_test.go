package sdkapi_test

import (
	"crypto/sha256"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/testing/must"
)

// TestWhatARelayIsToldOfKeys, and of tokens, which only the workspace's own secret keys
// may ask about.
func TestWhatARelayIsToldOfKeys(t *testing.T) {
	w, other := newWorld(t, shop), newWorld(t, shop)
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "development")
	parsed, err := access.ParseKey(public)
	must.Do(t, err)
	token := access.TokenOf(parsed.ID(), parsed.Digest(), "production").String()
	forged := access.TokenOf(parsed.ID(), sha256.Sum256([]byte("guess")), "production").String()
	for name, tt := range map[string]struct {
		from       *world
		key, query string
		code       int
		kind, read string
	}{
		"a public key":                   {w, public, "", 200, "public_sdk", "production"},
		"a secret key":                   {w, secret, "", 200, "secret_sdk", "development"},
		"no key":                         {w, "", "", 401, "", ""},
		"a key of another workspace":     {other, public, "", 401, "", ""},
		"a management key":               {w, w.key(access.KindUser, ""), "", 401, "", ""},
		"a token":                        {w, secret, "?token=" + token, 200, "public_sdk", "production"},
		"a token, asked by a public key": {w, public, "?token=" + token, 401, "", ""},
		"a token, asked by a stranger":   {w, "", "?token=" + token, 401, "", ""},
		"a token that was made up":       {w, secret, "?token=" + forged, 401, "", ""},
		"a token of another workspace":   {other, other.key(access.KindSecretSDK, "production"), "?token=" + token, 401, "", ""},
		"a text that is no token":        {w, secret, "?token=x", 401, "", ""},
	} {
		answer := tt.from.send("GET", "/api/v2/key"+tt.query, tt.key, "")
		if answer.Code != tt.code {
			t.Errorf("%s: %d %s, want %d", name, answer.Code, answer.Body, tt.code)
			continue
		}
		if answer.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: pages may read the answer", name)
		}
		if tt.code != 200 {
			continue
		}
		var got sdkapi.KeyDescription
		must.Do(t, json.Unmarshal(answer.Body.Bytes(), &got))
		if string(got.Kind) != tt.kind || got.Environment != tt.read || got.WorkspaceID != w.id || got.ID == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A key that is taken back is so for relays too.
	w.edit(func(r *local.Registry) error { _, err := r.RevokeKey(ctx, parsed.ID(), time.Now()); return err })
	for _, answer := range []int{w.send("GET", "/api/v2/key", public, "").Code, w.send("GET", "/api/v2/key?token="+token, secret, "").Code} {
		if answer != 401 {
			t.Errorf("a revoked key: %d", answer)
		}
	}
}

// TestTheClientVersionIsToldWhereTheRestLeadsToTheSameAnswers.
func TestTheClientVersionIsToldWhereTheRestLeadsToTheSameAnswers(t *testing.T) {
	w := newWorld(t, shop) // where only a config for servers is left out
	public, secret := w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	told := func() string {
		var got struct{ Meta map[string]string }
		must.Do(t, json.Unmarshal(w.send("GET", configs, secret, "").Body.Bytes(), &got))
		return got.Meta["clientVersion"]
	}
	if want := versionIn(t, w.send("GET", polling, public, "")); told() != want {
		t.Errorf("told %q, browsers have %q", told(), want)
	}
	for path, text := range map[string]string{
		"segments/beta.json": strings.Replace(shop["segments/beta.json"], `["u-1"]`, `["u-1"],"confidential":true`, 1),
		"feature-flags/dark.json": strings.NewReplacer(`"operator":"IN_SEG"`, `"operator":"PROP_IS_ONE_OF","propertyName":"user.key"`,
			`{"type":"string","value":"beta"}`, `{"type":"string_list","value":["x"],"confidential":true}`).Replace(shop["feature-flags/dark.json"]),
	} {
		w.commit(map[string]string{path: text})
		if got := told(); got != "" {
			t.Errorf("%s is left out, and the version of clients is told: %s", path, got)
		}
		w.commit(map[string]string{path: shop[path]})
		if told() == "" {
			t.Error("it is not told again")
		}
	}
}
