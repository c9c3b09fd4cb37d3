package apitest

import (
	"context"
	"encoding/json"
	"fmt"
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
	writers   = 4
	killFlags = 3 // flags that all writers write
	inspect   = 50
	// livesLong says which rounds last until packs are merged.
	livesLong = 40
)

func killings() int {
	if testing.Short() {
		return 12
	}
	return 200
}

// try is a write that one of the writers sent. Its mark is written by nothing
// else, and found in the subject of its commit.
type try struct {
	writer           int
	op               *apiload.Operation // under an Idempotency-Key of its own
	path, mark       string
	acknowledged     bool
	commit, previous string
}

// survivor is one data directory under a server that is killed again and
// again, and what must be found in it.
type survivor struct {
	workplace
	t       testing.TB
	git     apiload.Git
	port    string
	client  *http.Client
	seed    uint64
	round   int
	head    string            // the last commit that was looked at
	known   map[string]bool   // marks in the history up to there
	content map[string]string // by path: the mark that its item has
	total   int
	saved   int // writes that landed though nobody was told, until they were sent again
	again   int // all that were sent again
	merges  int // that were killed

	mu    sync.Mutex
	tries []*try // of this round
}

func TestKilledAtAnyPoint(t *testing.T) {
	t.Parallel()
	s := newSurvivor(t)
	for s.round = 1; s.round <= killings(); s.round++ {
		p := launch(t, svcbinary.Swift, s.workplace, s.port)
		s.look(p)
		if s.round%inspect == 0 {
			s.inspect(p)
		}
		s.work(p)
		if t.Failed() {
			t.Fatalf("after round %d", s.round)
		}
	}
	p := launch(t, svcbinary.Watched, s.workplace, s.port)
	s.look(p)
	s.inspect(p)
	p.stop(t)
	quiet(t, p.Log)
	s.noLocks()
	t.Logf("%d commits survived %d kills, of which %d met a merge of packs; %d of them had not been acknowledged, and %d writes were sent again", s.total, killings(), s.merges, s.saved, s.again)
}

func newSurvivor(t *testing.T) *survivor {
	files := map[string]string{"svc.json": `{"environments": ["production"]}`}
	for i := range killFlags {
		key := fmt.Sprint("shared-", i)
		files[apiload.PathOf("flags", key)] = apiload.Canonical(apiload.NewDocument("feature_flag", "string", key, "", apiload.ValueOf("string", "untouched")))
	}
	w := newWorkplace(t, files, writers)
	s := &survivor{
		workplace: w, t: t, git: gitIn(t, w.repository()), port: freeport.Take(), client: apiload.NewHTTPClient(t),
		seed: apiload.Seed(t), known: map[string]bool{}, content: map[string]string{},
	}
	s.head = s.git.Run(t, "rev-parse", "refs/heads/main")
	return s
}

// work lets the writers write until the server is killed.
func (s *survivor) work(p *process) {
	s.tries = nil
	s.alive(p)
	var writing sync.WaitGroup
	for i := range writers {
		r := apiload.Dice(s.seed, s.round*writers+i)
		writing.Go(func() { s.write(p, i, r) })
	}
	r := apiload.Dice(s.seed^1, s.round)
	if s.round%livesLong == 0 {
		s.awaitMerge(r)
	} else {
		time.Sleep(time.Duration(r.Int64N(int64(100 * time.Millisecond))))
	}
	p.Kill()
	if slices.Contains(s.merging(), true) {
		s.merges++
	}
	writing.Wait()
	quiet(s.t, p.Log)
}

// alive: whatever the last kill has left behind keeps nobody from writing.
func (s *survivor) alive(p *process) {
	mark := fmt.Sprintf("mark-%d", s.round)
	o := &apiload.Operation{Kind: apiload.Serve, Family: "flags", Key: "shared-0", Scope: "default", Value: mark}
	if !s.send(p, 0, o, mark) || !s.tries[0].acknowledged {
		s.t.Fatalf("the first write after a kill was not acknowledged:\n%s", p.Log)
	}
}

// awaitMerge waits until the server begins to merge packs, which it does every
// two seconds, and then for a part of the time that it takes.
func (s *survivor) awaitMerge(r *rand.Rand) {
	before := s.packs()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		now := s.packs()
		if now < before || slices.Contains(s.merging(), true) {
			break
		}
		before = now
	}
	time.Sleep(time.Duration(r.Int64N(int64(20 * time.Millisecond))))
}

func (s *survivor) packs() int {
	found, err := filepath.Glob(filepath.Join(s.repository(), "objects", "pack", "*.pack"))
	must(s.t, err)
	return len(found)
}

// merging says of each file that is being written whether it is large.
func (s *survivor) merging() (large []bool) {
	found, err := filepath.Glob(filepath.Join(s.repository(), "objects", "pack", "svc-tmp-*-pack-*"))
	must(s.t, err)
	for _, path := range found {
		info, err := os.Stat(path)
		large = append(large, err == nil && info.Size() > 16<<10 && time.Since(info.ModTime()) < time.Second)
	}
	return large
}

// write is one writer: it goes on until the server is gone.
func (s *survivor) write(p *process, number int, r *rand.Rand) {
	for n, there := 0, true; there; n++ {
		mark := fmt.Sprintf("mark-%d-%d-%d", s.round, number, n)
		o := &apiload.Operation{Kind: apiload.Serve, Family: "flags", Key: fmt.Sprint("shared-", r.IntN(killFlags)), Scope: "default", Value: mark}
		if r.IntN(8) == 0 {
			o = &apiload.Operation{Kind: apiload.Create, Family: "flags", Key: mark, Description: mark}
		}
		there = s.send(p, number, o, mark)
	}
}

// send sends a write and notes what came of it. It reports whether there was an
// answer.
func (s *survivor) send(p *process, writer int, o *apiload.Operation, mark string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), apiload.Patience)
	defer cancel()
	o.Once = mark
	a := &try{writer: writer, op: o, path: apiload.PathOf("flags", o.Key), mark: mark}
	s.mu.Lock()
	s.tries = append(s.tries, a)
	s.mu.Unlock()
	return s.ask(ctx, p, a)
}

// ask sends a write, perhaps again.
func (s *survivor) ask(ctx context.Context, p *process, a *try) bool {
	o := a.op
	status, body, err := apiload.SendOnce(ctx, s.client, p.base+"/v1", s.keys[a.writer], o)
	if err != nil {
		return false
	}
	answer, err := o.Read(status, body)
	switch {
	case err != nil:
		s.t.Error(err)
	case status == http.StatusOK:
		a.acknowledged, a.commit, a.previous = true, answer.Commit, answer.Previous
	case status != http.StatusServiceUnavailable:
		s.t.Errorf("%s: %s", o, answer)
	}
	return true
}

// repeat sends again what was not answered, as a script does: it is made once.
func (s *survivor) repeat(p *process) {
	ctx, cancel := context.WithTimeout(context.Background(), apiload.Patience)
	defer cancel()
	landed := s.git.Lines(s.t, "rev-list", s.head+"..refs/heads/main")
	for _, a := range s.tries {
		if a.acknowledged {
			continue
		}
		s.again++
		if !s.ask(ctx, p, a) || !a.acknowledged {
			s.t.Errorf("there is no answer to %s, sent again", a.op)
		}
		if slices.Contains(landed, a.commit) {
			s.saved++
		}
	}
}

// look finds what the last round has left, through git and through the API.
func (s *survivor) look(p *process) {
	s.repeat(p)
	h := apiload.ReadHistory(s.t, s.git, "^"+s.head)
	tries := map[string]*try{}
	for _, a := range s.tries {
		tries[a.mark] = a
	}
	touched := map[string]string{}
	for _, c := range h.Commits {
		s.examine(c, tries)
		s.head = c.SHA
		for _, path := range c.Paths {
			touched[path] = c.SHA
		}
	}
	if main := s.git.Run(s.t, "rev-parse", "refs/heads/main"); main != s.head {
		s.t.Errorf("main is %s, which does not go on from %s", main, s.head)
	}
	for _, a := range s.tries {
		if _, there := h.Position[a.commit]; a.acknowledged && !there {
			s.t.Errorf("the acknowledged write %+v is lost", *a)
		}
	}
	for path, commit := range touched {
		s.read(p, path, commit)
	}
}

// examine looks at one commit: it is one write's, whole and for the first
// time.
func (s *survivor) examine(c apiload.Commit, tries map[string]*try) {
	mark := markOf(c.Subject)
	a := tries[mark]
	switch {
	case c.Parent() != s.head || len(c.Parents) != 1:
		s.t.Errorf("%+v does not go on from %s", c, s.head)
	case s.known[mark]:
		s.t.Errorf("%+v is there twice", c)
	case a == nil || !slices.Equal(c.Paths, []string{a.path}) || c.Author != apiload.AuthorOf(a.writer&^1): // two share a key
		s.t.Errorf("nobody wrote %+v", c)
	case a.acknowledged && (a.commit != c.SHA || a.previous != "" && a.previous != c.Parent()):
		s.t.Errorf("%+v was acknowledged as %+v", c, *a)
	default:
		s.known[mark] = true
		s.content[a.path] = mark
		s.total++
	}
}

// markOf finds the mark in a subject, which quotes it.
func markOf(subject string) string {
	parts := strings.Split(subject, `"`)
	if len(parts) != 3 {
		return ""
	}
	return parts[1]
}

// read compares an item, by the API, with the last that was written to it.
func (s *survivor) read(p *process, path, commit string) {
	key := strings.TrimSuffix(strings.TrimPrefix(path, apiload.Families["flags"].Folder+"/"), ".json")
	var found struct {
		CommitSHA string `json:"commitSha"`
		Document  apiload.Object
	}
	apiload.Get(s.t, s.client, p.base, s.keys[0], "/flags/"+key+"/document", &found)
	shown, err := json.Marshal(found.Document)
	must(s.t, err)
	if mark := `"` + s.content[path] + `"`; found.CommitSHA != commit || !strings.Contains(string(shown), mark) {
		s.t.Errorf("%s is %s of %s, and should be %s of %s", path, shown, found.CommitSHA, mark, commit)
	}
}

// inspect holds all of the history that the API tells against git's.
func (s *survivor) inspect(p *process) {
	s.git.Sound(s.t)
	all := s.git.Lines(s.t, "rev-list", "refs/heads/main")
	if told := apiload.Feed(s.t, s.client, p.base, s.keys[0]); !slices.Equal(told, all[:len(all)-1]) {
		s.t.Errorf("the feed tells of %d commits, git of %d before the import, or in another order", len(told), len(all)-1)
	}
	for i := range killFlags {
		key := fmt.Sprint("shared-", i)
		apiload.Agrees(s.t, s.client, p.base, s.keys[0], s.git, "flags", key)
	}
}

// noLocks: nothing is left that would keep git out.
func (s *survivor) noLocks() {
	for _, name := range []string{"refs/heads/main.lock", "svc-next", "packed-refs.lock", "HEAD.lock"} {
		if _, err := os.Stat(filepath.Join(s.repository(), filepath.FromSlash(name))); err == nil {
			s.t.Errorf("%s was left behind", name)
		}
	}
}
