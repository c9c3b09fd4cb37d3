package upstream

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"svc.example/svc/shared/endpoints"
)

const (
	// silence is after how long a stream that says nothing is taken for dead: it
	// has a comment every 15 s.
	silence = 45 * time.Second

	minRetry, maxRetry = 50 * time.Millisecond, time.Minute
)

// follow hands on what an event stream brings until it ends, and says when to poll
// again: as soon as the stream may be asked for again, but not later than without one.
func (f *Follower) follow(ctx context.Context, poll time.Duration) (next time.Duration) {
	if time.Now().Before(f.askAgain) {
		return poll
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	answer, why := f.Connection.stream(ctx, f.To.Version())
	if why != "" {
		f.refusals++
		f.askAgain = time.Now().Add(Patiently(f.refusals, 0))
		f.To.Streams(false, why)
		return poll
	}
	defer answer.Body.Close()
	f.refusals = 0
	f.To.Streams(true, "")
	retry := time.Second
	defer func() {
		f.To.Streams(false, "")
		retry = About(retry)
		f.askAgain = time.Now().Add(retry)
		next = min(retry, poll)
	}()
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
				retry = min(max(time.Duration(ms)*time.Millisecond, minRetry), maxRetry)
			}
		case "data":
			data = append(data[:0], value...)
		case "":
			if len(lines.Bytes()) > 0 || len(data) == 0 { // a comment, or an event that is none
				continue
			}
			if err := f.take(data, ""); err != nil {
				f.To.Failed(err)
				return
			}
			data = nil
		}
	}
	return
}

// stream opens the event stream, or says why there is none.
func (c *Connection) stream(ctx context.Context, version string) (*http.Response, string) {
	header := http.Header{"Accept": {"text/event-stream"}}
	if version != "" {
		header.Set("Last-Event-ID", version)
	}
	patient := *c.http
	patient.Timeout = 0 // a stream goes on
	answer, err := c.send(ctx, &patient, http.MethodGet, endpoints.DocumentEvents.Path, nil, header)
	if err != nil {
		return nil, err.Error()
	}
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if answer.StatusCode != http.StatusOK || kind != "text/event-stream" {
		answer.Body.Close()
		if answer.StatusCode == http.StatusNotFound {
			return nil, "the service has no event streams (404)"
		}
		return nil, fmt.Sprintf("the server answers %d", answer.StatusCode)
	}
	return answer, ""
}
