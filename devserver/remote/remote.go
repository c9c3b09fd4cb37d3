// Package remote asks the REST API of a workspace, hosted or of svc api, for
// the commands that work on one over the network.
//
// What must stay true:
//
//   - The key goes to the named address and nowhere else: redirects are not
//     followed. No error and no message holds it.
//   - A refusal reads as the API worded it.
//   - What may pass (429, 503) is waited for, as long as the API says and no
//     longer than a person would, who hears of it.
package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/retryafter"
	"svc.example/svc/shared/terminal"
)

// DefaultURL is where svc api listens.
const DefaultURL = "http://127.0.0.1:6581/v1"

// Client asks one API with one key.
type Client struct {
	base *url.URL
	key  string
	// Waiting hears, in words, of waits that a person would notice. It may be
	// nil.
	Waiting func(line string)
	http    http.Client
	wait    func(ctx context.Context, d time.Duration) error
}

// New makes a client of the API at a base URL, which ends in /v1.
func New(base, key string) (*Client, error) {
	u, ok := baseurl.Parse(base)
	if !ok {
		return nil, fmt.Errorf("%q is not the address of an API; it looks like %s", baseurl.Redacted(base), DefaultURL)
	}
	if !strings.HasSuffix(u.Path, "/v1") {
		return nil, fmt.Errorf("%q does not end in /v1, as the address of the API does; did you mean %s/v1?", base, strings.TrimRight(base, "/"))
	}
	return &Client{base: u, key: key, wait: backoff.Sleep, http: http.Client{
		Timeout:       2 * time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Exposed says whether the key crosses a network unencrypted.
func (c *Client) Exposed() bool {
	return baseurl.Exposed(c.base)
}

// Refusal is an answer that is no success.
type Refusal struct {
	Status  int
	Message string
	asked   string // GET /flags
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s answers %d: %s", r.asked, r.Status, r.Message)
}

// NotFound says whether an error is a refusal with 404.
func NotFound(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Status == http.StatusNotFound
}

// Bounds of what one request waits for, whatever the server asks for.
const (
	maxWait    = time.Minute     // at a time
	maxWaiting = 5 * time.Minute // together
	maxTries   = 4               // for 503
)

// Bounds of answers, in bytes.
const (
	maxAnswer   = 1 << 20 // also of one that is no success
	maxDocument = 2 << 20 // a document may have half of it
	maxList     = 64 << 20
)

// get reads a path, whose segments are escaped already.
func (c *Client) get(ctx context.Context, path string, query url.Values, most int) ([]byte, error) {
	return c.ask(ctx, http.MethodGet, path, query, nil, most)
}

// ask sends a request that changes nothing, again where that may help.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, content []byte, most int) ([]byte, error) {
	var waited time.Duration
	tries := map[int]int{} // by status
	for {
		answer, body, err := c.once(ctx, method, path, query, content, most)
		if err != nil {
			return nil, err
		}
		status := answer.StatusCode
		if status == http.StatusOK {
			return body, nil
		}
		busy := status == http.StatusTooManyRequests
		if !busy && (status != http.StatusServiceUnavailable || tries[status] == maxTries) {
			return nil, refusal(answer, method+" "+path, body)
		}
		asked, _ := retryafter.Read(answer.Header, maxWait)
		// A server that asks for little again and again is left alone for longer
		// each time.
		wait := min(max(asked, time.Second<<tries[status]), maxWait)
		if waited += wait; waited > maxWaiting {
			return nil, refusal(answer, method+" "+path, body)
		}
		tries[status]++
		c.tell(wait, wait == asked, status)
		if err := c.wait(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// tell says what is being waited for. A second is nothing to speak of: a large
// pull waits so now and then.
func (c *Client) tell(wait time.Duration, asked bool, status int) {
	if c.Waiting == nil || wait < 2*time.Second {
		return
	}
	why := fmt.Sprintf("the server answers %d", status)
	if asked {
		why = "the server asks for it"
	}
	c.Waiting(fmt.Sprintf("waiting %.0f s, %s", wait.Seconds(), why))
}

func (c *Client) once(ctx context.Context, method, path string, query url.Values, content []byte, most int) (*http.Response, []byte, error) {
	address := c.base.String() + path
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(content))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", "svc")
	answer, err := c.http.Do(request)
	if refused := (*net.OpError)(nil); errors.As(err, &refused) && refused.Op == "dial" {
		err = fmt.Errorf("%s does not answer: %w; is svc api running there?", c.base, refused.Err)
	}
	if errors.Is(err, io.EOF) { // before the first byte
		err = cutOff(method+" "+address, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		most = maxAnswer
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(most)+1))
	if err != nil && ctx.Err() == nil {
		err = cutOff(method+" "+address, err)
	}
	if err == nil && len(body) > most {
		err = fmt.Errorf("%s %s: the answer is larger than %d bytes", method, path, most)
	}
	return answer, body, err
}

func cutOff(asked string, why error) error {
	return fmt.Errorf("%s: the answer was cut off: %w", asked, why)
}

// keys are what looks like a key of svc's: whoever answers may repeat what it was
// sent.
var keys = regexp.MustCompile(`(svc_[a-z]{2}_)[0-9A-Za-z_]+`)

func refusal(answer *http.Response, asked string, body []byte) error {
	var envelope struct{ Message string }
	if err := json.Unmarshal(body, &envelope); err != nil || envelope.Message == "" {
		envelope.Message = "this is not an answer of the API; check the address"
		if answer.StatusCode == http.StatusTooManyRequests { // of what stands before the API, perhaps
			envelope.Message = "too many requests"
		}
	}
	if answer.StatusCode/100 == 3 {
		envelope.Message = "the address redirects, which is not followed with a key: name the final one"
	}
	message := keys.ReplaceAllString(envelope.Message, "${1}[redacted]")
	return &Refusal{answer.StatusCode, terminal.Escape(message), asked}
}

// Read reads a path whose answer is small into a value.
func (c *Client) Read(ctx context.Context, path string, query url.Values, into any) error {
	body, err := c.get(ctx, path, query, maxAnswer)
	if err != nil {
		return err
	}
	if json.Unmarshal(body, into) != nil {
		return NoAnswer(path, "it is not the JSON that was asked for")
	}
	return nil
}

// Evaluate asks what a context is served, with the body of the request.
func (c *Client) Evaluate(ctx context.Context, request []byte) ([]byte, error) {
	return c.ask(ctx, http.MethodPost, "/evaluate", nil, request, maxList)
}

// Document reads a path whose answer holds one document.
func (c *Client) Document(ctx context.Context, path string) ([]byte, error) {
	return c.get(ctx, path, nil, maxDocument)
}

// List reads the list that an answer holds as a member. An answer without it is
// an error: taken for an empty list, it would say that everything was deleted.
// So is one page of a longer list.
func (c *Client) List(ctx context.Context, path string, query url.Values, member string, into any) error {
	body, err := c.get(ctx, path, query, maxList)
	if err != nil {
		return err
	}
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil {
		return NoAnswer(path, "it is not a JSON object")
	}
	list := answer[member]
	if !bytes.HasPrefix(list, []byte("[")) {
		return NoAnswer(path, fmt.Sprintf("it lacks the list %q", member))
	}
	if _, more := answer["nextCursor"]; more {
		return NoAnswer(path, "it holds only a part of the list, and the whole was asked for")
	}
	if json.Unmarshal(list, into) != nil {
		return NoAnswer(path, fmt.Sprintf("the list %q holds something else than was asked for", member))
	}
	return nil
}

// NoAnswer says that something other than the API must have answered.
func NoAnswer(path, why string) error {
	return fmt.Errorf("GET %s: this is not an answer of the API (%s); check the address", path, why)
}
