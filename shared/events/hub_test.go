package events_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/events"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/testing/must"
)

// channel is one whose version the test sets.
type channel struct {
	version atomic.Pointer[string]
	refused atomic.Bool
	data    func(version string) string
}

func newChannel(version string) *channel {
	c := &channel{data: func(version string) string { return "data of " + version }}
	c.set(version)
	return c
}

func (c *channel) set(version string) { c.version.Store(&version) }

func (c *channel) Version(context.Context) (string, error) {
	if c.refused.Load() {
		return "", fault.New(fault.Unauthorized, "no")
	}
	return *c.version.Load(), nil
}

func (c *channel) Event(_ context.Context, news events.News) (string, io.Reader, error) {
	return news.Version, strings.NewReader(c.data(news.Version)), nil
}

// server serves streams of a channel as a real server does.
type server struct {
	*httptest.Server
	hub    *events.Hub
	asked  events.Stream
	choose func(r *http.Request, asked *events.Stream) // nil leaves it as it is
	failed atomic.Pointer[fault.Fault]
}

func serve(t *testing.T, most int, asked events.Stream) *server {
	t.Helper()
	s := &server{hub: events.NewHub(most, 5*time.Millisecond), asked: asked}
	s.asked.Name, s.asked.Secret = "c", true // all streams may be of secret keys
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := s.asked
		if s.choose != nil {
			s.choose(r, &asked)
		}
		if err := s.hub.Serve(w, r, asked); err != nil {
			s.failed.Store(fault.Of(err))
			w.WriteHeader(fault.Of(err).Kind.Status())
		}
	}))
	s.Config.WriteTimeout = time.Second // which must not end a stream
	s.Start()
	t.Cleanup(s.Close)
	t.Cleanup(s.hub.Close)
	return s
}

// reader reads a stream as EventSource does.
type reader struct {
	t      *testing.T
	body   io.ReadCloser
	lines  *bufio.Scanner
	retry  int
	lastID string
}

func (s *server) open(t *testing.T, header ...string) *reader {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), "GET", s.URL, nil))(t)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	answer := must.Get(http.DefaultTransport.RoundTrip(r))(t)
	t.Cleanup(func() { answer.Body.Close() })
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" || answer.Header.Get("Cache-Control") != "no-store" || answer.Header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", answer.StatusCode, answer.Header)
	}
	in := &reader{t: t, body: answer.Body, lines: bufio.NewScanner(answer.Body)}
	in.lines.Buffer(nil, 64<<20)
	if block := in.block(); !strings.HasPrefix(block[0], ":") || in.retry < 1000 || in.retry > 5000 {
		t.Fatalf("the stream begins with %q", block)
	}
	return in
}

// block reads up to the next empty line; nil at the end.
func (r *reader) block() (block []string) {
	r.t.Helper()
	for r.lines.Scan() {
		line := r.lines.Text()
		if line == "" {
			return block
		}
		_, _ = fmt.Sscanf(line, "retry: %d", &r.retry)
		_, _ = fmt.Sscanf(line, "id: %s", &r.lastID)
		block = append(block, line)
	}
	return nil
}

// event reads the next event, its version and data; nothing at the end.
func (r *reader) event() (version, data string) {
	r.t.Helper()
	for {
		block := r.block()
		if block == nil {
			return "", ""
		}
		if len(block) == 3 && block[1] == "event: message" {
			return strings.TrimPrefix(block[0], "id: "), strings.TrimPrefix(block[2], "data: ")
		}
	}
}

func (r *reader) want(versions ...string) {
	r.t.Helper()
	for _, want := range versions {
		if version, data := r.event(); version != want || data != "data of "+want {
			r.t.Fatalf("got %q with %q, want %q", version, data, want)
		}
	}
}

// TestWhoIsToldAtFirst: what a client says that it has decides, and whether streams
// are greeted. Whoever has nothing to hear hears the change that follows first.
func TestWhoIsToldAtFirst(t *testing.T) {
	for _, tt := range []struct {
		name    string
		greeted bool
		header  []string
		want    []string
	}{
		{"a new client", false, nil, []string{"v2"}},
		{"one that has the present version", false, []string{"Last-Event-ID", "v1"}, []string{"v2"}},
		{"one that has another", false, []string{"Last-Event-ID", "v0"}, []string{"v1", "v2"}},
		{"one that has much of another", false, []string{"Last-Event-ID", strings.Repeat("v", 1<<20)}, []string{"v1", "v2"}},
		{"a new one that is greeted", true, nil, []string{"v1", "v2"}},
		{"one that is greeted and has the present version", true, []string{"Last-Event-ID", "v1"}, []string{"v2"}},
		{"one that is greeted and has another", true, []string{"Last-Event-ID", "v0"}, []string{"v1", "v2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newChannel("v1")
			s := serve(t, 1, events.Stream{Channel: c, Greeted: tt.greeted})
			r := s.open(t, tt.header...)
			if r.lastID != "v1" {
				t.Errorf("it begins with the id %q, which a client sends when it connects again", r.lastID)
			}
			if len(tt.want) > 1 {
				r.want("v1")
			}
			c.set("v2")
			r.want("v2")
		})
	}
}

// TestChangesAtOnceAreOneEvent, and one that is taken back is one too: somebody may
// have read what was between.
func TestChangesAtOnceAreOneEvent(t *testing.T) {
	c := newChannel("v1")
	s := serve(t, 2, events.Stream{Channel: c})
	one, other := s.open(t), s.open(t)
	for i := range 10 {
		c.set(fmt.Sprint("w", i))
	}
	c.set("v2")
	one.want("v2")
	other.want("v2")

	back := &flipping{channel: c}
	r := serve(t, 1, events.Stream{Channel: back}).open(t)
	back.armed.Store(true)
	r.want("v2")
}

// flipping shows another version once, when it is armed.
type flipping struct {
	*channel
	armed   atomic.Bool
	between sync.Once
}

func (f *flipping) Version(ctx context.Context) (version string, err error) {
	if version, err = f.channel.Version(ctx); f.armed.Load() {
		f.between.Do(func() { version = "between" })
	}
	return version, err
}

// TestShares: no address and no public key has all streams, and secret keys have some for
// themselves.
func TestShares(t *testing.T) {
	s := serve(t, 8, events.Stream{Channel: newChannel("v1")})
	s.choose = func(r *http.Request, asked *events.Stream) {
		asked.Address, asked.Key, asked.Secret = netip.MustParseAddr(r.Header.Get("address")), r.Header.Get("key"), r.Header.Get("secret") != ""
	}
	last := map[string]*reader{}
	for i, tt := range []struct {
		address, key, secret, end string
		refused                   int // 0: it is opened
		why                       string
	}{
		{"10.0.0.1", "one", "", "", 0, ""},
		{"10.0.0.1", "one", "", "", 0, ""},
		{"10.0.0.1", "two", "", "", 429, "this address has 2 event streams"},
		{"10.0.0.2", "one", "", "", 0, ""},
		{"10.0.0.2", "one", "", "", 0, ""},
		{"10.0.0.3", "one", "", "", 429, "this key has 4 event streams"},
		{"10.0.0.3", "two", "", "", 0, ""},
		{"10.0.0.3", "two", "", "", 0, ""},
		{"10.0.0.4", "", "", "", 0, ""},
		{"10.0.0.4", "", "", "", 503, "--max-streams"},
		{"10.0.0.1", "", "secret", "", 0, ""},
		{"10.0.0.5", "", "secret", "", 503, "--max-streams"},
		{"10.0.0.1", "one", "", "10.0.0.1one", 0, ""},
	} {
		if tt.end != "" {
			open := s.hub.Open()
			last[tt.end].body.Close()
			await(t, func() bool { return s.hub.Open() < open })
		}
		header := []string{"address", tt.address, "key", tt.key, "secret", tt.secret}
		if tt.refused == 0 {
			last[tt.address+tt.key] = s.open(t, header...)
			continue
		}
		r, _ := http.NewRequestWithContext(t.Context(), "GET", s.URL, nil)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		refused := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		refused.Body.Close()
		if f := s.failed.Load(); refused.StatusCode != tt.refused || !strings.Contains(f.Message, tt.why) || f.RetryAfter() != "10" || refused.Header.Get("Content-Type") == events.ContentType {
			t.Errorf("%d: %d %v %v", i, refused.StatusCode, f, refused.Header)
		}
	}
}

func await(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come about")
		}
	}
}

// TestTheServerEndsStreams whole: when it stops, and when their channel is refused.
func TestTheServerEndsStreams(t *testing.T) {
	c := newChannel("v1")
	for name, end := range map[string]func(s *server){
		"stopping":             func(s *server) { s.hub.Close() },
		"an environment gone":  func(*server) { c.refused.Store(true) },
		"stopping, then again": func(s *server) { s.hub.Close(); s.hub.Close() },
	} {
		c.refused.Store(false)
		s := serve(t, 5, events.Stream{Channel: c})
		r := s.open(t)
		end(s)
		if block := r.block(); block != nil || r.lines.Err() != nil {
			t.Errorf("%s: %q, %v", name, block, r.lines.Err())
		}
		await(t, func() bool { return s.hub.Open() == 0 })
	}
	s := serve(t, 5, events.Stream{Channel: c})
	s.hub.Close()
	if answer, err := http.Get(s.URL); err != nil || answer.StatusCode < 400 {
		t.Errorf("a stream after the end: %v, %v", answer, err)
	}
}

// TestWhatIsRefused leaves no stream behind.
func TestWhatIsRefused(t *testing.T) {
	c := newChannel("v1")
	s := serve(t, 5, events.Stream{Channel: c})
	for _, method := range []string{"GET", "HEAD"} {
		r, _ := http.NewRequest(method, s.URL, strings.NewReader("body"))
		if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 400 {
			t.Errorf("%s with a body: %v, %v", method, answer, err)
		}
	}
	if answer, err := http.Head(s.URL); err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != events.ContentType {
		t.Errorf("HEAD: %v, %v", answer, err)
	}
	c.refused.Store(true)
	if answer, err := http.Get(s.URL); err != nil || answer.StatusCode != 401 {
		t.Errorf("%v, %v", answer, err)
	}
	w := httptest.NewRecorder()
	c.refused.Store(false)
	if err := s.hub.Serve(w, httptest.NewRequest("GET", "/", nil), s.asked); fault.Of(err).Kind != fault.Unavailable || len(w.Header()) > 0 {
		t.Errorf("a server whose connections cannot be taken over: %v %v", err, w.Header())
	}
	if s.hub.Open() != 0 {
		t.Errorf("%d streams", s.hub.Open())
	}
}

// TestHTTP10 gets no chunks, as proxies ask that keep to their defaults.
func TestHTTP10(t *testing.T) {
	c := newChannel("v1")
	s := serve(t, 1, events.Stream{Channel: c, Greeted: true})
	conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.0\r\n\r\n")
	text := ""
	for b := make([]byte, 4096); !strings.Contains(text, "data of v1"); {
		n := must.Get(conn.Read(b))(t)
		text += string(b[:n])
	}
	if _, body, _ := strings.Cut(text, "\r\n\r\n"); strings.Contains(text, "chunked") || !strings.HasPrefix(body, ": svc\nretry: ") {
		t.Error(text)
	}
	must.Get(fmt.Fprint(conn, "more"))(t)
	await(t, func() bool { return s.hub.Open() == 0 }) // who sends more has no use for a stream
}

// TestAReaderThatNeverReads is cut off, and keeps nobody waiting.
func TestAReaderThatNeverReads(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 10 s")
	}
	t.Parallel()
	c := newChannel("v1")
	c.data = func(version string) string { return version + strings.Repeat(" ", 32<<20) }
	s := serve(t, 2, events.Stream{Channel: c, Greeted: true})
	conn := must.Get(net.Dial("tcp", s.Listener.Addr().String()))(t)
	defer conn.Close()
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	r := s.open(t)
	for _, want := range []string{"v1", "v2", "v3"} {
		c.set(want)
		if version, _ := r.event(); version != want {
			t.Fatalf("the other reader got %q, want %q", version, want)
		}
	}
	await(t, func() bool { return s.hub.Open() == 1 })
}

// TestTheStreamsOfABrowserTakeTurns, so that connections are left for its polls. One
// that has ended comes back with what it has, and hears of what it has missed.
func TestTheStreamsOfABrowserTakeTurns(t *testing.T) {
	c := newChannel("v1")
	s := serve(t, 20, events.Stream{Channel: c, Owner: "a browser"})
	var tabs []*reader
	for range 8 {
		tabs = append(tabs, s.open(t))
	}
	for i, tab := range tabs {
		if tab.retry > 1500 { // the tab that somebody looks at waits too
			t.Errorf("tab %d is to come back for its turn after %d ms", i, tab.retry)
		}
	}
	for i, tab := range tabs[:4] {
		if block := tab.block(); block != nil || tab.lines.Err() != nil {
			t.Errorf("tab %d is sent %q, %v", i, block, tab.lines.Err())
		}
	}
	await(t, func() bool { return s.hub.Open() == 4 })
	c.set("v2")
	for _, tab := range tabs[4:] {
		tab.want("v2")
	}
	s.open(t, "Last-Event-ID", tabs[0].lastID).want("v2")
	if block := tabs[4].block(); block != nil {
		t.Errorf("the oldest goes on: %q", block)
	}
	for _, tab := range tabs[5:] {
		tab.body.Close()
	}
	await(t, func() bool { return s.hub.Open() == 1 })

	others := serve(t, 20, events.Stream{Channel: c})
	for range 8 {
		others.open(t)
	}
	if others.hub.Open() != 8 {
		t.Errorf("%d streams of others", others.hub.Open())
	}
}

// TestSilentStreams are sent comments, and end once their key is no longer good; not
// because that cannot be asked.
func TestSilentStreams(t *testing.T) {
	var answer atomic.Pointer[fault.Fault]
	var asked atomic.Int64
	s := serve(t, 1, events.Stream{Channel: newChannel("v1"), Check: func(context.Context) error {
		if asked.Add(1); answer.Load() == nil {
			return nil
		}
		return answer.Load()
	}})
	s.hub.Hurry()
	r := s.open(t)
	for range 10 {
		if block := r.block(); len(block) != 1 || !strings.HasPrefix(block[0], ":") {
			t.Fatalf("a silent stream sends %q", block)
		}
	}
	answer.Store(fault.New(fault.Unavailable, "the store is away"))
	for before := asked.Load(); asked.Load() < before+2; {
		if block := r.block(); block == nil {
			t.Fatal("a store that is away ended the stream")
		}
	}
	answer.Store(fault.New(fault.Unauthorized, "revoked"))
	for r.block() != nil {
	}
	if r.lines.Err() != nil {
		t.Errorf("the stream does not end whole: %v", r.lines.Err())
	}
	await(t, func() bool { return s.hub.Open() == 0 })
}

// TestARaceOfChangesAndConnections ends with everybody at the last version.
func TestARaceOfChangesAndConnections(t *testing.T) {
	const clients, changes = 20, 15
	c := newChannel("v0")
	s := serve(t, clients, events.Stream{Channel: c, Greeted: true})
	var all sync.WaitGroup
	errs := make(chan error, clients)
	for i := range clients {
		all.Go(func() {
			time.Sleep(time.Duration(i) * 10 * time.Millisecond)
			r := s.open(t)
			for last := ""; last != fmt.Sprint("v", changes); {
				version, _ := r.event()
				if version == "" || version == last {
					errs <- errors.New("got " + version + " after " + last)
					return
				}
				last = version
			}
			if i%2 == 0 {
				r.body.Close()
			}
		})
	}
	for i := range changes {
		time.Sleep(20 * time.Millisecond)
		c.set(fmt.Sprint("v", i+1))
		s.hub.Look()
	}
	all.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}
