package telemetry

import (
	"context"
	"sync"
)

// DefaultThreshold is the number of keys of one context type in a month beyond
// which a warning is logged.
const DefaultThreshold = 100_000

// watch remembers when to look for context types with very many keys, and
// which have been spoken of.
type watch struct {
	mu      sync.Mutex
	pending map[string]int // pairs counted since the last look, by workspace
	warned  map[[3]string]bool
	beyond  map[[2]string]int64 // the hour that was spoken of last, by workspace and what was too much
}

// due reports whether it is time to look at a workspace's usage: with the first
// pairs that this process counts, and after every twentieth of the threshold.
func (w *watch) due(workspace string, counted, threshold int) bool {
	if counted == 0 {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pending == nil {
		w.pending, w.warned = map[string]int{}, map[[3]string]bool{}
	}
	pending, looked := w.pending[workspace]
	if pending += counted; looked && pending <= threshold/20 {
		w.pending[workspace] = pending
		return false
	}
	w.pending[workspace] = 0
	return true
}

// first reports whether a type has not been spoken of this month.
func (w *watch) first(workspace string, month Month, contextType string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := [3]string{workspace, string(month), contextType}
	if w.warned[id] {
		return false
	}
	w.warned[id] = true
	return true
}

// notice warns of context types whose keys look like a value that is new with
// every request. The report was taken, so nothing here makes it fail.
func (i *Intake) notice(ctx context.Context, workspace string, month Month, counted int) {
	threshold := i.Threshold
	if threshold == 0 {
		threshold = DefaultThreshold
	}
	if i.Logger == nil || !i.watch.due(workspace, counted, threshold) {
		return
	}
	usage, err := i.Store.Usage(ctx, workspace, month)
	if err != nil {
		i.Logger.Warn("reading the telemetry usage", "workspace", workspace, "error", err)
		return
	}
	for _, t := range usage.Types {
		if t.Keys > threshold && i.watch.first(workspace, month, t.Type) {
			i.Logger.Warn("a context type has very many keys this month: a value that is new with every request (an address, a session, a request id) belongs in a property other than key",
				"workspace", workspace, "contextType", t.Type, "month", string(month), "keys", t.Keys, "threshold", threshold)
		}
	}
}

// tellBeyond warns, of keys and of types once an hour, that a workspace has more
// that is new than is taken.
func (i *Intake) tellBeyond(workspace string, hour int64, done Recorded) {
	if i.Logger == nil {
		return
	}
	if done.Unsaved > 0 && i.watch.firstIn(workspace, "keys", hour) {
		i.Logger.Warn("more new context keys than are saved in an hour: the rest cannot be searched for and is not among the keys of the month; how often it came is",
			"workspace", workspace, "atMost", MaxNewKeys)
	}
	if done.Types > 0 && i.watch.firstIn(workspace, "types", hour) {
		i.Logger.Warn("more new context types than are taken in an hour: contexts of the rest cannot be searched for, and their keys are not among those of the month; how often these came is told",
			"workspace", workspace, "atMost", MaxNewTypes)
	}
}

// firstIn reports whether this has not been told in the hour.
func (w *watch) firstIn(workspace, what string, hour int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.beyond == nil {
		w.beyond = map[[2]string]int64{}
	}
	id := [2]string{workspace, what}
	if told, known := w.beyond[id]; known && told == hour {
		return false
	}
	w.beyond[id] = hour
	return true
}
