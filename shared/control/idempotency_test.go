package control_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
)

// once opens a session under an Idempotency-Key, which is the same for all.
func (w *world) once(key access.Key) *control.Session {
	w.t.Helper()
	caller := must[control.Caller](w.t)(w.service.Authenticate(ctx, key, "k"))
	return must[*control.Session](w.t)(w.service.Open(caller, control.Write))
}

// TestWhatALedgerRemembers: where the ledger says that a commit stands it need not
// stand any more; one that is gone, or too long ago, is made anew in its place.
func TestWhatALedgerRemembers(t *testing.T) {
	gone := strings.Repeat("0", 40)
	for name, test := range map[string]struct {
		alter   func(l *control.Landed)
		replays bool
		instead bool
	}{
		"as it was":                  {func(*control.Landed) {}, true, false},
		"it stands earlier by now":   {func(l *control.Landed) { l.Sequence += 1000 }, true, false},
		"it stands later by now":     {func(l *control.Landed) { l.Sequence = 1 }, true, false},
		"the history has it no more": {func(l *control.Landed) { l.Commit = gone }, false, true},
		"just in time":               {func(l *control.Landed) { l.Until = now.Add(time.Nanosecond) }, true, false},
		"too late":                   {func(l *control.Landed) { l.Until = now }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
			key := w.key(access.KindUser, "protected_engineer")
			patch := control.FlagPatch{Enabled: ptr(true)}
			patch.Idempotency = &control.Idempotency{Request: control.Digest([]byte("a request"))}
			first := must[*control.PatchResult](t)(w.once(key).PatchFlag(ctx, "f", "default", patch))
			if w.repo.once == nil || w.repo.once.Request != patch.Idempotency.Request || !w.repo.once.Until.Equal(now.Add(control.Remembered)) || w.repo.once.Instead != "" {
				t.Fatalf("remembered as %+v", w.repo.once)
			}
			w.gate.once = &control.Landed{Commit: first.CommitSHA, Request: patch.Idempotency.Request, Sequence: w.last().Sequence, Until: now.Add(time.Hour)}
			test.alter(w.gate.once)
			for i := range 3 {
				w.repo.push(ada, "", map[string]string{path("f"): boolFlag("f", fmt.Sprintf(`,"n":%d`, i))})
			}
			again := must[*control.PatchResult](t)(w.once(key).PatchFlag(ctx, "f", "default", patch))
			if replays := wire(t, again) == wire(t, first); replays != test.replays || patch.Idempotency.Replayed != replays {
				t.Errorf("got %s, after %s", wire(t, again), wire(t, first))
			}
			if instead := w.repo.once.Instead == w.gate.once.Commit; instead != test.instead {
				t.Errorf("remembered as %+v", w.repo.once)
			}
		})
	}
}

func TestAnAnswerThatCannotBeToldAgain(t *testing.T) {
	w := newWorld(t, map[string]string{path("f"): boolFlag("f", "")})
	w.repo.push(ada, "something else", map[string]string{path("f"): boolFlag("f", `,"n":1`)})
	request := control.Digest([]byte("a request"))
	w.gate.once = &control.Landed{Commit: w.last().SHA, Request: request, Sequence: w.last().Sequence, Until: now.Add(time.Hour)}
	patch := control.FlagPatch{Enabled: ptr(true)}
	patch.Idempotency = &control.Idempotency{Request: request}
	_, err := w.once(w.key(access.KindUser, "protected_engineer")).PatchFlag(ctx, "f", "default", patch)
	if said := wantRefusal(t, err, "500 INTERNAL").Message; !strings.Contains(said, w.last().SHA) {
		t.Error(said)
	}
	if w.repo.count("Commit") != 0 {
		t.Error("it was made again")
	}
}

func TestAnUnknownOutcomeUnderAKeyIsAskedForAgain(t *testing.T) {
	w := newWorld(t, nil)
	w.repo.fail["Commit"] = fmt.Errorf("asked again: %w", repository.ErrUnknownOutcome)
	creation := control.FlagCreation{Key: "f"}
	creation.Idempotency = &control.Idempotency{Request: control.Digest([]byte("a request"))}
	_, err := w.once(w.key(access.KindUser, "engineer")).CreateFlag(ctx, creation)
	if said := wantRefusal(t, err, "503 SERVICE_UNAVAILABLE").Message; !strings.Contains(said, "send the same request again, under the same Idempotency-Key") {
		t.Error(said)
	}
}
