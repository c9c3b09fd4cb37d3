package upstream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/requestid"
)

// Uploader passes events of telemetry on in batches. What it keeps is bounded: a few
// batches that wait, of which the oldest go first. It may be used concurrently.
type Uploader struct {
	Connection *Connection
	// Now is in milliseconds since 1970.
	Now func() int64
	// Warn hears, at most every 10 minutes, that batches are not taken.
	Warn func(error)
	// Most is how many batches wait; 0 is 8.
	Most int

	off atomic.Bool // the server takes none

	queued sync.Mutex // of queue
	queue  []*batch

	sending  sync.Mutex // of what follows
	instance string
	failed   int
	resume   time.Time // not to be tried before

	warned atomic.Int64 // when, in seconds since 1970
}

// Off says that the server takes no telemetry, or that the Uploader is closed.
func (u *Uploader) Off() bool { return u.off.Load() }

// Waiting is how many batches wait.
func (u *Uploader) Waiting() int {
	u.queued.Lock()
	defer u.queued.Unlock()
	return len(u.queue)
}

// Event is one of a batch.
type Event struct {
	Text json.RawMessage
	// Report is the id of the report that brought the event, by which the service knows one
	// that is sent again; "" for the sender's own. Events of one report stay together.
	Report string
	// Public says that it was reported with a public key.
	Public bool
}

// Add queues events for Send, in batches of their own.
func (u *Uploader) Add(events []json.RawMessage) {
	own := make([]Event, len(events))
	for i, text := range events {
		own[i].Text = text
	}
	u.AddReported(own, 0)
}

// AddReported is Add of events that others have reported. Late is how far behind ours the
// clock is that they were noted by.
func (u *Uploader) AddReported(events []Event, late time.Duration) {
	u.queued.Lock()
	for _, b := range pack(events, time.Now()) {
		b.late = late.Milliseconds()
		u.queue = append(u.queue, b)
	}
	lost := max(0, len(u.queue)-cmp.Or(u.Most, maxBatches))
	u.queue = u.queue[lost:]
	u.queued.Unlock()
	if lost > 0 {
		u.warn(fmt.Errorf("%d batches were given up to make room", lost))
	}
}

func (u *Uploader) warn(err error) {
	const every = 10 * 60
	now := time.Now().Unix()
	if before := u.warned.Load(); now-before >= every && u.warned.CompareAndSwap(before, now) {
		u.Warn(err)
	}
}

// Send uploads what waits, in order, until something goes wrong.
func (u *Uploader) Send(ctx context.Context) {
	u.sending.Lock()
	defer u.sending.Unlock()
	for !u.Off() && !time.Now().Before(u.resume) && ctx.Err() == nil {
		u.queued.Lock()
		queue := u.queue
		u.queued.Unlock()
		if len(queue) == 0 {
			return
		}
		b := queue[0]
		if done := u.deliver(ctx, b); !done && time.Since(b.born) <= maxAge {
			continue
		}
		u.queued.Lock()
		if len(u.queue) > 0 && u.queue[0] == b { // it did not have to make room
			u.queue = u.queue[1:]
		}
		u.queued.Unlock()
	}
}

// lastWords is how long Close waits for the last batches to be taken.
const lastWords = 5 * time.Second

// Close sends what waits, in at most five seconds, and nothing from then on.
func (u *Uploader) Close() {
	u.sending.Lock()
	u.resume = time.Time{}
	u.sending.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	u.Send(ctx)
	u.off.Store(true)
}

// pauseRefused is how long nothing is sent after a key was refused.
const pauseRefused = 5 * time.Minute

// deliver uploads a batch and reports whether it is done with, one way or the
// other.
func (u *Uploader) deliver(ctx context.Context, b *batch) (done bool) {
	if u.instance == "" {
		u.instance = requestid.New()
	}
	header := http.Header{"Content-Type": {"application/json"}}
	r, err := u.Connection.Do(ctx, http.MethodPost, endpoints.ReportContexts.Path+"/", b.body(u.instance, u.Now()-b.late), header)
	if err == nil && r.Status/100 == 2 {
		u.failed = 0
		return true
	}
	if ctx.Err() != nil {
		return false // closing, and not a failure
	}
	if err == nil {
		err = u.Connection.Refusal(r)
	}
	u.warn(err)
	switch {
	case r.Status == http.StatusNotFound:
		u.off.Store(true)
		return true
	case r.Status == http.StatusUnauthorized, r.Status == http.StatusForbidden:
		u.resume = time.Now().Add(pauseRefused)
		return true
	case refused(r.Status):
		return true
	}
	u.failed++
	u.resume = time.Now().Add(Patiently(u.failed, RetryAfter(r.Header)))
	return false
}

// batch is what one upload holds. A server knows it again by its id.
type batch struct {
	id      string
	public  bool // all of its events came with public keys
	events  []json.RawMessage
	reports []string // of each event; nil where there are none
	late    int64    // milliseconds
	born    time.Time
}

const (
	maxBatches = 8 // that wait
	maxAge     = 15 * time.Minute

	// MaxBatch is how many bytes of events go into one batch, where one event alone
	// is not more.
	MaxBatch = 192 << 10
)

func (b *batch) body(instance string, now int64) []byte {
	body, _ := json.Marshal(struct {
		Instance string            `json:"instanceHash"`
		ID       string            `json:"batchId"`
		SentAt   int64             `json:"sentAt"`
		Public   bool              `json:"public,omitempty"`
		Reports  []string          `json:"reports,omitempty"`
		Events   []json.RawMessage `json:"events"`
	}{instance, b.id, now, b.public, b.reports, b.events})
	return body
}

// pack puts events into batches, each small enough and of one kind of key, but for a report
// that is larger: in two batches its second part would be known already.
func pack(events []Event, now time.Time) []*batch {
	var batches []*batch
	room, report := 0, ""
	for _, event := range events {
		full := room < len(event.Text) && (event.Report == "" || event.Report != report)
		if len(batches) == 0 || full || event.Public != batches[len(batches)-1].public {
			batches = append(batches, &batch{id: requestid.New(), public: event.Public, born: now})
			room = MaxBatch
		}
		last := batches[len(batches)-1]
		if event.Report != "" && last.reports == nil {
			last.reports = make([]string, len(last.events))
		}
		if last.reports != nil {
			last.reports = append(last.reports, event.Report)
		}
		last.events = append(last.events, event.Text)
		room, report = room-len(event.Text), event.Report
	}
	return batches
}
