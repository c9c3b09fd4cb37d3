package relay

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/endpoints"
	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/ratelimit"
	"svc.example/svc/shared/sdkapi"
)

// token stands for a key that was accepted, in the address of a stream.
func (r *Relay) token(key, environment string) string {
	if r.keys.frontend != nil && sha256.Sum256([]byte(key)) == *r.keys.frontend {
		return r.keys.frontendToken(environment)
	}
	return sdkapi.Token(key, environment)
}

// follow authenticates a stream for browsers.
func (r *Relay) follow(_ http.ResponseWriter, req *http.Request, token string) (events.Stream, error) {
	address := r.options.Proxies.Address(req)
	if wait := r.polls.Take(ratelimit.KeyID("", address)); wait > 0 {
		return events.Stream{}, fault.New(fault.RateLimited, "too many requests from this address").After(wait)
	}
	e, err := r.keys.findToken(address, token)
	if err == nil {
		_, err = e.serve()
	}
	if err != nil {
		return events.Stream{}, err
	}
	key, _ := access.ParseToken(token) // of the one key for all browsers: none
	return events.Stream{
		Name: "evaluations " + string(e.key.ID()),
		Key:  string(key.ID()),
		Channel: delivery.Evaluations(func(context.Context) (string, error) {
			return e.state.Load().table.VersionAt(time.Now().UnixMilli()), nil
		}),
		Owner: delivery.LocalBrowser(req),
		Check: func(context.Context) error {
			e, err := r.keys.findToken(address, token)
			if err == nil {
				err = e.there()
			}
			return err
		},
	}, nil
}

// streamDocuments answers GET /api/v2/sse/config.
func (r *Relay) streamDocuments(w http.ResponseWriter, req *http.Request) {
	if !sdkapi.TakesGet(w, req) {
		return
	}
	key := delivery.BasicKey(req)
	e, err := r.environmentFor(req, key, endpoints.DocumentEvents)
	if err == nil {
		_, err = e.serve()
	}
	if err == nil {
		address := r.options.Proxies.Address(req)
		err = r.hub.Serve(w, req, events.Stream{
			Name: "documents " + string(e.key.ID()), Channel: documentEvents{e}, Greeted: true, Address: address, Secret: true,
			Check: func(context.Context) error {
				e, err := r.keys.find(address, key, endpoints.DocumentEvents)
				if err == nil {
					err = e.there()
				}
				return err
			},
		})
	}
	if err != nil {
		delivery.WriteFault(w, fault.Of(err))
	}
}

// documentEvents is the channel of those who evaluate by themselves.
type documentEvents struct{ environment *environment }

// Version implements events.Channel.
func (d documentEvents) Version(context.Context) (string, error) { return d.environment.Version(), nil }

// Event implements events.Channel.
func (d documentEvents) Event(context.Context, events.News) (string, io.Reader, error) {
	return d.environment.state.Load().documents.Event()
}
