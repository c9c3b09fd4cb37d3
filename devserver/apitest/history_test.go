package apitest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// commit is one of the repository's, by git's account.
type commit struct {
	sha     string
	parents []string
	author  string // e-mail
	subject string
	paths   []string
}

// history is all commits of the branch, oldest first.
type history struct {
	commits  []commit
	position map[string]int // by sha
}

// readHistory asks git for the commits of main, all or those that began says.
func readHistory(t testing.TB, g gitDir, args ...string) *history {
	t.Helper()
	const format = "--format=%x00%H%x09%P%x09%ae%x09%s"
	out := g.run(t, append([]string{"log", "--topo-order", "--reverse", "--name-only", format}, append(args, "refs/heads/main")...)...)
	h := &history{position: map[string]int{}}
	for _, entry := range strings.Split(out, "\x00")[1:] {
		head, names, _ := strings.Cut(entry, "\n")
		fields := strings.SplitN(head, "\t", 4)
		h.position[fields[0]] = len(h.commits)
		h.commits = append(h.commits, commit{
			sha: fields[0], parents: strings.Fields(fields[1]), author: fields[2], subject: fields[3], paths: strings.Fields(names),
		})
	}
	return h
}

func (c commit) parent() string {
	if len(c.parents) == 0 {
		return ""
	}
	return c.parents[0]
}

// compare holds the acknowledged writes and the lists of a load against the
// history, which began with an import.
func (l *load) compare(h *history) []string {
	problems := h.checkLine()
	problems = append(problems, l.checkWrites(h)...)
	problems = append(problems, l.checkClock(h)...)
	for _, r := range l.records {
		if r.op.kind == readList {
			problems = append(problems, l.checkList(h, r)...)
		}
	}
	return problems
}

// checkLine: the API makes no merges, and each of its commits writes one file.
func (h *history) checkLine() (problems []string) {
	for i, c := range h.commits {
		if i > 0 && (len(c.parents) != 1 || c.parents[0] != h.commits[i-1].sha || len(c.paths) != 1) {
			problems = append(problems, fmt.Sprintf("%.8s (%s) has the parents %.8s and writes %s", c.sha, c.subject, c.parents, c.paths))
		}
	}
	return problems
}

// checkWrites: each acknowledged write is one commit of the history, made by
// its client on the very parent that the answer named. What is in the history
// beyond that is of clients who got no answer, one commit each.
func (l *load) checkWrites(h *history) (problems []string) {
	claimed := map[string]bool{}
	unanswered := map[string]int{} // by author and path
	for _, r := range l.records {
		o, a := r.op, r.answer
		if a.open {
			unanswered[authorOf(r.client)+" "+pathOf(o.family, o.key)]++
		}
		if !r.wrote() {
			continue
		}
		at, known := h.position[a.commit]
		if !known || claimed[a.commit] {
			problems = append(problems, fmt.Sprintf("the acknowledged commit %.8s of client %d (%s) is not in the history, or another's", a.commit, r.client, o))
			continue
		}
		claimed[a.commit] = true
		c := h.commits[at]
		if o.kind == create && a.previous == "" {
			a.previous = c.parent() // the contract has no such field there
		}
		if a.previous != c.parent() || c.author != authorOf(r.client) || !slices.Equal(c.paths, []string{pathOf(o.family, o.key)}) {
			problems = append(problems, fmt.Sprintf("%s by client %d is %+v in the history, and %s to its client", o, r.client, c, a))
		}
	}
	l.landed = map[string]bool{}
	for _, c := range h.commits[1:] {
		if claimed[c.sha] {
			continue
		}
		who := c.author + " " + strings.Join(c.paths, " ")
		l.landed[who] = true
		if unanswered[who]--; unanswered[who] < 0 {
			problems = append(problems, fmt.Sprintf("nobody wrote %+v", c))
		}
	}
	return problems
}

// checkClock: a write that ended before another one began is before it.
func (l *load) checkClock(h *history) (problems []string) {
	for _, r := range l.records {
		if !r.wrote() {
			continue
		}
		if at, known := h.position[r.answer.commit]; known && at <= l.before(h, r.call) {
			problems = append(problems, fmt.Sprintf("%s landed as %.8s before a write that had ended when it began", r.op, r.answer.commit))
		}
	}
	return problems
}

// before is where in the history the last of the writes stands that had ended
// at a time, after the first of those that began later.
func (l *load) before(h *history, time int64) int {
	last := -1
	for _, r := range l.records {
		if r.wrote() && r.back < time {
			last = max(last, h.at(r.answer.commit))
		}
	}
	return last
}

func (l *load) after(h *history, time int64) int {
	first := math.MaxInt
	for _, r := range l.records {
		if r.wrote() && r.call > time {
			if at, known := h.position[r.answer.commit]; known {
				first = min(first, at)
			}
		}
	}
	return first
}

func (h *history) at(sha string) int {
	if at, known := h.position[sha]; known {
		return at
	}
	return -1
}

// checkList: what a list shows is what one commit held, and that commit was
// the head at some time while the list was asked for.
func (l *load) checkList(h *history, r record) (problems []string) {
	from, to := max(l.before(h, r.call), 0), l.after(h, r.back) // to is not within
	folder := families[r.op.family].folder + "/"
	shown := map[string]string{}
	for key, commit := range r.answer.listed {
		shown[folder+key+".json"] = commit
	}
	seen := map[string]bool{}
	for at, c := range h.commits {
		for _, path := range c.paths {
			if !strings.HasPrefix(path, folder) {
				continue
			}
			switch {
			case shown[path] == c.sha:
				from, seen[path] = max(from, at), true
			case seen[path] || shown[path] == "": // what the list does not show yet
				to = min(to, at)
			}
		}
	}
	for path, commit := range shown {
		if !seen[path] {
			problems = append(problems, fmt.Sprintf("a list shows %s with %.8s, which did not write it", path, commit))
		}
	}
	if from >= to {
		problems = append(problems, fmt.Sprintf("the list of %s that client %d got is of no moment: it needs commit %d and was before %d", r.op.family, r.client, from, to))
	}
	return problems
}
