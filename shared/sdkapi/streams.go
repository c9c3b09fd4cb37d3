package sdkapi

import (
	"context"
	"io"
	"net/http"
	"sync"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/versions"
)

// streams are the event streams that bulk evaluations name, nil for none.
func (t *tables) streams() *delivery.Streams {
	if t.options.Streams == nil && t.options.StreamURL == "" {
		return nil
	}
	return &delivery.Streams{Hub: t.options.Streams, URL: t.options.StreamURL, InactivityDelay: delivery.InactivityDelay, Token: Token, Follow: t.followEvaluations}
}

// Token stands for a key that has been accepted, in the address of a stream.
func Token(key, environment string) string {
	parsed, err := access.ParseKey(key)
	if err != nil {
		return ""
	}
	return access.TokenOf(parsed.ID(), parsed.Digest(), environment).String()
}

func (t *tables) followEvaluations(w http.ResponseWriter, r *http.Request, token string) (events.Stream, error) {
	caller, err := t.guard.AuthenticateToken(r, token)
	var d *control.Delivery
	if err == nil {
		d, err = t.options.Service.Deliver(caller)
	}
	if err == nil && d.Key().Kind != access.KindPublicSDK {
		err = fault.New(fault.Unauthorized, "%s", keys[endpoints.PublicSDK].Wanted)
	}
	if err != nil {
		return events.Stream{}, t.options.noted(w, r, err)
	}
	f := &follower{tables: t, environment: d.Environment()}
	return events.Stream{Name: "evaluations " + f.environment, Channel: delivery.Evaluations(f.evaluations), Owner: delivery.LocalBrowser(r),
		Key: string(d.Key().ID), Check: t.recheck(d.Key().ID)}, nil
}

// streamDocuments answers GET /api/v2/sse/config.
func (t *tables) streamDocuments(w http.ResponseWriter, r *http.Request) {
	if !TakesGet(w, r) {
		return
	}
	d, err := t.options.open(t.guard, r, endpoints.DocumentEvents, delivery.BasicKey(r))
	if err == nil {
		err = t.options.Streams.Serve(w, r, events.Stream{
			Name: "documents " + d.Environment(), Channel: documentEvents{&follower{tables: t, environment: d.Environment()}}, Greeted: true,
			Address: t.guard.Proxies.Address(r), Secret: true, Check: t.recheck(d.Key().ID),
		})
	}
	if err != nil {
		t.options.refuse(w, r, err)
	}
}

// documentEvents is the channel of those who evaluate by themselves.
type documentEvents struct{ *follower }

func (e documentEvents) Version(ctx context.Context) (string, error) {
	v, err := e.versions(ctx)
	return v.SDK.String(), err
}

// Event unpacks the documents while they are sent: many who are slow would hold
// them many times.
func (e documentEvents) Event(ctx context.Context, _ events.News) (string, io.Reader, error) {
	d, err := e.tables.options.Service.Follow(ctx, e.environment)
	if err != nil {
		return "", nil, err
	}
	docs, err := e.tables.documents(ctx, d)
	if err != nil {
		return "", nil, err
	}
	return docs.Event()
}

// follower looks at the versions of an environment again and again.
type follower struct {
	tables      *tables
	environment string

	mu     sync.Mutex
	commit string // that was looked at last
	seen   versions.Environment
}

// evaluations is the version for clients, with the turns of rules on the time.
func (f *follower) evaluations(ctx context.Context) (string, error) {
	v, err := f.versions(ctx)
	last, _ := v.Turns.Around(f.tables.options.Now().UnixMilli())
	return v.ClientAfter(last), err
}

func (f *follower) versions(ctx context.Context) (versions.Environment, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, err := f.tables.options.Service.Follow(ctx, f.environment)
	if err != nil || d.Head().Commit == f.commit && f.commit != "" {
		return f.seen, err
	}
	v, outline, err := d.Versions(ctx)
	if err == nil {
		err = refusedEnvironment(outline, f.environment)
	}
	if err == nil {
		f.seen, f.commit = v, d.Head().Commit
	}
	return v, err
}

// recheck asks whether a key is still good.
func (t *tables) recheck(id access.ID) func(ctx context.Context) error {
	return func(ctx context.Context) error { return t.options.Service.Recheck(ctx, id) }
}
