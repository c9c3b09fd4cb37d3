// Package server runs the svc binary's HTTP servers: it binds an address,
// refuses one that was not meant, and stops without cutting an answer short.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Listen binds host and port, without looking for another port when that one
// is taken. The name localhost binds both loopback addresses, as far as the
// machine has them, since a browser may try either.
func Listen(host string, port int) ([]net.Listener, error) {
	if port < 1 || port > 65535 {
		return nil, fmt.Errorf("port %d: choose one from 1 to 65535", port)
	}
	hosts := []string{host}
	if host == "localhost" {
		hosts = []string{"127.0.0.1", "::1"}
	}
	var listeners []net.Listener
	for i, h := range hosts {
		l, err := net.Listen("tcp", net.JoinHostPort(h, strconv.Itoa(port)))
		if err == nil {
			listeners = append(listeners, l)
			continue
		}
		if i > 0 && !errors.Is(err, syscall.EADDRINUSE) {
			continue // a machine without IPv6
		}
		Close(listeners)
		return nil, explain(err, host, port)
	}
	return listeners, nil
}

func explain(err error, host string, port int) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, windowsAddressInUse):
		return fmt.Errorf("port %d on %s is taken by another program; stop it, or choose another port with --port", port, host)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("port %d needs rights that this user does not have; choose one above 1023 with --port", port)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine", host)
	}
	return fmt.Errorf("cannot listen on %s: %w", net.JoinHostPort(host, strconv.Itoa(port)), err)
}

// windowsAddressInUse is WSAEADDRINUSE, which has no name on other systems.
const windowsAddressInUse = syscall.Errno(10048)

// Close closes listeners that will not be served.
func Close(listeners []net.Listener) {
	for _, l := range listeners {
		l.Close()
	}
}

// Loopback reports whether a host can be reached from this machine only. A name
// counts when every address it stands for does.
func Loopback(host string) (bool, error) {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback(), nil
	}
	if host == "" {
		return false, nil // every address
	}
	if host == "localhost" {
		return true, nil
	}
	ips, err := net.LookupIP(host)
	if err != nil {
		return false, fmt.Errorf("the host %q is not known: %w", host, err)
	}
	for _, ip := range ips {
		if !ip.IsLoopback() {
			return false, nil
		}
	}
	return true, nil
}

// URL is where a server bound to host and port is reached.
func URL(host string, port int) string {
	return "http://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// MaxStreams is how many event streams there may be where nobody says otherwise, and
// the files that may be open are twice as many.
const MaxStreams = 20_000

// grace is how long answers under way may take once the server is stopping.
const grace = 5 * time.Second

// Serve answers on the listeners until ctx is done, then ends what would never end
// by itself, by calling end, and lets what is under way finish.
func Serve(ctx context.Context, listeners []net.Listener, handler http.Handler, end ...func()) error {
	s := &http.Server{
		Handler:           readOut(handler),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
	}
	var unused connections
	s.ConnState = unused.note
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- s.Serve(l) }()
	}
	tellSystemd("READY=1")
	select {
	case err := <-failed:
		s.Close()
		return err
	case <-ctx.Done():
	}
	for _, end := range end {
		end()
	}
	unused.mu.Lock()
	for c := range unused.all {
		c.Close()
	}
	unused.mu.Unlock()
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := s.Shutdown(stopping); err != nil {
		s.Close()
	}
	return nil
}

// connections are those on which no request has come yet. Browsers open some ahead of
// need; a stop must not wait for them.
type connections struct {
	mu  sync.Mutex
	all map[net.Conn]bool
}

func (u *connections) note(c net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch state {
	case http.StateNew:
		if u.all == nil {
			u.all = map[net.Conn]bool{}
		}
		u.all[c] = true
	default:
		delete(u.all, c)
	}
}

// tellSystemd tells it how the service is that it has started, where it wants to
// know (sd_notify(3)). It goes on without.
func tellSystemd(state string) {
	socket := os.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	if c, err := net.Dial("unixgram", socket); err == nil {
		c.Write([]byte(state))
		c.Close()
	}
}

const (
	// maxReadOut and readOutTime bound what is read of a body that no handler
	// wanted.
	maxReadOut  = 2 << 20 // bytes
	readOutTime = 2 * time.Second
)

// readOut reads what a handler has left of a body before its answer goes out:
// many clients listen only when they have sent all, and those of a connection
// that is closed before never see why they were refused.
func readOut(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		if r.ContentLength == 0 || r.Header.Get("Expect") != "" { // reading would ask for what waits to be asked for
			return
		}
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(readOutTime)); err == nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxReadOut) // what remains is the client's loss
		}
	})
}
