package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
)

// indented is how the server stores a document.
func indented(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	must(t, json.Indent(&b, []byte(text), "", "  "))
	return b.String() + "\n"
}

// change changes one line of the shared flag, with git alone.
func (s *side) change(g apiload.Git, from, to string) (commit string) {
	s.t.Helper()
	path := filepath.Join(g.Dir, filepath.FromSlash(apiload.PathOf("flags", sharedFlag)))
	text, err := os.ReadFile(path)
	must(s.t, err)
	if !strings.Contains(string(text), from) {
		s.t.Fatalf("%s has no %s", text, from)
	}
	must(s.t, os.WriteFile(path, []byte(strings.Replace(string(text), from, to, 1)), 0o666))
	g.Run(s.t, "commit", "-q", "-a", "-m", "by hand: "+to)
	return g.Run(s.t, "rev-parse", "HEAD")
}

func (s *side) token() string {
	s.t.Helper()
	var found struct {
		CommitSHA string `json:"commitSha"`
	}
	apiload.Get(s.t, s.client, s.p.base, s.keys[0], "/flags/"+sharedFlag+"/document", &found)
	return found.CommitSHA
}

// flip toggles the shared flag with a token and returns the answer.
func (s *side) flip(enabled bool, token string) *apiload.Answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), apiload.Patience)
	defer cancel()
	o := &apiload.Operation{Kind: apiload.Toggle, Family: "flags", Key: sharedFlag, Scope: "production", Enabled: enabled, Token: token}
	status, body, err := apiload.SendOnce(ctx, s.client, s.p.base+"/v1", s.keys[0], o)
	must(s.t, err)
	a, err := o.Read(status, body)
	must(s.t, err)
	return a
}

// TestCompareAndSetKnowsPushes: a push that changes an item takes the hold
// from tokens of before, one that changes others does not, and one that turns
// it back gives it again.
func TestCompareAndSetKnowsPushes(t *testing.T) {
	s := newSide(t)
	g := s.clone()
	before := s.token()
	pushed := s.change(g, "by git 0", "by git 1")
	g.Run(t, "push", "-q", "origin", "HEAD:main")
	if a := s.flip(true, before); a.Code != "STALE_COMMIT_SHA" {
		t.Errorf("with the token of before the push: %v", a)
	}
	if now := s.token(); now != pushed {
		t.Errorf("the item's commit is %s, pushed was %s", now, pushed)
	}
	s.change(g, "by git 1", "by git 0")
	g.Run(t, "push", "-q", "origin", "HEAD:main")
	must(t, os.MkdirAll(filepath.Join(g.Dir, "configs"), 0o777))
	must(t, edits(g, 1, 0)) // another item
	g.Run(t, "push", "-q", "origin", "HEAD:main")
	head := g.Run(t, "rev-parse", "HEAD")
	if a := s.flip(true, before); !a.Changed || a.Previous != head {
		t.Errorf("with a token whose content is there again: %v; the head was %s", a, head)
	}
	if a := s.flip(false, head); a.Code != "STALE_COMMIT_SHA" {
		t.Errorf("with the token of before the toggle: %v", a)
	}
	g.Run(t, "pull", "-q", "--rebase")
	if a := s.flip(false, g.Run(t, "rev-parse", "HEAD")); !a.Changed {
		t.Errorf("with the head as the token: %v", a)
	}
	quiet(t, s.p.Log)
	apiload.Agrees(t, s.client, s.p.base, s.keys[0], s.bare, "flags", sharedFlag)
}

// TestAToggleChangesItsLinesOnly: git diff of a toggle is one line, under the
// name of who did it, and git blame says so.
func TestAToggleChangesItsLinesOnly(t *testing.T) {
	s := newSide(t)
	for _, enabled := range []bool{true, false} {
		a := s.flip(enabled, "")
		diff := s.bare.Run(t, "diff", "--unified=0", a.Previous, a.Commit)
		var changed []string
		for _, line := range strings.Split(diff, "\n") {
			if regexp.MustCompile(`^[-+][^-+]`).MatchString(line) {
				changed = append(changed, strings.Join(strings.Fields(line), " "))
			}
		}
		want := fmt.Sprintf(`[- "value": %t + "value": %t]`, !enabled, enabled)
		if fmt.Sprint(changed) != want {
			t.Errorf("the diff changes %s, want %s:\n%s", changed, want, diff)
		}
		blame := s.bare.Run(t, "blame", "--line-porcelain", a.Commit, "--", apiload.PathOf("flags", sharedFlag))
		if n := strings.Count(blame, a.Commit); n != 1 || !strings.Contains(blame, "author client 0\nauthor-mail <"+apiload.AuthorOf(0)+">") {
			t.Errorf("git blame gives %d lines to %s:\n%s", n, a.Commit, blame)
		}
	}
	quiet(t, s.p.Log)
}

// TestAForcedPushIsReportedLoudly: what a forced push throws away is named on
// standard error, and everybody goes on from what is left.
func TestAForcedPushIsReportedLoudly(t *testing.T) {
	s := newSide(t)
	g := s.clone()
	var lost []string
	for _, enabled := range []bool{true, false, true} {
		lost = append(lost, s.flip(enabled, "").Commit)
	}
	forced := s.change(g, "by git 0", "by force")
	if _, err := g.Try("push", "-q", "origin", "HEAD:main"); err == nil {
		t.Fatal("git took a push that is no fast-forward")
	}
	g.Run(t, "push", "-q", "--force", "origin", "HEAD:main")
	if now := s.token(); now != forced {
		t.Errorf("the item's commit is %s, forced was %s", now, forced)
	}
	report := s.p.Log.String()
	for end := time.Now().Add(apiload.Patience); !strings.Contains(report, "lost commits") && time.Now().Before(end); report = s.p.Log.String() {
		time.Sleep(10 * time.Millisecond) // what the server wrote is still on its way
	}
	for _, part := range []string{"level=ERROR", "force", lost[2], forced, "lost commits: 3"} {
		if !strings.Contains(report, part) {
			t.Errorf("standard error does not tell of %q:\n%s", part, report)
		}
	}
	if a := s.flip(true, lost[2]); a.Code != "STALE_COMMIT_SHA" {
		t.Errorf("with a token of the history that is gone: %v", a)
	}
	if a := s.flip(true, forced); !a.Changed || a.Previous != forced {
		t.Errorf("a write after the forced push: %v", a)
	}
	apiload.Agrees(t, s.client, s.p.base, s.keys[0], s.bare, "flags", sharedFlag)
	s.bare.Sound(t)
}
