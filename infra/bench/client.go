package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
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
	if keep {
		a.header = map[string]string{}
	}
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
			a.header[name] = value
		}
	}
	if keep {
		a.body = make([]byte, length)
		_, err := io.ReadFull(c.in, a.body)
		return a, err
	}
	_, err := c.in.Discard(length)
	return a, err
}

// get is a request for a path, with a key if there is one.
func get(host, path, key string) []byte {
	return request("GET", host, path, key, "")
}

func request(method, host, path, key, body string) []byte {
	r := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	if key != "" {
		r = fmt.Appendf(r, "Authorization: Bearer %s\r\n", key)
	}
	if body != "" {
		r = fmt.Appendf(r, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return fmt.Appendf(r, "\r\n%s", body)
}

// with adds a header to a request without a body.
func with(request []byte, header string) []byte {
	end := len(request) - len("\r\n")
	return fmt.Appendf(nil, "%s%s\r\n\r\n", request[:end], header)
}

// once sends one request on a connection of its own.
func once(host string, request []byte) (answer, error) {
	c, err := dial(host)
	if err != nil {
		return answer{}, err
	}
	defer c.conn.Close()
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return answer{}, err
	}
	return c.do(request, true)
}

// expect sends a request whose answer must have a status, and returns how long
// that took.
func (c *connection) expect(request []byte, want int) (time.Duration, error) {
	begin := time.Now()
	a, err := c.do(request, false)
	if err == nil && a.status != want {
		line, _, _ := bytes.Cut(request, []byte("\r\n"))
		err = fmt.Errorf("status %d, want %d, of %s", a.status, want, line)
	}
	return time.Since(begin), err
}
