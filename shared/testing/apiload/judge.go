package apiload

import (
	"cmp"
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

// foldRepeats makes one record of all requests that one commit was the answer to:
// those of a principal under one Idempotency-Key. From when the first of them was
// sent until the first answer that tells of it, it has happened, and none of those
// without an answer will happen any more. It returns what is wrong with the answers.
func (l *Load) foldRepeats() (problems []string) {
	groups := map[string][]Record{}
	var kept []Record
	for _, r := range l.Records {
		if r.Op.Once == "" {
			kept = append(kept, r)
			continue
		}
		if r.Answer.Replayed {
			l.replays++
		}
		name := l.author(r) + " " + r.Op.Once
		groups[name] = append(groups[name], r)
	}
	for _, group := range groups {
		some, wrong := fold(group)
		kept, problems = append(kept, some...), append(problems, wrong...)
	}
	slices.SortStableFunc(kept, func(a, b Record) int { return cmp.Compare(a.Call, b.Call) })
	l.Records = kept
	return problems
}

// fold folds the requests under one key: any number that changed nothing, and one
// that landed at the most.
func fold(group []Record) (kept []Record, problems []string) {
	var landed *Record
	var open, others []Record
	wrong := func(what string, r Record) {
		problems = append(problems, fmt.Sprintf("under the key %s, %s: client %d, %s: %s", r.Op.Once, what, r.Client, r.Op, r.Answer))
	}
	slices.SortStableFunc(group, func(a, b Record) int { return cmp.Compare(a.Back, b.Back) })
	made := 0
	for _, r := range group {
		switch {
		case r.Answer.Code == "IDEMPOTENCY_MISMATCH":
			sameAs := func(other Record) bool { return other.Op.String() == r.Op.String() }
			if !slices.ContainsFunc(group, func(other Record) bool { return !sameAs(other) && (other.wrote() || other.Answer.Open) }) {
				wrong("taken for another request", r)
			}
		case r.Answer.Open:
			open = append(open, r)
		case !r.wrote():
			if r.Answer.Replayed {
				wrong("what did not land is repeated", r)
			}
			others = append(others, r)
		case landed == nil:
			first := r
			landed = &first
		case r.Op.String() != landed.Op.String() || r.Answer.body != landed.Answer.body:
			wrong("another answer than before", r)
		}
		if r.wrote() && !r.Answer.Replayed {
			if made++; made > 1 {
				wrong("made again", r)
			}
		}
	}
	if landed == nil {
		return append(open, others...), problems
	}
	for _, r := range open {
		landed.Call = min(landed.Call, r.Call)
	}
	for _, r := range group {
		if r.Op.String() == landed.Op.String() && r.wrote() && !r.Answer.Replayed {
			if landed.Call, landed.Client = r.Call, r.Client; r.Call > landed.Back { // it is this one
				wrong("answered before it was made", r)
				landed.Back = r.Back
			}
		}
	}
	kept = append(kept, *landed)
	for _, r := range others {
		if r.Call > landed.Back {
			wrong("forgotten", r)
		}
		kept = append(kept, r)
	}
	return kept, problems
}

// unclaimed is a commit that no answer names, and the requests without an
// answer that can have made it.
type unclaimed struct {
	Commit
	by []Record
}

// attribute finds who can have made the commits that no answer names: a request
// without an answer, of the commit's author and about its path, that began
// before a later commit's had ended, and that makes of the document in the
// commit's parent what the commit holds.
//
// Without this the search for an order has to try each request without an answer
// at each place, and with a few dozen of them about one key it does not end.
func (l *Load) attribute(h *History, m *model) (found []unclaimed, problems []string) {
	open := map[string][]Record{} // by author and path, the first sent first
	for _, r := range l.Records {
		if r.Answer.Open {
			who := l.author(r) + " " + PathOf(r.Op.Family, r.Op.Key)
			open[who] = append(open[who], r)
		}
	}
	for _, records := range open {
		slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(a.Call, b.Call) })
	}
	for _, at := range l.unclaimed {
		u := unclaimed{Commit: h.Commits[at]}
		for _, r := range open[u.who()] {
			if m.makes(r.Op, u.Commit) && at > l.before(h, r.Call) {
				u.by = append(u.by, r)
			}
		}
		if found = append(found, u); len(u.by) == 0 {
			problems = append(problems, fmt.Sprintf("no request without an answer can have made %+v", u.Commit))
		}
	}
	return found, problems
}

// who is the author of a commit, and what it writes.
func (c Commit) who() string { return c.Author + " " + strings.Join(c.Paths, " ") }

// makes reports whether an operation makes a commit's document of its parent's.
func (m *model) makes(o *Operation, c Commit) bool {
	path := PathOf(o.Family, o.Key)
	before := state{commit: c.Parent()}
	if text := m.stored.text(c.Parent(), path); text != "" {
		before = state{o.Family, o.Key, text, c.Parent()}
	}
	return slices.ContainsFunc(m.outcomes(before, o), func(want outcome) bool {
		return want.lands && want.next.text == m.stored.text(c.SHA, path)
	})
}

// equals are requests that ask for the same, the first sent first, and the
// commits that they may have made, the oldest first.
type equals struct {
	requests []Record
	commits  []Commit
	alone    bool // whether no other request can have made one of the commits
}

// writers gives the model the requests without an answer that may have made a
// commit, and which. Of two equal requests it does not matter which made which
// commit: so the one that was sent first made the older, and there are no more of
// them than commits. Fewer, where nobody else can have made these, and one request
// has taken effect twice.
func (m *model) writers(commits []unclaimed) (problems []string) {
	groups := map[string]*equals{}
	for _, u := range commits {
		names := map[string]bool{}
		for _, r := range u.by {
			name := u.who() + " " + r.Op.String()
			g := groups[name]
			if g == nil {
				g = &equals{alone: true}
				groups[name] = g
			}
			if !names[name] {
				names[name] = true
				g.commits = append(g.commits, u.Commit)
			}
			if !slices.ContainsFunc(g.requests, func(other Record) bool { return other.Answer == r.Answer }) {
				g.requests = append(g.requests, r)
			}
		}
		for name := range names {
			groups[name].alone = groups[name].alone && len(names) == 1
		}
	}
	m.made = map[*Answer]made{}
	for _, g := range groups {
		if g.alone && len(g.requests) < len(g.commits) {
			problems = append(problems, fmt.Sprintf("%d requests have made %d commits: %s", len(g.requests), len(g.commits), g.requests[0].Op))
		}
		slices.SortFunc(g.requests, func(a, b Record) int { return cmp.Compare(a.Call, b.Call) })
		for i, r := range g.requests[:min(len(g.requests), len(g.commits))] {
			if g.alone {
				m.made[r.Answer] = made{g.commits[i : i+1], true}
			} else {
				m.made[r.Answer] = made{g.commits[i:], false}
			}
		}
	}
	return problems
}

// made are the commits one of which a request without an answer may have made;
// certainly, if nobody else can have made it.
type made struct {
	commits   []Commit
	certainly bool
}

// unanswered is what may come of a request without an answer: one of the commits
// that it may have made, or nothing.
func (m *model) unanswered(before state, want outcome, o *Operation, a *Answer) (bool, state) {
	made, after := m.made[a], want.next
	path := PathOf(o.Family, o.Key)
	var fits []Commit
	for _, c := range made.commits {
		if want.lands && m.stored.text(c.SHA, path) == after.text && m.stored.text(c.Parent(), path) == before.text &&
			(before.commit == "" || before.commit == m.earlier[c.SHA]) {
			fits = append(fits, c)
		}
	}
	switch len(fits) {
	case 0:
		return !made.certainly, before
	case 1:
		after.commit = fits[0].SHA
	default:
		after.commit = ""
	}
	if after.family == "" {
		after.commit = ""
	}
	return true, after
}

// Honest fails a test where a write was said to have failed, and to be
// repeated, that is in the history. It is to be called after JudgeAll.
func (l *Load) Honest(t testing.TB) {
	t.Helper()
	for _, u := range l.attributed {
		unsaid := func(r Record) bool { return !strings.Contains(r.Answer.Reason, "can be repeated") }
		if len(u.by) > 0 && !slices.ContainsFunc(u.by, unsaid) {
			t.Errorf("%+v landed, though the answers say that it can be repeated: %v", u.Commit, u.by[0].Answer)
		}
	}
}
