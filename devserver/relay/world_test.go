package relay

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/access"
	"svc.example/svc/shared/delivery"
	"svc.example/svc/shared/ledger/local"
	"svc.example/svc/shared/testing/must"
)

// world is a workspace that is served, and what stands between it and a relay.
type world struct {
	*testing.T
	dir     string
	service *embedded.Service
	front   *httptest.Server
	admin   string
	log     lines

	// instead answers in the place of the service, where it is not nil.
	instead atomic.Pointer[http.HandlerFunc]
	asked   sync.Map // how often each path was asked for: *atomic.Int64
	streams sync.Map // the connections of event streams
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	w := &world{T: t, dir: filepath.Join(t.TempDir(), "data")}
	content := map[string][]byte{}
	for path, text := range files {
		content[path] = []byte(text)
	}
	first := must.Get(embedded.Create(t.Context(), w.dir, embedded.Creation{Name: "Shop", Source: "a test", Files: content, By: "test"}))(w)
	w.admin = first.Key.Reveal()
	w.service = must.Get(embedded.Open(t.Context(), w.dir, embedded.Options{Logger: slog.New(slog.DiscardHandler), Streams: 100}))(w)
	w.front = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		count, _ := w.asked.LoadOrStore(r.URL.Path, new(atomic.Int64))
		count.(*atomic.Int64).Add(1)
		if instead := w.instead.Load(); instead != nil {
			(*instead)(rw, r)
			return
		}
		w.service.Handler().ServeHTTP(rw, r)
	}))
	w.front.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateHijacked {
			w.streams.Store(c, true)
		}
	}
	w.front.Start()
	t.Cleanup(func() {
		w.service.EndStreams()
		w.front.Close()
		_ = w.service.Close()
	})
	return w
}

// answers has something else answer, nil for the service itself. Streams end, and
// connections too.
func (w *world) answers(instead http.HandlerFunc) {
	if instead == nil {
		w.instead.Store(nil)
		return
	}
	w.instead.Store(&instead)
	w.front.CloseClientConnections()
	w.streams.Range(func(c, _ any) bool {
		w.streams.Delete(c)
		_ = c.(net.Conn).Close() // it may have ended
		return true
	})
}

// gone is a service that is away.
func gone(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// withoutStreams is the service as functions serve it.
func (w *world) withoutStreams() {
	instead := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v2/sse/") {
			rw.WriteHeader(404)
			return
		}
		w.service.Handler().ServeHTTP(rw, r)
	})
	w.instead.Store(&instead)
}

func (w *world) times(path string) int64 {
	count, known := w.asked.Load(path)
	if !known {
		return 0
	}
	return count.(*atomic.Int64).Load()
}

func (w *world) key(kind access.Kind, environment string) string {
	w.Helper()
	key, _, err := embedded.IssueKey(w.Context(), w.dir, "test", access.KeyRequest{Kind: kind, Name: "test", Environment: environment})
	must.Do(w, err)
	return key.Reveal()
}

// patch changes an item, as a person would.
func (w *world) patch(path, body string) {
	w.Helper()
	r := must.Get(http.NewRequest("PATCH", "/v1/"+path, strings.NewReader(body)))(w)
	r.Header.Set("Authorization", "Bearer "+w.admin)
	answer := httptest.NewRecorder()
	w.service.Handler().ServeHTTP(answer, r)
	if answer.Code != 200 {
		w.Fatalf("PATCH %s: %d %s", path, answer.Code, answer.Body)
	}
}

// relayed is a relay with a server around it.
type relayed struct {
	*Relay
	*httptest.Server
}

func (w *world) relay(options Options) *relayed {
	w.Helper()
	if options.URL == "" {
		options.URL = w.front.URL
	}
	options.Origins, options.Logger = []string{delivery.AnyOrigin}, slog.New(slog.NewTextHandler(&w.log, nil))
	if options.Streams == 0 {
		options.Streams = 100
	}
	r := must.Get(Open(options))(w)
	out := &relayed{r, httptest.NewServer(r.Handler())}
	w.Cleanup(out.end)
	return out
}

// relayOfShop is a relay of the shop's production that serves, with two keys of that.
func relayOfShop(t *testing.T) (w *world, r *relayed, public, secret string) {
	t.Helper()
	w = newWorld(t, shop)
	public, secret = w.key(access.KindPublicSDK, "production"), w.key(access.KindSecretSDK, "production")
	r = w.relay(Options{Keys: []string{secret}})
	must.Do(w, r.Await(t.Context()))
	return w, r, public, secret
}

func (r *relayed) end() {
	r.Relay.Close()
	r.Server.Close()
}

// answer is what a client is told.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) String() string {
	text := fmt.Sprintln(a.status)
	for _, name := range []string{"Etag", "Content-Type", "Content-Encoding", "Cache-Control", "Vary", "Allow", "Www-Authenticate", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers"} {
		text += fmt.Sprintln(name, a.header[name])
	}
	return text + a.body
}

// ask sends a request to a server, with headers given as name, value.
func (w *world) ask(server *httptest.Server, method, path, key, body string, header ...string) answer {
	w.Helper()
	r := must.Get(http.NewRequest(method, server.URL+path, strings.NewReader(body)))(w)
	r.Header.Set("Accept-Encoding", "identity")
	if key != "" {
		r.Header.Set("Authorization", basic(key))
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	sent := must.Get(http.DefaultTransport.RoundTrip(r))(w)
	defer sent.Body.Close()
	text := must.Get(io.ReadAll(sent.Body))(w)
	return answer{sent.StatusCode, sent.Header, string(text)}
}

func basic(key string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("1:"+key)) }

// stream follows an event stream: what comes is its events, as "id data".
func (w *world) stream(server *httptest.Server, path, key string, header ...string) <-chan string {
	w.Helper()
	r := must.Get(http.NewRequestWithContext(w.Context(), "GET", server.URL+path, nil))(w)
	if key != "" {
		r.Header.Set("Authorization", basic(key))
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	sent := must.Get(http.DefaultTransport.RoundTrip(r))(w)
	if sent.StatusCode != 200 {
		text, _ := io.ReadAll(sent.Body)
		w.Fatalf("%s: %d %s", path, sent.StatusCode, text)
	}
	events := make(chan string, 100)
	go func() {
		defer close(events)
		defer sent.Body.Close()
		lines := bufio.NewScanner(sent.Body)
		lines.Buffer(nil, 64<<20)
		var id string
		for lines.Scan() {
			if after, is := strings.CutPrefix(lines.Text(), "id: "); is {
				id = after
			}
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				events <- id + " " + data
			}
		}
	}()
	return events
}

// eventually waits until something holds.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("in vain waited for: %s\n%s", what, w.log.String())
		}
	}
}

// lines is a log that many write to.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (w *world) revoke(key string) {
	w.Helper()
	parsed := must.Get(access.ParseKey(key))(w)
	registry := must.Get(local.OpenRegistry(w.dir))(w)
	_, err := registry.RevokeKey(w.Context(), parsed.ID(), time.Now())
	must.Do(w, errors.Join(err, registry.Close()))
}
