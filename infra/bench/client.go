package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// answer is what the client keeps of a response.
type answer struct {
	status int
	header map[string]string // only when asked for, as is the body
	body   []byte
}

// connection speaks just enough HTTP to keep a server busy: a client of the
// standard library would spend more time than the server that it measures.
type connection struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(host string) (*connection, error) {
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &connection{c, bufio.NewReaderSize(c, 256<<10)}, nil
}

func (c *connection) do(request []byte, keep bool) (answer, error) {
	var a answer
	if _, err := c.conn.Write(request); err != nil {
		return a, err
	}
	length := 0
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return a, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if first {
			a.status, err = strconv.Atoi(string(line[9:12]))
			if err != nil {
				return a, err
			}
			continue
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(v))
		}
		if name, value, ok := strings.Cut(string(line), ": "); ok && keep {
			a.keep(name, value)
		}
	}
	if keep {
		a.body = make([]byte, length)
		_, err := readFull(c.in, a.body)
		return a, err
	}
	_, err := c.in.Discard(length)
	return a, err
}

func (a *answer) keep(name, value string) {
	if a.header == nil {
		a.header = map[string]string{}
	}
	a.header[name] = value
}

func readFull(in *bufio.Reader, into []byte) (int, error) {
	n := 0
	for n < len(into) {
		k, err := in.Read(into[n:])
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// once sends one request on a connection of its own.
func once(host string, request []byte) (answer, error) {
	c, err := dial(host)
	if err != nil {
		return answer{}, err
	}
	defer c.conn.Close()
	return c.do(request, true)
}

// throughput keeps connections busy for a while and returns answers a second.
func throughput(host string, requests [][]byte, connections int, d time.Duration, want int) (float64, error) {
	var done atomic.Bool
	var total atomic.Int64
	errs := make(chan error, connections)
	var group sync.WaitGroup
	for n := range connections {
		c, err := dial(host)
		if err != nil {
			return 0, err
		}
		defer c.conn.Close()
		group.Go(func() {
			count := int64(0)
			for i := n * variety / connections; !done.Load(); i++ {
				a, err := c.do(requests[i%len(requests)], false)
				if err == nil && a.status != want {
					err = fmt.Errorf("status %d, want %d", a.status, want)
				}
				if err != nil {
					errs <- err
					break
				}
				count++
			}
			total.Add(count)
		})
	}
	begin := time.Now()
	time.Sleep(d)
	done.Store(true)
	elapsed := time.Since(begin)
	group.Wait()
	close(errs)
	var all []error
	for err := range errs {
		all = append(all, err)
	}
	return float64(total.Load()) / elapsed.Seconds(), errors.Join(all...)
}
