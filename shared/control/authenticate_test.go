package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

func TestWhoIsLetIn(t *testing.T) {
	tests := []struct {
		name   string
		kind   access.Kind
		change func(w *world, key access.Key)
		want   string
	}{
		{"a user", access.KindUser, nil, "ok"},
		{"a service account", access.KindServiceAccount, nil, "ok"},
		{"an unknown key", access.KindUser, func(w *world, key access.Key) { delete(w.gate.keys, key.ID()) }, "401 UNAUTHORIZED"},
		{"a revoked key", access.KindUser, func(w *world, key access.Key) {
			changeKey(w, key, func(r *access.KeyRecord) { r.RevokedAt = now.Add(-time.Second) })
		}, "401 UNAUTHORIZED"},
		{"an expired key", access.KindUser, func(w *world, key access.Key) {
			changeKey(w, key, func(r *access.KeyRecord) { r.ExpiresAt = now })
		}, "401 UNAUTHORIZED"},
		{"a key about to expire", access.KindUser, func(w *world, key access.Key) {
			changeKey(w, key, func(r *access.KeyRecord) { r.ExpiresAt = now.Add(time.Second) })
		}, "ok"},
		{"a disabled service account", access.KindServiceAccount, func(w *world, key access.Key) {
			p := w.gate.people[key.Principal()]
			p.Disabled = true
			w.gate.people[key.Principal()] = p
		}, "401 UNAUTHORIZED"},
		{"a principal that is gone", access.KindUser, func(w *world, key access.Key) {
			delete(w.gate.people, key.Principal())
		}, "401 UNAUTHORIZED"},
		{"another workspace's row", access.KindUser, func(w *world, _ access.Key) { w.gate.workspace.ID = "ghjkmnpqrstvwxyz" }, "401 UNAUTHORIZED"},
		{"a workspace that is being set up", access.KindUser, func(w *world, _ access.Key) { w.gate.workspace.Provisioning = true }, "503 SERVICE_UNAVAILABLE"},
		{"a lapsed subscription", access.KindUser, func(w *world, _ access.Key) { w.gate.workspace.BillingInactive = true }, "402 BILLING_INACTIVE"},
		{"a busy store", access.KindUser, func(w *world, _ access.Key) { w.gate.fail = fmt.Errorf("rows: %w", repository.ErrBusy) }, "503 SERVICE_UNAVAILABLE"},
		{"a broken store", access.KindUser, func(w *world, _ access.Key) { w.gate.fail = errStorage }, "500 INTERNAL"},
	}
	refused := map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			key := w.key(test.kind)
			if test.change != nil {
				test.change(w, key)
			}
			_, err := w.service.SessionOf(ctx, key.Reveal())
			f := wantRefusal(t, err, test.want)
			if told := wire(t, fault.Of(err).Envelope()); test.want == "401 UNAUTHORIZED" {
				refused[told] = true
			}
			if strings.Contains(f.Error(), key.Reveal()[60:]) {
				t.Errorf("the refusal shows the key: %v", f)
			}
		})
	}
	// Without a live key nobody learns anything of what is stored.
	if len(refused) != 1 {
		t.Errorf("refused keys are told apart: %v", refused)
	}
}

func changeKey(w *world, key access.Key, change func(*access.KeyRecord)) {
	record := w.gate.keys[key.ID()]
	change(&record)
	w.gate.keys[key.ID()] = record
}

func TestASessionIsForTheKindOfItsKey(t *testing.T) {
	w := newWorld(t, nil)
	for _, use := range []control.Use{control.Read, control.Write, control.Deliver} {
		for kind, delivers := range map[access.Kind]bool{access.KindUser: false, access.KindServiceAccount: false, access.KindPublicSDK: true, access.KindSecretSDK: true} {
			_, err := w.service.OpenFor(ctx, w.key(kind).Reveal(), use)
			wantRefusal(t, err, map[bool]string{true: "ok", false: "401 UNAUTHORIZED"}[delivers == (use == control.Deliver)])
		}
	}
}

// TestUsedHearsOfKeysThatWereLetIn, once for each request, and of no others.
func TestUsedHearsOfKeysThatWereLetIn(t *testing.T) {
	w := newWorld(t, nil)
	settings := w.settings()
	heard := map[access.ID]int{}
	settings.Used = func(key access.KeyRecord, at time.Time) {
		heard[key.ID]++
		if !at.Equal(now) {
			t.Errorf("used at %v", at)
		}
	}
	service := control.New(settings)
	user, sdk, revoked := w.key(access.KindUser), w.key(access.KindPublicSDK), w.key(access.KindUser)
	changeKey(w, revoked, func(r *access.KeyRecord) { r.RevokedAt = now })
	forged := must.Get(access.NewKey(newRandom(99), access.KindUser, user.Workspace(), user.Principal()))(t)
	for _, key := range []access.Key{user, revoked, forged} {
		_, _ = service.SessionOf(ctx, key.Reveal())
	}
	must.Get(service.DeliveryOf(ctx, sdk.Reveal()))(t)
	if len(heard) != 2 || heard[user.ID()] != 1 || heard[sdk.ID()] != 1 {
		t.Errorf("%v", heard)
	}
}

func TestDelivery(t *testing.T) {
	files := map[string]string{
		path("a"):              boolFlag("a", ""),
		path("broken"):         `{"key":"broken","type":"feature_flag","valueType":"bool","default":{"rules":[{"criteria":"x","value":{"type":"bool","value":true}}]}}`,
		path("nojson"):         `{`,
		"configs/A.json":       configOf("A", "int", "1", ""),
		"segments/s.json":      segmentOf("s", serves("bool", "true")),
		"schemas/x.json":       `{}`,
		"svc.json":             declaration,
		"configs/list.json":    `[]`,
		"log-levels/none.json": `{"key":"none","type":"log_level","valueType":"log_level","default":{"rules":[]}}`,
	}
	w := newWorld(t, files)
	key := w.key(access.KindPublicSDK)
	changeKey(w, key, func(r *access.KeyRecord) { r.Environment = "staging" })
	d := must.Get(w.service.DeliveryOf(ctx, key.Reveal()))(t)
	if d.Environment() != "staging" || d.Key().Kind != access.KindPublicSDK || d.WorkspaceID() != workspaceID || d.Head() != w.repo.Head() {
		t.Errorf("%s %s %s %v", d.Environment(), d.Key().Kind, d.WorkspaceID(), d.Head())
	}
	ws, err := must.Get(d.Open(ctx))(t).Effective(ctx)
	must.Do(t, err)
	var keys []string
	for _, item := range ws.Items {
		keys = append(keys, item.Path)
	}
	// configs/A.json comes before feature-flags/a.json, so it keeps the key.
	if got, want := strings.Join(keys, " "), "configs/A.json log-levels/none.json segments/s.json"; got != want {
		t.Errorf("served: %s, want %s", got, want)
	}
	if len(ws.Schemas) != 1 || len(ws.Environments) != 4 {
		t.Errorf("%d schemas, %d environments", len(ws.Schemas), len(ws.Environments))
	}
	w.gate.workspace.Provisioning = true
	_, err = w.service.DeliveryOf(ctx, key.Reveal())
	wantRefusal(t, err, "503 SERVICE_UNAVAILABLE")
}

func TestIdentityNeedsNoReading(t *testing.T) {
	w := newWorld(t, nil)
	s := w.enter("engineer")
	p := s.Principal()
	want := fmt.Sprintf(`{"workspaceId":"%s","keyId":"%s","principal":{"type":"user","id":"%s","name":"Grace"}}`, workspaceID, s.Key().ID, p.ID)
	if got := wire(t, s.Whoami()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := wire(t, s.Workspaces()), `{"workspaces":[{"id":"0123456789abcdef","name":"Shop"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := wire(t, must.Get(s.Contexts(ctx, control.ContextQuery{}))(t)); got != `{"contexts":[]}` {
		t.Errorf("got %s", got)
	}
	_, err := s.Contexts(ctx, control.ContextQuery{Limit: ptr(101)})
	wantRefusal(t, err, "400 BAD_REQUEST")
	if n := w.repo.Total(); n != 0 {
		t.Errorf("%d reads", n)
	}
}
