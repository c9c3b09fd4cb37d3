package events_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/events"
)

// stuck is a channel that tells its version once, and then only when it is let go.
type stuck struct {
	*channel
	asked atomic.Int64
	let   chan struct{}
}

func (s *stuck) Version(ctx context.Context) (string, error) {
	if s.asked.Add(1) > 1 {
		select {
		case <-s.let:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return s.channel.Version(ctx)
}

// TestASlowChannelHoldsUpNoOther, and is asked once at a time.
func TestASlowChannelHoldsUpNoOther(t *testing.T) {
	slow := &stuck{channel: newChannel("v1"), let: make(chan struct{})}
	s, quick := serve(t, 2, events.Stream{Channel: slow}), newChannel("v1")
	s.choose = func(r *http.Request, asked *events.Stream) {
		if r.Header.Get("Quick") != "" {
			asked.Name, asked.Channel = "quick", quick
		}
	}
	waiting, served := s.open(t), s.open(t, "Quick", "yes")
	for slow.asked.Load() < 2 {
		s.hub.Look()
	}
	quick.set("v2")
	served.want("v2")
	quick.set("v3")
	served.want("v3")
	if asked := slow.asked.Load(); asked != 2 {
		t.Errorf("the slow channel was asked %d times at once", asked-1)
	}
	slow.set("v2")
	close(slow.let)
	waiting.want("v2")
}

// TestAStormOfChangesWakesACrowdOnceAtATime: each event has its client ask for what is
// new, so a crowd hears no faster of changes that come faster than it can be woken.
func TestAStormOfChangesWakesACrowdOnceAtATime(t *testing.T) {
	const streams = 2000 // are woken in 150 ms, in which another change can be told
	c := newChannel("v0")
	s := serve(t, streams, events.Stream{Channel: c})
	var conns []net.Conn
	for range streams {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err == nil {
			_, err = fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
		}
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	await(t, func() bool { return s.hub.Open() == streams })
	stack := make([]byte, 16<<20)
	most := 0
	for i := range 100 {
		c.set(fmt.Sprint("v", i+1))
		s.hub.Look()
		time.Sleep(10 * time.Millisecond)
		waking := 0
		for _, goroutine := range strings.Split(string(stack[:runtime.Stack(stack, true)]), "\n\n") {
			if strings.Contains(goroutine, "events.(*Hub).each") {
				waking++
			}
		}
		most = max(most, waking)
	}
	if most > 1 {
		t.Errorf("the crowd was woken by %d at once", most)
	}
	for i, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		in := bufio.NewScanner(conn)
		for in.Scan() && in.Text() != "data: data of v100" {
		}
		if in.Err() != nil {
			t.Fatalf("stream %d does not hear of the last change: %v", i, in.Err())
		}
	}
}
