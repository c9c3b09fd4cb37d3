package bodies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/testing/must"
	"svc.example/svc/shared/turns"
)

func TestLargeBodiesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		read := func(ctx context.Context, size int) (func(), error) {
			body := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", size)))
			_, place, err := b.Read(httptest.NewRecorder(), body.WithContext(ctx), anybody)
			return place.Leave, err
		}
		leave := must.Get(read(t.Context(), Max))(t)
		if _, err := read(t.Context(), turns.Small); err != nil {
			t.Errorf("a small body waits: %v", err)
		}
		if _, err := read(t.Context(), turns.Small+1); err == nil || fault.Of(err).Kind != fault.Unavailable {
			t.Errorf("a second large body is decoded beside the largest: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := read(gone, Max/2); err == nil {
			t.Error("a body is decoded whose client has gone")
		}
		leave()
		for range 2 {
			if _, err := read(t.Context(), Max/2); err != nil {
				t.Errorf("what fits waits: %v", err)
			}
		}
	})
}

// arriving is a body of which some bytes have come and the rest comes never or
// when the deadline is over. It notes how much memory is held out for more.
type arriving struct {
	http.ResponseWriter
	of        string // whose it is
	rest      int
	heldOut   atomic.Int64 // looked at while the body is being read
	deadlines chan time.Time
}

func (a *arriving) Read(p []byte) (int, error) {
	a.heldOut.Store(max(a.heldOut.Load(), int64(len(p))))
	if n := min(a.rest, len(p)); n > 0 {
		a.rest -= n
		return n, nil
	}
	deadline, set := <-a.deadlines
	if !set {
		return 0, io.ErrUnexpectedEOF
	}
	time.Sleep(time.Until(deadline))
	return 0, os.ErrDeadlineExceeded
}

func (a *arriving) owner() string { return a.of }

func anybody() string { return "anybody" }

func (*arriving) Close() error { return nil }

func (a *arriving) SetReadDeadline(t time.Time) error {
	a.deadlines <- t
	return nil
}

func (a *arriving) read(t *testing.T, b *Budget) error {
	r := httptest.NewRequest("POST", "/", nil).WithContext(t.Context())
	r.Body, r.ContentLength = a, Max
	_, _, err := b.Read(a, r, a.owner)
	return err
}

// TestAnAnnouncementTakesNoMemory: only what has arrived does.
func TestAnAnnouncementTakesNoMemory(t *testing.T) {
	for _, came := range []int{0, 12, 2000} {
		a := &arriving{ResponseWriter: httptest.NewRecorder(), rest: came, deadlines: make(chan time.Time)}
		close(a.deadlines)
		if err := a.read(t, new(Budget)); err == nil || a.heldOut.Load() > int64(4096+2*came) {
			t.Errorf("of %d bytes that came, memory was taken for %d more (%v)", came, a.heldOut.Load(), err)
		}
	}
}

// TestSlowBodiesKeepTheirPlaceForAWhile: however many dawdle, few take memory,
// small ones pass them, and others have their turn after a time.
func TestSlowBodiesKeepTheirPlaceForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		const many = 100
		slow := make([]*arriving, many)
		results := make(chan error, many)
		for i := range slow {
			slow[i] = &arriving{of: fmt.Sprint(i), ResponseWriter: httptest.NewRecorder(), rest: turns.Small + 1, deadlines: make(chan time.Time, 1)}
			go func() { results <- slow[i].read(t, &b) }()
		}
		synctest.Wait()
		large := 0
		for _, a := range slow {
			if a.heldOut.Load() > 2*turns.Small {
				large++
			}
		}
		if large > maxArriving/Max {
			t.Errorf("%d large bodies are taken in at once", large)
		}
		few := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", turns.Small)))
		begin := time.Now()
		if _, _, err := b.Read(httptest.NewRecorder(), few, anybody); err != nil || time.Since(begin) > 0 {
			t.Errorf("a small body waits %v for slow ones: %v", time.Since(begin), err)
		}
		for range many {
			if err := <-results; err == nil {
				t.Error("a body that never came was read")
			}
		}
		whole := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", Max)))
		if _, _, err := b.Read(httptest.NewRecorder(), whole, anybody); err != nil {
			t.Errorf("the place of the slow ones is still taken: %v", err)
		}
	})
}

// TestAnOwnersSlowBodiesKeepNobodyElseOut, however many there are.
func TestAnOwnersSlowBodiesKeepNobodyElseOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b Budget
		results := make(chan error, 16)
		for range cap(results) {
			a := &arriving{of: "one", ResponseWriter: httptest.NewRecorder(), rest: turns.Small + 1, deadlines: make(chan time.Time, 1)}
			go func() { results <- a.read(t, &b) }()
		}
		synctest.Wait()
		begin := time.Now()
		whole := httptest.NewRequest("POST", "/", strings.NewReader(strings.Repeat(" ", Max)))
		if _, _, err := b.Read(httptest.NewRecorder(), whole, anybody); err != nil || time.Since(begin) > 0 {
			t.Errorf("another's body waits %v: %v", time.Since(begin), err)
		}
		for range cap(results) {
			<-results
		}
	})
}

func TestWhatIsReadOfARequest(t *testing.T) {
	for name, c := range map[string]struct {
		body     io.Reader
		encoding string
		want     int // bytes
		kind     fault.Kind
		says     string
	}{
		"none":              {body: strings.NewReader("")},
		"small":             {body: strings.NewReader("{}"), want: 2},
		"named as plain":    {body: strings.NewReader("{}"), encoding: "Identity", want: 2},
		"the largest":       {body: strings.NewReader(strings.Repeat(" ", Max)), want: Max},
		"too large":         {body: strings.NewReader(strings.Repeat(" ", Max+1)), kind: fault.PayloadTooLarge, says: "1 MiB"},
		"too large, unsaid": {body: io.MultiReader(strings.NewReader(strings.Repeat(" ", Max+1))), kind: fault.PayloadTooLarge, says: "1 MiB"},
		"broken off":        {body: io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)), kind: fault.BadRequest, says: "complete"},
		"packed":            {body: strings.NewReader("{}"), encoding: "gzip", kind: fault.BadRequest, says: "Content-Encoding"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", c.body)
			r.Header.Set("Content-Encoding", c.encoding)
			body, place, err := new(Budget).Read(httptest.NewRecorder(), r, anybody)
			if c.says != "" {
				if f := fault.Of(err); err == nil || f.Kind != c.kind || !strings.Contains(f.Message, c.says) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || len(body) != c.want {
				t.Fatalf("%d bytes, %v", len(body), err)
			}
			place.Leave()
			place.Leave()
		})
	}
}

// counted counts what is written and how often, and how long there was for it.
type counted struct {
	http.ResponseWriter
	bytes, writes int
	allowed       []time.Duration
	last          time.Time
}

func (c *counted) Write(p []byte) (int, error) {
	c.bytes, c.writes = c.bytes+len(p), c.writes+1
	return len(p), nil
}

func (c *counted) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		c.allowed = append(c.allowed, time.Until(at))
	}
	c.last = at
	return nil
}

func (c *counted) Flush() {}

// TestWhatIsWrittenHasTimeByItsSize, up to what an answer has in all. No deadline is
// left behind.
func TestWhatIsWrittenHasTimeByItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counted{ResponseWriter: httptest.NewRecorder()}
		s := NewSteady(c)
		for _, bytes := range []int{1, chunk, chunk + 1, 3 * chunk, 10 * chunk} {
			if n, err := s.Write(make([]byte, bytes)); n != bytes || err != nil {
				t.Fatal(n, err)
			}
		}
		time.Sleep(longest - time.Second)
		if _, err := s.Write(make([]byte, chunk)); err != nil || s.Close() != nil {
			t.Fatal(err)
		}
		want := []time.Duration{standstill, standstill, 2 * standstill, 3 * standstill, longest, time.Second}
		if !slices.Equal(c.allowed, want) || c.writes != len(want) || !c.last.IsZero() {
			t.Errorf("%d writes have %v, want %v; the last deadline is %v", c.writes, c.allowed, want, c.last)
		}
	})
	without := &bare{httptest.NewRecorder()}
	if n, err := NewSteady(without).Write(make([]byte, 3*chunk)); n != 3*chunk || errors.Is(err, http.ErrNotSupported) {
		t.Error(n, err)
	}
}

// bare is a writer of a server without deadlines.
type bare struct{ w http.ResponseWriter }

func (b *bare) Header() http.Header         { return b.w.Header() }
func (b *bare) Write(p []byte) (int, error) { return b.w.Write(p) }
func (b *bare) WriteHeader(status int)      { b.w.WriteHeader(status) }

// TestAStreamIsWrittenChunkByChunk, so that one that stands still ends soon.
func TestAStreamIsWrittenChunkByChunk(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	go func() { _, _ = io.Copy(io.Discard, client) }()
	c := &pieces{Conn: server}
	if n, err := NewSteadyConn(c).Write(make([]byte, 3*chunk+1)); n != 3*chunk+1 || err != nil || c.writes != 4 {
		t.Errorf("%d bytes in %d writes, %v", n, c.writes, err)
	}
}

// pieces counts what is written.
type pieces struct {
	net.Conn
	writes int
}

func (p *pieces) Write(b []byte) (int, error) {
	p.writes++
	return p.Conn.Write(b)
}
