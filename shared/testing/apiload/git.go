package apiload

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

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
