package relay

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/telemetry"
	"svc.example/svc/shared/upstream"
)

// uploadEvery is how long telemetry waits for more at the most.
const uploadEvery = 5 * time.Second

// maxBatches is how many wait while the service is away, of an environment.
const maxBatches = 64

// intake answers POST /api/v1/telemetry/. A batch is judged here as the service would
// judge it, and passed on with others.
type intake struct {
	relay  *Relay
	judge  *telemetry.Intake
	bodies *bodies.Budget
}

// unkept is a store that keeps nothing: what is passed on is the report itself.
type unkept struct{ telemetry.Store }

func (unkept) Record(context.Context, string, telemetry.Batch) (telemetry.Recorded, error) {
	return telemetry.Recorded{}, nil
}

// ServeHTTP implements http.Handler.
func (i intake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sdkapi.AnswerReport(w, r, i.take, func(w http.ResponseWriter, _ *http.Request, err error) { delivery.WriteFault(w, fault.Of(err)) })
}

func (i intake) take(w http.ResponseWriter, r *http.Request) (telemetry.Receipt, error) {
	key := delivery.BasicKey(r)
	e, err := i.relay.environmentFor(r, key, endpoints.ReportContexts)
	if err != nil {
		return telemetry.Receipt{}, err
	}
	body, place, err := i.bodies.Read(w, r, func() string { return key + " " + i.relay.options.Proxies.Address(r).String() })
	if err != nil {
		return telemetry.Receipt{}, err
	}
	defer place.Leave()
	receipt, err := i.judge.Take(r.Context(), telemetry.Source{}, body, nil)
	if err == nil {
		parsed, err := access.ParseKey(key)
		e.pass(body, err == nil && parsed.Kind() == access.KindSecretSDK)
	}
	return receipt, err
}

// pending are the events of telemetry that wait for more, as many as a service takes
// in one batch.
type pending struct {
	mu     sync.Mutex
	events []upstream.Event
	size   size
}

// take takes out what waits, what came with secret keys first.
func (p *pending) take() []upstream.Event {
	events := p.events
	slices.SortStableFunc(events, func(a, b upstream.Event) int {
		if a.Public == b.Public {
			return 0
		} else if b.Public {
			return -1
		}
		return 1
	})
	p.events, p.size = nil, size{}
	return events
}

// size is of events, by what the bounds of a batch count.
type size struct{ events, bytes, examples, contexts, shapes, counters int }

func (s size) plus(o size) size {
	return size{s.events + o.events, s.bytes + o.bytes, s.examples + o.examples, s.contexts + o.contexts, s.shapes + o.shapes, s.counters + o.counters}
}

// fits reports whether a service takes so much in one batch, and an Uploader makes it one.
func (s size) fits() bool {
	return s.events <= telemetry.MaxEvents && s.bytes <= upstream.MaxBatch && s.examples <= telemetry.MaxExamples &&
		s.contexts <= telemetry.MaxSeen && s.shapes <= telemetry.MaxShapes && s.counters <= telemetry.MaxCounters
}

// pass queues a report that is well-formed. One that came with a secret key may be of
// another relay, and hold those of others.
func (e *environment) pass(body []byte, secret bool) {
	var report struct{ Events []json.RawMessage }
	decoded, issues := telemetry.Decode(body)
	if len(issues) > 0 || json.Unmarshal(body, &report) != nil {
		return // it was well-formed a moment ago
	}
	more := size{events: len(report.Events), examples: len(decoded.Examples), shapes: len(decoded.Shapes), counters: len(decoded.Counters)}
	if !secret {
		decoded.Reports, decoded.Public = nil, true
	}
	events := e.identified(report.Events, decoded, body)
	for _, event := range events {
		more.bytes += len(event.Text) + len(event.Report)
	}
	for _, example := range decoded.Examples {
		more.contexts += len(example.Contexts)
	}
	if late := time.Since(decoded.SentAt); !decoded.SentAt.IsZero() && late.Abs() > telemetry.MaxSkew {
		e.uploads.AddReported(events, late) // the service corrects its times
		return
	}
	p := &e.pending
	p.mu.Lock()
	var full []upstream.Event
	if !p.size.plus(more).fits() {
		full = p.take()
	}
	known := map[string]bool{} // the reports of which some events wait already
	for _, event := range p.events {
		known[event.Report] = event.Report != ""
	}
	events = slices.DeleteFunc(events, func(event upstream.Event) bool { return known[event.Report] })
	p.events, p.size = append(p.events, events...), p.size.plus(more)
	p.mu.Unlock()
	if len(full) > 0 {
		e.uploads.AddReported(full, 0)
	}
}

// maxIdentified is the largest report whose events the service still takes together when
// each names the report.
const maxIdentified = telemetry.MaxBody - 16<<10

// identified has the events that count evaluations name the report by which the service
// would know them if it had come to it directly: all else may come as often as it likes.
func (e *environment) identified(events []json.RawMessage, report telemetry.Report, body []byte) []upstream.Event {
	named := make([]upstream.Event, len(events))
	for i, text := range events {
		named[i].Text, named[i].Public = text, report.Public
	}
	environment := e.name()
	if len(report.Counters) == 0 || environment == "" || len(body) > maxIdentified {
		return named
	}
	own := report.Identity(string(e.key.Workspace()), environment, body)
	for _, c := range report.Counters {
		id := own
		if c.Event < len(report.Reports) && report.Reports[c.Event] != [32]byte{} {
			id = report.Reports[c.Event]
		}
		named[c.Event].Report = hex.EncodeToString(id[:])
	}
	return named
}

// flush hands on what waits.
func (e *environment) flush() {
	e.pending.mu.Lock()
	events := e.pending.take()
	e.pending.mu.Unlock()
	if len(events) > 0 {
		e.uploads.AddReported(events, 0)
	}
}
