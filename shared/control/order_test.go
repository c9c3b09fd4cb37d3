package control_test

import (
	"testing"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/feed"
	"svc.example/svc/shared/testing/must"
)

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
	_, err := s.Changes().Patch(ctx, document.Flag, "f", "default", change.ValuePatch{Enabled: ptr(true)})
	wantRefusal(t, err, "500 INTERNAL")
	_, err = w.service.SessionOf(ctx, key)
	wantRefusal(t, err, "402 BILLING_INACTIVE")
}
