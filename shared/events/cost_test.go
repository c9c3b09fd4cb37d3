//go:build !race

// The race detector's own memory would be counted too.

package events_test

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/events"
	"svc.example/svc/shared/testing/must"
)

// TestWhatAStreamCosts, with the client's connection, which is in this process too.
func TestWhatAStreamCosts(t *testing.T) {
	const streams, most = 1000, 10 << 10
	c := newChannel("v1")
	s := serve(t, streams+1, events.Stream{Channel: c})
	s.open(t).body.Close()
	await(t, func() bool { return s.hub.Open() == 0 })
	goroutines, bytes := runtime.NumGoroutine(), inUse()
	var conns []net.Conn
	begin := []byte("GET / HTTP/1.1\r\nHost: svc.test\r\nUser-Agent: a browser of our days\r\n\r\n")
	for range streams {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err == nil {
			_, err = conn.Write(begin)
		}
		must.Do(t, err)
		defer conn.Close()
		conns = append(conns, conn)
	}
	readTo(t, conns, "id: v1\n\n")
	check := func(when string) {
		t.Helper()
		each := (inUse() - bytes) / streams
		t.Logf("%s: %d bytes a stream, %d goroutines for %d", when, each, runtime.NumGoroutine()-goroutines, streams)
		if each > most {
			t.Errorf("%s: a stream takes %d bytes, more than %d", when, each, most)
		}
	}
	await(t, func() bool { return runtime.NumGoroutine() <= goroutines+streams+1 }) // one watches
	check("idle")
	c.set("v2")
	readTo(t, conns, "data of v2")
	check("after an event")
}

func readTo(t *testing.T, conns []net.Conn, end string) {
	t.Helper()
	b := make([]byte, 4096)
	for _, conn := range conns {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		for text := ""; !strings.Contains(text, end); {
			n, err := conn.Read(b)
			if err != nil && err != io.EOF {
				t.Fatal(fmt.Errorf("%w after %q", err, text))
			}
			text += string(b[:n])
		}
	}
}

// inUse is what the process has in use of its heap and its stacks.
func inUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
