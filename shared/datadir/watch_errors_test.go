package datadir

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"pgregory.net/rapid"

	"svc.example/svc/shared/testing/must"
)

func TestWatchRunsOutOfWatches(t *testing.T) {
	for name, add := range map[string]addFunc{
		"inotify": func(*fsnotify.Watcher, string) error { return syscall.ENOSPC },
		"kqueue":  func(*fsnotify.Watcher, string) error { return &os.PathError{Op: "open", Err: syscall.EMFILE} },
		"unknown": func(*fsnotify.Watcher, string) error { return errors.New("no watches here") },
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{t: t, top: t.TempDir()}
			tree(t, s.top, map[string]string{"svc.json": "w"})
			by := byWatching
			by.add, by.poll = add, 10*time.Millisecond
			s.w = start(t, s.top, by)
			for _, text := range []string{"x", "y"} {
				s.put("svc.json", text)
				s.reads("svc.json", text)
			}
			if notice := <-s.w.notices; !strings.Contains(notice, s.top) || !strings.Contains(notice, "every 10ms instead") {
				t.Errorf("notice %q", notice)
			}
			if len(s.w.notices) > 0 {
				t.Errorf("a second notice: %s", <-s.w.notices)
			}
		})
	}
}

// TestWatchRunsOutLater is a system that has no watch left for a new folder.
func TestWatchRunsOutLater(t *testing.T) {
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, map[string]string{"svc.json": "w"})
	by := byWatching
	by.poll = 10 * time.Millisecond
	by.add = func(w *fsnotify.Watcher, path string) error {
		if filepath.Base(path) == "configs" {
			return syscall.ENOSPC
		}
		return w.Add(path)
	}
	s.w = start(t, s.top, by)
	s.mkdir("configs")
	s.put("configs/a.json", "1")
	s.reads("svc.json", "w", "configs/a.json", "1")
	s.put("configs/a.json", "2")
	s.reads("svc.json", "w", "configs/a.json", "2")
	if notice := <-s.w.notices; runtime.GOOS == "linux" && !strings.Contains(notice, "fs.inotify.max_user_watches") {
		t.Errorf("notice %q", notice)
	}
}

// deaf puts directories under watch without anything ever being reported, and
// passes on each new watcher that it is given.
func deaf(watchers chan<- *fsnotify.Watcher) addFunc {
	var last *fsnotify.Watcher
	return func(w *fsnotify.Watcher, path string) error {
		if w != last {
			last = w
			watchers <- w
		}
		return nil
	}
}

// TestWatchOverflow is a system that has dropped events: all it says is that
// it did.
func TestWatchOverflow(t *testing.T) {
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, map[string]string{"svc.json": "w"})
	watchers := make(chan *fsnotify.Watcher, 10)
	by := byWatching
	by.add = deaf(watchers)
	s.w = start(t, s.top, by)
	for _, text := range []string{"x", "y"} {
		w := <-watchers
		s.put("svc.json", text)
		w.Errors <- fsnotify.ErrEventOverflow
		s.reads("svc.json", text)
		if len(s.w.notices) > 0 {
			t.Fatal(<-s.w.notices)
		}
	}
}

// TestWatchErrorsLater is a kqueue that cannot open a new file: it says so
// when it happens, and not when the watch is set.
func TestWatchErrorsLater(t *testing.T) {
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, map[string]string{"svc.json": "w"})
	watchers := make(chan *fsnotify.Watcher, 10)
	by := byWatching
	by.add, by.poll = deaf(watchers), 10*time.Millisecond
	s.w = start(t, s.top, by)
	(<-watchers).Errors <- &os.PathError{Op: "open", Err: syscall.EMFILE}
	for _, text := range []string{"x", "y"} {
		s.put("svc.json", text)
		s.reads("svc.json", text)
	}
	if notice := <-s.w.notices; !strings.Contains(notice, "too many open files") {
		t.Errorf("notice %q", notice)
	}
}

// TestWatchRecheck is a file system that reports nothing.
func TestWatchRecheck(t *testing.T) {
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, map[string]string{"svc.json": "w"})
	by := rechecked()
	by.add = deaf(make(chan *fsnotify.Watcher, 10))
	s.w = start(t, s.top, by)
	for _, text := range []string{"x", "y"} {
		s.put("svc.json", text)
		s.reads("svc.json", text)
	}
}

// TestWatchAppearsMeanwhile is a folder that appears after a look at the places and before
// the watch that would have told of it.
func TestWatchAppearsMeanwhile(t *testing.T) {
	s := &scene{t: t, top: realTempDir(t)}
	tree(t, s.top, map[string]string{"svc.json": "w"})
	watchers := make(chan *fsnotify.Watcher, 10)
	var armed atomic.Bool
	by := byWatching
	by.add = func(w *fsnotify.Watcher, path string) error {
		if path != s.top {
			return w.Add(path)
		}
		watchers <- w
		if armed.Swap(false) {
			s.mkdir("configs")
			s.put("configs/a.json", "1")
		}
		return w.Add(path)
	}
	s.w = start(t, s.top, by)
	s.put("svc.json", "x")
	s.reads("svc.json", "x")
	armed.Store(true)
	(<-watchers).Errors <- fsnotify.ErrEventOverflow // for the watches to be set again
	s.reads("svc.json", "x", "configs/a.json", "1")
	s.put("configs/a.json", "2")
	s.reads("svc.json", "x", "configs/a.json", "2")
}

// TestWatchSameInode is a folder that is removed and made again before anybody
// looks: many file systems give the new one the old one's identity.
func TestWatchSameInode(t *testing.T) {
	s := &scene{t: t, top: t.TempDir()}
	tree(t, s.top, map[string]string{"configs/a.json": "1"})
	busy, free := make(chan bool), make(chan bool)
	states := make(chan State, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan bool)
	go func() {
		defer close(ended)
		by := byWatching
		by.dir, by.changed = s.top, func(state State) {
			busy <- true
			<-free
			states <- state
		}
		by.run(ctx)
	}()
	<-busy
	s.remove("configs")
	s.mkdir("configs")
	free <- true
	<-states
	go func() {
		for range busy {
			free <- true
		}
	}()
	s.w = &watched{t: t, states: states}
	s.w.until("an empty folder", func(state State) bool { return len(state.Files) == 0 })
	s.put("configs/a.json", "2")
	s.reads("configs/a.json", "2")
	cancel()
	<-ended
	close(busy)
}

// TestPollingSeesASecondWrite of the same size, at the same time by the clock
// of a coarse file system.
func TestPollingSeesASecondWrite(t *testing.T) {
	s := &scene{t: t, top: t.TempDir()}
	now := time.Now().Truncate(time.Second)
	write := func(text string) {
		s.put("svc.json", text)
		must.Do(t, os.Chtimes(s.path("svc.json"), now, now))
	}
	write("1")
	s.w = start(t, s.top, byPolling)
	write("2")
	s.reads("svc.json", "2")
	write("3")
	s.reads("svc.json", "3")
}

// TestAnEditReadsOneFile: of the others neither the content is read again, nor is
// looked whether they are still there. They are written to by way of other names,
// which the system does not report.
func TestAnEditReadsOneFile(t *testing.T) {
	top := realTempDir(t)
	dir, away := filepath.Join(top, "conf"), filepath.Join(top, "away")
	must.Do(t, os.Mkdir(away, 0o755))
	files := map[string]string{}
	for i := range 300 {
		files[fmt.Sprintf("feature-flags/f%d.json", i)] = "before"
	}
	tree(t, dir, files)
	for path := range files {
		must.Do(t, os.Link(filepath.Join(dir, path), filepath.Join(away, filepath.Base(path))))
	}
	by := byWatching
	by.quiet = 200 * time.Millisecond // so that no file is seen while it is empty
	w := start(t, dir, by)
	must.Do(t, os.WriteFile(filepath.Join(dir, "feature-flags/f6.json"), []byte("first"), 0o644))
	w.until("the first look to be over", func(s State) bool { return string(s.Files["feature-flags/f6.json"]) == "first" })
	for path := range files {
		must.Do(t, os.WriteFile(filepath.Join(away, filepath.Base(path)), []byte("unread"), 0o644))
	}
	for n, edited := range []string{"feature-flags/f7.json", "feature-flags/f8.json"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, edited), []byte("edited"), 0o644))
		count := map[string]int{}
		for _, text := range texts(w.next().Files) {
			count[text]++
		}
		if want := map[string]int{"before": 298 - n, "first": 1, "edited": 1 + n}; !maps.Equal(count, want) {
			t.Errorf("the files say %v, want %v", count, want)
		}
	}
}

// TestALookAfterALookIsALook: whatever happens in between, and whatever was told of
// it, what is read is what is there.
func TestALookAfterALookIsALook(t *testing.T) {
	run, top := 0, t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		run++
		dir := filepath.Join(top, fmt.Sprint(run))
		must.Do(t, os.MkdirAll(filepath.Join(dir, "feature-flags"), 0o755))
		must.Do(t, os.MkdirAll(filepath.Join(dir, "configs"), 0o755))
		names := []string{"svc.json", "feature-flags/a.json", "feature-flags/b.json", "feature-flags/c.json", "configs/a.json"}
		name := rapid.SampledFrom(names)
		state, listing := State{}, list(dir, maxFiles, time.Now())
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			touched := map[string]bool{}
			for range rapid.IntRange(0, 3).Draw(rt, "changes") {
				path := name.Draw(rt, "path")
				full := filepath.Join(dir, path)
				touched[path] = true
				must.Do(t, os.RemoveAll(full))
				switch rapid.IntRange(0, 5).Draw(rt, "change") {
				case 0: // it is gone
				case 1:
					must.Do(t, os.Mkdir(full, 0o755))
				default:
					must.Do(t, os.WriteFile(full, []byte(rapid.SampledFrom([]string{"x", "y", "zz"}).Draw(rt, "text")), 0o644))
					if rapid.Bool().Draw(rt, "old") {
						must.Do(t, os.Chtimes(full, time.Time{}, time.Unix(1e9, 0)))
					}
				}
			}
			whole := list(dir, maxFiles, time.Now())
			renewed, ok := listing.renewed(touched, time.Now())
			if ok && !renewed.same(whole) {
				rt.Fatalf("touched %v: %v, want %v", touched, renewed.entries, whole.entries)
			}
			if !ok {
				renewed = whole
			}
			listing = renewed
			state = listing.state(state, touched)
			if fresh := whole.state(State{}, nil); !state.same(fresh) {
				rt.Fatalf("%q %v, want %q %v", texts(state.Files), state.Problems, texts(fresh.Files), fresh.Problems)
			}
		}
	})
}

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
