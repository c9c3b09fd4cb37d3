package faultproxy

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Clock is a proxy in front of an S3 server that gives the store another time:
// the one of its answers' Date, and the one at which it says that it stored an
// object. So a test lets days pass between two requests, and a clock that is
// years ahead of the store's, or behind it, is the store's being behind, or
// ahead. Requests are passed on as they came.
type Clock struct {
	server
	lock   sync.Mutex
	ahead  time.Duration
	stored map[string]time.Duration // how far ahead it was, by the object's path
}

// StartClock begins to listen on a free port of the loopback interface, with a
// clock that is ahead of the server's.
func StartClock(target string, ahead time.Duration) (*Clock, error) {
	c := &Clock{ahead: ahead, stored: map[string]time.Duration{}}
	return c, c.listen(target, nil, c.change)
}

// Pass lets time pass at the store.
func (c *Clock) Pass(d time.Duration) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.ahead += d
}

// change gives an answer the store's time.
func (c *Clock) change(r *http.Response) error {
	c.lock.Lock()
	defer c.lock.Unlock()
	path, now := r.Request.URL.Path, time.Now().Add(c.ahead)
	r.Header.Set("Date", now.UTC().Format(http.TimeFormat))
	switch {
	case r.Request.Method == http.MethodPut && r.StatusCode == http.StatusOK:
		c.stored[path] = c.ahead
	case r.Request.URL.Query().Get("list-type") != "" && r.StatusCode == http.StatusOK:
		return c.changeList(r, strings.TrimSuffix(path, "/"))
	}
	if at, err := http.ParseTime(r.Header.Get("Last-Modified")); err == nil {
		r.Header.Set("Last-Modified", at.Add(c.stored[path]).UTC().Format(http.TimeFormat))
	}
	return nil
}

var (
	listed   = regexp.MustCompile(`(?s)<Contents>.*?</Contents>`)
	key      = regexp.MustCompile(`<Key>(.*?)</Key>`)
	modified = regexp.MustCompile(`<LastModified>(.*?)</LastModified>`)
)

func (c *Clock) changeList(r *http.Response, bucket string) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	body = listed.ReplaceAllFunc(body, func(object []byte) []byte {
		name := key.FindSubmatch(object)
		return modified.ReplaceAllFunc(object, func(element []byte) []byte {
			at, err := time.Parse(time.RFC3339, string(modified.FindSubmatch(element)[1]))
			if err != nil || name == nil {
				return element
			}
			at = at.Add(c.stored[bucket+"/"+string(name[1])])
			return []byte("<LastModified>" + at.UTC().Format("2006-01-02T15:04:05.000Z") + "</LastModified>")
		})
	})
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}
