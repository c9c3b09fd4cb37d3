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
	unsaved map[string]int64 // the hour that was spoken of last, by workspace
}

// due says whether it is time to look at a workspace's usage: with the first
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

// first says whether a type has not been spoken of this month.
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

// tellUnsaved warns, once an hour, that a workspace has more new keys than are
// saved.
func (i *Intake) tellUnsaved(workspace string, hour int64, unsaved int) {
	if unsaved == 0 || i.Logger == nil || !i.watch.firstIn(workspace, hour) {
		return
	}
	i.Logger.Warn("more new context keys than are saved in an hour: the rest cannot be searched for and is not among the keys of the month; how often it came is",
		"workspace", workspace, "atMost", MaxNewKeys)
}

// firstIn says whether an hour has not been spoken of.
func (w *watch) firstIn(workspace string, hour int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.unsaved == nil {
		w.unsaved = map[string]int64{}
	}
	if told, known := w.unsaved[workspace]; known && told == hour {
		return false
	}
	w.unsaved[workspace] = hour
	return true
}
