package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/endpoints"
)

// intake stands in for a service that takes telemetry.
type intake struct {
	*httptest.Server
	mu      sync.Mutex
	takes   http.HandlerFunc // nil takes all
	uploads []map[string]any
}

func newIntake(t *testing.T) *intake {
	i := &intake{}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(text, &body)
		i.mu.Lock()
		i.uploads = append(i.uploads, body)
		takes := i.takes
		i.mu.Unlock()
		if takes != nil {
			takes(w, r)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *intake) answer(takes http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.takes = takes
}

func (i *intake) taken() []map[string]any {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]map[string]any(nil), i.uploads...)
}

// uploader makes one whose clock goes on by a second each time that it is asked, and
// counts what it warns of.
func (i *intake) uploader() (u *Uploader, warnings *int) {
	var now int64
	warnings = new(int)
	return &Uploader{
		Connection: Connect(i.URL, "svc_sk_test", nil),
		Now:        func() int64 { now += 1000; return now },
		Warn:       func(error) { *warnings++ },
	}, warnings
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
	}
}

var oneEvent = []json.RawMessage{json.RawMessage(`{"summaries":{}}`)}

func TestABatchIsSentAgainUnderItsID(t *testing.T) {
	s := newIntake(t)
	u, _ := s.uploader()
	s.answer(status(503, "Retry-After", "0"))
	u.Add(oneEvent)
	for range 3 {
		u.resume = time.Time{}
		u.Send(t.Context())
	}
	s.answer(nil)
	u.resume = time.Time{}
	u.Send(t.Context())
	u.Send(t.Context())
	uploads := s.taken()
	if len(uploads) != 4 {
		t.Fatalf("%d uploads", len(uploads))
	}
	for _, b := range uploads[1:] {
		if b["batchId"] != uploads[0]["batchId"] || b["instanceHash"] != uploads[0]["instanceHash"] || fmt.Sprint(b["events"]) != fmt.Sprint(uploads[0]["events"]) {
			t.Error("the same batch is another one")
		}
	}
	if uploads[0]["sentAt"] == uploads[3]["sentAt"] {
		t.Error("sentAt is not that of the attempt")
	}
	u.Add(oneEvent)
	u.Close()
	if last := s.taken()[4]; last["batchId"] == uploads[0]["batchId"] {
		t.Error("another batch has the same id")
	}
}

func TestWhatBecomesOfABatchThatIsNotTaken(t *testing.T) {
	for _, tt := range []struct {
		what      string
		takes     http.HandlerFunc
		kept      int
		off, wait bool
	}{
		{"400", status(400), 0, false, false},
		{"413", status(413), 0, false, false},
		{"401", status(401), 0, false, true},
		{"404", status(404), 0, true, false},
		{"429", status(429, "Retry-After", "60"), 1, false, true},
		{"500", status(500), 1, false, true},
		{"broken off", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 1, false, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			s := newIntake(t)
			s.answer(tt.takes)
			u, warnings := s.uploader()
			u.Add(oneEvent)
			u.Send(t.Context())
			if u.Waiting() != tt.kept || u.Off() != tt.off || u.resume.After(time.Now()) != tt.wait {
				t.Errorf("%d kept, off %v, resume %v", u.Waiting(), u.Off(), u.resume)
			}
			if *warnings != 1 {
				t.Errorf("%d warnings", *warnings)
			}
		})
	}
}

func TestBatchesAreGivenUp(t *testing.T) {
	s := newIntake(t)
	s.answer(status(503))
	old, _ := s.uploader()
	old.Add(oneEvent)
	old.queue[0].born = time.Now().Add(-maxAge - time.Second)
	if old.Send(t.Context()); old.Waiting() > 0 {
		t.Error("what is too old is sent again")
	}
	u, _ := newIntake(t).uploader()
	for range 3 * maxBatches {
		u.Add(oneEvent)
	}
	if n := u.Waiting(); n != maxBatches {
		t.Errorf("%d batches wait", n)
	}
}

// TestReportsStayTogether, each of which a service knows again as a whole.
func TestReportsStayTogether(t *testing.T) {
	s := newIntake(t)
	u, _ := s.uploader()
	event := func(report string, size int) Event {
		return Event{Text: json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`), Report: report}
	}
	u.AddReported([]Event{event("", 10), event("a", MaxBatch/2), event("a", MaxBatch/3), event("b", MaxBatch/2), event("b", MaxBatch), event("b", 10), event("", 10), event("c", 10), event("", MaxBatch), {Text: json.RawMessage("7"), Public: true}}, 0)
	u.Send(t.Context())
	var got []any
	for _, upload := range s.taken() {
		got = append(got, upload["reports"], upload["public"])
	}
	if said, want := fmt.Sprint(got), "[[ a a] <nil> [b b b] <nil> [ c] <nil> <nil> <nil> <nil> true]"; said != want {
		t.Errorf("got %s, want %s", said, want)
	}
}

// TestTheSDKKeyIsNotShownInPart where a long message ends.
func TestTheSDKKeyIsNotShownInPart(t *testing.T) {
	const key = "svc_sk_very_secret_indeed"
	l := Connect("http://localhost", key, nil)
	for before := maxWords - len(key) - 1; before <= maxWords; before++ {
		message := strings.Repeat("x", before) + key + strings.Repeat("y", maxWords)
		got := l.Refusal(Reply{Status: 401, Body: fmt.Appendf(nil, `{"message":%q}`, message)}).Error()
		if strings.Contains(got, key[:4]) || !strings.Contains(got, strings.Repeat("x", before)) || len(got) > maxWords+100 {
			t.Errorf("after %d bytes: %s", before, got[before:])
		}
	}
}

// service answers in this process: streams that it says to come back to after 5 s, or none.
type service struct {
	streams       bool
	polls, opened int
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: http.NoBody, Request: r}
	switch {
	case r.URL.Path == endpoints.Documents.Path:
		s.polls++
		answer.StatusCode = http.StatusOK
	case s.streams:
		s.opened++
		answer.StatusCode = http.StatusOK
		answer.Header.Set("Content-Type", "text/event-stream")
		answer.Body = io.NopCloser(strings.NewReader("retry: 5000\n\n"))
	}
	return answer, nil
}

// receiver notes why there are no streams.
type receiver struct{ why string }

func (*receiver) Version() string              { return "" }
func (*receiver) Take([]byte) error            { return nil }
func (*receiver) Confirm()                     {}
func (*receiver) Failed(error)                 {}
func (r *receiver) Streams(_ bool, why string) { r.why += why }

// TestACutStreamLeavesNobodyBehind: until it is back, the service is asked as often as
// without one.
func TestACutStreamLeavesNobodyBehind(t *testing.T) {
	for _, tt := range []struct {
		every                        time.Duration
		streams                      bool
		polls, mostPolls, mostOpened int
		why                          string
	}{
		{time.Second, true, 54, 68, 14, ""},
		{time.Minute, true, 10, 15, 15, ""},
		{time.Second, false, 54, 68, 0, "the service has no event streams (404)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s, to := &service{streams: tt.streams}, &receiver{}
			f := Follower{Connection: Connect("http://service.example", "svc_sk_test", &http.Client{Transport: s}), To: to, PollEvery: tt.every}
			f.Run(ctx)
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) || s.polls < tt.polls || s.polls > tt.mostPolls || s.opened > tt.mostOpened || !strings.HasPrefix(to.why, tt.why) {
				t.Errorf("%+v: in a minute %d polls and %d streams, as %q", tt, s.polls, s.opened, to.why)
			}
		})
	}
}

func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := func(why string) error { return &LoadError{Err: errors.New(why)} }
		var h Health
		for i, tt := range []struct {
			err  error // nil when all is well
			news bool
		}{
			{nil, false}, {away("read 127.0.0.1:1: reset"), true}, {away("read 127.0.0.1:2: reset"), false}, {errors.New("x"), true},
			{errors.New("y"), true}, {errors.New("x"), true}, {errors.New("x"), false}, {nil, true}, {nil, false}, {errors.New("x"), true},
		} {
			if news := tt.err == nil && h.Good() || tt.err != nil && h.Bad(tt.err); news != tt.news {
				t.Errorf("%d: %v: %v", i, tt.err, news)
			}
		}
		time.Sleep(time.Minute)
		if !h.Bad(errors.New("x")) {
			t.Error("the same one is not said again after a while")
		}
	})
}
