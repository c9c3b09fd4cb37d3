package control_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/testing/must"
)

// once opens a session under an Idempotency-Key, which is the same for all.
func (w *world) once(key access.Key) *control.Session {
	w.t.Helper()
	caller := must.Get(w.service.Authenticate(ctx, key, "k"))(w.t)
	return must.Get(w.service.Open(caller, control.Write))(w.t)
}

// request is one that may be sent again, and is answered with its result.
func request() *change.Idempotency {
	return &change.Idempotency{Request: change.Digest([]byte("a request")), Encode: func(result any) (change.Answer, error) {
		text, err := json.Marshal(result)
		return change.Answer{Status: 200, Body: text}, err
	}}
}

// TestWhatALedgerRemembers: where the ledger says that a commit stands it need not
// stand any more; one that is gone, or too long ago, is made anew in its place.
func TestWhatALedgerRemembers(t *testing.T) {
	gone := strings.Repeat("0", 40)
	for name, test := range map[string]struct {
		alter   func(l *repository.Landed)
		replays bool
	}{
		"as it was":                  {func(*repository.Landed) {}, true},
		"it stands earlier by now":   {func(l *repository.Landed) { l.Sequence += 1000 }, true},
		"it stands later by now":     {func(l *repository.Landed) { l.Sequence = 1 }, true},
		"the history has it no more": {func(l *repository.Landed) { l.Commit = gone }, false},
		"just in time":               {func(l *repository.Landed) { l.Until = now.Add(time.Nanosecond) }, true},
		"too late":                   {func(l *repository.Landed) { l.Until = now }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
			key := w.key(access.KindUser, "protected_engineer")
			patch := change.ValuePatch{Enabled: ptr(true)}
			patch.Idempotency = request()
			first := must.Get(w.once(key).Changes().Patch(ctx, document.Flag, "f", "default", patch))(t)
			if w.repo.Once == nil || w.repo.Once.Request != patch.Idempotency.Request || !w.repo.Once.Until.Equal(now.Add(change.Remembered)) || w.repo.Once.Instead != "" {
				t.Fatalf("remembered as %+v", w.repo.Once)
			}
			w.gate.once = &repository.Landed{Commit: first.CommitSHA, Request: patch.Idempotency.Request, Sequence: w.last().Sequence, Until: now.Add(time.Hour), Answer: w.repo.Once.Answer}
			test.alter(w.gate.once)
			for i := range 3 {
				w.repo.Push(ada, "", map[string]string{path("f"): boolFlag("f", fmt.Sprintf(`,"n":%d`, i))})
			}
			w.repo.Once = nil
			patch.Idempotency = request()
			_ = must.Get(w.once(key).Changes().Patch(ctx, document.Flag, "f", "default", patch))(t)
			again := patch.Idempotency.Answer
			if replays := string(again.Body) == wire(t, first); replays != test.replays || patch.Idempotency.Replayed != replays || again.Status != 200 {
				t.Errorf("got %s, after %s", again.Body, wire(t, first))
			}
			if (w.repo.Once == nil) != test.replays {
				t.Errorf("remembered as %+v", w.repo.Once)
			}
			if w.repo.Once != nil && w.repo.Once.Instead != w.gate.once.Commit {
				t.Errorf("remembered as %+v", w.repo.Once)
			}
		})
	}
}

// TestWhatCannotBeReadOfAnAnswer is told, and nothing is made again.
func TestWhatCannotBeReadOfAnAnswer(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.Push(ada, "something else", map[string]string{path("f"): boolFlag("f", `,"n":1`)})
	i := request()
	patch := change.ValuePatch{Enabled: ptr(true), Request: change.Request{Idempotency: i}}
	w.gate.once = &repository.Landed{Commit: w.last().SHA, Request: i.Request, Sequence: w.last().Sequence, Until: now.Add(time.Hour), Answer: []byte("?")}
	_, err := w.once(w.key(access.KindUser, "protected_engineer")).Changes().Patch(ctx, document.Flag, "f", "default", patch)
	if said := wantRefusal(t, err, "500 INTERNAL").Message; !strings.Contains(said, w.last().SHA) {
		t.Error(said)
	}
	if w.repo.Count("Commit") != 0 {
		t.Error("it was made again")
	}
}

func TestAnUnknownOutcomeUnderAKeyIsAskedForAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.repo.Fail["Commit"] = fmt.Errorf("asked again: %w", repository.ErrUnknownOutcome)
	creation := change.Creation{Type: document.Flag, Key: "f"}
	creation.Idempotency = request()
	_, err := w.once(w.key(access.KindUser, "engineer")).Changes().Create(ctx, creation)
	if said := wantRefusal(t, err, "503 SERVICE_UNAVAILABLE").Message; !strings.Contains(said, "send the same request again, under the same Idempotency-Key") {
		t.Error(said)
	}
}
