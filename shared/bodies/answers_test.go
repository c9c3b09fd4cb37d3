package bodies

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

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
