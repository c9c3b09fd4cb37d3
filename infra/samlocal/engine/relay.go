package engine

import (
	"io"
	"net"
	"net/netip"
	"sync"
)

// relay passes connections on to a server of this machine.
type relay struct {
	listener net.Listener
	from     netip.Prefix // who may connect
	to       string

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]bool
	done   sync.WaitGroup
}

// newRelay listens on a free port of an address.
func newRelay(address netip.Addr, from netip.Prefix, to string) (*relay, error) {
	l, err := net.Listen("tcp", netip.AddrPortFrom(address, 0).String())
	if err != nil {
		return nil, err
	}
	r := &relay{listener: l, from: from, to: to, open: map[net.Conn]bool{}}
	r.done.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			r.done.Go(func() { r.pass(in) })
		}
	})
	return r, nil
}

// pass copies in both directions until both ends are through. Other machines
// may have a route to the address; they are no containers.
func (r *relay) pass(in net.Conn) {
	defer r.forget(in)
	remote, err := netip.ParseAddrPort(in.RemoteAddr().String())
	if err != nil || !r.from.Contains(remote.Addr().Unmap()) || !r.remember(in) {
		return
	}
	out, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer r.forget(out)
	if !r.remember(out) {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyHalf(out, in) })
	both.Go(func() { copyHalf(in, out) })
	both.Wait()
}

// copyHalf copies one direction and tells the receiver that it is over.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if tcp, isTCP := to.(*net.TCPConn); isTCP && err == nil {
		_ = tcp.CloseWrite() // the receiver may be gone
		return
	}
	_, _ = to.Close(), from.Close()
}

// remember keeps a connection to be closed with the relay, and says whether
// that is not closed yet.
func (r *relay) remember(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.open[c] = true
	}
	return !r.closed
}

func (r *relay) forget(c net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = c.Close()
	delete(r.open, c)
}

// close ends the relay and its connections.
func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for c := range r.open {
		_ = c.Close()
	}
	r.mu.Unlock()
	r.done.Wait()
}
