package client

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/contexts"
)

const telemetryPath = "/api/v1/telemetry/"

// telemetry collects what is uploaded now and then. What it keeps is bounded:
// one window of observations and a few batches that wait. A nil telemetry
// collects nothing.
type telemetry struct {
	client     *Client
	connection *connection
	instance   string
	off        atomic.Bool  // the server takes none
	number     atomic.Int64 // of the window, from 1

	mu       sync.Mutex // held for moments only: evaluation waits for it
	window   *window
	keys     cardinality
	retired  []*table // tables replaced since the last flush
	warnings []string

	sending sync.Mutex // of what follows
	queue   []*batch
	failed  int
	resume  time.Time // not to be tried before
	said    repeatedly
}

func newTelemetry(c *Client, l *connection) *telemetry {
	t := &telemetry{client: c, connection: l, instance: newID(), window: newWindow(c.now()), keys: cardinality{c.options.ManyKeys, maphash.MakeSeed(), map[string]map[uint64]struct{}{}}}
	t.number.Store(1)
	return t
}

func newID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// saw notes the contexts of an evaluation.
func (t *telemetry) saw(set *contexts.Set) {
	if t == nil || set.Len() == 0 || t.off.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.window.see(set, t.client.now())
	t.warnings = append(t.warnings, t.keys.see(set)...)
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
	for backoff.Sleep(ctx, about(t.client.options.TelemetryEvery)) == nil && !t.off.Load() {
		t.flush()
		t.send(ctx)
	}
}

// lastWords is how long Close waits for the last batches to be taken.
const lastWords = 5 * time.Second

func (t *telemetry) close() {
	if t == nil || t.off.Load() {
		return
	}
	t.flush()
	t.sending.Lock()
	t.resume = time.Time{}
	t.sending.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	t.send(ctx)
	t.off.Store(true)
}

// flush turns the window into batches.
func (t *telemetry) flush() {
	t.mu.Lock()
	full, tables, warnings := t.window, t.retired, t.warnings
	t.window, t.retired, t.warnings = newWindow(t.client.now()), nil, nil
	t.number.Add(1)
	t.mu.Unlock()
	for _, warning := range warnings {
		t.client.options.Log.Warn("svc: " + warning)
	}
	if current := t.client.table.Load(); current != nil {
		tables = append(tables, current)
	}
	events := append(summaries(tables, full.start, t.client.now()), full.events()...)
	t.sending.Lock()
	defer t.sending.Unlock()
	t.queue = append(t.queue, pack(events, time.Now())...)
	if lost := len(t.queue) - maxBatches; lost > 0 {
		t.queue = t.queue[lost:]
		t.warn(fmt.Errorf("%d batches were given up to make room", lost))
	}
}

func (t *telemetry) warn(err error) {
	if t.said.now(10 * time.Minute) {
		t.client.options.Log.Warn("svc: telemetry is not taken; evaluation goes on without", "error", err)
	}
}

// send uploads what waits, in order, until something goes wrong.
func (t *telemetry) send(ctx context.Context) {
	t.sending.Lock()
	defer t.sending.Unlock()
	for len(t.queue) > 0 && !time.Now().Before(t.resume) && ctx.Err() == nil {
		b := t.queue[0]
		if done := t.deliver(ctx, b); done || b.hopeless(time.Now()) {
			t.queue = t.queue[1:]
		}
	}
}

// pauseRefused is how long nothing is sent after a key was refused.
const pauseRefused = 5 * time.Minute

// deliver uploads a batch and says whether it is done with, one way or the
// other.
func (t *telemetry) deliver(ctx context.Context, b *batch) (done bool) {
	b.attempts++
	header := http.Header{"Content-Type": {"application/json"}}
	r, err := t.connection.do(ctx, http.MethodPost, telemetryPath, b.body(t.instance, t.client.now()), header)
	if err == nil && r.status/100 == 2 {
		t.failed = 0
		return true
	}
	if ctx.Err() != nil {
		return false // closing, and not a failure
	}
	if err == nil {
		err = t.connection.refusal(r)
	}
	t.warn(err)
	switch {
	case r.status == http.StatusNotFound:
		t.off.Store(true)
		t.queue = nil
		return false
	case r.status == http.StatusUnauthorized, r.status == http.StatusForbidden:
		t.resume = time.Now().Add(pauseRefused)
		return true
	case r.status >= 300 && r.status < 500 && r.status != http.StatusTooManyRequests && r.status != http.StatusRequestTimeout:
		return true
	}
	t.failed++
	t.resume = time.Now().Add(max(delay(t.failed), retryAfter(r.header)))
	return false
}

// batch is what one upload holds. A server knows it again by its id.
type batch struct {
	id       string
	events   []json.RawMessage
	born     time.Time
	attempts int
}

const (
	maxBatches    = 8         // that wait
	maxBatchBytes = 192 << 10 // of events
	maxAttempts   = 10
	maxAge        = 15 * time.Minute
)

func (b *batch) hopeless(now time.Time) bool {
	return b.attempts >= maxAttempts || now.Sub(b.born) > maxAge
}

func (b *batch) body(instance string, now int64) []byte {
	body, _ := json.Marshal(struct {
		Instance string            `json:"instanceHash"`
		ID       string            `json:"batchId"`
		SentAt   int64             `json:"sentAt"`
		Events   []json.RawMessage `json:"events"`
	}{instance, b.id, now, b.events})
	return body
}

// pack puts events into batches, each small enough.
func pack(events []json.RawMessage, now time.Time) []*batch {
	var batches []*batch
	room := 0
	for _, event := range events {
		if room < len(event) || len(batches) == 0 {
			batches = append(batches, &batch{id: newID(), born: now})
			room = maxBatchBytes
		}
		last := batches[len(batches)-1]
		last.events = append(last.events, event)
		room -= len(event)
	}
	return batches
}
