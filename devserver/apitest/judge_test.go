package apitest

import (
	"fmt"
	"hash/maphash"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// verdictTime is how long the search for an order may take, for each pool. It
// takes a moment; only a history that has none can make it long.
const verdictTime = 2 * time.Minute

// findings are what is wrong with what a load saw.
type findings struct {
	order   []string // by porcupine: keys that have no order
	history []string // by the history of the repository
	unknown []string // keys for which the search took too long
}

// judge holds what a load saw against the contract.
func (l *load) judgeAll(t testing.TB, repository string) findings {
	t.Helper()
	git := gitIn(t, repository)
	h := readHistory(t, git)
	found := findings{history: l.compare(h)}
	model := newModel(git.look(t, l.places()))
	parts := l.parts()
	for _, pool := range slices.Sorted(maps.Keys(parts)) {
		beginning := groundOf(pool, h.commits[0].sha)
		result, info := porcupine.CheckOperationsVerbose(model.from(beginning), parts[pool], verdictTime)
		switch result {
		case porcupine.Unknown:
			found.unknown = append(found.unknown, pool)
		case porcupine.Illegal:
			found.order = append(found.order, pool+longest(model, beginning, info))
			draw(t, pool, model.from(beginning), info)
		}
	}
	return found
}

// demand fails a test whose load saw what the contract does not allow.
func (f findings) demand(t testing.TB) {
	t.Helper()
	for _, pool := range f.order {
		t.Errorf("no order of the requests explains the answers about %s", pool)
	}
	for _, pool := range f.unknown {
		t.Errorf("%s: whether there is an order was not found out within %s", pool, verdictTime)
	}
	for _, problem := range f.history {
		t.Error(problem)
	}
}

// groundOf is what a pool holds at the start.
func groundOf(pool, commit string) state {
	for path, text := range ground() {
		for family := range families {
			if path == pathOf(family, pool) {
				value, _ := parse([]byte(text))
				return state{family, pool, canonical(value), commit}
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
		Step: func(s, o, a any) (bool, any) { return m.step(s.(state), o.(*operation), a.(*answer)) },
		Hash: func(s any) uint64 { return maphash.Comparable(hashSeed, s.(state)) },
		DescribeOperation: func(o, a any) string {
			return fmt.Sprint(o.(*operation), " → ", a.(*answer))
		},
		DescribeState: func(s any) string { return s.(state).String() },
	}
}

// parts divides what was seen by pools. An answer about one key depends on
// what else holds the key in another case, and on nothing else. A list is one
// read of each pool here; that all its rows are of one moment is seen by
// compare. A write without an answer whose commit is not in the history did
// nothing, by git's own account: it is left out, since each that stays open
// doubles what the search has to try.
func (l *load) parts() map[string][]porcupine.Operation {
	parts := map[string][]porcupine.Operation{}
	add := func(pool string, r record, o *operation, a *answer) {
		parts[pool] = append(parts[pool], porcupine.Operation{
			ClientId: r.client, Input: o, Output: a, Call: r.call, Return: r.back})
	}
	for _, r := range l.records {
		nothing := r.answer.open && !l.landed[authorOf(r.client)+" "+pathOf(r.op.family, r.op.key)]
		if r.op.kind != readList && !nothing {
			add(r.op.pool(), r, r.op, r.answer)
		}
	}
	for _, r := range l.records {
		if r.op.kind != readList {
			continue
		}
		rows := map[string]*answer{}
		for pool := range parts {
			rows[pool] = &answer{status: r.answer.status, listed: map[string]string{}}
		}
		for key, commit := range r.answer.listed {
			pool := strings.ToLower(key)
			if rows[pool] == nil { // nobody ever asked about it
				rows[pool] = &answer{status: r.answer.status, listed: map[string]string{}}
			}
			rows[pool].listed[key] = commit
		}
		for pool, a := range rows {
			add(pool, r, &operation{kind: readRow, family: r.op.family, key: pool}, a)
		}
	}
	return parts
}

// places are what the model needs to know of the repository: what each token
// stands for, and each commit that an answer names.
func (l *load) places() map[place]bool {
	places := map[place]bool{}
	for _, r := range l.records {
		path := pathOf(r.op.family, r.op.key)
		for _, commit := range []string{r.op.token, r.answer.commit} {
			if commit != "" && r.op.kind != readList {
				places[place{commit, path}] = true
			}
		}
		for key, commit := range r.answer.listed {
			places[place{commit, pathOf(r.op.family, key)}] = true
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
		_, s = m.step(s, o.Input.(*operation), o.Output.(*answer))
	}
	text := fmt.Sprintf(": %d explained, the last of them", len(best))
	for _, o := range best[max(0, len(best)-4):] {
		text += fmt.Sprintf("\n\tclient %d, %d to %d: %v → %v", o.ClientId, o.Call, o.Return, o.Input, o.Output)
	}
	return text + "\n\twhich leads to " + s.String()
}

// draw leaves a picture of a history that has no order.
func draw(t testing.TB, pool string, m porcupine.Model, info porcupine.LinearizationInfo) {
	t.Helper()
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) {
			return r
		}
		return '-'
	}, pool)
	f, err := os.Create(filepath.Join(t.ArtifactDir(), name+".html"))
	must(t, err)
	defer f.Close()
	must(t, porcupine.Visualize(m, info, f))
	t.Logf("go test -artifacts keeps a picture of it: %s", f.Name())
}
