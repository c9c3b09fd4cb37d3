package datadir

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"svc.example/svc/shared/testing/must"
)

// patience is how long a test waits for what has to come.
const patience = time.Minute

// watched is a running Watch.
type watched struct {
	t       *testing.T
	states  chan State
	notices chan string
	stop    func() // and wait for it to have ended
}

// start watches dir, which the caller has seen as it is.
func start(t *testing.T, dir string, by watch) *watched {
	t.Helper()
	return startFrom(t, dir, Look(dir), by)
}

func startFrom(t *testing.T, dir string, seen State, by watch) *watched {
	w := &watched{t: t, states: make(chan State, 1000), notices: make(chan string, 1000)}
	by.dir, by.seen = dir, seen
	by.notice, by.changed = func(message string) { w.notices <- message }, func(s State) { w.states <- s }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		by.run(ctx)
	}()
	w.stop = func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
			t.Error("Watch does not end")
		}
	}
	t.Cleanup(w.stop)
	return w
}

// next is the next state reported.
func (w *watched) next() State {
	w.t.Helper()
	select {
	case s := <-w.states:
		return s
	case <-time.After(patience):
		w.t.Fatal("no change was reported")
		return State{}
	}
}

// until waits for a state that is as wanted, passing over those before it.
func (w *watched) until(what string, wanted func(State) bool) {
	w.t.Helper()
	var last State
	for deadline := time.After(patience); ; {
		select {
		case last = <-w.states:
			if wanted(last) {
				return
			}
		case <-deadline:
			w.t.Fatalf("waited for %s; the last state was %v %v", what, texts(last.Files), last.Problems)
		}
	}
}

// untilFiles waits until exactly these files are reported.
func (w *watched) untilFiles(want map[string]string) {
	w.t.Helper()
	w.until(fmt.Sprint(want), func(s State) bool { return maps.Equal(texts(s.Files), want) })
}

// Watching has to do without the recheck in most tests: it would hide a change that was
// missed.
var (
	byWatching = watch{add: (*fsnotify.Watcher).Add, pace: pace{quiet: 20 * time.Millisecond, atMost: usual.atMost, poll: usual.poll}}
	byPolling  = watch{polling: true, pace: pace{quiet: 20 * time.Millisecond, atMost: usual.atMost, poll: 10 * time.Millisecond}}
)

// rechecked is byWatching with the recheck.
func rechecked() watch {
	by := byWatching
	by.recheck = 10 * time.Millisecond
	return by
}

func bothWays(t *testing.T, test func(t *testing.T, by watch)) {
	t.Run("watching", func(t *testing.T) { t.Parallel(); test(t, byWatching) })
	t.Run("polling", func(t *testing.T) { t.Parallel(); test(t, byPolling) })
}

// scene is a temporary directory, the datadir in it, and what is done to it.
type scene struct {
	t    *testing.T
	top  string
	w    *watched
	want map[string]string
}

func (s *scene) path(path string) string { return filepath.Join(s.top, filepath.FromSlash(path)) }

// put writes a file in place.
func (s *scene) put(path, text string) { must.Do(s.t, os.WriteFile(s.path(path), []byte(text), 0o644)) }

func (s *scene) mkdir(path string)      { must.Do(s.t, os.MkdirAll(s.path(path), 0o755)) }
func (s *scene) remove(path string)     { must.Do(s.t, os.RemoveAll(s.path(path))) }
func (s *scene) move(from, to string)   { must.Do(s.t, os.Rename(s.path(from), s.path(to))) }
func (s *scene) link(target, at string) { must.Do(s.t, os.Symlink(target, s.path(at))) }

// relink points a link elsewhere in one step, as Kubernetes does.
func (s *scene) relink(target, at string) {
	s.link(target, at+"_tmp")
	s.move(at+"_tmp", at)
}

// reads waits until the datadir is reported to have these files: pairs of path
// and content.
func (s *scene) reads(pairs ...string) {
	s.t.Helper()
	s.want = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		s.want[pairs[i]] = pairs[i+1]
	}
	s.w.untilFiles(s.want)
}

// gone waits until the datadir is reported to be gone.
func (s *scene) gone() {
	s.t.Helper()
	s.w.until("the directory to be gone", func(state State) bool {
		return len(state.Problems) == 1 && state.Problems[0].File == "." &&
			(strings.HasSuffix(state.Problems[0].Message, "is gone") || strings.HasSuffix(state.Problems[0].Message, "which does not exist"))
	})
}
