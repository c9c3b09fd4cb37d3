package datadir

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"svc.example/svc/shared/workspace"
)

// pace is how long Watch waits for what.
type pace struct {
	quiet   time.Duration // nothing must have changed for it before a change counts as finished
	atMost  time.Duration // that changes which do not end are waited for
	recheck time.Duration // between two looks for what the system does not report; 0 for none
	poll    time.Duration // between two looks where it reports nothing
}

var usual = pace{quiet: 80 * time.Millisecond, atMost: 2 * time.Second, recheck: 2 * time.Second, poll: time.Second}

// Watch calls changed with what is in a datadir whenever that is another than
// before: first than seen, the state that the caller has, so that no change
// since is missed. It returns when ctx is done, and leaves nothing running.
// changed is called by the goroutine that called Watch; changes that happen
// meanwhile are found afterwards. Notice is told when watching has to go on in another way.
func Watch(ctx context.Context, dir string, seen State, notice func(message string), changed func(State)) {
	(&watch{dir: dir, seen: seen, pace: usual, add: (*fsnotify.Watcher).Add, notice: notice, changed: changed}).run(ctx)
}

type watch struct {
	pace
	add     addFunc
	ctx     context.Context
	dir     string
	notice  func(message string)
	changed func(State)

	seen    State   // as the caller knows it
	listing listing // the last one made

	polling bool
	watches *watches // nil before the first look and when polling
	lost    bool     // the watches is no longer to be relied on

	// touched are the documents that were reported since the last look, and whole
	// says that something else was: a listing of all files is to be made.
	touched map[string]bool
	whole   bool

	settled  *time.Timer // runs while changes are waited for to end
	deadline time.Time   // of that wait; zero when there is none
	latest   time.Time   // when a change was noted last
	rechecks *time.Timer
}

func (w *watch) run(ctx context.Context) {
	if path, err := filepath.Abs(w.dir); err == nil {
		w.dir = path
	}
	w.ctx, w.whole, w.touched = ctx, true, map[string]bool{}
	w.settled, w.rechecks = time.NewTimer(time.Hour), time.NewTimer(time.Hour)
	w.settled.Stop()
	w.rechecks.Stop()
	defer func() {
		w.settled.Stop()
		w.rechecks.Stop()
		w.watches.close()
	}()
	w.rewatch()
	w.listing = w.list()
	w.touch() // a change since seen is taken like any other
	w.awaitRecheck(0)
	for ctx.Err() == nil {
		events, errs := w.watches.channels()
		select {
		case <-w.ctx.Done():
		case e := <-events:
			w.event(e)
		case err := <-errs:
			if exhausted(err) {
				w.fallBack(err)
			}
			w.lost, w.whole = true, true
			w.touch()
		case <-w.settled.C:
			w.settle()
		case <-w.rechecks.C:
			w.check()
		}
	}
}

// event takes in what the system reports. A false alarm costs one look.
func (w *watch) event(e fsnotify.Event) {
	at := filepath.Clean(e.Name)
	folder, err := filepath.Rel(w.dir, filepath.Dir(at))
	name := filepath.Base(at)
	switch {
	case err == nil && workspace.KnownFolder(folder): // of other names in a folder nothing is read
		if workspace.KnownName(name) {
			w.touched[folder+"/"+name] = true
			w.touch()
		}
	case e.Op != fsnotify.Write:
		// At once, and not when all is quiet: what is being written to a new
		// folder belongs to the same burst.
		_, watched := w.watches.places[at]
		w.lost = w.lost || watched && e.Has(fsnotify.Remove|fsnotify.Rename)
		w.rewatch()
		w.whole = true
		w.touch()
	case strings.EqualFold(name, workspace.File):
		// A directory is written to whenever something in it is created, on systems that
		// report that: no news about the directory itself.
		w.whole = true
		w.touch()
	}
}

// touch notes a change, and waits for more of them to end.
func (w *watch) touch() {
	now := time.Now()
	w.latest = now
	if w.deadline.IsZero() {
		w.deadline = now.Add(w.atMost)
	}
	if left := w.deadline.Sub(now); left > 0 {
		w.settled.Reset(min(w.quiet, left))
	}
}

// settle ends the wait for changes to end.
func (w *watch) settle() {
	if w.polling && time.Now().Before(w.deadline) {
		if found := w.list(); !found.same(w.listing) {
			w.listing = found
			w.touch()
			return
		}
	}
	if w.waitsForGit(time.Now()) {
		w.settled.Reset(w.quiet)
		return
	}
	w.deadline = time.Time{}
	w.look()
}

// waitsForGit reports whether a checkout is under way: as long as it writes files, which may
// be slow to come.
func (w *watch) waitsForGit(now time.Time) bool {
	last := w.deadline
	if w.latest.After(last) {
		last = w.latest
	}
	return now.Before(last.Add(gitPatience)) && gitAtWork(w.dir, now)
}

// look reads what has changed in the directory and reports what is new.
func (w *watch) look() {
	renewed, ok := w.listing, false
	if !w.whole && !w.polling && !w.lost && len(w.touched) <= maxTouched {
		renewed, ok = w.listing.renewed(w.touched, time.Now())
	}
	if !ok {
		w.whole = false // rewatch may find that it is not enough
		w.rewatch()
		renewed = w.list()
	}
	w.listing = renewed
	before := w.seen
	w.seen = w.listing.state(before, w.touched)
	clear(w.touched)
	if !w.seen.same(before) && w.ctx.Err() == nil {
		w.changed(w.seen)
	}
}

// maxTouched is how many documents are looked at one by one.
const maxTouched = 100

func (w *watch) list() listing {
	return list(w.dir, maxFiles, time.Now())
}

// check looks for changes that nobody reported.
func (w *watch) check() {
	start := time.Now()
	rewatched := w.rewatch()
	// What is unsettled is read again, but starts no new wait in one.
	again := w.deadline.IsZero() && slices.ContainsFunc(w.listing.entries, func(e entry) bool { return !e.settled() })
	if found := w.list(); rewatched || again || !found.same(w.listing) {
		w.listing, w.whole = found, true
		w.touch()
	}
	w.awaitRecheck(time.Since(start))
}

// checkShare bounds the part of the time that is spent on rechecks, as large
// or slow directories would have it otherwise: one in so many.
const checkShare = 20

// awaitRecheck sets the time of the next recheck by what one takes.
func (w *watch) awaitRecheck(took time.Duration) {
	interval := w.recheck
	if w.polling {
		interval = w.poll
	}
	if interval > 0 {
		w.rechecks.Reset(max(interval, checkShare*took))
	}
}

// maxRewatches bounds how often in a row the watches are set, should the places
// change each time.
const maxRewatches = 5

// rewatch sees to it that the places which make up the datadir now are the
// ones watched, and reports whether others were. It ends when it has found nothing
// new, so that nothing appeared unseen before the last watch was set.
func (w *watch) rewatch() (changed bool) {
	for range maxRewatches {
		if w.polling {
			return changed
		}
		found := placesOf(w.dir)
		if w.watches != nil && !w.lost && found.same(w.watches.places) {
			return changed
		}
		changed = true
		w.watches.close()
		l, whole, err := addWatches(found, w.add)
		if err != nil {
			w.fallBack(err)
			continue
		}
		w.watches, w.lost = l, !whole
	}
	w.whole = true
	w.touch()
	return changed
}

// fallBack goes over to polling.
func (w *watch) fallBack(err error) {
	w.watches.close()
	w.watches, w.polling = nil, true
	w.awaitRecheck(0)
	remedy := ""
	if runtime.GOOS == "linux" && exhausted(err) {
		remedy = "; the limits are fs.inotify.max_user_watches and fs.inotify.max_user_instances"
	}
	w.notice(fmt.Sprintf("the system cannot watch %s (%v): looking for changes every %v instead%s", w.dir, err, w.poll, remedy))
}
