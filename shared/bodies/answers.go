package bodies

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/turns"
)

// A client that takes nothing of its answer keeps all of it in memory. So there is
// a bound on what is held for all of them, and on how long one may stand still.
const (
	// FreelyHeld is how many bytes of large answers are held for anyone who comes
	// first.
	FreelyHeld = 32 << 20
	// heldInTurn is how many are held beside them, by turns, and HeldByOne how
	// many of these for one key at an address.
	heldInTurn = 32 << 20
	HeldByOne  = heldInTurn / 4

	// chunk is what a client must take within standstill, and longest is how long
	// an answer may take in all.
	chunk      = 64 << 10
	standstill = 10 * time.Second
	longest    = time.Minute
)

// Answers are the large answers that a handler makes and writes. The zero Answers
// are ready for use.
type Answers struct {
	free  atomic.Int64 // how many bytes of FreelyHeld are taken
	made  sync.Once
	turns *turns.Turns
}

// Held is the memory of one answer.
type Held struct {
	of    *Answers // of FreelyHeld; or
	bytes int64
	leave func() // of a turn
}

// Hold takes the memory of an answer, or waits for it. A small one needs none. The
// owner, such as a key at an address, is asked for only when it has to wait. The
// error is a fault: the request may be repeated.
func (a *Answers) Hold(ctx context.Context, owner func() string, size int64) (Held, error) {
	if size <= turns.Small {
		return Held{}, nil
	}
	if a.free.Add(size) <= FreelyHeld {
		return Held{of: a, bytes: size}, nil
	}
	a.free.Add(-size)
	a.made.Do(func() { a.turns = turns.Of(heldInTurn, HeldByOne) })
	leave, err := a.turns.Take(ctx, owner(), size)
	return Held{leave: leave}, err
}

// Release gives the memory back.
func (m Held) Release() {
	if m.of != nil {
		m.of.free.Add(-m.bytes)
	}
	if m.leave != nil {
		m.leave()
	}
}

// Write writes a body of any size. A client that stands still is cut off.
func Write(w http.ResponseWriter, body []byte) {
	if len(body) <= turns.Small {
		_, _ = w.Write(body) // nobody is left to be told
		return
	}
	steady := NewSteady(w)
	_, _ = steady.Write(body)
	_ = steady.Close()
}

// Steady writes an answer and cuts off a client that stands still, where the
// server has deadlines. Close it.
type Steady struct {
	to       io.Writer
	deadline func(time.Time) error // nil for a server without
	flush    func() error
	end      time.Time
	most     int // how much is written at once
}

// NewSteady makes a Steady. What is written at once has the time of all its chunks: to
// write it chunk by chunk took longer than to make it, and a client that takes a little now
// and then had as long.
func NewSteady(w http.ResponseWriter) *Steady {
	c := http.NewResponseController(w)
	return &Steady{w, c.SetWriteDeadline, c.Flush, time.Now().Add(longest), math.MaxInt}
}

// NewSteadyConn makes a Steady for a connection that was taken over from its
// server. It writes chunk by chunk, so that a client that takes nothing is cut off as soon
// as streams say.
func NewSteadyConn(conn net.Conn) *Steady {
	return &Steady{conn, conn.SetWriteDeadline, func() error { return nil }, time.Now().Add(longest), chunk}
}

// Write implements io.Writer.
func (s *Steady) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), s.most)]
		s.renew(len(part))
		var written int
		written, err = s.to.Write(part)
		n, p = n+written, p[len(part):]
	}
	return n, err
}

// renew gives a client the time for so many bytes.
func (s *Steady) renew(bytes int) {
	if s.deadline == nil {
		return
	}
	next := time.Now().Add(time.Duration((bytes+chunk-1)/chunk) * standstill)
	if next.After(s.end) {
		next = s.end
	}
	if s.deadline(next) != nil {
		s.deadline = nil
	}
}

// Close sends what is left, and ends the deadline: a connection may have none of
// its own for the next answer.
func (s *Steady) Close() error {
	if s.deadline == nil {
		return nil
	}
	if err := s.flush(); err != nil {
		return err
	}
	return s.deadline(time.Time{})
}
