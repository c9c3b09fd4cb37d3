package server

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// connected is a connection that the clock keeps the deadlines of, and its other end.
func connected(t *testing.T) (*conn, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := listener{l, newClock()}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); accepted.Close() })
	return accepted.(*conn), client
}

func TestADeadlineThatIsFarAwayEndsAReadWhenTheClockSaysSo(t *testing.T) {
	c, client := connected(t)
	c.SetReadDeadline(c.clock.begin.Add(time.Minute))
	ended := make(chan error)
	go func() { ended <- read(c) }()
	c.clock.look(59 * time.Second)
	client.Write([]byte("a"))
	if err := <-ended; err != nil {
		t.Fatalf("before its time: %v", err)
	}
	go func() { ended <- read(c) }()
	c.clock.look(61 * time.Second)
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("after its time: %v", err)
	}
	// The next one lets it go on.
	c.SetReadDeadline(c.clock.begin.Add(3 * time.Minute))
	c.clock.look(62 * time.Second)
	client.Write([]byte("b"))
	if err := read(c); err != nil {
		t.Fatalf("with another one: %v", err)
	}
}

func TestADeadlineIsTakenBack(t *testing.T) {
	c, client := connected(t)
	c.SetDeadline(c.clock.begin.Add(time.Minute))
	c.SetDeadline(time.Time{})
	c.clock.look(time.Hour)
	client.Write([]byte("a"))
	if err := read(c); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write([]byte("b")); err != nil {
		t.Fatal(err)
	}
}

// TestADeadlineThatIsNearIsKeptByTheConnection: net/http ends a read by one that has
// come, and goes on after.
func TestADeadlineThatIsNearIsKeptByTheConnection(t *testing.T) {
	for _, near := range []time.Time{time.Unix(1, 0), time.Now().Add(20 * time.Millisecond)} {
		c, client := connected(t)
		c.SetReadDeadline(near)
		if err := read(c); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("by %v: %v", near, err)
		}
		for _, next := range []time.Time{{}, time.Now().Add(time.Minute)} {
			c.SetReadDeadline(next)
			client.Write([]byte("a"))
			if err := read(c); err != nil {
				t.Fatalf("by %v, after %v: %v", next, near, err)
			}
		}
	}
}

// TestAWriteHasADeadline of its own: of a reader that never reads.
func TestAWriteHasADeadlineOfItsOwn(t *testing.T) {
	c, _ := connected(t)
	c.SetWriteDeadline(c.clock.begin.Add(time.Minute))
	ended := make(chan error)
	go func() {
		_, err := c.Write(make([]byte, 64<<20))
		ended <- err
	}()
	c.clock.look(2 * time.Minute)
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestTheClockForgetsWhatIsClosed(t *testing.T) {
	c, _ := connected(t)
	c.Close()
	if n := len(c.clock.conns); n > 0 {
		t.Errorf("%d connections are looked at for good", n)
	}
}

func read(c net.Conn) error {
	_, err := c.Read(make([]byte, 1))
	return err
}
