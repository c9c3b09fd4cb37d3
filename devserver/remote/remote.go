// Package remote asks the REST API of a workspace, hosted or of svc api, for
// the commands that work on one over the network.
//
// What must stay true:
//
//   - The key goes to the named address and nowhere else: redirects are not
//     followed. No error and no message holds it.
//   - A refusal reads as the API worded it.
//   - What may pass (429, 503) is retried after as long as the API says, but no longer
//     than a person would wait, and the caller is told of it.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/backoff"
	"svc.example/svc/shared/baseurl"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/manifest"
	"svc.example/svc/shared/retryafter"
	"svc.example/svc/shared/terminal"
)

// DefaultURL is where svc api listens.
const DefaultURL = "http://127.0.0.1:6581/v1"

// Client asks one API with one key.
type Client struct {
	base *url.URL
	key  string
	// Waiting is told of waits that a person would notice. It may be nil.
	Waiting func(line string)
	// Files: what is written stands in files, and nothing commits it.
	Files bool
	http  http.Client
	wait  func(ctx context.Context, d time.Duration) error
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

// OfFiles makes a client of the API on a directory, which this process serves to nobody else.
func OfFiles(api http.Handler, base, key string) (*Client, error) {
	c, err := New(base, key)
	if err == nil {
		c.Files, c.http.Transport = true, served{api}
	}
	return c, err
}

// served asks a handler, past every network.
type served struct{ http.Handler }

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	to := &recorded{header: http.Header{}}
	s.ServeHTTP(to, r)
	return &http.Response{StatusCode: cmp.Or(to.status, http.StatusOK), Header: to.header, Body: io.NopCloser(&to.body), Request: r}, nil
}

// recorded is an answer.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorded) Header() http.Header         { return r.header }
func (r *recorded) WriteHeader(status int)      { r.status = cmp.Or(r.status, status) }
func (r *recorded) Write(b []byte) (int, error) { return r.body.Write(b) }

// Exposed reports whether the key crosses a network unencrypted.
func (c *Client) Exposed() bool {
	return baseurl.Exposed(c.base)
}

// Refusal is an answer that is no success.
type Refusal struct {
	Status  int
	Code    string // such as CONFLICT; "" where it is not the API that answers
	Message string
	Details json.RawMessage  // as the API has them, an object; nil for none
	Issues  []document.Issue // what is wrong with the request, by paths into it
	Since   []Since          // what was done to the item of a refused token, newest first
	asked   string           // GET /flags
}

// Since is a change by somebody.
type Since struct{ Date, AuthorName, SHA string }

func (r *Refusal) Error() string {
	return fmt.Sprintf("%s answers %d: %s", r.asked, r.Status, r.Message)
}

// Bounds of what one request waits for, whatever the server asks for.
const (
	maxWait    = time.Minute     // at a time
	maxWaiting = 5 * time.Minute // together
	maxTries   = 4               // for 503
)

// Bounds of answers, in bytes.
const (
	maxAnswer = 1 << 20 // also of one that is no success
	maxPage   = 8 << 20 // four times what one is said to have
	maxList   = 64 << 20
)

// request is one of the API. The path's segments are escaped already.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string
	content      []byte
	most         int  // bytes of a success
	once         bool // it is not sent again after a 503
	beside       bool // the path is beside /v1
}

// get reads a path.
func (c *Client) get(ctx context.Context, path string, query url.Values, most int) ([]byte, error) {
	_, body, err := c.ask(ctx, request{method: http.MethodGet, path: path, query: query, most: most})
	return body, err
}

// ask sends a request, again where that does no harm and may help.
func (c *Client) ask(ctx context.Context, q request) (*http.Response, []byte, error) {
	var waited time.Duration
	tries := map[int]int{} // by status
	for {
		answer, body, err := c.send(ctx, q)
		if err != nil {
			return nil, nil, err
		}
		status := answer.StatusCode
		if status == http.StatusOK || status == http.StatusNotModified && q.header["If-None-Match"] != "" {
			return answer, body, nil
		}
		busy := status == http.StatusTooManyRequests
		if !busy && (status != http.StatusServiceUnavailable || q.once || tries[status] == maxTries) {
			return nil, nil, refusal(answer, q.method+" "+q.path, body)
		}
		asked, _ := retryafter.Read(answer.Header, maxWait)
		// A server that asks for little again and again is left alone for longer
		// each time.
		wait := min(max(asked, time.Second<<tries[status]), maxWait)
		if waited += wait; waited > maxWaiting {
			return nil, nil, refusal(answer, q.method+" "+q.path, body)
		}
		tries[status]++
		if c.Waiting != nil && wait >= 2*time.Second { // one of a second is not worth it: a large pull has some
			why := fmt.Sprintf("the server answers %d", status)
			if wait == asked {
				why = "the server asks for it"
			}
			c.Waiting(fmt.Sprintf("waiting %.0f s, %s", wait.Seconds(), why))
		}
		if err := c.wait(ctx, wait); err != nil {
			return nil, nil, err
		}
	}
}

// unreached is the error of a request that was not sent.
type unreached struct{ error }

func (c *Client) send(ctx context.Context, q request) (*http.Response, []byte, error) {
	address := c.base.String() + q.path
	if q.beside {
		address = strings.TrimSuffix(c.base.String(), "/v1") + q.path
	}
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, q.method, address, bytes.NewReader(q.content))
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("User-Agent", "svc")
	request.GetBody = nil // or net/http sends what has an Idempotency-Key again by itself
	for name, value := range q.header {
		request.Header.Set(name, value)
	}
	answer, err := c.http.Do(request)
	if refused := (*net.OpError)(nil); errors.As(err, &refused) && refused.Op == "dial" {
		err = unreached{fmt.Errorf("%s does not answer: %w; is svc api running there?", c.base, refused.Err)}
	}
	if errors.Is(err, io.EOF) { // before the first byte
		err = cutOff(q.method+" "+address, io.ErrUnexpectedEOF)
	}
	if err != nil {
		return nil, nil, err
	}
	defer answer.Body.Close()
	most := q.most
	if answer.StatusCode != http.StatusOK {
		most = maxAnswer
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, int64(most)+1))
	if err != nil && ctx.Err() == nil {
		err = cutOff(q.method+" "+address, err)
	}
	if err == nil && len(body) > most {
		err = fmt.Errorf("%s %s: the answer is larger than %d bytes", q.method, q.path, most)
	}
	return answer, body, err
}

func cutOff(asked string, why error) error {
	return fmt.Errorf("%s: the answer was cut off: %w", asked, why)
}

// keys is what looks like a key of svc's: a server may repeat what it was sent.
var keys = regexp.MustCompile(`(svc_[a-z]{2}_)[0-9A-Za-z_]+`)

func printable(text string) string {
	return terminal.Escape(keys.ReplaceAllString(text, "${1}[redacted]"))
}

func refusal(answer *http.Response, asked string, body []byte) error {
	var envelope struct {
		Error   json.RawMessage
		Message string
		Details json.RawMessage
	}
	err := json.Unmarshal(body, &envelope)
	var code string
	_ = json.Unmarshal(envelope.Error, &code)                                             // "" where it is none
	if own := (struct{ Message string }{}); json.Unmarshal(envelope.Error, &own) == nil { // the OpenFeature CLI's envelope
		envelope.Message = own.Message
	}
	if err != nil || envelope.Message == "" {
		envelope.Message = "this is not an answer of the API; check the address"
		if answer.StatusCode == http.StatusTooManyRequests { // of what stands before the API, perhaps
			envelope.Message = "too many requests"
		}
	}
	if answer.StatusCode/100 == 3 {
		envelope.Message = "the address redirects, which is not followed with a key: name the final one"
	}
	var details struct {
		Issues  []document.Issue
		Changes []Since
	}
	_ = json.Unmarshal(envelope.Details, &details) // the message tells, else
	for i, issue := range details.Issues {
		details.Issues[i] = document.Issue{Pointer: printable(issue.Pointer), Message: printable(issue.Message)}
	}
	for i, c := range details.Changes {
		details.Changes[i] = Since{printable(c.Date), printable(c.AuthorName), printable(c.SHA)}
	}
	return &Refusal{answer.StatusCode, printable(code), printable(envelope.Message),
		keys.ReplaceAll(envelope.Details, []byte("${1}[redacted]")), details.Issues, details.Changes, asked}
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

// Tree reads a path as it is answered, however large that is.
func (c *Client) Tree(ctx context.Context, path string, query url.Values) (*jsontree.Node, error) {
	body, err := c.get(ctx, path, query, maxList)
	if err != nil {
		return nil, err
	}
	tree, err := jsontree.Parse(body)
	if err != nil || tree.Kind != jsontree.Object {
		return nil, NoAnswer(path, "it is not a JSON object")
	}
	return tree, nil
}

// Environment is one of a workspace that is not archived.
type Environment struct {
	Name      string `json:"name"`
	Type      string `json:"environmentType"`
	Protected bool   `json:"protected"`
}

// Environments reads the environments of the workspace, in their order.
func (c *Client) Environments(ctx context.Context) (all []Environment, err error) {
	err = c.List(ctx, "/environments", nil, "environments", &all)
	return all, err
}

// Evaluate asks what a context is served, with the body of the request.
func (c *Client) Evaluate(ctx context.Context, question []byte) ([]byte, error) {
	_, body, err := c.ask(ctx, request{method: http.MethodPost, path: "/evaluate", content: question, most: maxList})
	return body, err
}

// Manifest reads the flags as the OpenFeature CLI has them, and how many are left out.
func (c *Client) Manifest(ctx context.Context) (flags []manifest.Flag, omitted int, err error) {
	q := request{method: http.MethodGet, path: "/openfeature/v0/manifest", beside: true, most: maxList}
	answer, body, err := c.ask(ctx, q)
	if err != nil {
		return nil, 0, err
	}
	omitted, _ = strconv.Atoi(answer.Header.Get("X-Manifest-Omitted"))
	_, err = list(q.path, body, "flags", &flags)
	return flags, omitted, err
}

// Pages reads a list that an answer holds as a member, page by page.
func (c *Client) Pages(ctx context.Context, path string, query url.Values, member string, each func(row json.RawMessage) error) error {
	for left := maxList; ; {
		body, err := c.get(ctx, path, query, left)
		if err != nil {
			return err
		}
		left -= len(body)
		var rows []json.RawMessage
		cursor, err := list(path, body, member, &rows)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := each(row); err != nil {
				return err
			}
		}
		if cursor == nil {
			return nil
		}
		var next string
		if json.Unmarshal(cursor, &next) != nil || next == query.Get("cursor") {
			return NoAnswer(path, "the list does not go on where its page ended")
		}
		query.Set("cursor", next)
	}
}

// Delete deletes what is at a path. It may be asked again: what is gone is gone.
func (c *Client) Delete(ctx context.Context, path string, query url.Values) error {
	_, _, err := c.ask(ctx, request{method: http.MethodDelete, path: path, query: query, most: maxAnswer})
	return err
}

// Export reads the page of all documents that a cursor leads to, and its tag; nil
// where a tag still stands.
func (c *Client) Export(ctx context.Context, cursor, tag string) (page []byte, current string, err error) {
	q := request{method: http.MethodGet, path: "/export", query: url.Values{}, header: map[string]string{}, most: maxPage}
	if cursor != "" {
		q.query.Set("cursor", cursor)
	}
	if tag != "" {
		q.header["If-None-Match"] = tag
	}
	answer, body, err := c.ask(ctx, q)
	if err != nil || answer.StatusCode == http.StatusNotModified {
		return nil, tag, err
	}
	return body, answer.Header.Get("ETag"), nil
}

// List reads the list that an answer holds as a member. An answer without it is
// an error: taken for an empty list, it would say that everything was deleted.
// So is one page of a longer list.
func (c *Client) List(ctx context.Context, path string, query url.Values, member string, into any) error {
	body, err := c.get(ctx, path, query, maxList)
	if err != nil {
		return err
	}
	next, err := list(path, body, member, into)
	if err == nil && next != nil {
		err = NoAnswer(path, "it holds only a part of the list, and the whole was asked for")
	}
	return err
}

// list takes the list out that an answer holds as a member, and where it goes on.
func list(path string, body []byte, member string, into any) (next json.RawMessage, err error) {
	var answer map[string]json.RawMessage
	if json.Unmarshal(body, &answer) != nil {
		return nil, NoAnswer(path, "it is not a JSON object")
	}
	if !bytes.HasPrefix(answer[member], []byte("[")) {
		return nil, NoAnswer(path, fmt.Sprintf("it lacks the list %q", member))
	}
	if json.Unmarshal(answer[member], into) != nil {
		return nil, NoAnswer(path, fmt.Sprintf("the list %q holds something else than was asked for", member))
	}
	return answer["nextCursor"], nil
}

// NoAnswer says that something other than the API must have answered.
func NoAnswer(path, why string) error {
	return fmt.Errorf("GET %s: this is not an answer of the API (%s); check the address", path, why)
}
