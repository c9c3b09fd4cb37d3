package bodies

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// counted counts what is written, and how often there was a deadline for it.
type counted struct {
	http.ResponseWriter
	bytes, deadlines int
	last             time.Time
}

func (c *counted) Write(p []byte) (int, error) { c.bytes += len(p); return len(p), nil }

func (c *counted) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		c.deadlines++
	}
	c.last = at
	return nil
}

func (c *counted) Flush() {}

// TestProgressRenewsTheDeadline, and none is left behind.
func TestProgressRenewsTheDeadline(t *testing.T) {
	c := &counted{ResponseWriter: httptest.NewRecorder()}
	s := NewSteady(c)
	if n, err := s.Write(make([]byte, 10*chunk+1)); n != 10*chunk+1 || err != nil || s.Close() != nil {
		t.Fatal(n, err)
	}
	if c.deadlines != 11 || !c.last.IsZero() || c.bytes != 10*chunk+1 {
		t.Errorf("%d deadlines for %d bytes, the last %v", c.deadlines, c.bytes, c.last)
	}
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
