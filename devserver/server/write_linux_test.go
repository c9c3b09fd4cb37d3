package server

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestAnAnswerIsSentAsOnePiece, however large its header is beside it, and at once.
func TestAnAnswerIsSentAsOnePiece(t *testing.T) {
	address, stop, served := serving(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		size, _ := strconv.Atoi(r.URL.Query().Get("size"))
		w.Header().Set("Content-Length", strconv.Itoa(size))
		w.Write(bytes.Repeat([]byte("x"), size))
	}))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ask := func(size int) (pieces uint32, header int) {
		t.Helper()
		before := piecesReceived(t, c)
		fmt.Fprintf(c, "GET /?size=%d HTTP/1.1\r\nHost: localhost\r\n\r\n", size)
		c.SetReadDeadline(time.Now().Add(time.Minute))
		var text []byte
		for header == 0 || len(text) < header+size {
			part := make([]byte, 64<<10)
			n, err := c.Read(part)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, part[:n]...)
			if at := bytes.Index(text, []byte("\r\n\r\n")); at > 0 && header == 0 {
				header = at + 4
			}
		}
		return piecesReceived(t, c) - before, header
	}
	for _, size := range []int{10, 3000, 5000, 20_000, 40_000} {
		fewest, _ := ask(size) // the system may have reasons of its own for more
		for try := 0; try < 20 && fewest > 1; try++ {
			pieces, _ := ask(size)
			fewest = min(fewest, pieces)
		}
		if fewest != 1 {
			t.Errorf("an answer of %d bytes comes in %d pieces", size, fewest)
		}
	}
	// One that fills the buffer and goes no further is followed by nothing, and would
	// wait for 200 ms each time.
	_, header := ask(3000)
	fastest := time.Minute
	for range 20 {
		begin := time.Now()
		if _, other := ask(fullBuffer - header); other != header {
			t.Fatalf("the header has %d bytes, and had %d", other, header)
		}
		fastest = min(fastest, time.Since(begin))
	}
	if fastest > 150*time.Millisecond {
		t.Errorf("of twenty answers that fill the buffer, the fastest took %v", fastest)
	}
	c.Close()
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func piecesReceived(t *testing.T, c net.Conn) uint32 {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var info *unix.TCPInfo
	if failed := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }); failed != nil || err != nil {
		t.Fatal(failed, err)
	}
	return info.Data_segs_in
}

// connected is a connection and its other end.
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
	accepted, err := listener{l}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); accepted.Close() })
	return accepted.(*conn), client
}

// TestAClientThatDoesNotReadIsWaitedFor, also within a buffer that goes with what follows.
func TestAClientThatDoesNotReadIsWaitedFor(t *testing.T) {
	c, client := connected(t)
	const buffers = 4000
	written := make(chan error)
	go func() {
		for n := range buffers {
			if _, err := c.Write(bytes.Repeat([]byte{byte(n)}, fullBuffer)); err != nil {
				written <- err
				return
			}
		}
		c.push()
		written <- nil
	}()
	for n := range buffers {
		got := make([]byte, fullBuffer)
		if _, err := io.ReadFull(client, got); err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat([]byte{byte(n)}, fullBuffer); !bytes.Equal(got, want) {
			t.Fatalf("buffer %d came as another one", n)
		}
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
}
