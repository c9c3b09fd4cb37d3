package apiload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
)

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
