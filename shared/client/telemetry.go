package client

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/contexts"
	"svc.example/svc/shared/upstream"
)

// telemetry collects what is uploaded now and then. What it keeps is bounded:
// one window of observations and a few batches that wait. A nil telemetry
// collects nothing.
type telemetry struct {
	client *Client
	number atomic.Int64 // of the window, from 1

	mu      sync.Mutex // held for moments only: evaluation waits for it
	window  *window
	retired []*table // tables replaced since the last flush

	uploads upstream.Uploader
}

func newTelemetry(c *Client, to *upstream.Connection) *telemetry {
	t := &telemetry{client: c, window: newWindow(c.now())}
	t.uploads = upstream.Uploader{Connection: to, Now: c.now, Warn: func(err error) {
		c.options.Log.Warn("svc: telemetry is not taken; evaluation goes on without", "error", err)
	}}
	t.number.Store(1)
	return t
}

// saw notes the contexts of an evaluation.
func (t *telemetry) saw(set *contexts.Set) {
	if t == nil || set.Len() == 0 || t.uploads.Off() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.window.see(set, t.client.now())
}

// maxRetired bounds the tables kept for their counts, should a workspace
// change without pause.
const maxRetired = 8

func (t *telemetry) retire(old *table) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.retired) < maxRetired {
		t.retired = append(t.retired, old)
	}
}

func (t *telemetry) run(ctx context.Context) {
	for backoff.Sleep(ctx, upstream.About(t.client.options.TelemetryEvery)) == nil && !t.uploads.Off() {
		t.flush()
		t.uploads.Send(ctx)
	}
}

func (t *telemetry) close() {
	if t == nil || t.uploads.Off() {
		return
	}
	t.flush()
	t.uploads.Close()
}

// flush turns the window into batches.
func (t *telemetry) flush() {
	t.mu.Lock()
	full, tables := t.window, t.retired
	t.window, t.retired = newWindow(t.client.now()), nil
	t.number.Add(1)
	t.mu.Unlock()
	if current := t.client.table.Load(); current != nil {
		tables = append(tables, current)
	}
	byKey := map[string]*summary{}
	for _, t := range tables {
		for i := range t.answers {
			t.summarize(&t.answers[i], byKey)
		}
	}
	end := t.client.now()
	all := slices.SortedFunc(maps.Values(byKey), func(a, b *summary) int { return cmp.Compare(a.Key, b.Key) })
	var events []json.RawMessage
	for some := range slices.Chunk(all, maxSummaries) {
		events = append(events, event("summaries", map[string]any{"start": full.start, "end": end, "summaries": some}))
	}
	t.uploads.Add(append(events, full.events()...))
}
