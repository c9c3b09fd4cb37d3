package apiload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen.
const Patience = time.Minute

// Record is an operation as its client saw it.
type Record struct {
	Client int
	Op     *Operation
	Answer *Answer
	// Call and back are when it began and ended, since the load began.
	Call, Back int64
}

// wrote reports whether a record is an acknowledged commit.
func (r Record) wrote() bool {
	a := r.Answer
	return !a.Open && a.Status == http.StatusOK && (a.Changed || r.Op.Kind == Create)
}

// Load is many clients at work on one server, and what they saw.
type Load struct {
	Base   string // of the API, with /v1
	Client *http.Client
	Began  time.Time
	// Commits is how many have to be acknowledged before the clients end, who send as many
	// operations as that takes.
	Commits int

	mu       sync.Mutex
	Records  []Record
	commits  int
	problems []string // answers that the contract has nowhere

	// authors are the e-mail addresses of whom the clients' keys are, by client.
	authors []string
	// repeated is what is wrong with requests that were sent again.
	repeated []string
	replays  int // answers that were said to be of an earlier request
	// unclaimed are the places in the history of commits that no answer names,
	// attributed who can have made them.
	unclaimed  []int
	attributed []unclaimed
}

func New(t testing.TB, base string) *Load {
	return &Load{Base: base + "/v1", Client: NewHTTPClient(t), Began: time.Now()}
}

func NewHTTPClient(t testing.TB) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: Patience}
}

func (l *Load) now() int64 { return int64(time.Since(l.Began)) }

// send sends an operation and records what came of it. It returns nil when
// nothing did: nobody listens, or a read was cut off.
func (l *Load) send(ctx context.Context, client int, key string, o *Operation) *Answer {
	call := l.now()
	status, header, body, err := sendOnce(ctx, l.Client, l.Base, key, o)
	back := l.now()
	a := &Answer{Open: true, Reason: fmt.Sprint(err)}
	if err == nil {
		if a, err = l.judge(o, status, body); err != nil {
			l.complain(fmt.Sprintf("client %d: %v", client, err))
			return nil
		}
		a.Replayed, a.body = header.Get("Idempotency-Replayed") == "true", string(body)
	}
	if neverSent(err) || a.Open && !o.Writes() {
		return nil
	}
	if a.Open {
		back = math.MaxInt64
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Record{client, o, a, call, back}
	l.Records = append(l.Records, r)
	if r.wrote() && !a.Replayed {
		l.commits++
	}
	return a
}

// enough reports whether so many commits were acknowledged as there have to be.
func (l *Load) enough() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.commits >= l.Commits
}

// judge reads an answer. One that says to try again leaves all open.
func (l *Load) judge(o *Operation, status int, body []byte) (*Answer, error) {
	switch {
	case status == http.StatusServiceUnavailable:
		return &Answer{Open: true, Status: status, Reason: string(body)}, nil
	case status == http.StatusTooManyRequests || status >= 500:
		return nil, fmt.Errorf("%s: %d %s", o, status, body)
	}
	return o.Read(status, body)
}

func (l *Load) complain(problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, problem)
}

// neverSent reports whether there was nobody to send a request to.
func neverSent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// SendOnce sends one request, once.
func SendOnce(ctx context.Context, client *http.Client, base, key string, o *Operation) (int, []byte, error) {
	status, _, body, err := sendOnce(ctx, client, base, key, o)
	return status, body, err
}

func sendOnce(ctx context.Context, client *http.Client, base, key string, o *Operation) (int, http.Header, []byte, error) {
	method, path, body := o.request()
	return fetch(ctx, client, method, base+path, key, body, o.Once)
}

func fetch(ctx context.Context, client *http.Client, method, url, key string, body []byte, once string) (int, http.Header, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	var sent atomic.Bool
	if once != "" {
		r.Header.Set("Idempotency-Key", once)
		// Go's client sends such a request again by itself, and says of the last try
		// alone what became of it.
		r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}))
	}
	response, err := client.Do(r)
	if err != nil && sent.Load() && neverSent(err) {
		err = fmt.Errorf("sent, and then: %v", err)
	}
	if err != nil {
		return 0, nil, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, response.Header, text, err
}

// Run lets clients, one for each key, send so many operations each, or more. Two
// clients in a row that have the same key are twins: one principal, who sends
// each request twice at the same moment.
func (l *Load) Run(ctx context.Context, seed uint64, keys []string, each int) {
	var clients []*client
	for i, key := range keys {
		c := &client{Load: l, number: i, key: key, seed: seed, tokens: map[string][]string{}, texts: map[string][]string{}}
		author := AuthorOf(i)
		if i%2 == 1 && keys[i-1] == key {
			first := clients[i-1]
			first.twin = &twins{meeting: make(chan step), parted: make(chan struct{})}
			c.twin, c.second = first.twin, true
			author = AuthorOf(i - 1)
		}
		clients, l.authors = append(clients, c), append(l.authors, author)
	}
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.run(ctx, each) })
	}
	all.Wait()
	slices.SortFunc(l.Records, func(a, b Record) int { return int(a.Call - b.Call) })
	l.repeated = l.foldRepeats()
}

// Report logs how many requests ended how, and fails a test that saw an answer which the
// contract has nowhere.
func (l *Load) Report(t testing.TB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range l.Records {
		counts[r.kind()]++
	}
	t.Logf("%d operations: %v; %d answers were told again", len(l.Records), counts, l.replays)
	for _, p := range l.problems {
		t.Error(p)
	}
	return counts
}

func (r Record) kind() string {
	a := r.Answer
	switch {
	case a.Status == http.StatusServiceUnavailable:
		return "503"
	case a.Open:
		return "no answer"
	case a.Replayed:
		return "commits, told by a later answer"
	case r.wrote():
		return "commits"
	case a.Status == http.StatusOK && r.Op.Writes():
		return "no-ops"
	case a.Status == http.StatusOK:
		return "reads"
	}
	return strings.TrimSpace(fmt.Sprint(a.Status, " ", a.Code))
}

// ReportRich is Report for a load that must have had all that the model
// distinguishes.
func (l *Load) ReportRich(t testing.TB) {
	t.Helper()
	counts := l.Report(t)
	for _, wanted := range []string{"commits", "no-ops", "reads", "404", "409 STALE_COMMIT_SHA", "409 ALREADY_EXISTS"} {
		if counts[wanted] == 0 {
			t.Errorf("the load had none of %q", wanted)
		}
	}
	if l.replays == 0 {
		t.Error("no answer was told again")
	}
}

// Await waits for so many answers.
func (l *Load) Await(answers int, ended chan struct{}) bool {
	for {
		l.mu.Lock()
		n := len(l.Records)
		l.mu.Unlock()
		if n >= answers {
			return true
		}
		select {
		case <-ended:
			return false
		case <-time.After(time.Millisecond):
		}
	}
}

// AuthorOf is the e-mail address of the principal whose key a client has, the
// first of two that share it.
func AuthorOf(client int) string { return fmt.Sprintf("client-%d@example.com", client) }

// author is what the commits of a record's client say of who made them.
func (l *Load) author(r Record) string { return l.authors[r.Client] }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
