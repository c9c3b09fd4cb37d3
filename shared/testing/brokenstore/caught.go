package brokenstore

import (
	"testing"

	"svc.example/svc/shared/testing/apiload"
)

// Judges are those of a load.
type Judges struct{ Porcupine, History bool }

// attempts bounds how often a broken store may get away.
const attempts = 6

// Caught has clients work on a broken store until each of the judges has found
// that out, in one of a few attempts.
func Caught(t *testing.T, by Judges, attempt func() apiload.Findings) {
	t.Helper()
	var noticed Judges
	for n := 1; n <= attempts; n++ {
		found := attempt()
		noticed.Porcupine = noticed.Porcupine || len(found.Order) > 0
		noticed.History = noticed.History || len(found.History) > 0
		t.Logf("attempt %d: %d keys without an order, %d problems of the history", n, len(found.Order), len(found.History))
		if (noticed.Porcupine || !by.Porcupine) && (noticed.History || !by.History) {
			return
		}
	}
	t.Errorf("porcupine noticed: %t, want %t; the history told: %t, want %t", noticed.Porcupine, by.Porcupine, noticed.History, by.History)
}
