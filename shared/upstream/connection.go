package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"svc.example/svc/shared/retryafter"
)

// Connection is the way to a service, for the holder of one SDK key.
type Connection struct {
	// Host is scheme and host, for messages.
	Host string

	base string // scheme, host and path prefix
	key  string
	http *http.Client
}

// Connect makes a Connection, without asking anything yet. The address is scheme
// and host, perhaps with a path; one that ends in /v1, as the REST API's base URL
// does, leads to the same. A nil client is one of its own.
//
// It follows no redirect: net/http would send the key to any port of the same host,
// and over plain http. A client of the caller's that has a rule for redirects keeps
// it.
func Connect(address, key string, through *http.Client) *Connection {
	c := &Connection{base: strings.TrimRight(Base(address), "/"), key: key, http: &http.Client{Timeout: 20 * time.Second}}
	if through != nil {
		own := *through
		c.http = &own
	}
	if c.http.CheckRedirect == nil {
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	if u, err := url.Parse(address); err == nil {
		c.Host = u.Scheme + "://" + u.Host
	}
	return c
}

// Base is an address without the /v1 that the REST API's base URL ends in.
func Base(address string) string {
	trimmed := strings.TrimRight(address, "/")
	if u, err := url.Parse(trimmed); err == nil && strings.HasSuffix(u.Path, "/v1") {
		return strings.TrimSuffix(trimmed, "/v1")
	}
	return address
}

// For is the way to the same service for the holder of another key.
func (c *Connection) For(key string) *Connection {
	other := *c
	other.key = key
	return &other
}

// Reply is an answer, read to its end.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// Code is the one in the details of a refusal, "" for none.
func (r Reply) Code() string {
	var envelope struct{ Details struct{ Code string } }
	if json.Unmarshal(r.Body, &envelope) != nil {
		return ""
	}
	return envelope.Details.Code
}

// maxBytes is the largest answer that is read.
const maxBytes = 64 << 20

// Do asks for something. Its error tells nothing of the address and the key.
func (c *Connection) Do(ctx context.Context, method, path string, body []byte, header http.Header) (Reply, error) {
	answer, err := c.send(ctx, c.http, method, path, body, header)
	if err != nil {
		return Reply{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxBytes+1))
	if err != nil {
		return Reply{}, fmt.Errorf("the answer broke off: %w", plain(err))
	}
	if len(text) > maxBytes {
		return Reply{}, fmt.Errorf("the answer is longer than %d MB", maxBytes>>20)
	}
	return Reply{answer.StatusCode, answer.Header, text}, nil
}

// send sends a request, by default for JSON.
func (c *Connection) send(ctx context.Context, through *http.Client, method, path string, body []byte, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the request cannot be made")
	}
	r.Header.Set("Accept", "application/json")
	maps.Copy(r.Header, header)
	r.Header.Set("User-Agent", "svc-go/1")
	r.SetBasicAuth("1", c.key)
	answer, err := through.Do(r)
	if err != nil {
		return nil, plain(err)
	}
	return answer, nil
}

// plain leaves the URL out of an error, as messages name the host by then.
func plain(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// LoadError is why there is no new state.
type LoadError struct {
	From string // the URL, without the key
	// Status is that of the last answer, 0 when there was none.
	Status int
	// Code is the one in its details, "" for none.
	Code string
	// Err is the cause. Where a client did not wait any longer for its first state,
	// it is the last failure, and the end of the wait too for errors.Is.
	Err error
}

func (e *LoadError) Error() string { return "svc: " + e.From + ": " + e.Err.Error() }

// Unwrap is the cause.
func (e *LoadError) Unwrap() error { return e.Err }

// Refused reports whether a server has a reason not to answer this client, so that
// asking again will hardly help.
func Refused(err error) bool {
	var load *LoadError
	return errors.As(err, &load) && refused(load.Status)
}

func refused(status int) bool {
	return status >= 300 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout
}

const (
	// maxWords bounds what is passed on of a server's message.
	maxWords = 1000

	// Redacted stands where a secret would.
	Redacted = "[redacted]"
)

// Refusal is an answer that is none of those wanted, in the server's words.
func (c *Connection) Refusal(r Reply) error {
	var envelope struct{ Message string }
	message := http.StatusText(r.Status)
	if json.Unmarshal(r.Body, &envelope) == nil && envelope.Message != "" {
		message = strings.ReplaceAll(envelope.Message, c.key, Redacted) // should the server have repeated it
		if len(message) > maxWords {
			message = strings.ToValidUTF8(message[:maxWords], "") + "…"
		}
	}
	if r.Status/100 == 3 {
		message = "the address redirects, which is not followed with a key: name the final one"
	}
	if r.Status == http.StatusNotFound {
		message += "; svc serve on a directory has answers for browsers alone, and programs read the directory itself"
	}
	return &LoadError{From: c.Host, Status: r.Status, Code: r.Code(), Err: fmt.Errorf("%d: %s", r.Status, message)}
}

// maxPatience is the longest wait that a server can ask for.
const maxPatience = 15 * time.Minute

// RetryAfter is how long a server asks to be left alone, at most 15 minutes; 0 for
// nothing.
func RetryAfter(header http.Header) time.Duration {
	wait, _ := retryafter.Read(header, maxPatience)
	return wait
}
