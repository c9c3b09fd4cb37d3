package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/jsontree"
)

const configsPath = "/api/v2/configs"

// hosted is a hosted workspace as a source.
type hosted struct {
	connection *connection
	etag       string
	failures   int
	skipped    string // what was last said of entries that could not be read
	refusals   int    // of event streams, in a row
	askAgain   time.Time
}

func (h *hosted) run(ctx context.Context, c *Client, hopeless func(error)) {
	gaveUp := false
	for {
		wait, err := h.poll(ctx, c)
		if ctx.Err() != nil {
			return
		}
		switch news := err != nil && c.sourceFailed(err); {
		case err == nil:
			wait = h.follow(ctx, c, wait)
		case !gaveUp && c.table.Load() == nil && refused(err):
			gaveUp = true
			hopeless(err) // and for Open to say
		case news:
			c.options.Log.Warn("svc: no new state; will go on trying", "error", err, "serving", c.Version())
		}
		if backoff.Sleep(ctx, wait) != nil {
			return
		}
	}
}

// refused says whether a server knows why it does not answer this client.
func refused(err error) bool {
	var load *LoadError
	return errors.As(err, &load) && load.Status >= 300 && load.Status < 500 && load.Status != http.StatusTooManyRequests && load.Status != http.StatusRequestTimeout
}

// poll asks once, and says when to ask again.
func (h *hosted) poll(ctx context.Context, c *Client) (wait time.Duration, err error) {
	header := http.Header{}
	if h.etag != "" {
		header.Set("If-None-Match", h.etag)
	}
	r, err := h.connection.do(ctx, http.MethodGet, configsPath, nil, header)
	if err == nil {
		err = h.take(r, c)
	} else {
		err = &LoadError{From: h.connection.host, Err: err}
	}
	if err == nil {
		h.failures = 0
		return about(c.options.PollEvery), nil
	}
	h.failures++
	return max(delay(h.failures), retryAfter(r.header)), err
}

func (h *hosted) take(r reply, c *Client) error {
	switch {
	case r.status == http.StatusNotModified && h.etag != "":
		c.confirm()
		return nil
	case r.status != http.StatusOK:
		return h.connection.refusal(r)
	}
	return h.accept(r.body, r.header.Get("ETag"), c)
}

// accept serves an answer, or an event, which has no entity tag.
func (h *hosted) accept(body []byte, etag string, c *Client) error {
	from, skipped, err := decode(body)
	if err != nil {
		return &LoadError{From: h.connection.host, Status: http.StatusOK, Err: err}
	}
	h.etag = etag
	text := ""
	if len(skipped) > 0 {
		text = fmt.Sprintf("%d entries, the first: %s", len(skipped), skipped[0])
	}
	if text != "" && text != h.skipped {
		c.options.Log.Warn("svc: entries that cannot be read are left out", "skipped", text)
	}
	h.skipped = text
	if before := c.table.Load(); before != nil && from.version != "" && before.version == from.version && before.environment == from.environment {
		c.confirm() // a server without entity tags
		return nil
	}
	c.serve(newTable(from, c.options.variables()))
	return nil
}

// decode reads an answer of GET /api/v2/configs. An entry that cannot be read
// is skipped; words say which and why.
func decode(body []byte) (from origin, skipped []string, err error) {
	var answer struct {
		Configs []json.RawMessage
		Meta    struct{ Version, Environment, WorkspaceID string }
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return origin{}, nil, errors.New(`the answer is not of the form {"configs": [...], "meta": {...}}`)
	}
	if answer.Configs == nil || answer.Meta.Environment == "" {
		return origin{}, nil, errors.New("the answer lacks configs or meta.environment: is this the address of a svc service?")
	}
	from = origin{version: answer.Meta.Version, environment: answer.Meta.Environment, workspace: answer.Meta.WorkspaceID, digests: map[string]uint64{}}
	for i, entry := range answer.Configs {
		doc, problem := decodeEntry(entry, from.environment)
		if _, twice := from.digests[doc.Key]; twice && problem == "" {
			problem = "the key stands twice"
		}
		if problem != "" {
			skipped = append(skipped, fmt.Sprintf("configs[%d] %q: %s", i, doc.Key, problem))
			continue
		}
		from.sources = append(from.sources, evaluation.Source{Key: doc.Key, Document: doc})
		from.digests[doc.Key] = digest(entry)
	}
	return from, skipped, nil
}

// decodeEntry reads an entry as the stored document that it was made of, with
// the rules of one environment.
func decodeEntry(entry []byte, environment string) (*document.Document, string) {
	tree, err := jsontree.Parse(entry)
	if err != nil {
		return &document.Document{}, "not JSON"
	}
	if tree.Kind != jsontree.Object {
		return &document.Document{}, "not an object"
	}
	environments := jsontree.NewArray()
	if own := tree.Get("environment"); own != nil && own.Kind == jsontree.Object {
		own.Set("id", jsontree.NewString(environment))
		environments = jsontree.NewArray(own)
	} else if own != nil && own.Kind != jsontree.Null {
		return &document.Document{}, "environment is not an object"
	}
	tree.Delete("environment")
	tree.Set("environments", environments)
	markWithheld(tree)
	doc, issues := document.Decode(tree)
	if len(issues) > 0 {
		return doc, issues[0].Pointer + ": " + issues[0].Message
	}
	switch doc.Type {
	case document.Flag, document.Config, document.LogLevel, document.Segment:
		return doc, ""
	}
	return doc, "its type is not one that is known here"
}

// markWithheld marks the values that the service keeps to itself: confidential
// ones, which it sends without their content.
func markWithheld(tree *jsontree.Node) {
	scopes := []*jsontree.Node{tree.Get("default")}
	scopes = append(scopes, itemsOf(tree.Get("environments"))...)
	for _, scope := range scopes {
		for _, rule := range itemsOf(scope.Get("rules")) {
			withhold(rule.Get("value"))
			for _, arm := range itemsOf(rule.Get("value").Get("value").Get("weightedValues")) {
				withhold(arm.Get("value"))
			}
		}
	}
	for _, variant := range itemsOf(tree.Get("variants")) {
		withhold(variant.Get("value"))
	}
}

func itemsOf(n *jsontree.Node) []*jsontree.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

func withhold(value *jsontree.Node) {
	if confidential, _ := value.Get("confidential").Bool(); confidential && value.Get("value") == nil {
		value.Set("type", jsontree.NewString(string(document.ProvidedValue)))
		value.Set("value", jsontree.NewObject(jsontree.Field("source", jsontree.NewString(withheldSource))))
	}
}
