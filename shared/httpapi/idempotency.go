package httpapi

import (
	"slices"
	"strings"

	"svc.example/svc/shared/control"
	"svc.example/svc/shared/document"
)

// The headers of requests that may be sent again, and of their answers.
const (
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotency-Replayed"
)

const maxIdempotencyKey = 255

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
	case len(keys[0]) == 0 || len(keys[0]) > maxIdempotencyKey || strings.ContainsFunc(keys[0], func(r rune) bool { return r <= ' ' || r > '~' }):
		problem = "an Idempotency-Key is 1 to 255 visible ASCII characters, such as a UUID; draw one for each request, and send the same request again under the same"
	}
	if problem != "" {
		c.issues = append(c.issues, document.Issue{Pointer: idempotencyHeader, Message: problem})
		return ""
	}
	if c.dryRun() {
		return ""
	}
	c.once = &control.Idempotency{}
	c.asks(nil)
	return keys[0]
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
	c.once.Request = control.Digest([]byte(c.request.Method), []byte(target), body)
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
