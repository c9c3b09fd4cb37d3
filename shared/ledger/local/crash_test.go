package local

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"svc.example/svc/shared/testing/must"
	"testing"
)

const (
	crashDir  = "SVC_TEST_CRASH_DIR"
	crashStep = "SVC_TEST_CRASH_STEP"
)

// TestCrashingChild does something only as the process that is killed: it writes, and says what
// was acknowledged. Asked to, it kills itself before a step.
func TestCrashingChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		return
	}
	steps, _ := strconv.Atoi(os.Getenv(crashStep))
	counting := false
	l, err := Open(background, dir, Options{Step: func(Operation, string) error {
		if counting && steps > 0 {
			if steps--; steps == 0 {
				die()
			}
		}
		return nil
	}})
	must.Do(t, err)
	for n := 0; ; n++ {
		from := head(t, l)
		c := draft(t, l.Repository(), from.Commit, "a", fmt.Sprint(n))
		counting = true
		_, err := l.Advance(background, from, c)
		must.Do(t, err)
		_, err = addUser(t, l.Registry(), fmt.Sprint("user", n))
		must.Do(t, err)
		fmt.Printf("acknowledged %s\n", c.SHA)
	}
}

func die() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = self.Kill()
	}
	select {}
}

// crash runs the child until it dies, and returns what it acknowledged.
func crash(t *testing.T, dir string, step int) (acknowledged []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashingChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashStep+"="+strconv.Itoa(step))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if sha, ok := strings.CutPrefix(lines.Text(), "acknowledged "); ok {
			acknowledged = append(acknowledged, sha)
		} else {
			t.Errorf("the child says: %s", lines.Text())
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child ended by itself")
	}
	return acknowledged
}

// checkAfterCrash: nothing acknowledged is missing, at most one commit that
// was not is there, and the directory can be used, by git as well.
func checkAfterCrash(t *testing.T, dir string, before int, acknowledged []string) int {
	t.Helper()
	l := opened(t, dir, Options{Rewritten: func(w Rewrite) { t.Error(w) }})
	defer l.Close()
	rows, err := l.Since(background, head(t, l), 0)
	must.Do(t, err)
	if extra := len(rows) - before - len(acknowledged); extra != 0 && extra != 1 {
		t.Fatalf("%d commits more than were acknowledged", extra)
	}
	for i, sha := range acknowledged {
		if rows[before+i].SHA != sha {
			t.Fatalf("commit %d is %s, want %s", before+i, rows[before+i].SHA, sha)
		}
	}
	users, err := l.Registry().Principals(background)
	must.Do(t, err)
	if len(users) > len(rows) {
		t.Errorf("%d users and %d commits", len(users), len(rows))
	}
	g := gitIn(t, l.Repository())
	if at := head(t, l).Commit; at != "" { // git can have the lock
		g.run("update-ref", "-d", "refs/heads/main", at)
		g.run("update-ref", "refs/heads/main", at, noCommit)
	}
	write(t, l, "b", fmt.Sprint(len(rows)))
	agree(t, l, len(rows)+1)
	return len(rows) + 1
}

func TestKilledBeforeEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	dir := created(t)
	commits := 0
	for step := 1; step <= 34; step++ { // a write, an edit, and a little more
		acknowledged := crash(t, dir, step)
		commits = checkAfterCrash(t, dir, commits, acknowledged)
	}
}

// A lock of svc's that stayed must not keep git out longer than until the next
// start, nor hide that a living git has the lock.
func TestALockThatWasLeftBehind(t *testing.T) {
	dir := created(t)
	l := opened(t, dir, Options{})
	write(t, l, "a", "1")
	must.Do(t, l.Close())
	git := filepath.Join(dir, RepositoryName)
	next, lock := filepath.Join(git, nextHead), filepath.Join(git, branchLock)
	must.Do(t, os.WriteFile(next, []byte(strings.Repeat("1", 40)+"\n"), 0o666))
	must.Do(t, os.Link(next, lock))
	l = opened(t, dir, Options{})
	for _, path := range []string{next, lock} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there: %v", path, err)
		}
	}
	agree(t, l, 1)

	// The same evidence, but the lock is another file, and moves to another commit: git's.
	must.Do(t, os.WriteFile(next, []byte(strings.Repeat("1", 40)+"\n"), 0o666))
	must.Do(t, os.WriteFile(lock, []byte(strings.Repeat("2", 40)+"\n"), 0o666))
	must.Do(t, l.Close())
	l = opened(t, dir, Options{})
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("git's lock was broken: %v", err)
	}
	must.Do(t, os.Remove(lock))
	write(t, l, "a", "2")
	agree(t, l, 2)
}
