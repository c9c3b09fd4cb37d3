package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
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
	words := map[string]bool{}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, nil)
			key := w.key(test.kind)
			if test.change != nil {
				test.change(w, key)
			}
			f := ended(w.service.SessionOf(ctx, key.Reveal()))(t, test.want)
			if told := wire(t, f.Envelope()); test.want == "401 UNAUTHORIZED" {
				words[told] = true
			}
			if strings.Contains(f.Error(), key.Reveal()[60:]) {
				t.Errorf("the refusal shows the key: %v", f)
			}
		})
	}
	// Without a live key nobody learns anything of what is stored.
	if len(words) != 1 {
		t.Errorf("refused keys are told apart: %v", words)
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
	ws := must.Get(must.Get(d.Open(ctx))(t).Effective(ctx))(t)
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
	ended(w.service.DeliveryOf(ctx, key.Reveal()))(t, "503 SERVICE_UNAVAILABLE")
}

func TestIdentityNeedsNoReading(t *testing.T) {
	w := newWorld(t, nil)
	s := w.enter("engineer")
	p := s.Principal()
	want := fmt.Sprintf(`{"workspaceId":"%s","keyId":"%s","principal":{"type":"user","id":"%s","name":"Grace"},"permissions":["config.edit.standard","config.edit.support"]}`, workspaceID, s.Key().ID, p.ID)
	if got := wire(t, s.Whoami()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := wire(t, s.Workspaces()), `{"workspaces":[{"id":"0123456789abcdef","name":"Shop"}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := wire(t, must.Get(s.Contexts(ctx, control.ContextQuery{}))(t)); got != `{"contexts":[]}` {
		t.Errorf("got %s", got)
	}
	ended(s.Contexts(ctx, control.ContextQuery{Limit: ptr(101)}))(t, "400 BAD_REQUEST")
	if n := w.repo.Total(); n != 0 {
		t.Errorf("%d reads", n)
	}
}

// defects are what can be wrong with a write, in the order in which it is to
// be told. A test asks with all of them, then without the first, and so on.
type defects struct {
	unpaid, malformed, missing, unpermitted, stale, invalid, unsound bool
}

func (d *defects) each() []*bool {
	return []*bool{&d.unpaid, &d.malformed, &d.missing, &d.unpermitted, &d.stale, &d.invalid, &d.unsound}
}

func TestRefusalsComeInOneOrder(t *testing.T) {
	const (
		paid, shape, there, may    = "402 BILLING_INACTIVE", "400 BAD_REQUEST", "404 NOT_FOUND", "403 FORBIDDEN PERMISSION_DENIED"
		fresh, taken               = "409 CONFLICT STALE_COMMIT_SHA", "409 CONFLICT ALREADY_EXISTS"
		referenced, overlap        = "409 CONFLICT REFERENCED", "409 CONFLICT OVERLAP"
		absent                     = "0123456789012345678901234567890123456789"
		valid, schema, verify, yes = "400 BAD_REQUEST VALIDATION_FAILED", "400 BAD_REQUEST SCHEMA_VIOLATION", "422 UNPROCESSABLE_CONTENT VERIFY_REJECTION", "ok"
	)
	for _, test := range []struct {
		name string
		ask  func(t *testing.T, w *world, s *control.Session, d defects) error
		want [8]string
	}{
		{"PUT", func(t *testing.T, w *world, s *control.Session, d defects) error {
			key, inside := pick(d.missing, "nope", "f"), ""
			inside = pick(d.malformed, "other", key)
			access := pick(d.invalid, `,"access":"odd"`, `,"name":"new"`)
			rule := pick(d.unsound, inSegment("none"), serves("bool", "true"))
			_, err := s.Changes().PutDocument(ctx, document.Flag, key, change.DocumentPut{
				Document: node(t, boolFlag(inside, access, rule)), ExpectedCommitSHA: w.token(d.stale)})
			return err
		}, [8]string{paid, shape, there, may, fresh, valid, verify, yes}},
		{"PATCH of a flag", func(t *testing.T, w *world, s *control.Session, d defects) error {
			patch := change.ValuePatch{Enabled: ptr(true), ExpectedCommitSHA: w.token(d.stale)}
			if d.invalid {
				patch.Enabled, patch.Value = nil, node(t, `"no bool"`)
			}
			patch.ExpectedCommitSHA = pick(d.malformed, ptr(""), patch.ExpectedCommitSHA)
			_, err := s.Changes().Patch(ctx, document.Flag, "f", pick(d.missing, "nope", "production"), patch)
			return err
		}, [8]string{paid, shape, there, may, fresh, shape, yes, yes}},
		{"PATCH of a config", func(t *testing.T, w *world, s *control.Session, d defects) error {
			patch := change.ValuePatch{Value: node(t, pick(d.invalid, "11", "3")), ExpectedCommitSHA: w.token(d.stale)}
			if d.malformed {
				patch.Value = nil
			}
			_, err := s.Changes().Patch(ctx, document.Config, pick(d.missing, "nope", "c"), "production", patch)
			return err
		}, [8]string{paid, shape, there, may, fresh, schema, yes, yes}},
		{"PATCH of a log level", func(t *testing.T, w *world, s *control.Session, d defects) error {
			_, err := s.Changes().PatchLogLevel(ctx, pick(d.missing, "nope", "a"), change.LogLevelPatch{
				Level: ptr(pick(d.malformed, "LOUD", "WARN")), ExpectedCommitSHA: w.token(d.stale)})
			return err
		}, [8]string{paid, shape, there, may, fresh, yes, yes, yes}},
		{"PATCH of a log level that creates", func(t *testing.T, w *world, s *control.Session, d defects) error {
			_, err := s.Changes().PatchLogLevel(ctx, pick(d.stale, "HELD", "new"), change.LogLevelPatch{
				Level: ptr(pick(d.malformed, "LOUD", "WARN")), Environment: ptr(pick(d.missing, "nope", "staging"))})
			return err
		}, [8]string{paid, shape, there, may, taken, yes, yes, yes}},
		{"DELETE", func(t *testing.T, w *world, s *control.Session, d defects) error {
			token := pick(d.malformed, ptr(""), w.token(d.stale))
			_, err := s.Changes().Delete(ctx, document.Segment, pick(d.missing, "nope", pick(d.unsound, "used", "free")), change.Deletion{ExpectedCommitSHA: token})
			return err
		}, [8]string{paid, shape, there, may, fresh, referenced, referenced, yes}},
		{"undo", func(t *testing.T, w *world, s *control.Session, d defects) error {
			commit := pick(d.unsound, w.repo.Commits[2].SHA, w.last().SHA) // changed again since
			_, err := s.Changes().Revert(ctx, document.Flag, "g", change.Reversion{CommitSHA: pick(d.missing, absent, commit), Mode: pick(d.malformed, "redo", "undo"), ExpectedCommitSHA: w.token(d.stale)})
			return err
		}, [8]string{paid, shape, there, may, fresh, overlap, overlap, yes}},
		{"restore", func(t *testing.T, w *world, s *control.Session, d defects) error {
			commit := w.repo.Commits[3].SHA
			if d.unsound {
				commit = w.repo.Commits[2].SHA // when there was a segment
			}
			commit = pick(d.invalid, w.repo.Commits[4].SHA, commit)
			_, err := s.Changes().Revert(ctx, document.Flag, "g", change.Reversion{CommitSHA: pick(d.missing, absent, commit), Mode: pick(d.malformed, "redo", "restore"), ExpectedCommitSHA: w.token(d.stale)})
			return err
		}, [8]string{paid, shape, there, may, fresh, valid, verify, yes}},
		{"POST of a flag", func(t *testing.T, w *world, s *control.Session, d defects) error {
			_, err := s.Changes().Create(ctx, change.Creation{Type: document.Flag, Key: pick(d.stale, "F", "new"), ValueType: ptr(pick(d.malformed, "nope", "bool"))})
			return err
		}, [8]string{paid, shape, may, may, taken, yes, yes, yes}},
		{"POST of a config", func(t *testing.T, w *world, s *control.Session, d defects) error {
			_, err := s.Changes().Create(ctx, change.Creation{Type: document.Config, Key: pick(d.stale, "F", "new"), ValueType: ptr("int"), Value: node(t, pick(d.malformed, "true", "1"))})
			return err
		}, [8]string{paid, shape, may, may, taken, yes, yes, yes}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{
				path("f"):                        boolFlag("f", ""),
				"configs/c.json":                 configOf("c", "int", "1", `,"schemaKey":"s"`),
				"schemas/s.json":                 `{"maximum":10}`,
				"log-levels/log-level.a.json":    `{"key":"log-level.a","type":"log_level","valueType":"log_level","default":{"rules":[]}}`,
				"log-levels/log-level.held.json": `{}`,
				"segments/used.json":             segmentOf("used", serves("bool", "true")),
				"segments/free.json":             segmentOf("free", serves("bool", "true")),
				path("u"):                        boolFlag("u", "", inSegment("used")),
			})
			for _, text := range []string{boolFlag("g", "", inSegment("gone")), boolFlag("g", ""), boolFlag("g", `,"access":"odd"`), boolFlag("g", `,"name":"n"`), boolFlag("g", "", serves("bool", "true"))} {
				w.repo.Push(ada, "g", map[string]string{path("g"): text})
			}
			n := w.repo.Head()
			var d defects
			for _, defect := range d.each() {
				*defect = true
			}
			for i, want := range test.want {
				if i > 0 {
					*d.each()[i-1] = false
				}
				w.gate.workspace.BillingInactive = d.unpaid
				s, err := w.service.SessionOf(ctx, w.key(access.KindUser, pick(d.unpermitted, "engineer_nonprotected", "protected_engineer")).Reveal())
				if err == nil {
					err = test.ask(t, w, s, d)
				}
				if got := refusal(err); got != want {
					t.Errorf("with the first %d defects mended: got %s (%v), want %s", i, got, err, want)
				}
				if want != yes && w.repo.Head() != n {
					t.Fatal("a refused write was written")
				}
				if want == yes {
					break
				}
			}
			if w.repo.Head() == n {
				t.Error("nothing was written in the end")
			}
		})
	}
}

// token is a good or a stale one. The stale one names a commit without any of
// the items.
func (w *world) token(stale bool) *string {
	return pick(stale, &w.repo.Commits[0].SHA, ptr(w.last().SHA))
}

func pick[V any](first bool, yes, no V) V {
	if first {
		return yes
	}
	return no
}

func TestReadingNeedsNoSubscription(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.gate.workspace.BillingInactive = true
	key := w.key(access.KindUser, "engineer").Reveal()
	s := must.Get(w.service.OpenFor(ctx, key, control.Read))(t)
	must.Get(s.Flag(ctx, "f"))(t)
	must.Get(s.Feed().Activity(ctx, feed.ActivityQuery{}))(t)
	ended(s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)}))(t, "500 INTERNAL")
	ended(w.service.SessionOf(ctx, key))(t, "402 BILLING_INACTIVE")
}
