package delivery

import (
	"crypto/sha256"
	"math"
	"sync/atomic"

	"svc.example/svc/shared/evaluation"
)

// edition is a table between two moments at which rules on the current time
// turn. The editions of a table differ in their versions alone.
type edition struct {
	// Version stands for what is served, and for the last turn.
	Version     string
	from, until int64 // until is no longer in it
	seed        [sha256.Size]byte

	name   func(turn int64) string
	turns  evaluation.Turns
	turned *atomic.Pointer[Table] // the edition that was asked for last beside the first
}

// at returns the edition of a moment.
func (t *Table) at(now int64) *Table {
	if t.holds(now) {
		return t
	}
	if kept := t.turned.Load(); kept != nil && kept.holds(now) {
		return kept
	}
	turned := t.turn(now)
	t.turned.Store(turned)
	return turned
}

// VersionAt is the version at a moment, in milliseconds since 1970.
func (t *Table) VersionAt(now int64) string { return t.at(now).Version }

func (t *Table) holds(now int64) bool { return t.from <= now && now < t.until }

// turn makes the edition of a moment.
func (t *Table) turn(now int64) *Table {
	last, next := t.turns.Around(now)
	turned := *t
	turned.Version, turned.from, turned.until = t.name(last), math.MinInt64, math.MaxInt64
	if last != 0 {
		turned.from = last
	}
	if next != 0 {
		turned.until = next
	}
	turned.seed = seed(t.Environment, turned.Version)
	turned.meta = quote([]byte(`{"version":`), turned.Version)
	turned.meta = append(quote(append(turned.meta, `,"environment":`...), t.Environment), `}}`...)
	return &turned
}

// Unloaded stands for a table of which no more is known than its version at the
// moment. It is loaded for a request that this does not answer.
func Unloaded(environment, version string, load func() (*Table, error)) *Table {
	return &Table{Environment: environment, load: load,
		edition: edition{Version: version, from: math.MinInt64, until: math.MaxInt64, seed: seed(environment, version)}}
}

// loaded is the edition of a moment of a table that is in memory.
func (t *Table) loaded(now int64) (*Table, error) {
	if t.load == nil {
		return t.at(now), nil
	}
	full, err := t.load()
	if err != nil {
		return nil, err
	}
	return full.at(now), nil
}
