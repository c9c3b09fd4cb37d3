package events

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"os"
	"strings"
	"sync"
	"time"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/fault"
)

// Stream is what a request asks for.
type Stream struct {
	// Name is the channel's: channels of one name are the same.
	Name    string
	Channel Channel
	// Greeted streams get the present version as an event at once, where the client
	// does not say that it has it. Others get it only where the client says that it
	// has another one.
	Greeted bool
	// Owner is the browser, "" where its connections need no care. It has six to a
	// server over HTTP/1.1, and a page that was opened in the background leaves its
	// stream only once it has been shown. So when an owner has more than four, the
	// oldest ends. Its page comes back, and the next oldest ends: they take turns.
	Owner string
	// Address is where the client is; the zero one is not counted. Key is the public key that
	// was shown, "" where it is not one of several. Secret says that it was a secret key. Of
	// all streams an address has at most a quarter and a public key half; an eighth is for
	// secret keys alone, so that no page keeps servers and relays out.
	Address netip.Addr
	Key     string
	Secret  bool
	// Check reports whether the client may still have the stream. A fault of the kind
	// Unauthorized ends it. Nil is always.
	Check func(ctx context.Context) error
}

const (
	checkTime = 5 * time.Second
	farewell  = time.Second // that the end of a stream takes at most

	// A client that is cut off comes back after a time between these.
	minRetry, maxRetry = time.Second, 5 * time.Second
	// turnRetry bounds it for those who take turns: the page that somebody looks at may
	// be one of them.
	turnRetry = 1500 * time.Millisecond

	comment = ":\n\n"
)

// ContentType is that of a stream.
const ContentType = "text/event-stream"

// Serve answers a request with a stream, and returns once the stream goes on by
// itself. Its error is a fault: then nothing has been written yet. Headers that
// have been set are sent along.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, asked Stream) error {
	if r.ContentLength != 0 {
		return fault.New(fault.BadRequest, "an event stream is asked for without a body")
	}
	topic, err := h.follow(r.Context(), asked.Name, asked.Channel)
	if err != nil {
		return err
	}
	header := w.Header()
	header.Set("Content-Type", ContentType)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // or nginx would collect events
	if r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	if err := h.reserve(asked); err != nil {
		unset(header)
		return err
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		unset(header)
		h.release(asked)
		return fault.New(fault.Unavailable, "there are no event streams over this connection; ask over HTTP/1.1").Because(err)
	}
	notice(conn)
	s := &stream{hub: h, asked: asked, conn: conn, topic: topic, checked: time.Now(), chunked: r.ProtoAtLeast(1, 1)}
	h.add(s)
	last, known := r.Header["Last-Event-Id"]
	if news := s.topic.news.Load(); !known && !asked.Greeted || known && last[0] == news.Version {
		s.told, s.sent = news, news.Version
	}
	go s.run(opening(header, s.chunked))
	return nil
}

func unset(header http.Header) {
	for _, name := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering"} {
		header.Del(name)
	}
}

// opening is the head of the answer.
func opening(header http.Header, chunked bool) string {
	var b strings.Builder
	b.WriteString("HTTP/1.1 200 OK\r\n")
	header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	header.Set("Connection", "close") // once the stream has ended
	if chunked {
		header.Set("Transfer-Encoding", "chunked")
	}
	_ = header.Write(&b) // it goes to memory
	b.WriteString("\r\n")
	return b.String()
}

// stream is one that is open. Its goroutine waits in a read, which sees when the
// client goes, and which others end by a deadline when there is something to do.
type stream struct {
	hub     *Hub
	asked   Stream
	topic   *topic
	conn    net.Conn
	chunked bool

	// Of its goroutine.
	told    *News  // the news that the client has heard of
	sent    string // the version of the event that was sent last
	checked time.Time
	read    [1]byte

	mu    sync.Mutex
	woken bool
	ended bool
}

// past is a deadline that ends a read at once.
var past = time.Unix(1, 0)

func (s *stream) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = true
	_ = s.conn.SetReadDeadline(past) // it is closed, else
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_ = s.conn.SetReadDeadline(past)
	_ = s.conn.SetWriteDeadline(time.Now().Add(farewell))
}

func (s *stream) run(opening string) {
	defer s.hub.release(s.asked)
	defer s.hub.remove(s)
	defer s.conn.Close()
	most := maxRetry
	if s.asked.Owner != "" {
		most = turnRetry
	}
	retry := minRetry + rand.N(most-minRetry+time.Millisecond)
	_, err := io.WriteString(bodies.NewSteadyConn(s.conn), opening)
	if err == nil {
		err = s.write(strings.NewReader(fmt.Sprintf(": svc\nretry: %d\nid: %s\n\n", retry.Milliseconds(), s.topic.news.Load().Version)))
	}
	for err == nil {
		if err = s.tell(); err != nil {
			break
		}
		var quiet bool
		if quiet, err = s.wait(); err == nil && quiet {
			if err = s.stillGood(); err == nil {
				err = s.write(strings.NewReader(comment))
			}
		}
	}
	if errors.Is(err, errEnded) && s.chunked {
		_ = s.conn.SetWriteDeadline(time.Now().Add(farewell))
		_, _ = io.WriteString(s.conn, "0\r\n\r\n")
	}
}

var (
	errEnded = errors.New("the server ends the stream")
	errGone  = errors.New("the client is gone")
)

// tell sends an event if there is news.
func (s *stream) tell() error {
	news := s.topic.news.Load()
	if news == s.told {
		return nil
	}
	s.told = news
	if s.sent == news.Version && !news.again {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	version, data, err := s.topic.channel.Event(ctx, *news)
	if err != nil {
		return errEnded // the client comes back, and is told more
	}
	s.sent = version
	return s.write(strings.NewReader("id: "+version+"\nevent: message\ndata: "), data, strings.NewReader("\n\n"))
}

// wait waits until there is something to do; it is quiet when there is no news.
func (s *stream) wait() (quiet bool, err error) {
	s.mu.Lock()
	switch {
	case s.ended:
		s.mu.Unlock()
		return false, errEnded
	case s.woken:
		s.woken = false
		s.mu.Unlock()
		return false, nil
	}
	_ = s.conn.SetReadDeadline(time.Now().Add(s.hub.pace.comment)) // it is closed, else
	s.mu.Unlock()
	_, err = s.conn.Read(s.read[:])
	if !errors.Is(err, os.ErrDeadlineExceeded) { // a client that sends something has no use for a stream
		return false, errGone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.woken && !s.ended, nil
}

// stillGood asks now and then whether the client may have the stream.
func (s *stream) stillGood() error {
	if s.asked.Check == nil || time.Since(s.checked) < s.hub.pace.check {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	if err := s.asked.Check(ctx); err != nil && fault.Of(err).Kind == fault.Unauthorized {
		return errEnded
	}
	s.checked = time.Now()
	return nil
}

// write sends parts of the stream.
func (s *stream) write(parts ...io.Reader) error {
	b := writers.Get().(*bufio.Writer)
	defer writers.Put(b)
	b.Reset(bodies.NewSteadyConn(s.conn))
	var to io.Writer = b
	if s.chunked {
		to = httputil.NewChunkedWriter(b)
	}
	for _, part := range parts {
		if _, err := io.Copy(to, part); err != nil {
			return err
		}
	}
	return b.Flush()
}

var writers = sync.Pool{New: func() any { return bufio.NewWriter(nil) }}
