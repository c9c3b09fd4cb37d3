package apitest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

const (
	besideWriters = 3
	besidePushers = 2
	sharedFlag    = "redesign" // which both sides change
)

// rounds is how often each side writes.
func rounds() int {
	if testing.Short() {
		return 4
	}
	return 12
}

// layered is the shared flag: what git changes stands at its top and what the
// API changes at its end, so that git can merge the two.
func layered() string {
	line := `{"criteria": [{"operator": "ALWAYS_TRUE"}], "value": {"type": "bool", "value": false}}`
	return fmt.Sprintf(`{"key": %q, "type": "feature_flag", "valueType": "bool",
  "name": "Redesign", "description": "by git 0", "access": "standard", "tags": ["one", "two", "three", "four"],
  "default": {"rules": [%s]},
  "environments": [{"id": "production", "rules": [%s]}],
  "variants": [{"value": {"type": "bool", "value": false}}, {"value": {"type": "bool", "value": true}}]}`, sharedFlag, line, line)
}

// side is a test of git beside the server.
type side struct {
	workplace
	t      *testing.T
	p      *process
	client *http.Client
	bare   apiload.Git

	mu     sync.Mutex
	pushed []string // commits
	wrote  []string // acknowledged commits of the API
}

// newSide serves a workplace that git has written, in the server's own format.
func newSide(t *testing.T) *side {
	files := map[string]string{"svc.json": `{"environments": ["production"]}`, apiload.PathOf("flags", sharedFlag): indented(t, layered())}
	w := newWorkplace(t, files, besideWriters+1)
	s := &side{workplace: w, t: t, client: apiload.NewHTTPClient(t), bare: gitIn(t, w.repository())}
	s.p = launch(t, svcbinary.Watched, w, freeport.Take())
	t.Cleanup(func() { s.p.stop(t) })
	return s
}

func (s *side) clone() apiload.Git {
	s.t.Helper()
	work := filepath.Join(s.t.TempDir(), "clone")
	s.bare.Run(s.t, "clone", "-q", s.repository(), work)
	return gitIn(s.t, work)
}

// write sends a write that must be acknowledged.
func (s *side) write(writer int, o *apiload.Operation) *apiload.Answer {
	ctx, cancel := context.WithTimeout(context.Background(), apiload.Patience)
	defer cancel()
	for {
		status, body, err := apiload.SendOnce(ctx, s.client, s.p.base+"/v1", s.keys[writer], o)
		if err != nil {
			s.t.Errorf("%s: %v", o, err)
			return &apiload.Answer{}
		}
		if status == http.StatusServiceUnavailable {
			continue // git had its lock for long
		}
		a, err := o.Read(status, body)
		if err != nil || status != http.StatusOK {
			s.t.Errorf("%s: %d %s", o, status, body)
			return &apiload.Answer{}
		}
		if a.Changed || o.Kind == apiload.Create {
			s.mu.Lock()
			s.wrote = append(s.wrote, a.Commit)
			s.mu.Unlock()
		}
		return a
	}
}

func TestGitBesideTheAPI(t *testing.T) {
	t.Parallel()
	s := newSide(t)
	s.dawdle()
	seed := apiload.Seed(t)
	var clones []apiload.Git
	for range besidePushers {
		clones = append(clones, s.clone())
	}
	var working, tidying sync.WaitGroup
	done := make(chan struct{})
	kept := t.TempDir()
	tidying.Go(func() { s.tidy(kept, done) })
	for i, g := range clones {
		working.Go(func() { s.pushes(g, i, apiload.Dice(seed, i)) })
	}
	for i := range besideWriters {
		working.Go(func() { s.writes(i, apiload.Dice(seed, besidePushers+i)) })
	}
	working.Wait()
	close(done)
	tidying.Wait()
	quiet(t, s.p.Log)
	s.nothingLost()
	s.visible()
	s.sameHistory()
}

// writes is a client of the API.
func (s *side) writes(writer int, r *rand.Rand) {
	for n := range rounds() {
		s.write(writer, &apiload.Operation{Kind: apiload.Toggle, Family: "flags", Key: sharedFlag, Scope: "production", Enabled: r.IntN(2) == 0})
		key := fmt.Sprintf("api-%d-%d", writer, n)
		s.write(writer, &apiload.Operation{Kind: apiload.Create, Family: "flags", Key: key, Description: key})
	}
}

// dawdle makes git hold its locks for a while, so that the API meets them: the
// hook is run when a transaction of references has locked what it writes.
func (s *side) dawdle() {
	hooks := filepath.Join(s.repository(), "hooks")
	must(s.t, os.MkdirAll(hooks, 0o777))
	const hook = "#!/bin/sh\nif test \"$1\" = prepared; then sleep 0.02; fi\n"
	must(s.t, os.WriteFile(filepath.Join(hooks, "reference-transaction"), []byte(hook), 0o777))
}

// tidy keeps git busy with the repository's upkeep.
//
// Git takes packed-refs for unchanged when its size, its second and its inode
// are, so that a push during which it is packed twice within a second can be
// blind to what others have pushed meanwhile, with git alone. A second name
// for each version keeps its inode from being given to another one.
func (s *side) tidy(kept string, done chan struct{}) {
	for n := 0; ; n++ {
		chore := [][]string{{"pack-refs", "--all"}, {"gc", "-q"}, {"pack-refs", "--all", "--prune"}}[n%3]
		if out, err := s.bare.Try(chore...); err != nil && !strings.Contains(out, "lock") {
			s.t.Error(err) // what others have locked is left for later
		}
		err := os.Link(filepath.Join(s.repository(), "packed-refs"), filepath.Join(kept, fmt.Sprint(n)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.t.Error(err)
			return
		}
		select {
		case <-done:
			s.t.Logf("%d chores of git", n+1)
			return
		default:
		}
	}
}

// pushes is somebody who works with git alone: changes a line of the shared
// flag and adds a config, and pushes until it is taken.
func (s *side) pushes(g apiload.Git, number int, r *rand.Rand) {
	for n := range rounds() {
		if err := edits(g, number, n); err != nil {
			s.t.Error(err)
			return
		}
		if err := s.push(g, r.IntN(2) == 0); err != nil {
			s.t.Error(err)
			return
		}
	}
}

func edits(g apiload.Git, number, n int) error {
	config := fmt.Sprintf("pushed-%d-%d", number, n)
	err := os.MkdirAll(filepath.Join(g.Dir, "configs"), 0o777)
	err = errors.Join(err, os.WriteFile(filepath.Join(g.Dir, filepath.FromSlash(apiload.PathOf("configs", config))), []byte(apiload.Canonical(apiload.NewConfig(config, "", n))+"\n"), 0o666))
	if number == 0 { // one alone changes that line
		path := filepath.Join(g.Dir, filepath.FromSlash(apiload.PathOf("flags", sharedFlag)))
		text, failed := os.ReadFile(path)
		changed := strings.Replace(string(text), fmt.Sprintf(`"by git %d"`, n), fmt.Sprintf(`"by git %d"`, n+1), 1)
		err = errors.Join(err, failed, os.WriteFile(path, []byte(changed), 0o666))
	}
	if err != nil {
		return err
	}
	if _, err := g.Try("add", "-A"); err != nil {
		return err
	}
	_, err = g.Try("commit", "-q", "-m", fmt.Sprintf("by hand %d %d", number, n))
	return err
}

// push pushes; what is ahead is rebased upon or merged, as somebody likes.
func (s *side) push(g apiload.Git, rebase bool) error {
	pull := []string{"pull", "-q", "--no-rebase", "--no-edit"}
	if rebase {
		pull = []string{"pull", "-q", "--rebase"}
	}
	for deadline := time.Now().Add(apiload.Patience); ; {
		_, refused := g.Try("push", "-q", "origin", "HEAD:main")
		if refused == nil {
			break
		}
		if time.Now().After(deadline) {
			return refused
		}
		if _, err := g.Try(pull...); err != nil && !strings.Contains(err.Error(), "lock") {
			return err
		}
	}
	commit, err := g.Try("rev-parse", "HEAD")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pushed = append(s.pushed, commit)
	return err
}

// nothingLost: each push and each acknowledged write is in the one history.
func (s *side) nothingLost() {
	s.t.Helper()
	s.bare.Sound(s.t)
	all := s.bare.Lines(s.t, "rev-list", "refs/heads/main")
	s.t.Logf("%d commits: %d pushes, %d writes of the API", len(all), len(s.pushed), len(s.wrote))
	for who, commits := range map[string][]string{"git push": s.pushed, "the API": s.wrote} {
		for _, commit := range commits {
			if !slices.Contains(all, commit) {
				s.t.Errorf("what %s wrote is lost: %s", who, s.bare.Run(s.t, "log", "-1", "--stat", commit))
			}
		}
	}
	told := apiload.Feed(s.t, s.client, s.p.base, s.keys[0])
	for _, commit := range all[:len(all)-1] {
		changes := s.bare.Run(s.t, "diff-tree", "--no-commit-id", "-r", "--name-only", "-c", commit) // of a merge: against each parent
		if changes != "" && !slices.Contains(told, commit) {
			s.t.Errorf("the feed lacks %s", commit)
		}
	}
}

// visible: what was pushed stands in lists and details.
func (s *side) visible() {
	s.t.Helper()
	var list struct{ Configs, Flags []apiload.Row }
	apiload.Get(s.t, s.client, s.p.base, s.keys[0], "/configs", &list)
	shown := map[string]string{}
	for _, item := range list.Configs {
		shown[item.Key] = item.CommitSHA
	}
	for number := range besidePushers {
		for n := range rounds() {
			key := fmt.Sprintf("pushed-%d-%d", number, n)
			if last := s.bare.Run(s.t, "log", "-1", "--format=%H", "refs/heads/main", "--", apiload.PathOf("configs", key)); shown[key] != last {
				s.t.Errorf("the list shows %s with %q, and git log with %s", key, shown[key], last)
			}
		}
	}
	apiload.Get(s.t, s.client, s.p.base, s.keys[0], "/flags", &list)
	if want := 1 + besideWriters*rounds(); len(list.Flags) != want {
		s.t.Errorf("%d flags are listed, want %d", len(list.Flags), want)
	}
	var detail struct{ Description string }
	apiload.Get(s.t, s.client, s.p.base, s.keys[0], "/flags/"+sharedFlag, &detail)
	if want := fmt.Sprint("by git ", rounds()); detail.Description != want {
		s.t.Errorf("the description is %q, git made it %q", detail.Description, want)
	}
}

// sameHistory: git log and git blame of a file agree with the API.
func (s *side) sameHistory() {
	s.t.Helper()
	apiload.AgreesMerged(s.t, s.client, s.p.base, s.keys[0], s.bare, "flags", sharedFlag)
	apiload.AgreesMerged(s.t, s.client, s.p.base, s.keys[0], s.bare, "flags", "api-0-0")
	apiload.AgreesMerged(s.t, s.client, s.p.base, s.keys[0], s.bare, "configs", "pushed-0-0")
	blame := s.bare.Run(s.t, "blame", "--line-porcelain", "refs/heads/main", "--", apiload.PathOf("flags", sharedFlag))
	if !strings.Contains(blame, "author Grace") {
		s.t.Errorf("git blame does not know who wrote the description:\n%s", blame)
	}
}
