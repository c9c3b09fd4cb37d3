package delivery

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/turns"
)

// A client that takes nothing of its answer keeps all of it in memory. So there is
// a bound on what is held for all of them, and on how long one may stand still.
const (
	// freelyHeld is how many bytes of large answers are held for whoever comes
	// first.
	freelyHeld = 32 << 20
	// heldInTurn is how many are held beside them, by turns, and heldByOne how
	// many of these for one key at an address.
	heldInTurn = 32 << 20
	heldByOne  = heldInTurn / 4

	// chunk is what a client must have taken within standstill, and longest is
	// how long an answer may take in all.
	chunk      = 64 << 10
	standstill = 10 * time.Second
	longest    = time.Minute
)

// answers is the large answers that a handler is writing.
type answers struct {
	free  atomic.Int64 // how many bytes of freelyHeld are taken
	made  sync.Once
	turns *turns.Turns
}

// held is the memory of one answer.
type held struct {
	of    *answers // of freelyHeld; or
	bytes int64
	leave func() // of a turn
}

// hold takes the memory of an answer, or waits for it. A small one needs none.
func (h *Handler) hold(r *http.Request, size int) (held, error) {
	if size <= turns.Small {
		return held{}, nil
	}
	bytes := int64(size)
	if h.answers.free.Add(bytes) <= freelyHeld {
		return held{of: &h.answers, bytes: bytes}, nil
	}
	h.answers.free.Add(-bytes)
	h.answers.made.Do(func() { h.answers.turns = turns.Of(heldInTurn, heldByOne) })
	leave, err := h.answers.turns.Take(r.Context(), h.owner(r), bytes)
	return held{leave: leave}, err
}

// release gives the memory back.
func (m held) release() {
	if m.of != nil {
		m.of.free.Add(-m.bytes)
	}
	if m.leave != nil {
		m.leave()
	}
}

// owner is who takes turns with what is large.
func (h *Handler) owner(r *http.Request) string {
	return anyKey(r) + " " + h.Proxies.Address(r).String()
}

// Steady writes an answer and cuts off a client that stands still, where the
// server has deadlines. Close it.
type Steady struct {
	to        http.ResponseWriter
	deadlines *http.ResponseController // nil for a server without
	end       time.Time
}

// NewSteady makes a Steady.
func NewSteady(w http.ResponseWriter) *Steady {
	return &Steady{w, http.NewResponseController(w), time.Now().Add(longest)}
}

// Write implements io.Writer.
func (s *Steady) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		part := p[:min(len(p), chunk)]
		s.renew()
		var written int
		written, err = s.to.Write(part)
		n, p = n+written, p[len(part):]
	}
	return n, err
}

func (s *Steady) renew() {
	if s.deadlines == nil {
		return
	}
	next := time.Now().Add(standstill)
	if next.After(s.end) {
		next = s.end
	}
	if s.deadlines.SetWriteDeadline(next) != nil {
		s.deadlines = nil
	}
}

// Close sends what is left, and ends the deadline: a connection may have none of
// its own for the next answer.
func (s *Steady) Close() error {
	if s.deadlines == nil {
		return nil
	}
	if err := s.deadlines.Flush(); err != nil {
		return err
	}
	return s.deadlines.SetWriteDeadline(time.Time{})
}
