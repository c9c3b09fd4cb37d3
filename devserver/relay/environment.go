package relay

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/sdkapi"
	"svc.example/svc/shared/upstream"
	"svc.example/svc/shared/versions"
)

// environment is what the relay's key of one environment reads. It implements
// upstream.Receiver.
type environment struct {
	relay    *Relay
	key      access.Key
	follower upstream.Follower
	uploads  upstream.Uploader
	pending  pending
	logger   *slog.Logger

	state     atomic.Pointer[state]
	first     chan struct{} // closed with the first state
	streaming atomic.Bool
	refused   atomic.Bool  // the service does not take the key any more
	gone      atomic.Bool  // the service has it no longer, or has archived it
	confirmed atomic.Int64 // when the state was last known to be the present one, in seconds since 1970
	wanted    atomic.Int64 // when a client last asked, in seconds since 1970
	resting   atomic.Bool  // waits long, as the service is away and nobody asks
	hurry     chan struct{}
	looks     atomic.Int64 // how often the service has said what is the present state
	failing   atomic.Bool  // it said nothing of use when it was asked last
	opened    time.Time
	lookedFor atomic.Int64 // when clients last had the service asked, in nanoseconds since opened

	// Of its goroutine.
	health  upstream.Health
	skipped upstream.Skipped
	streams string
	touched time.Time // when the cache's time was set
}

// state is what is served.
type state struct {
	table     *delivery.Table
	documents *sdkapi.Documents
}

const (
	pollEvery = time.Second

	// Waits while the service is away: with clients and without.
	maxWait = 5 * time.Second
	resting = time.Minute
	// presence is for how long a client counts that has asked.
	presence = 60 // seconds
)

func newEnvironment(r *Relay, text string, key access.Key) *environment {
	e := &environment{relay: r, key: key, first: make(chan struct{}), hurry: make(chan struct{}, 1), opened: time.Now(), logger: r.options.Logger.With("keyId", string(key.ID()))}
	to := upstream.Connect(r.options.URL, text, nil)
	e.follower = upstream.Follower{Connection: to, To: e, PollEvery: pollEvery, Wait: e.wait, Hurry: e.hurry}
	e.uploads = upstream.Uploader{Connection: to, Most: maxBatches, Now: func() int64 { return time.Now().UnixMilli() }, Warn: func(err error) {
		e.logger.Warn("telemetry is not taken; serving goes on without", "error", err)
	}}
	return e
}

// wait is how long to leave a service alone that is away.
func (e *environment) wait(failures int, asked time.Duration) time.Duration {
	longest := resting
	if time.Now().Unix()-e.wanted.Load() < presence || e.relay.hub != nil && e.relay.hub.Open() > 0 { // there are clients
		longest = maxWait
	}
	e.resting.Store(longest == resting)
	bound := backoff.Backoff{First: pollEvery, Max: longest}.Bound(failures - 1)
	return max(upstream.About(bound), min(asked, resting))
}

// serve is what is served to a client, who wants it fresh.
func (e *environment) serve() (*state, error) {
	if now := time.Now().Unix(); e.wanted.Load() != now {
		e.wanted.Store(now)
	}
	if e.resting.CompareAndSwap(true, false) {
		select {
		case e.hurry <- struct{}{}:
		default:
		}
	}
	if err := e.there(); err != nil {
		return nil, err
	}
	if s := e.state.Load(); s != nil {
		return s, nil
	}
	return nil, fault.New(fault.Unavailable, "this relay has not reached its service yet, and has no state to serve").After(pollEvery)
}

// there refuses what is asked of an environment that the service serves no longer.
func (e *environment) there() error {
	if e.gone.Load() {
		return fault.New(fault.Unauthorized, "the key reads an environment which the workspace has archived or does not have; use an SDK key of another environment").
			With(map[string]any{"code": sdkapi.EnvironmentGone})
	}
	return nil
}

// name is the environment's; "" before the first state.
func (e *environment) name() string {
	if s := e.state.Load(); s != nil {
		return s.table.Environment
	}
	return ""
}

// same reports whether another key reads the same environment.
func (e *environment) same(other *environment) bool {
	return e.key.Workspace() == other.key.Workspace() && e.name() != "" && e.name() == other.name()
}

// age is for how long the state has not been known to be the present one.
func (e *environment) age() time.Duration {
	if e.streaming.Load() {
		return 0
	}
	return max(0, time.Since(time.Unix(e.confirmed.Load(), 0)).Truncate(time.Second))
}

// Version implements upstream.Receiver, as do the methods that follow.
func (e *environment) Version() string {
	if s := e.state.Load(); s != nil {
		return s.documents.Version
	}
	return ""
}

var errOtherWorkspace = errors.New("the answer is that of another workspace or environment than the key's; it is not served")

// Take serves a state.
func (e *environment) Take(body []byte) error {
	before := e.Version()
	if err := e.load(body); err != nil {
		return err
	}
	e.Confirm()
	if cache := e.relay.cache; cache != nil && e.Version() != before {
		if err := cache.keepState(e.key, e.state.Load().documents); err != nil {
			e.logger.Error("the state cannot be kept", "error", err)
		}
	}
	return nil
}

// load compiles a state, and serves it in the place of the one before.
func (e *environment) load(body []byte) error {
	answer, err := upstream.Read(body)
	if err != nil {
		return err
	}
	before := e.state.Load()
	if answer.Workspace != string(e.key.Workspace()) || before != nil && before.table.Environment != answer.Environment {
		return errOtherWorkspace
	}
	if answer.Version == "" {
		return errors.New("the answer does not tell its version")
	}
	if before != nil && before.documents.Version == answer.Version {
		return nil
	}
	table, served := delivery.NewBuilder(answer.Environment), versions.State{}
	skipped := answer.Entries(func(entry upstream.Entry) {
		table.Add(evaluation.Source{Key: entry.Document.Key, Document: entry.Document})
		served.Add(entry.Document.Key, entry.Tree, entry.Document)
	})
	version := served.Of(answer.Environment, versions.Salt{})
	if len(skipped) == 0 {
		if told, err := hex.DecodeString(answer.Client); err == nil && len(told) == len(version.Client) {
			version.Client = versions.Version(told)
		}
	}
	if text, news := e.skipped.Note(skipped); news {
		e.logger.Warn("entries that cannot be read are left out; is the service of a newer version than this relay?", "skipped", text)
	}
	text := body
	if bytes.ContainsAny(body, "\r\n") { // of somebody in between
		var line bytes.Buffer
		if err := json.Compact(&line, body); err != nil {
			return err
		}
		text = line.Bytes()
	}
	next := &state{table.Table(version.ClientAfter, version.Turns), sdkapi.NewDocuments(answer.Workspace, answer.Environment, answer.Version, func(w io.Writer) {
		_, _ = w.Write(text) // it goes to memory
	})}
	e.state.Store(next)
	if before == nil {
		e.watch(answer)
		close(e.first)
		if slices.ContainsFunc(e.relay.environments, func(other *environment) bool { return other != e && e.same(other) }) {
			e.logger.Warn("another of this relay's keys reads the same environment; one of them is enough", "environment", answer.Environment)
		}
	}
	if e.relay.hub != nil {
		e.relay.hub.Look()
	}
	flags, configs := next.table.Count()
	e.logger.Info("serving", "environment", answer.Environment, "version", answer.Version, "flags", flags, "configs", configs)
	if len(body) > 1<<20 {
		debug.FreeOSMemory() // compiling leaves garbage many times the size of what is served
	}
	return nil
}

// watch shows how the environment is doing.
func (e *environment) watch(of *upstream.Documents) {
	labels := map[string]string{"environment": of.Environment, "workspace": of.Workspace}
	numbers := e.relay.options.Monitor
	numbers.Gauge("svc_relay_state_age_seconds", "For how long the state has not been known to be the present one.", labels, func() float64 { return e.age().Seconds() })
	numbers.Gauge("svc_relay_streaming", "1 while changes come over an event stream.", labels, func() float64 {
		if e.streaming.Load() {
			return 1
		}
		return 0
	})
	numbers.Gauge("svc_relay_telemetry_batches_waiting", "Batches of telemetry that could not be passed on yet.", labels, func() float64 { return float64(e.uploads.Waiting()) })
}

// Confirm notes that the state is the present one.
func (e *environment) Confirm() {
	now := time.Now()
	e.confirmed.Store(now.Unix())
	e.refused.Store(false)
	e.failing.Store(false)
	e.looks.Add(1)
	e.gone.Store(false)
	if e.resting.Store(false); e.health.Good() {
		e.logger.Info("the service is there again", "environment", e.name(), "version", e.Version())
	}
	if cache := e.relay.cache; cache != nil && now.Sub(e.touched) > time.Minute {
		e.touched = now
		_ = os.Chtimes(cache.statePath(e.key.ID()), now, now) // that it fails says the next state that is kept
	}
}

// Failed logs why there is no new state: another reason at once, the same one once a
// minute.
func (e *environment) Failed(err error) {
	e.failing.Store(true)
	load, told := errors.AsType[*upstream.LoadError](err)
	e.refused.Store(told && load.Status == http.StatusUnauthorized)
	e.gone.Store(told && load.Status == http.StatusUnauthorized && load.Code == sdkapi.EnvironmentGone)
	switch {
	case !e.health.Bad(err):
	case e.gone.Load():
		e.logger.Error("the environment is served no longer: the workspace has archived it, or does not have it", "environment", e.name(), "error", err)
	case e.state.Load() == nil:
		e.logger.Error("there is nothing to serve yet: the service does not answer; will go on trying", "error", err)
	default:
		e.logger.Warn("there is no new state: the last good one goes on being served", "environment", e.name(), "age", e.age().String(), "error", err)
	}
}

// Streams notes whether changes come at once.
func (e *environment) Streams(are bool, why string) {
	e.streaming.Store(are)
	e.confirmed.Store(time.Now().Unix())
	said := "changes come over an event stream"
	if !are {
		said = "asking for changes every second, as there is no event stream"
	}
	if said == e.streams || !are && why == "" { // one that has ended comes back
		return
	}
	e.streams = said
	e.logger.Info(said, "reason", why)
}

// restore serves what the cache has.
func (e *environment) restore() {
	if e.relay.cache == nil {
		return
	}
	body, at, err := e.relay.cache.state(e.key)
	if err == nil && body != nil {
		e.confirmed.Store(at.Unix())
		err = e.load(body)
	}
	switch {
	case err != nil:
		e.logger.Error("the state that was kept is not served; going on without", "error", err)
	case body != nil:
		e.logger.Info("serving the state that was kept, until the service answers", "environment", e.name(), "age", e.age().String())
	}
}
