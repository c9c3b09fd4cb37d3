package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"svc.example/svc/shared/change"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/encoding"
	"svc.example/svc/shared/negotiation"
)

// The headers of requests that may be sent again, and of their answers.
const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
	truncatedHeader   = "Idempotency-Truncated"
)

func (c *call) dryRun() bool { return c.query["dryRun"] == "true" }

// idempotencyKey is the key of a write that may be sent again, "" where there is
// none. What is wrong with it is told with the rest of the request's shape.
func (c *call) idempotencyKey() string {
	keys := c.request.Header.Values(idempotencyHeader)
	if len(keys) == 0 || !c.operation.writes() {
		return ""
	}
	problem := ""
	switch {
	case len(keys) > 1:
		problem = "there are several headers Idempotency-Key; send it once"
	case len(keys[0]) == 0 || len(keys[0]) > 255 || strings.ContainsFunc(keys[0], func(r rune) bool { return r <= ' ' || r > '~' }):
		problem = "an Idempotency-Key is 1 to 255 visible ASCII characters, such as a UUID; draw one for each request, and send the same request again under the same"
	}
	if problem != "" {
		c.issues = append(c.issues, document.Issue{Pointer: idempotencyHeader, Message: problem})
		return ""
	}
	if c.dryRun() {
		return ""
	}
	c.once = &change.Idempotency{Encode: func(result any) (change.Answer, error) {
		text, err := encoding.JSON(result)
		return change.Answer{Status: cmp.Or(c.status, http.StatusOK), Body: text}, err
	}}
	c.asks(nil)
	return keys[0]
}

// remembered is the answer that the request has landed with, now or before; nil for none.
func (c *call) remembered() (*answer, error) {
	if c.once == nil || c.once.Answer == nil {
		return nil, nil
	}
	a := c.once.Answer
	if c.once.Replayed {
		c.header.Set(replayedHeader, "true")
		if a.Truncated {
			c.header.Set(truncatedHeader, "true")
		}
		if c.here.manifests() {
			_ = c.manifested(nil)
		}
	}
	c.status = a.Status
	return c.success(&page{contentType: jsonType, Body: negotiation.NewBody(a.Body)})
}

// asks notes what a request that may be sent again asks for.
func (c *call) asks(body []byte) {
	if c.once == nil {
		return
	}
	target := c.request.URL.EscapedPath()
	if c.request.URL.RawQuery != "" {
		target += "?" + c.request.URL.RawQuery
	}
	c.once.Request = change.Digest([]byte(c.request.Method), []byte(target), body)
}

// replay looks for the answer of a request that has landed already, before anything is
// asked of what it says: it may have been right then.
func (c *call) replay() error {
	if c.once == nil {
		return nil
	}
	return c.session.Changes().Replay(c.request.Context(), c.once)
}

const preconditionHeader = "If-Match"

// unconditional refuses a write that depends on an ETag: nobody compares those here, and
// who sends one believes to overwrite nothing. "*" is of whatever there is.
func (c *call) unconditional() {
	values := c.request.Header.Values(preconditionHeader)
	if !c.operation.writes() || !slices.ContainsFunc(values, func(value string) bool { return strings.TrimSpace(value) != "*" }) {
		return
	}
	c.issues = append(c.issues, document.Issue{Pointer: preconditionHeader,
		Message: "a write does not go by an ETag; send the commitSha that was read as expectedCommitSha, and leave the header out"})
}
