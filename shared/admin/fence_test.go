package admin

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"svc.example/svc/shared/bucket"
	"svc.example/svc/shared/ledger/dynamo"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/repository/pack"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/meter"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/standin"
)

const (
	tenYears = 10 * 365 * 24 * time.Hour
	twoDays  = 48 * time.Hour
)

// site is a service whose bucket has a clock of its own.
type site struct {
	*service
	t     *testing.T
	clock *faultproxy.Clock
	asked *meter.Meter // of the stores
	// written is what was acknowledged: the text of each file.
	written map[string]string
	rounds  int
}

func newSite(t *testing.T, ahead time.Duration) *site {
	t.Helper()
	s := &site{service: newService(t), t: t, asked: meter.New(), written: map[string]string{}}
	s.clock = must.Get(faultproxy.StartClock(standin.S3(t), ahead))(t)
	t.Cleanup(func() { s.clock.Close() })
	s.Stores = s.open(standin.DynamoDB(t), s.clock.URL())
	return s
}

// open opens the stores by other ways.
func (s *site) open(table, objects string) *Stores {
	s.t.Helper()
	forTable := must.Get(standin.Config(ctx, table))(s.t)
	forBucket := must.Get(standin.Config(ctx, objects))(s.t)
	// The SDK would sign with the time that it is told, and the server behind the
	// clock has another one.
	forBucket.DisableClockSkewCorrection = true
	forTable.APIOptions, forBucket.APIOptions = append(forTable.APIOptions, s.asked.Install), append(forBucket.APIOptions, s.asked.Install)
	return &Stores{
		table:  dynamo.New(dynamodb.NewFromConfig(forTable), s.table),
		bucket: bucket.New(awss3.NewFromConfig(forBucket, standin.PathStyle), s.bucketName),
	}
}

// actor works through proxies of its own, which hold it up at one request.
type actor struct {
	*Workspace
	lock    sync.Mutex
	count   int
	stopAt  int
	reached chan struct{}
	goOn    chan struct{}
}

func (s *site) actor(w *Workspace) *actor {
	s.t.Helper()
	a := &actor{}
	var urls []string
	for _, target := range []string{standin.DynamoDB(s.t), s.clock.URL()} {
		proxy := must.Get(faultproxy.Start(target, faultproxy.Plan{Before: a.before}))(s.t)
		s.t.Cleanup(func() { proxy.Close() })
		urls = append(urls, proxy.URL())
	}
	a.Workspace = s.open(urls[0], urls[1]).workspace(w.Workspace.Workspace)
	return a
}

func (a *actor) before(*http.Request) {
	a.lock.Lock()
	a.count++
	held := a.count == a.stopAt
	a.lock.Unlock()
	if held {
		close(a.reached)
		<-a.goOn
	}
}

// begin lets an actor do something up to its n-th request. It reports whether it
// came to that; end lets it go on, and returns when it is done.
func (a *actor) begin(n int, do func(*actor)) (held bool, end func()) {
	a.lock.Lock()
	a.count, a.stopAt, a.reached, a.goOn = 0, n, make(chan struct{}), make(chan struct{})
	a.lock.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(a)
	}()
	select {
	case <-a.reached:
		return true, func() { close(a.goOn); <-done }
	case <-done:
		return false, func() {}
	}
}

// orphan leaves a pack that nobody names, as a lost race does.
func (s *site) orphan(w *Workspace) {
	s.t.Helper()
	text := []byte(rand.Text())
	p, err := pack.Encode([]pack.Object{{ID: object.Hash(object.Blob, text), Kind: object.Blob, Content: text}})
	if err == nil {
		err = w.objects.PutPack(ctx, p.Name, p.Bytes, p.Index)
	}
	must.Do(s.t, err)
}

// write commits files, again as long as others are faster, with the same draft
// each time.
func (s *site) write(files map[string]string) func(*actor) {
	by := repository.Signature{Name: "Ada", Email: "ada@acme.example", When: time.Now()}
	draft := repository.Draft{Author: by, Committer: by, Message: "Write\n"}
	for path, text := range files {
		draft.Changes = append(draft.Changes, repository.Change{Path: path, Content: []byte(text)})
	}
	return func(a *actor) {
		for range provision.MaxTries {
			base, err := a.Snapshot(ctx)
			if err == nil {
				_, err = a.repo.Commit(ctx, base, draft)
			}
			if errors.Is(err, repository.ErrMoved) {
				continue
			}
			if err != nil {
				s.t.Errorf("writing: %v", err)
				return
			}
			for path, text := range files {
				s.written[path] = text
			}
			return
		}
		s.t.Error("writing had to begin again and again")
	}
}

func (s *site) small() func(*actor) {
	return s.write(map[string]string{"configs/small.json": fmt.Sprintf("{\"n\": %q}\n", rand.Text())})
}

// heavy is a text that is too large for a row, so that a snapshot comes with it.
func (s *site) heavy() func(*actor) {
	text := make([]byte, 100<<10)
	rand.Read(text)
	return s.write(map[string]string{"configs/heavy.json": fmt.Sprintf("{\"text\": \"%x\"}\n", text)})
}

// wide is a commit of more files than one transaction holds rows.
func (s *site) wide() func(*actor) {
	files := map[string]string{}
	for i := range 110 {
		files[fmt.Sprintf("configs/wide-%03d.json", i)] = fmt.Sprintf("{\"n\": %q}\n", rand.Text())
	}
	return s.write(files)
}

func (s *site) compact() func(*actor) {
	return func(a *actor) {
		if _, err := a.Compact(ctx, Compacting{All: true}); err != nil {
			s.t.Errorf("compacting: %v", err)
		}
	}
}

func (s *site) reindex() func(*actor) {
	return func(a *actor) {
		for range 3 {
			_, err := a.Reindex(ctx, "", Checking{Dir: s.t.TempDir()})
			if err == nil || !errors.Is(err, repository.ErrMoved) && !errors.Is(err, repository.ErrBusy) {
				if err != nil {
					s.t.Errorf("reindexing: %v", err)
				}
				return
			}
		}
		s.t.Error("reindexing had to begin again and again")
	}
}

const never = 1 << 20 // packs, from which on it would be worth while merging

func (s *site) sweep() func(*actor) {
	return func(a *actor) {
		if _, err := a.Compact(ctx, Compacting{From: never}); err != nil {
			s.t.Errorf("sweeping: %v", err)
		}
	}
}

// check holds the workspace's rows against its objects, and its files against what
// was acknowledged.
func (s *site) check(w *Workspace, round string) {
	s.t.Helper()
	fresh := s.workspace(w.Workspace.Workspace)
	clean(s.t, fresh)
	head, err := fresh.Snapshot(ctx)
	if err != nil {
		s.t.Fatalf("%s: %v", round, err)
	}
	for path, text := range s.written {
		if f, there := head.File(path); !there || string(f.Text) != text {
			s.t.Errorf("%s: what was written to %s is not there", round, path)
		}
	}
	if s.rounds++; s.t.Failed() {
		s.t.Fatalf("%s: broken", round)
	}
}

// end has git check all that the rounds on a workspace have made: what one of them has
// lost does not come back.
func (s *site) end(w *Workspace, round string) {
	s.t.Helper()
	target := filepath.Join(s.t.TempDir(), "export")
	if _, err := s.workspace(w.Workspace.Workspace).Export(ctx, target, nil); err != nil {
		s.t.Fatalf("%s, or a round before it: %v", round, err)
	}
	git(s.t, target, "fsck", "--strict")
	must.Do(s.t, os.RemoveAll(target))
}

// TestPausesLoseNothing holds a sweep up at each of its requests for four days,
// while somebody writes, and everybody who writes at each of theirs, while
// somebody sweeps; on clocks that are ten years apart. The clock of the table
// has no say at all.
func TestPausesLoseNothing(t *testing.T) {
	kinds := map[string]func(*site) func(*actor){
		"a commit": (*site).small, "a commit with a snapshot": (*site).heavy, "a large commit": (*site).wide,
		"a merge": (*site).compact, "a reindex": (*site).reindex,
	}
	for _, c := range []struct {
		kind  string
		ahead time.Duration // the bucket's clock of ours
	}{
		{"a commit", tenYears}, {"a commit", -tenYears}, {"a commit with a snapshot", -tenYears},
		{"a large commit", tenYears}, {"a merge", -tenYears}, {"a reindex", tenYears},
	} {
		t.Run(fmt.Sprintf("%s, clocks apart by %v", c.kind, c.ahead), func(t *testing.T) {
			if testing.Short() && c.kind != "a commit" {
				t.Skip("it takes a while")
			}
			s := newSite(t, c.ahead)
			do := func() func(*actor) { return kinds[c.kind](s) }
			s.holdUp(c.kind, do, s.sweep)
			s.holdUp("a sweep beside "+c.kind, s.sweep, do)
		})
	}
}

// TestAMergeBesideAReindex holds either up, while the other does its work and what
// nobody names is swept.
func TestAMergeBesideAReindex(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	s := newSite(t, -tenYears)
	swept := func(begin func() func(*actor)) func() func(*actor) {
		return func() func(*actor) {
			steps := []func(*actor){begin(), s.small(), s.sweep(), s.sweep()}
			return func(a *actor) {
				for _, step := range steps {
					step(a)
					s.clock.Pass(twoDays)
				}
			}
		}
	}
	s.holdUp("a merge beside a reindex", s.compact, swept(s.reindex))
	s.holdUp("a reindex beside a merge", s.reindex, swept(s.compact))
}

// roundsTogether is how many rounds are played on one workspace.
const roundsTogether = 8

// apart is how many requests lie between two rounds: a full run holds up at each. Others
// hold up at some, and each time at others.
func apart() int {
	if os.Getenv("SVC_TEST_FULL") != "" {
		return 1
	}
	return 10
}

// somewhere is at which request the first round is.
func somewhere() int { return 1 + mathrand.IntN(apart()) }

// holdUp holds one up at its requests, while the other does all of its
// work. A merge makes the more requests the longer the history is, so from time
// to time it is a new workspace.
func (s *site) holdUp(what string, one, other func() func(*actor)) {
	s.t.Helper()
	var w *Workspace
	var first, second *actor
	begin := somewhere()
	for n := 1; ; n++ {
		if n%roundsTogether == 1 {
			w = s.create(s.t, "acme", directory(s.t, "a"))
			first, second, s.written = s.actor(w), s.actor(w), map[string]string{}
			s.prepare(w)
		}
		at := begin + (n-1)*apart()
		round := fmt.Sprintf("%s, held up at request %d", what, at)
		s.prepare(w)
		held, end := first.begin(at, one())
		s.clock.Pass(twoDays)
		_, endOther := second.begin(0, other())
		endOther()
		s.clock.Pass(twoDays)
		end()
		s.check(w, round)
		if !held || n%roundsTogether == 0 {
			s.end(w, round)
		}
		if !held {
			s.t.Logf("%s: %d rounds", what, n)
			s.leavesNothing(w)
			return
		}
	}
}

// prepare lets there be something to sweep, and to merge.
func (s *site) prepare(w *Workspace) {
	s.t.Helper()
	s.small()(&actor{Workspace: s.workspace(w.Workspace.Workspace)})
	s.orphan(s.workspace(w.Workspace.Workspace))
	s.clock.Pass(twoDays)
}

// leavesNothing: garbage goes, some day.
func (s *site) leavesNothing(w *Workspace) {
	s.t.Helper()
	for range 3 {
		s.sweep()(&actor{Workspace: s.workspace(w.Workspace.Workspace)})
		s.clock.Pass(twoDays)
	}
	if found := clean(s.t, s.workspace(w.Workspace.Workspace)); found.Orphans > 0 {
		s.t.Errorf("%d packs are left that nobody needs", found.Orphans)
	}
	if left, err := w.ledger.Leftovers(ctx); err != nil || len(left) > 0 {
		s.t.Errorf("rows are left that no head names: %v, %v", left, err)
	}
}

// TestTwoPausesLoseNothing holds both up, each at its requests, and lets
// either of them end first.
func TestTwoPausesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a while")
	}
	s := newSite(t, -tenYears)
	for n := somewhere(); s.holdUpBoth(n); n += apart() {
	}
	t.Logf("%d rounds", s.rounds)
}

// holdUpBoth holds a writer up at its n-th request, and a sweep beside it at
// its own. It reports whether the writer came to that request.
func (s *site) holdUpBoth(n int) (came bool) {
	w := s.create(s.t, "acme", directory(s.t, "a"))
	s.written = map[string]string{}
	writer, sweeper := s.actor(w), s.actor(w)
	for m := somewhere(); ; m += apart() {
		s.prepare(w)
		held, endWriter := writer.begin(n, s.small())
		came = came || held
		s.clock.Pass(twoDays)
		heldSweep, endSweep := sweeper.begin(m, s.sweep())
		s.clock.Pass(twoDays)
		ends := []func(){endWriter, endSweep}
		if (n+m)%2 == 0 {
			ends = []func(){endSweep, endWriter}
		}
		for _, end := range ends {
			end()
			s.clock.Pass(twoDays)
		}
		round := fmt.Sprintf("the writer at request %d, the sweep at %d", n, m)
		s.check(w, round)
		if !heldSweep {
			s.end(w, round)
			s.leavesNothing(w)
			return came
		}
	}
}
