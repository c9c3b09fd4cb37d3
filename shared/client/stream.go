package client

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"
)

const (
	streamPath = "/api/v2/sse/config"

	// silence is after how long a stream that says nothing is taken for dead: it
	// has a comment every 15 s.
	silence = 45 * time.Second

	minRetry, maxRetry = 50 * time.Millisecond, time.Minute
)

// follow serves what an event stream brings until it ends, and says when to poll
// again. Where the server has no streams it leaves polling as it is.
func (h *hosted) follow(ctx context.Context, c *Client, poll time.Duration) (next time.Duration) {
	if time.Now().Before(h.askAgain) {
		return poll
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	answer, why := h.connection.stream(ctx, c.Version())
	if why != "" {
		h.refusals++
		h.askAgain = time.Now().Add(delay(h.refusals))
		c.follows(false, why)
		return poll
	}
	defer answer.Body.Close()
	h.refusals = 0
	c.follows(true, "")
	defer c.streaming.Store(false)
	next = time.Second
	var data []byte
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxBytes)
	for lines.Scan() {
		dead.Reset(silence)
		name, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				next = min(max(time.Duration(ms)*time.Millisecond, minRetry), maxRetry)
			}
		case "data":
			data = append(data[:0], value...)
		case "":
			if len(lines.Bytes()) > 0 || len(data) == 0 { // a comment, or an event that is none
				continue
			}
			if err := h.accept(data, "", c); err != nil {
				c.options.Log.Warn("svc: an event that cannot be read; polling", "error", err)
				return next
			}
			data = nil
		}
	}
	return about(next)
}

// stream opens the event stream, or says why there is none.
func (l *connection) stream(ctx context.Context, version string) (*http.Response, string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.base+streamPath, nil)
	if err != nil {
		return nil, "the request cannot be made"
	}
	r.Header.Set("User-Agent", "svc-go/1")
	r.Header.Set("Accept", "text/event-stream")
	if version != "" {
		r.Header.Set("Last-Event-ID", version)
	}
	r.SetBasicAuth("1", l.key)
	patient := *l.http
	patient.Timeout = 0 // a stream goes on
	answer, err := patient.Do(r)
	if err != nil {
		return nil, l.plain(err).Error()
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		answer.Body.Close()
		return nil, fmt.Sprintf("the server answers %d", answer.StatusCode)
	}
	return answer, ""
}

// Streaming says whether changes come over an event stream, at once. Otherwise the
// source is polled, or is a directory.
func (c *Client) Streaming() bool { return c.streaming.Load() }

// follows notes whether there is a stream, and says so when it is not as it was said
// last.
func (c *Client) follows(stream bool, why string) {
	c.streaming.Store(stream)
	said := "svc: hearing of changes over an event stream"
	if !stream {
		said = "svc: polling for changes, as there is no event stream"
	}
	if said == c.said {
		return
	}
	c.said = said
	if stream {
		c.options.Log.Info(said)
	} else {
		c.options.Log.Info(said, "every", c.options.PollEvery, "reason", why)
	}
}
