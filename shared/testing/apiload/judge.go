package apiload

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// verdictTime is how long the search for an order may take, for each pool. It
// takes a moment; only a history that has none can make it long.
const verdictTime = 2 * time.Minute

// Findings are what is wrong with what a load saw.
type Findings struct {
	Order   []string // by porcupine: keys that have no order
	History []string // by the history of the repository
	Unknown []string // keys for which the search took too long
}

// JudgeAll holds what a load saw against the contract.
func (l *Load) JudgeAll(t testing.TB, git Git) Findings {
	t.Helper()
	h := readHistory(t, git)
	found := Findings{History: append(l.repeated, l.compare(h)...)}
	model := &model{stored: git.look(t, l.places(h)), known: map[edit]edited{}, earlier: h.earlier(), history: h}
	var problems []string
	l.attributed, problems = l.attribute(h, model)
	found.History = append(found.History, problems...)
	found.History = append(found.History, model.writers(l.attributed)...)
	parts := l.parts(model)
	for _, pool := range slices.Sorted(maps.Keys(parts)) {
		beginning := fixtureOf(pool, h.Commits[0].SHA)
		result, info := porcupine.CheckOperationsVerbose(model.from(beginning), parts[pool], verdictTime)
		switch result {
		case porcupine.Unknown:
			found.Unknown = append(found.Unknown, pool)
		case porcupine.Illegal:
			found.Order = append(found.Order, pool+longest(model, beginning, info))
		}
	}
	return found
}

// Demand fails a test whose load saw what the contract does not allow.
func (f Findings) Demand(t testing.TB) {
	t.Helper()
	for _, pool := range f.Order {
		t.Errorf("no order of the requests explains the answers about %s", pool)
	}
	for _, pool := range f.Unknown {
		t.Errorf("%s: whether there is an order was not found out within %s", pool, verdictTime)
	}
	for _, problem := range f.History {
		t.Error(problem)
	}
}

// Judges are the two that judge a load.
type Judges struct{ Porcupine, History bool }

// Catch has clients work on a broken store until each of these judges has found that
// out, in one of a few attempts. With no judges the store is a sound one, and none may
// find anything.
func (want Judges) Catch(t *testing.T, attempt func() Findings) {
	t.Helper()
	if want == (Judges{}) {
		attempt().Demand(t)
		return
	}
	var noticed Judges
	for n := range 40 {
		found := attempt()
		noticed.Porcupine = noticed.Porcupine || len(found.Order) > 0
		noticed.History = noticed.History || len(found.History) > 0
		t.Logf("attempt %d: %d keys without an order, %d problems of the history", n+1, len(found.Order), len(found.History))
		if (noticed.Porcupine || !want.Porcupine) && (noticed.History || !want.History) {
			return
		}
	}
	t.Errorf("porcupine noticed: %t, want %t; the history told: %t, want %t", noticed.Porcupine, want.Porcupine, noticed.History, want.History)
}

// fixtureOf is what a pool holds at the start.
func fixtureOf(pool, commit string) state {
	for path, text := range Fixture() {
		for family := range Families {
			if path == PathOf(family, pool) {
				value, _ := parse([]byte(text))
				return state{family, pool, Canonical(value), commit}
			}
		}
	}
	return state{}
}

var hashSeed = maphash.MakeSeed()

// from is the model in porcupine's terms.
func (m *model) from(beginning state) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return beginning },
		Step: func(s, o, a any) (bool, any) { return m.step(s.(state), o.(*Operation), a.(*Answer)) },
		Hash: func(s any) uint64 { return maphash.Comparable(hashSeed, s.(state)) },
	}
}

// parts divides what was seen by pools. An answer about one key depends on
// what else holds the key in another case, and on nothing else. A list is one
// read of each pool here; that all its rows are of one moment is seen by
// compare. A write without an answer that made no commit did nothing, by git's
// own account: it is left out, since each that stays open doubles what the
// search has to try.
func (l *Load) parts(m *model) map[string][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	add := func(pool string, r Record, o *Operation, a *Answer) {
		parts[pool] = append(parts[pool], porcupine.Operation{
			ClientId: r.Client, Input: o, Output: a, Call: r.Call, Return: r.Back})
	}
	for _, r := range l.Records {
		if nothing := r.Answer.Open && m.made[r.Answer].commits == nil; r.Op.Kind != ReadList && !nothing {
			add(strings.ToLower(r.Op.Key), r, r.Op, r.Answer)
		}
	}
	for _, r := range l.Records {
		if r.Op.Kind != ReadList {
			continue
		}
		rows := map[string]*Answer{}
		for pool := range parts {
			rows[pool] = &Answer{Status: r.Answer.Status, Listed: map[string]string{}}
		}
		for key, commit := range r.Answer.Listed {
			pool := strings.ToLower(key)
			if rows[pool] == nil { // nobody ever asked about it
				rows[pool] = &Answer{Status: r.Answer.Status, Listed: map[string]string{}}
			}
			rows[pool].Listed[key] = commit
		}
		for pool, a := range rows {
			add(pool, r, &Operation{Kind: ReadRow, Family: r.Op.Family, Key: pool}, a)
		}
	}
	return parts
}

// places are what the model needs to know of the repository: what each token
// stands for, each commit that an answer names, and those that none names, with
// their parents.
func (l *Load) places(h *History) map[place]bool {
	places := map[place]bool{}
	for _, at := range l.unclaimed {
		c := h.Commits[at]
		for _, path := range c.Paths {
			places[place{c.SHA, path}] = true
			places[place{c.Parent(), path}] = true
		}
	}
	for _, r := range l.Records {
		path := PathOf(r.Op.Family, r.Op.Key)
		for _, commit := range []string{r.Op.Token, r.Op.Commit, r.Answer.Commit} {
			if commit != "" && r.Op.Kind != ReadList {
				places[place{commit, path}] = true
			}
		}
		if at, known := h.Position[r.Op.Commit]; known {
			places[place{h.Commits[at].Parent(), path}] = true
		}
		for key, commit := range r.Answer.Listed {
			places[place{commit, PathOf(r.Op.Family, key)}] = true
		}
	}
	return places
}

// longest shows where the search got stuck: the last that could be explained,
// and the state that it led to.
func longest(m *model, s state, info porcupine.LinearizationInfo) string {
	var best []porcupine.Operation
	for _, part := range info.PartialLinearizationsOperations() {
		for _, line := range part {
			if len(line) > len(best) {
				best = line
			}
		}
	}
	for _, o := range best {
		_, s = m.step(s, o.Input.(*Operation), o.Output.(*Answer))
	}
	text := fmt.Sprintf(": %d explained, the last of them", len(best))
	for _, o := range best[max(0, len(best)-4):] {
		text += fmt.Sprintf("\n\tclient %d, %d to %d: %v → %v", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return text + "\n\twhich leads to " + s.String()
}
