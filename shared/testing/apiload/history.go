package apiload

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

// Commit is one of the repository's, by git's account.
type Commit struct {
	SHA     string
	Parents []string
	Author  string // e-mail
	Subject string
	Paths   []string
	Gone    []string // of them, those that it deletes
}

// History is all commits of the branch, oldest first.
type History struct {
	Commits  []Commit
	Position map[string]int // by sha
}

// readHistory asks git for the commits of main.
func readHistory(t testing.TB, g Git) *History {
	t.Helper()
	const format = "--format=%x00%H%x09%P%x09%ae%x09%s"
	out := g.Run(t, "log", "--topo-order", "--reverse", "--name-status", "--no-renames", format, "refs/heads/main")
	h := &History{Position: map[string]int{}}
	for _, entry := range strings.Split(out, "\x00")[1:] {
		head, names, _ := strings.Cut(entry, "\n")
		fields := strings.SplitN(head, "\t", 4)
		h.Position[fields[0]] = len(h.Commits)
		c := Commit{SHA: fields[0], Parents: strings.Fields(fields[1]), Author: fields[2], Subject: fields[3]}
		for line := range strings.Lines(strings.TrimSpace(names)) {
			status, path, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if c.Paths = append(c.Paths, path); status == "D" {
				c.Gone = append(c.Gone, path)
			}
		}
		h.Commits = append(h.Commits, c)
	}
	return h
}

func (c Commit) Parent() string {
	if len(c.Parents) == 0 {
		return ""
	}
	return c.Parents[0]
}

// earlier is by commit what wrote its path before.
func (h *History) earlier() map[string]string {
	earlier, last := map[string]string{}, map[string]string{}
	for _, c := range h.Commits {
		for _, path := range c.Paths {
			earlier[c.SHA], last[path] = last[path], c.SHA
		}
	}
	return earlier
}

// compare holds the acknowledged writes and the lists of a load against the
// history, which began with an import.
func (l *Load) compare(h *History) []string {
	problems := h.checkLine()
	problems = append(problems, l.checkWrites(h)...)
	problems = append(problems, l.checkClock(h)...)
	for _, r := range l.Records {
		if r.Op.Kind == ReadList {
			problems = append(problems, l.checkList(h, r)...)
		}
	}
	return problems
}

// checkLine: the API makes no merges, and each of its commits writes one file.
func (h *History) checkLine() (problems []string) {
	for i, c := range h.Commits {
		if i > 0 && (len(c.Parents) != 1 || c.Parents[0] != h.Commits[i-1].SHA || len(c.Paths) != 1) {
			problems = append(problems, fmt.Sprintf("%.8s (%s) has the parents %.8s and writes %s", c.SHA, c.Subject, c.Parents, c.Paths))
		}
	}
	return problems
}

// checkWrites: each acknowledged write is one commit of the history, made by
// its client on the very parent that the answer named. What is in the history
// beyond that is of clients who got no answer, one commit each.
func (l *Load) checkWrites(h *History) (problems []string) {
	claimed := map[string]bool{}
	unanswered := map[string]int{} // by author and path
	for _, r := range l.Records {
		o, a := r.Op, r.Answer
		if a.Open {
			unanswered[l.author(r)+" "+PathOf(o.Family, o.Key)]++
		}
		if !r.wrote() {
			continue
		}
		at, known := h.Position[a.Commit]
		if !known || claimed[a.Commit] {
			problems = append(problems, fmt.Sprintf("the acknowledged commit %.8s of client %d (%s) is not in the history, or another's", a.Commit, r.Client, o))
			continue
		}
		claimed[a.Commit] = true
		c := h.Commits[at]
		if o.Kind == Create && a.Previous == "" {
			a.Previous = c.Parent() // the contract has no such field there
		}
		if a.Previous != c.Parent() || c.Author != l.author(r) || !slices.Equal(c.Paths, []string{PathOf(o.Family, o.Key)}) {
			problems = append(problems, fmt.Sprintf("%s by client %d is %+v in the history, and %s to its client", o, r.Client, c, a))
		}
	}
	l.unclaimed = nil
	for at, c := range h.Commits {
		if at == 0 || claimed[c.SHA] {
			continue
		}
		l.unclaimed = append(l.unclaimed, at)
		if unanswered[c.who()]--; unanswered[c.who()] < 0 {
			problems = append(problems, fmt.Sprintf("nobody wrote %+v", c))
		}
	}
	return problems
}

// checkClock: a write that ended before another one began is before it.
func (l *Load) checkClock(h *History) (problems []string) {
	for _, r := range l.Records {
		if !r.wrote() {
			continue
		}
		if at, known := h.Position[r.Answer.Commit]; known && at <= l.before(h, r.Call) {
			problems = append(problems, fmt.Sprintf("%s landed as %.8s before a write that had ended when it began", r.Op, r.Answer.Commit))
		}
	}
	return problems
}

// before is where in the history the last of the writes stands that had ended
// at a time, after the first of those that began later.
func (l *Load) before(h *History, time int64) int {
	last := -1
	for _, r := range l.Records {
		if r.wrote() && r.Back < time {
			last = max(last, h.at(r.Answer.Commit))
		}
	}
	return last
}

func (l *Load) after(h *History, time int64) int {
	first := math.MaxInt
	for _, r := range l.Records {
		if r.wrote() && r.Call > time {
			if at, known := h.Position[r.Answer.Commit]; known {
				first = min(first, at)
			}
		}
	}
	return first
}

func (h *History) at(sha string) int {
	if at, known := h.Position[sha]; known {
		return at
	}
	return -1
}

// checkList: what a list shows is what one commit held, and that commit was
// the head at some time while the list was asked for.
func (l *Load) checkList(h *History, r Record) (problems []string) {
	from, to := max(l.before(h, r.Call), 0), l.after(h, r.Back) // to is not within
	folder := Families[r.Op.Family].Folder + "/"
	shown := map[string]string{}
	for key, commit := range r.Answer.Listed {
		shown[folder+key+".json"] = commit
	}
	seen, differing, fits := map[string]bool{}, map[string]bool{}, false
	for path := range shown {
		differing[path] = true // nothing is there yet
	}
	for at, c := range h.Commits {
		for _, path := range c.Paths {
			if !strings.HasPrefix(path, folder) {
				continue
			}
			held := c.SHA
			if slices.Contains(c.Gone, path) {
				held = ""
			}
			if seen[path] = seen[path] || shown[path] == held; shown[path] == held {
				delete(differing, path)
			} else {
				differing[path] = true
			}
		}
		fits = fits || len(differing) == 0 && at >= from && at < to
	}
	for path, commit := range shown {
		if !seen[path] {
			problems = append(problems, fmt.Sprintf("a list shows %s with %.8s, which did not write it", path, commit))
		}
	}
	if !fits {
		problems = append(problems, fmt.Sprintf("the list of %s that client %d got is of no moment from commit %d to before %d", r.Op.Family, r.Client, from, to))
	}
	return problems
}
