package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/retryafter"
)

// connection is the way to a hosted workspace.
type connection struct {
	base string // scheme, host and path prefix
	host string // for messages
	key  string
	http *http.Client
}

// newConnection makes one that follows no redirect: net/http would send the key to
// any port of the same host, and over plain http. A client of the caller's that
// has a rule for redirects keeps it.
func newConnection(o Options) *connection {
	l := &connection{base: strings.TrimRight(o.URL, "/"), key: o.Key}
	if o.HTTP != nil {
		own := *o.HTTP
		l.http = &own
		if own.CheckRedirect == nil {
			l.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		}
	}
	if u, err := url.Parse(o.URL); err == nil {
		l.host = u.Scheme + "://" + u.Host
	}
	return l
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// maxBytes is the largest answer that is read.
const maxBytes = 64 << 20

func (l *connection) do(ctx context.Context, method, path string, body []byte, header http.Header) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, l.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, errors.New("the request cannot be made")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("User-Agent", "svc-go/1")
	r.Header.Set("Accept", "application/json")
	r.SetBasicAuth("1", l.key)
	answer, err := l.http.Do(r)
	if err != nil {
		return reply{}, l.plain(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	if err != nil {
		return reply{}, fmt.Errorf("the answer broke off: %w", l.plain(err))
	}
	if len(text) > maxBytes {
		return reply{}, fmt.Errorf("the answer is longer than %d MB", maxBytes>>20)
	}
	return reply{answer.StatusCode, answer.Header, text}, nil
}

// plain leaves the URL out of an error, as messages name the host by then.
func (l *connection) plain(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// maxWords bounds what is passed on of a server's message.
const maxWords = 1000

// refusal is an answer that is none of those wanted, in the server's words.
func (l *connection) refusal(r reply) error {
	var envelope struct{ Message string }
	message := http.StatusText(r.status)
	if json.Unmarshal(r.body, &envelope) == nil && envelope.Message != "" {
		message = strings.ReplaceAll(envelope.Message, l.key, redacted) // should the server have repeated it
		if len(message) > maxWords {
			message = strings.ToValidUTF8(message[:maxWords], "") + "…"
		}
	}
	if r.status/100 == 3 {
		message = "the address redirects, which is not followed with a key: name the final one in Options.URL"
	}
	if r.status == http.StatusNotFound {
		message += "; svc serve has answers for browsers alone, and programs read its directory: Options.Datadir"
	}
	return &LoadError{From: l.host, Status: r.status, Err: fmt.Errorf("%d: %s", r.status, message)}
}

// retryAfter is what the server asks for, 0 for nothing.
func retryAfter(header http.Header) time.Duration {
	wait, _ := retryafter.Read(header, maxPatience)
	return wait
}

const maxPatience = 15 * time.Minute // with a server that names a time itself

var waits = backoff.Backoff{First: time.Second, Max: 5 * time.Minute}

// delay is the wait after a number of failures in a row.
func delay(failures int) time.Duration {
	return max(waits.Delay(failures-1), 50*time.Millisecond)
}

// about is a time within a tenth of another.
func about(d time.Duration) time.Duration {
	return time.Duration((0.9 + 0.2*rand.Float64()) * float64(d))
}
