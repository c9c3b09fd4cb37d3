package browsertest

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
)

// exchange is one request as the browser sent it, and how it was answered on
// the wire. A page is shown a 200 where its browser revalidated and got a 304.
type exchange struct {
	Method   string
	URL      string
	Status   int64 // 0 until it is answered
	Sent     map[string]string
	Received map[string]string
	Waited   float64 // for its connection, in milliseconds
}

// preflight is the browser's own question; no page here sends OPTIONS.
func (e exchange) preflight() bool { return e.Method == "OPTIONS" }

func (e exchange) String() string { return fmt.Sprintf("%s %d %.80s", e.Method, e.Status, e.URL) }

// traffic is what a tab has sent, in order.
type traffic struct {
	mu    sync.Mutex
	order []network.RequestID
	byID  map[network.RequestID]*exchange
}

// record takes the browser's events. The headers and status of the wire come
// in events of their own, before or after those of the page.
func (l *traffic) record(event any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		x := l.of(e.RequestID)
		x.Method, x.URL = e.Request.Method, e.Request.URL
	case *network.EventRequestWillBeSentExtraInfo:
		l.of(e.RequestID).Sent = lowerCase(e.Headers)
	case *network.EventResponseReceived:
		if e.Response.Timing != nil {
			l.of(e.RequestID).Waited = e.Response.Timing.SendStart
		}
	case *network.EventResponseReceivedExtraInfo:
		x := l.of(e.RequestID)
		x.Status, x.Received = e.StatusCode, lowerCase(e.Headers)
	}
}

func (l *traffic) of(id network.RequestID) *exchange {
	if l.byID[id] == nil {
		l.byID[id] = &exchange{}
		l.order = append(l.order, id)
	}
	return l.byID[id]
}

func lowerCase(headers network.Headers) map[string]string {
	all := map[string]string{}
	for name, value := range headers {
		all[strings.ToLower(name)] = fmt.Sprint(value)
	}
	return all
}

// answered returns the exchanges that went to a URL, or to one below it, and
// have been answered.
func (l *traffic) answered(prefix string) []exchange {
	l.mu.Lock()
	defer l.mu.Unlock()
	var list []exchange
	for _, id := range l.order {
		if x := l.byID[id]; strings.HasPrefix(x.URL, prefix) && x.Status != 0 && x.Sent != nil {
			copied := *x
			copied.Sent, copied.Received = maps.Clone(x.Sent), maps.Clone(x.Received)
			list = append(list, copied)
		}
	}
	return list
}

// origins returns where requests went. What a page brings with it, as data,
// goes nowhere.
func (l *traffic) origins(t *testing.T) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, x := range l.byID {
		u, err := url.Parse(x.URL)
		must(t, err)
		if origin := u.Scheme + "://" + u.Host; u.Host != "" && !slices.Contains(all, origin) {
			all = append(all, origin)
		}
	}
	return all
}

// wait waits for an exchange that fits.
func (l *traffic) wait(t *testing.T, what, prefix string, fits func(exchange) bool) exchange {
	t.Helper()
	var found exchange
	eventually(t, what, func() (any, bool) {
		list := l.answered(prefix)
		i := slices.IndexFunc(list, fits)
		if i < 0 {
			return list, false
		}
		found = list[i]
		return nil, true
	})
	return found
}

// waitForPreflight waits for the browser's own question to a URL and checks
// what came with it and the answer to it.
func (l *traffic) waitForPreflight(t *testing.T, url string) {
	t.Helper()
	x := l.wait(t, "a preflight", url, exchange.preflight)
	if x.Status != 204 {
		t.Errorf("the preflight was %v, not answered by 204", x)
	}
	if key, sent := x.Sent["authorization"]; sent {
		t.Errorf("a browser sent a key with a preflight: %s", key)
	}
}

// waited is for how long a request to a URL, or to one below it, waited at most for its
// connection, in milliseconds.
func (l *traffic) waited(prefix string) float64 {
	longest := 0.0
	for _, x := range l.answered(prefix) {
		longest = max(longest, x.Waited)
	}
	return longest
}
