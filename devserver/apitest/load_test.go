package apitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// record is an operation as its client saw it.
type record struct {
	client int
	op     *operation
	answer *answer
	// call and back are when it began and ended, since the load began.
	call, back int64
}

// wrote says whether a record is an acknowledged commit.
func (r record) wrote() bool {
	a := r.answer
	return !a.open && a.status == http.StatusOK && (a.changed || r.op.kind == create)
}

// load is many clients at work on one server, and what they saw.
type load struct {
	base   string // of the API, with /v1
	client *http.Client
	began  time.Time

	mu       sync.Mutex
	records  []record
	problems []string // answers that the contract has nowhere

	// landed are the authors and paths of commits that no answer named.
	landed map[string]bool
}

func newLoad(t testing.TB, base string) *load {
	l := &load{base: base + "/v1", client: newHTTPClient(t), began: time.Now()}
	return l
}

func newHTTPClient(t testing.TB) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

func (l *load) now() int64 { return int64(time.Since(l.began)) }

// send sends an operation and records what came of it. It returns nil when
// nothing did: nobody listens, or a read was cut off.
func (l *load) send(ctx context.Context, client int, key string, o *operation) *answer {
	call := l.now()
	status, body, err := sendOnce(ctx, l.client, l.base, key, o)
	back := l.now()
	a := &answer{open: true, reason: fmt.Sprint(err)}
	if err == nil {
		if a, err = l.judge(o, status, body); err != nil {
			l.complain(fmt.Sprintf("client %d: %v", client, err))
			return nil
		}
	}
	if neverSent(err) || a.open && !o.writes() {
		return nil
	}
	if a.open {
		back = math.MaxInt64
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, record{client, o, a, call, back})
	return a
}

// judge reads an answer. One that says to try again leaves all open.
func (l *load) judge(o *operation, status int, body []byte) (*answer, error) {
	switch {
	case status == http.StatusServiceUnavailable:
		return &answer{open: true, status: status, reason: string(body)}, nil
	case status == http.StatusTooManyRequests || status >= 500:
		return nil, fmt.Errorf("%s: %d %s", o, status, body)
	}
	return o.read(status, body)
}

func (l *load) complain(problem string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.problems = append(l.problems, problem)
}

// neverSent says whether there was nobody to send a request to.
func neverSent(err error) bool {
	var failed *net.OpError
	return errors.As(err, &failed) && failed.Op == "dial"
}

// sendOnce sends one request, once.
func sendOnce(ctx context.Context, client *http.Client, base, key string, o *operation) (int, []byte, error) {
	method, path, body := o.request()
	return fetch(ctx, client, method, base+path, key, body)
}

func fetch(ctx context.Context, client *http.Client, method, url, key string, body []byte) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+key)
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// run lets clients, one for each key, send so many operations each.
func (l *load) run(ctx context.Context, seed uint64, keys []string, each int) {
	var all sync.WaitGroup
	for i, key := range keys {
		c := &client{load: l, number: i, key: key, dice: dice(seed, i), tokens: map[string][]string{}, texts: map[string][]string{}}
		all.Go(func() { c.run(ctx, each) })
	}
	all.Wait()
	slices.SortFunc(l.records, func(a, b record) int { return int(a.call - b.call) })
}

// report logs what the load was like.
func (l *load) report(t testing.TB) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, r := range l.records {
		switch {
		case r.answer.status == http.StatusServiceUnavailable:
			counts["503"]++
		case r.answer.open:
			counts["no answer"]++
		case r.wrote():
			counts["commits"]++
		case r.answer.status == http.StatusOK && r.op.writes():
			counts["no-ops"]++
		case r.answer.status == http.StatusOK:
			counts["reads"]++
		default:
			counts[fmt.Sprint(r.answer.status, " ", r.answer.code)]++
		}
	}
	t.Logf("%d operations: %v", len(l.records), counts)
	for _, p := range l.problems {
		t.Error(p)
	}
	return counts
}

// reportRich is report for a load that must have had all that the model
// distinguishes.
func (l *load) reportRich(t testing.TB) {
	t.Helper()
	counts := l.report(t)
	for _, wanted := range []string{"commits", "no-ops", "reads", "404 ", "409 STALE_COMMIT_SHA", "409 ALREADY_EXISTS"} {
		if counts[wanted] == 0 {
			t.Errorf("the load had none of %q", wanted)
		}
	}
}
