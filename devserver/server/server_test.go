package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"svc.example/svc/shared/testing/must"
)

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.8.8.8": true, "::1": true, "localhost": true,
		"": false, "0.0.0.0": false, "::": false, "10.0.0.1": false, "fe80::1": false,
	} {
		if got, err := Loopback(host); err != nil || got != want {
			t.Errorf("%q: %v %v, want %v", host, got, err, want)
		}
	}
	if _, err := Loopback("no such host"); err == nil {
		t.Error("an unknown host is no error")
	}
}

func TestListenRefusals(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for _, tt := range []struct {
		host  string
		port  int
		words string
	}{
		{"127.0.0.1", port, "taken by another program"},
		{"localhost", port, "taken by another program"},
		{"127.0.0.1", 0, "from 1 to 65535"},
		{"127.0.0.1", 70000, "from 1 to 65535"},
		{"203.0.113.7", port, "not an address of this machine"},
	} {
		listeners, err := Listen(tt.host, tt.port)
		Close(listeners)
		if err == nil || !strings.Contains(err.Error(), tt.words) {
			t.Errorf("%s:%d: %v, want …%s…", tt.host, tt.port, err, tt.words)
		}
	}
}

// serving serves until stop is called; served tells how it ended.
func serving(t *testing.T, handler http.Handler) (address string, stop func(), served chan error) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(context.Background())
	served = make(chan error)
	go func() { served <- Serve(ctx, []net.Listener{l}, handler) }()
	return l.Addr().String(), stop, served
}

// TestStoppingLetsAnswersFinish: a request that is being answered when the
// server is told to stop gets its answer, and the port is free afterwards.
func TestStoppingLetsAnswersFinish(t *testing.T) {
	asked, goOn := make(chan struct{}), make(chan struct{})
	address, stop, served := serving(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-goOn
		io.WriteString(w, "whole")
	}))
	answered := make(chan string)
	go func() {
		r, err := http.Get("http://" + address)
		if err != nil {
			answered <- err.Error()
			return
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		answered <- string(body)
	}()
	<-asked
	stop()
	for { // until the port no longer accepts
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			break
		}
		c.Close()
	}
	close(goOn)
	if got := <-answered; got != "whole" {
		t.Errorf("the answer under way became %q", got)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

// TestStoppingDoesNotWaitForUnusedConnections: browsers open connections ahead
// of need.
func TestStoppingDoesNotWaitForUnusedConnections(t *testing.T) {
	address, stop, served := serving(t, http.NotFoundHandler())
	silent := must.Get(net.Dial("tcp", address))(t)
	defer silent.Close()
	if _, err := http.Get("http://" + address); err != nil { // so that the silent one was accepted before
		t.Fatal(err)
	}
	stop()
	silent.SetReadDeadline(time.Now().Add(grace / 2))
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the silent connection was not closed: %v", err)
	}
	<-served
}

// TestARefusalReachesWhoIsStillSending: the answer to a large body that nobody
// reads comes once it was sent, on a connection that goes on.
func TestARefusalReachesWhoIsStillSending(t *testing.T) {
	address, stop, served := serving(t, http.NotFoundHandler())
	c := must.Get(net.Dial("tcp", address))(t)
	answers := bufio.NewReader(c)
	for range 2 {
		body := strings.Repeat(" ", 1<<20)
		must.Get(fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", len(body), body))(t)
		r := must.Get(http.ReadResponse(answers, nil))(t)
		if _, err := io.Copy(io.Discard, r.Body); err != nil || r.StatusCode != 404 || r.Close {
			t.Errorf("%v, connection closed: %v, %v", r.Status, r.Close, err)
		}
	}
	c.Close()
	stop()
	must.Report(t, <-served)
}
