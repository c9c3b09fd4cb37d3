package apiload

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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

// Git is git in one directory: a bare repository, or a work tree.
type Git struct {
	Program string
	Dir     string
}

func (g Git) command(args ...string) *exec.Cmd {
	identity := []string{
		"-c", "user.name=Grace", "-c", "user.email=grace@example.com", "-c", "commit.gpgsign=false",
		"-c", "merge.conflictStyle=merge", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
	}
	cmd := exec.Command(g.Program, append(identity, args...)...)
	cmd.Dir = g.Dir
	// Nothing of the person who runs the tests.
	cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true", "LC_ALL=C")
	return cmd
}

func (g Git) Try(args ...string) (string, error) {
	out, err := g.command(args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func (g Git) Run(t testing.TB, args ...string) string {
	t.Helper()
	out, err := g.Try(args...)
	must(t, err)
	return out
}

func (g Git) Lines(t testing.TB, args ...string) []string {
	t.Helper()
	out := g.Run(t, args...)
	if out == "" {
		return nil
	}
	return strings.Split(out, "\n")
}

// Sound checks the repository with git's own means.
func (g Git) Sound(t testing.TB) {
	t.Helper()
	var out string
	var err error
	// A pack that the server merged into another while fsck ran is no damage:
	// git names it, as it does beside its own repack, and the next look is clean.
	for range 3 {
		if out, err = g.Try("fsck", "--strict", "--no-dangling", "--no-progress"); !strings.Contains(out, "index not opened") {
			break
		}
	}
	if err != nil || out != "" {
		t.Errorf("git fsck: %s %v", out, err)
	}
}

// place is a path in a commit.
type place struct{ commit, path string }

// blob is what lies there: nothing when blob is "".
type blob struct{ blob, text string }

// stored is what commits hold, by git's account. It is asked for all places
// at once, since each question to git costs a process.
type stored struct{ blobs map[place]blob }

func (s *stored) at(commit, path string) blob { return s.blobs[place{commit, path}] }

func (s *stored) text(commit, path string) string { return s.at(commit, path).text }

// look reads all places, which need not exist.
func (g Git) look(t testing.TB, places map[place]bool) *stored {
	t.Helper()
	s := &stored{map[place]blob{}}
	var questions bytes.Buffer
	var order []place
	for p := range places {
		fmt.Fprintf(&questions, "%s:%s\n", p.commit, p.path)
		order = append(order, p)
	}
	cmd := g.command("cat-file", "--batch")
	cmd.Stdin = &questions
	out, err := cmd.Output()
	must(t, err)
	answers := bufio.NewReader(bytes.NewReader(out))
	for _, p := range order {
		found, err := readBatch(answers)
		must(t, err)
		s.blobs[p] = found
	}
	return s
}

// readBatch reads one answer of git cat-file --batch.
func readBatch(r *bufio.Reader) (blob, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return blob{}, err
	}
	fields := strings.Fields(line)
	if last := fields[len(fields)-1]; last == "missing" || last == "ambiguous" {
		return blob{}, nil
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return blob{}, fmt.Errorf("git cat-file says %q", line)
	}
	text := make([]byte, size+1) // and a line feed
	if _, err := io.ReadFull(r, text); err != nil {
		return blob{}, err
	}
	value, err := parse(text)
	if err != nil {
		return blob{}, fmt.Errorf("what lies at %q is no JSON: %w", line, err)
	}
	return blob{fields[0], Canonical(value)}, nil
}

// Get reads an answer of 200.
func Get(t testing.TB, client *http.Client, base, key, path string, into any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	status, _, body, err := fetch(ctx, client, "GET", base+"/v1"+path, key, nil, "")
	must(t, err)
	if status != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, status, body)
	}
	must(t, json.Unmarshal(body, into))
}

// feed is the commits of the workspace's feed but the oldest, which imported.
func feed(t testing.TB, client *http.Client, base, key string) (commits []string) {
	t.Helper()
	for cursor := ""; ; {
		var page struct {
			Activity   []struct{ SHA string }
			NextCursor string
		}
		Get(t, client, base, key, "/activity?limit=100&cursor="+cursor, &page)
		for _, entry := range page.Activity {
			commits = append(commits, entry.SHA)
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	commits = slices.Compact(commits)
	return commits[:len(commits)-1]
}

// Entry is a commit of an item's history, as GET history tells it.
type Entry struct {
	SHA, Message                  string
	AuthorName, AuthorEmail       string
	CommitterName, CommitterEmail string
	Date                          time.Time
	IsServiceAccount              bool
}

// Agrees demands that git finds nothing wrong with the repository, and that the API tells
// the history as git does: in the feed, but for the import, and of items.
func (g Git) Agrees(t testing.TB, client *http.Client, base, key string, items ...[2]string) {
	t.Helper()
	g.Sound(t)
	all := g.Lines(t, "rev-list", "refs/heads/main")
	if told := feed(t, client, base, key); !slices.Equal(told, all[:len(all)-1]) {
		t.Errorf("the feed tells of %d commits, git of %d before the import, or in another order", len(told), len(all)-1)
	}
	for _, item := range items {
		var told struct{ History []Entry } // newest first
		Get(t, client, base, key, "/"+item[0]+"/"+item[1]+"/history", &told)
		for i := range told.History {
			told.History[i].Date = told.History[i].Date.UTC()
		}
		if logged := logOf(t, g, item[0], item[1]); !slices.Equal(told.History, logged) {
			t.Errorf("of %s the API tells\n%+v\nand git log\n%+v", item[1], told.History, logged)
		}
	}
}

// logOf is git log of an item's file.
func logOf(t testing.TB, g Git, family, item string) []Entry {
	t.Helper()
	const format = "--format=%x00%H%x1f%an%x1f%ae%x1f%cn%x1f%ce%x1f%aI%x1f%B"
	out := g.Run(t, "log", format, "refs/heads/main", "--", PathOf(family, item))
	var entries []Entry
	for _, text := range strings.Split(out, "\x00")[1:] {
		f := strings.SplitN(text, "\x1f", 7)
		date, err := time.Parse(time.RFC3339, f[5])
		must(t, err)
		message, trailer, _ := strings.Cut(f[6], "Svc-Principal: ")
		message, _, _ = strings.Cut(message, "Request-Id: ")
		entries = append(entries, Entry{f[0], strings.TrimSpace(message), f[1], f[2], f[3], f[4], date.UTC(), strings.HasPrefix(trailer, "service_account/")})
	}
	return entries
}
