package faultproxy

import (
	"net"
	"sync"
)

// Cable is a proxy in front of any server: it passes bytes on as they come, counts them,
// and breaks once where Cut says.
type Cable struct {
	target   string
	listener net.Listener

	mu     sync.Mutex
	left   [2]int // how many bytes still pass; below 0 all do
	passed [2]int
}

// The directions of a Cable.
const (
	ToServer = iota
	ToClient
)

// StartCable begins to listen on a free port of the loopback interface.
func StartCable(target string) (*Cable, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &Cable{target: target, listener: listener, left: [2]int{-1, -1}}
	go c.accept()
	return c, nil
}

// Address is the proxy's, to be used instead of the server's.
func (c *Cable) Address() string { return c.listener.Addr().String() }

// Close ends listening.
func (c *Cable) Close() error { return c.listener.Close() }

// Cut breaks the connection, once, that is to pass more than so many bytes from now on in
// a direction. A negative number is never.
func (c *Cable) Cut(direction, after int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left, c.passed = [2]int{-1, -1}, [2]int{}
	c.left[direction] = after
}

// Passed is how many bytes have passed since Cut.
func (c *Cable) Passed(direction int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passed[direction]
}

func (c *Cable) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		go c.pass(server, client, ToServer)
		go c.pass(client, server, ToClient)
	}
}

// pass passes bytes on until either side ends, or the cable breaks.
func (c *Cable) pass(to, from net.Conn, direction int) {
	defer to.Close()   //nolint:errcheck // it is over
	defer from.Close() //nolint:errcheck // it is over
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		pass, cut := c.take(direction, n)
		if _, failed := to.Write(buffer[:pass]); err != nil || failed != nil || cut {
			return
		}
	}
}

func (c *Cable) take(direction, n int) (pass int, cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.left[direction]
	if cut = left >= 0 && n > left; cut {
		n, c.left[direction] = left, -1
	} else if left >= 0 {
		c.left[direction] -= n
	}
	c.passed[direction] += n
	return n, cut
}
