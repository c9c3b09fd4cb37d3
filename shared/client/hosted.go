package client

import (
	"context"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/upstream"
)

// hosted is a hosted workspace as a source.
type hosted struct {
	client     *Client
	connection *upstream.Connection
	hopeless   func(error) // nil once it was called
	skipped    upstream.Skipped
	said       string // what was last said of the event stream
}

func (h *hosted) run(ctx context.Context, c *Client, hopeless func(error)) {
	h.client, h.hopeless = c, hopeless
	follower := upstream.Follower{Connection: h.connection, To: h, PollEvery: c.options.PollEvery}
	follower.Run(ctx)
}

// Version implements upstream.Receiver, as do the methods that follow.
func (h *hosted) Version() string { return h.client.Version() }

// Take serves a state.
func (h *hosted) Take(body []byte) error {
	from, skipped, err := decode(body)
	if err != nil {
		return err
	}
	c := h.client
	if text, news := h.skipped.Note(skipped); news {
		c.options.Log.Warn("svc: entries that cannot be read are left out", "skipped", text)
	}
	if before := c.table.Load(); before != nil && from.version != "" && before.version == from.version && before.environment == from.environment {
		c.confirm() // a server without entity tags
		return nil
	}
	c.serve(newTable(from, c.options))
	return nil
}

// Confirm notes that there is no other state.
func (h *hosted) Confirm() { h.client.confirm() }

// Failed notes that there is no new state.
func (h *hosted) Failed(err error) {
	c := h.client
	switch news := c.sourceFailed(err); {
	case h.hopeless != nil && c.table.Load() == nil && upstream.Refused(err):
		h.hopeless(err) // and for Open to say
		h.hopeless = nil
	case news:
		c.options.Log.Warn("svc: no new state; will go on trying", "error", err, "serving", c.Version())
	}
}

// Streams notes whether there is an event stream, and says so when it is not as it
// was said last.
func (h *hosted) Streams(are bool, why string) {
	c := h.client
	c.streaming.Store(are)
	said := "svc: hearing of changes over an event stream"
	if !are {
		said = "svc: polling for changes, as there is no event stream"
	}
	switch {
	case said == h.said || !are && why == "": // one that has ended comes back
		return
	case are:
		c.options.Log.Info(said)
	default:
		c.options.Log.Info(said, "every", c.options.PollEvery, "reason", why)
	}
	h.said = said
}

// Streaming reports whether changes come over an event stream, at once. Otherwise the
// source is polled, or is a directory.
func (c *Client) Streaming() bool { return c.streaming.Load() }

// decode reads an answer of GET /api/v2/configs; words say which entries cannot be
// read, and why.
func decode(body []byte) (from origin, skipped []string, err error) {
	documents, err := upstream.Read(body)
	if err != nil {
		return origin{}, nil, err
	}
	from = origin{version: documents.Version, environment: documents.Environment, workspace: documents.Workspace, digests: map[string]uint64{}}
	skipped = documents.Entries(func(e upstream.Entry) {
		from.sources = append(from.sources, evaluation.Source{Key: e.Document.Key, Document: e.Document})
		from.digests[e.Document.Key] = digest(e.Text)
	})
	return from, skipped, nil
}
