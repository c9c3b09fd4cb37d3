package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
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
