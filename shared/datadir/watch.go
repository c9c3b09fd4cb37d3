package datadir

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Options say how to watch. The zero Options are the ones to use.
type Options struct {
	// Quiet is how long nothing must have changed before a change counts as
	// finished; 80 ms when zero.
	Quiet time.Duration
	// AtMost is how long changes that do not end are waited for; 2 s when
	// zero.
	AtMost time.Duration
	// Poll looks for changes every Interval instead of having the system
	// report them.
	Poll bool
	// Interval is the time between two looks when polling; 1 s when zero.
	Interval time.Duration
	// Recheck is the time between two looks when the system reports changes,
	// for those that it does not report; 2 s when zero, never when negative.
	Recheck time.Duration
	// Notice is told when watching has to go on in another way.
	Notice func(message string)

	add addFunc // for tests: to stand in for the system
}

func (o Options) withDefaults() Options {
	for field, value := range map[*time.Duration]time.Duration{
		&o.Quiet:    80 * time.Millisecond,
		&o.AtMost:   2 * time.Second,
		&o.Interval: time.Second,
		&o.Recheck:  2 * time.Second,
	} {
		if *field == 0 {
			*field = value
		}
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	if o.add == nil {
		o.add = (*fsnotify.Watcher).Add
	}
	return o
}

// Watch calls changed with what is in a datadir whenever that is another than
// before: first than seen, the state that the caller has, so that no change
// since is missed. It returns when ctx is done, and leaves nothing running.
// changed is called by the goroutine that called Watch; changes that happen
// meanwhile are found afterwards.
func Watch(ctx context.Context, dir string, seen State, options Options, changed func(State)) {
	if path, err := filepath.Abs(dir); err == nil {
		dir = path
	}
	w := &watch{ctx: ctx, dir: dir, seen: seen, Options: options.withDefaults(), changed: changed,
		settled: stopped(), recheck: stopped(), whole: true, touched: map[string]bool{}}
	defer w.close()
	w.polling = w.Poll
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
		case <-w.recheck.C:
			w.check()
		}
	}
}

func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

type watch struct {
	Options
	ctx     context.Context
	dir     string
	changed func(State)

	seen    State   // as the caller knows it
	listing listing // the last one made

	polling bool
	watches *watches // nil before the first survey and when polling
	lost    bool     // the watches is no longer to be relied on

	// touched are the documents that were reported since the last look, and whole
	// says that something else was: a listing of all files is to be made.
	touched map[string]bool
	whole   bool

	settled  *time.Timer // runs while changes are waited for to end
	deadline time.Time   // of that wait; zero when there is none
	latest   time.Time   // when a change was noted last
	recheck  *time.Timer
}

func (w *watch) close() {
	w.settled.Stop()
	w.recheck.Stop()
	w.watches.close()
}

func (w *watch) event(e fsnotify.Event) {
	weight := w.watches.survey.weigh(e)
	documents := w.watches.survey.documents(e)
	for _, path := range documents {
		w.touched[path] = true
	}
	switch weight {
	case structure:
		// At once, and not when all is quiet: what is being written to a new
		// folder belongs to the same burst.
		w.lost = w.lost || e.Has(fsnotify.Remove|fsnotify.Rename)
		w.rewatch()
		w.whole = true
		w.touch()
	case substance:
		w.whole = w.whole || documents == nil
		w.touch()
	}
}

// touch notes a change, and waits for more of them to end.
func (w *watch) touch() {
	now := time.Now()
	w.latest = now
	if w.deadline.IsZero() {
		w.deadline = now.Add(w.AtMost)
	}
	if left := w.deadline.Sub(now); left > 0 {
		w.settled.Reset(min(w.Quiet, left))
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
		w.settled.Reset(w.Quiet)
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
	again := w.listing.unsettled() && w.deadline.IsZero()
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
	interval := w.Recheck
	if w.polling {
		interval = w.Interval
	}
	if interval > 0 {
		w.recheck.Reset(max(interval, checkShare*took))
	}
}

// maxSurveys bounds how often in a row the places are surveyed, should they
// change each time.
const maxSurveys = 5

// rewatch sees to it that the places which make up the datadir now are the
// ones watched, and reports whether others were. It ends with a survey that found
// nothing new, so that nothing appeared unseen before the last watch was set.
func (w *watch) rewatch() (changed bool) {
	for range maxSurveys {
		if w.polling {
			return changed
		}
		s := surveyOf(w.dir)
		if w.watches != nil && !w.lost && s.same(w.watches.survey) {
			w.watches.survey = s
			return changed
		}
		changed = true
		w.watches.close()
		l, whole, err := addWatches(s, w.add)
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
	w.Notice(fmt.Sprintf("the system cannot watch %s (%v): looking for changes every %v instead%s", w.dir, err, w.Interval, remedy))
}
