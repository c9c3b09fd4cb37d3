package disk_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/disk"
	"svc.example/svc/shared/repository/object"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/testing/testenv"
)

// chores are what git does to packs, by itself (git maintenance start) or when it is
// asked to.
var chores = [][]string{
	{"maintenance", "run", "--quiet", "--task=incremental-repack"},
	{"maintenance", "run", "--quiet", "--task=loose-objects"},
	{"maintenance", "run", "--quiet", "--task=gc"},
	{"maintenance", "run", "--quiet", "--task=commit-graph"},
	{"maintenance", "run", "--quiet", "--task=pack-refs"},
	{"multi-pack-index", "write"},
	{"multi-pack-index", "expire"},
	{"repack", "-adkq", "--write-midx"},
	{"repack", "-adq"},
	{"repack", "-dq", "--geometric=2"},
}

// TestMaintenanceLosesNoCommit: whatever git's maintenance deletes while commits are
// made, read, and packs are merged, every commit that was acknowledged is there
// afterwards, for git and for svc.
func TestMaintenanceLosesNoCommit(t *testing.T) {
	testenv.Slow(t)
	runs, length := 1, time.Second
	if os.Getenv("SVC_TEST_FULL") != "" {
		runs, length = 30, 12*time.Second
	}
	for _, chore := range chores {
		t.Run(strings.TrimPrefix(chore[len(chore)-1], "--"), func(t *testing.T) {
			for run := range runs {
				if commitBeside(t, length, chore); t.Failed() {
					t.Fatalf("in run %d of git %s", run+1, strings.Join(chore, " "))
				}
			}
		})
	}
}

func commitBeside(t *testing.T, length time.Duration, chore []string) {
	s := newStore(t)
	s.repo = onBranchOf(s)
	s.commit("svc.json", "{}\n")
	stop := make(chan struct{})
	var running sync.WaitGroup
	loop := func(step func() error) {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := step(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	loop(func() error {
		// Packs vanish under it, so that it may give up.
		_, _ = tryGit(t, s.dir, chore...)
		if chore[1] == "expire" {
			_, _ = tryGit(t, s.dir, "multi-pack-index", "write")
		}
		return nil
	})
	loop(func() error {
		_, err := s.objects.Compact(ctx)
		return err
	})
	loop(func() error {
		head, err := s.ledger.Head(ctx)
		if err != nil {
			return err
		}
		_, err = repository.New(s.ledger, s.objects).Snapshot(ctx, head)
		return err
	})
	var acknowledged []string
	for until := time.Now().Add(length); time.Now().Before(until) || len(acknowledged) < 20; {
		i := len(acknowledged)
		acknowledged = append(acknowledged, s.commit(fmt.Sprintf("feature-flags/f%d.json", i%7), document(i%7, i)).Head.Commit)
	}
	close(stop)
	running.Wait()
	must.Get(s.objects.Compact(ctx))(t)
	fsck(t, s.dir)
	wantTree(t, s.dir, s.objects)
	reader := must.Get(disk.Open(s.dir))(t).Reader(ctx)
	defer reader.Close()
	for _, commit := range acknowledged {
		if _, _, err := reader.Read(object.ParseID(commit)); err != nil {
			t.Fatalf("a commit of %d: %v", len(acknowledged), err)
		}
	}
	if n := strings.TrimSpace(git(t, s.dir, "rev-list", "--count", "main")); n != fmt.Sprint(len(acknowledged)+1) {
		t.Errorf("git counts %s commits, want %d", n, len(acknowledged)+1)
	}
}
