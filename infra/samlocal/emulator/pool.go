package emulator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Pool runs functions, each in as many instances as it takes.
type Pool struct {
	rie       string
	log       io.Writer
	most      int
	functions map[string]*line
}

// line is one function's instances.
type line struct {
	function Function
	places   chan struct{} // one for each instance that may be

	mu     sync.Mutex
	idle   []*instance
	all    []*instance
	closed bool
	killed int // instances, for their memory
}

// NewPool makes a pool that runs at most so many instances of each function.
// What the functions log goes to log.
func NewPool(rie string, functions []Function, most int, log io.Writer) *Pool {
	p := &Pool{rie: rie, log: &lockedWriter{w: log}, most: most, functions: map[string]*line{}}
	for _, f := range functions {
		p.functions[f.Name] = &line{function: f, places: make(chan struct{}, most)}
	}
	return p
}

// Invoke invokes a function with an event.
func (p *Pool) Invoke(ctx context.Context, name string, event []byte) ([]byte, error) {
	l := p.functions[name]
	if l == nil {
		return nil, fmt.Errorf("there is no function %s", name)
	}
	select {
	case l.places <- struct{}{}:
		defer func() { <-l.places }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	i, err := p.take(l)
	if err != nil {
		return nil, err
	}
	// A client that leaves does not stop a function.
	answer, err := i.invoke(context.WithoutCancel(ctx), event)
	if errors.Is(err, ErrMemory) {
		i.stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.killed++
		return nil, err
	}
	if err != nil {
		i.stop()
		return nil, fmt.Errorf("%w: %s", err, i.tail())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.idle = append(l.idle, i)
	return answer, nil
}

var errClosed = errors.New("the pool is closed")

func (p *Pool) take(l *line) (*instance, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed
	}
	if n := len(l.idle); n > 0 {
		i := l.idle[n-1]
		l.idle = l.idle[:n-1]
		return i, nil
	}
	i, err := startInstance(p.rie, l.function, p.log)
	if err == nil {
		l.all = append(l.all, i)
	}
	return i, err
}

// InitTimes are how long a function's instances took to start, as the emulator
// measured it: from its exec to when it asks for the first event.
func (p *Pool) InitTimes(name string) []time.Duration {
	l := p.functions[name]
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []time.Duration
	for _, i := range l.all {
		if t := i.initTime(); t > 0 {
			out = append(out, t)
		}
	}
	return out
}

// Memory is the most that any instance of a function had resident so far, in
// bytes, and how many instances were killed because it was too much.
func (p *Pool) Memory(name string) (peak int64, killed int) {
	l := p.functions[name]
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.all {
		peak = max(peak, i.peakBytes())
	}
	return peak, l.killed
}

// Cold ends a function's idle instances, so that the next event starts one.
func (p *Pool) Cold(name string) {
	l := p.functions[name]
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.idle {
		i.stop()
	}
	l.idle = nil
}

// Close ends all instances.
func (p *Pool) Close() {
	for _, l := range p.functions {
		l.mu.Lock()
		l.closed = true
		for _, i := range l.all {
			i.stop()
		}
		l.mu.Unlock()
	}
}

// lockedWriter keeps lines whole.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}
