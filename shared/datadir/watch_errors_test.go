package datadir

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
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
			notice := <-s.w.notices
			if !strings.Contains(notice, s.top) || !strings.Contains(notice, "every 10ms instead") {
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
