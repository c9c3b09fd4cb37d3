package server

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// net/http moves the deadlines of a connection four times for each request, which is
// a twentieth of what a poll costs as each of them is a timer of its own. What is
// far away is noted here only, and one clock for all connections looks for what has
// become due: up to a tick late, where it is about clients that do nothing at all.

const (
	tick = time.Second
	// near is how far away a deadline is that is left to the connection itself.
	near = 5 * time.Second
)

// clock keeps the deadlines of connections.
type clock struct {
	begin time.Time
	ticks atomic.Int64 // what time it was at the last tick, since begin
	mu    sync.Mutex
	conns map[*conn]struct{}
}

func newClock() *clock { return &clock{begin: time.Now(), conns: map[*conn]struct{}{}} }

// run looks every tick, until done is closed.
func (c *clock) run(done <-chan struct{}) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			c.look(time.Since(c.begin))
		}
	}
}

func (c *clock) look(now time.Duration) {
	c.ticks.Store(int64(now))
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		conn.read.look(now)
		conn.write.look(now)
	}
}

func (c *clock) forget(conn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
}

// closeUnused closes the connections on which no request has come yet. Browsers open
// some ahead of need; a stop must not wait for them.
func (c *clock) closeUnused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.conns {
		if !conn.used.Load() {
			conn.TCPConn.Close()
		}
	}
}

// listener has a clock keep the deadlines of what it accepts.
type listener struct {
	net.Listener
	clock *clock
}

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp := accepted.(*net.TCPConn)
	c := &conn{TCPConn: tcp, clock: l.clock}
	c.raw, _ = tcp.SyscallConn() // nil of one that is closed
	c.read.set, c.write.set = tcp.SetReadDeadline, tcp.SetWriteDeadline
	l.clock.mu.Lock()
	defer l.clock.mu.Unlock()
	l.clock.conns[c] = struct{}{}
	return c, nil
}

// conn is a connection whose deadlines the clock keeps, until it is told that it has
// become something else than one for requests.
type conn struct {
	*net.TCPConn
	clock       *clock
	read, write deadline
	own         atomic.Bool // it keeps its deadlines itself
	used        atomic.Bool // a request has come

	raw  syscall.RawConn
	more bool // what was written last waits for what follows
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.put(&c.read, t) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.put(&c.write, t) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.clock.forget(c)
	return c.TCPConn.Close()
}

// note hears what becomes of the connection.
func (c *conn) note(state http.ConnState) {
	switch state {
	case http.StateNew:
	case http.StateIdle:
		c.push()
	case http.StateHijacked:
		// The deadlines of a stream are many seconds apart, and all streams would be
		// woken at the same tick.
		c.own.Store(true)
		c.clock.forget(c)
	default:
		c.used.Store(true)
	}
}

func (c *conn) put(d *deadline, t time.Time) error {
	if c.own.Load() {
		return d.set(t)
	}
	due := time.Duration(0)
	if !t.IsZero() {
		if due = t.Sub(c.clock.begin); due < time.Duration(c.clock.ticks.Load())+near {
			return d.exactly(t)
		}
	}
	return d.later(due)
}

// deadline is one of a connection.
type deadline struct {
	set   func(time.Time) error // the connection's own
	mu    sync.Mutex
	due   time.Duration // since the clock's begin; 0 for none
	exact bool          // the connection has it as its own
}

func (d *deadline) exactly(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due, d.exact = 0, true
	return d.set(t)
}

func (d *deadline) later(due time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.due = due
	if !d.exact {
		return nil
	}
	d.exact = false
	return d.set(time.Time{})
}

// past is a deadline that has come.
var past = time.Unix(1, 0)

func (d *deadline) look(now time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due != 0 && d.due <= now {
		d.due, d.exact = 0, true
		_ = d.set(past) // it is closed, else
	}
}
