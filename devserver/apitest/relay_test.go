package apitest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/freeport"
	"svc.example/svc/shared/testing/svcbinary"
)

// crowd is how many pages listen to the relay.
const crowd = 400

// page listens as an EventSource does, and asks for values when it hears of others.
type page struct {
	base, stream, key string

	mu     sync.Mutex
	cancel context.CancelFunc // of its connection
	lastID string
	retry  time.Duration // of its last connection
	value  atomic.Pointer[string]
	opened atomic.Int64 // connections
	asleep atomic.Bool
}

// run listens until ctx is done.
func (p *page) run(ctx context.Context) {
	for p.retry = 100 * time.Millisecond; ctx.Err() == nil; {
		if !p.asleep.Load() {
			p.listen(ctx)
		}
		p.mu.Lock()
		wait := p.retry
		p.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// listen opens the stream, and follows it until it ends.
func (p *page) listen(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p.mu.Lock()
	p.cancel = cancel
	p.mu.Unlock()
	r, err := http.NewRequestWithContext(ctx, "GET", p.stream, nil)
	if err != nil {
		return
	}
	if p.lastID != "" {
		r.Header.Set("Last-Event-ID", p.lastID)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	if answer.StatusCode != 200 {
		return
	}
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, text, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "retry":
			ms, _ := strconv.Atoi(text)
			p.mu.Lock()
			p.retry = time.Duration(ms) * time.Millisecond
			p.mu.Unlock()
			p.opened.Add(1)
		case "id":
			p.lastID = text
		case "data":
			p.ask(ctx)
		}
	}
}

// ask asks for the value.
func (p *page) ask(ctx context.Context) {
	r, err := http.NewRequestWithContext(ctx, "GET", p.base+"/api/v2/configs/eval-with-context/e30", nil)
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+p.key)))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return
	}
	defer answer.Body.Close()
	var told struct {
		Evaluations map[string]struct{ Value struct{ Value string } }
	}
	if json.NewDecoder(answer.Body).Decode(&told) == nil && answer.StatusCode == 200 {
		value := told.Evaluations["f"].Value.Value
		p.value.Store(&value)
	}
}

func (p *page) sleep() {
	p.asleep.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancel()
}

// TestEverybodyEndsWithTheLastState: the service is killed, and the relay, which starts
// again from its cache; a page sleeps through ten changes. They come back spread over
// time.
func TestEverybodyEndsWithTheLastState(t *testing.T) {
	t.Parallel()
	ctx := background(t)
	w := newWorkplace(t, map[string]string{
		"svc.json":                   `{"environments": ["production"]}`,
		apiload.PathOf("flags", "f"): apiload.Canonical(apiload.NewDocument("feature_flag", "string", "f", "", apiload.ValueOf("string", "v0"))),
	}, 1)
	public := w.issueKey(t, access.KeyRequest{Kind: access.KindPublicSDK, Name: "page", Environment: "production"})
	keyFile := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(keyFile, []byte(w.issueKey(t, access.KeyRequest{Kind: access.KindSecretSDK, Name: "relay", Environment: "production"})), 0o600))
	service := launch(t, svcbinary.Swift, w, freeport.Take())
	cache, port := filepath.Join(t.TempDir(), "cache"), freeport.Take()
	relay := func() *svcbinary.Server {
		t.Helper()
		path, err := svcbinary.Swift()
		must(t, err)
		server, err := svcbinary.Start(path, "serve", "--url", service.base, "--key-file", keyFile, "--cache", cache, "--port", port)
		must(t, err)
		t.Cleanup(server.Kill)
		return server
	}
	first, base := relay(), "http://127.0.0.1:"+port
	address := streamOf(t, base, public)

	pages := make([]*page, crowd)
	for i := range pages {
		pages[i] = &page{base: base, stream: base + address, key: public}
		pages[i].ask(ctx)
		go pages[i].run(ctx)
	}
	await := func(what string, is func(p *page) bool) {
		t.Helper()
		for i, p := range pages {
			for begin := time.Now(); !p.asleep.Load() && !is(p); time.Sleep(time.Millisecond) {
				if time.Since(begin) > apiload.Patience {
					t.Fatalf("%s: page %d has opened %d streams and shows %s", what, i, p.opened.Load(), *p.value.Load())
				}
			}
		}
	}
	shows := func(value string) func(*page) bool {
		return func(p *page) bool { return *p.value.Load() == value }
	}
	write := func(value string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, "PATCH", service.base+"/v1/flags/f/environments/production", strings.NewReader(`{"value":"`+value+`"}`))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+w.keys[0])
		answer, err := http.DefaultClient.Do(r)
		must(t, err)
		defer answer.Body.Close()
		if body, _ := io.ReadAll(answer.Body); answer.StatusCode != 200 {
			t.Fatalf("%s %s", answer.Status, body)
		}
	}
	await("at first", func(p *page) bool { return p.opened.Load() == 1 })
	write("kept")
	await("a write", shows("kept"))

	until := func(what string, is func() bool) {
		t.Helper()
		for begin := time.Now(); !is(); time.Sleep(time.Millisecond) {
			if time.Since(begin) > apiload.Patience {
				t.Fatal(what)
			}
		}
	}
	until("the digest of the key is not kept", func() bool {
		kept, err := os.ReadFile(filepath.Join(cache, "keys.json"))
		return err == nil && strings.Contains(string(kept), `"production"`)
	})
	sleeper := pages[0]
	sleeper.sleep()
	service.Kill()
	tenths := map[time.Duration]int{}
	for _, p := range pages {
		p.mu.Lock()
		tenths[p.retry.Truncate(100*time.Millisecond)]++
		p.mu.Unlock()
	}
	for at, n := range tenths {
		if n > crowd/10 { // four times the mean
			t.Errorf("%d of %d pages come back about %v after the end of all streams", n, crowd, at)
		}
	}
	first.Kill()
	second := relay()
	until("the relay does not say what it starts from", func() bool { return strings.Contains(second.Log.String(), "serving the state that was kept") })
	await("the relay is back", func(p *page) bool { return p.opened.Load() == 2 })
	for _, p := range pages[1:10] {
		if p.ask(ctx); *p.value.Load() != "kept" {
			t.Errorf("while the service is away, a page is shown %q", *p.value.Load())
		}
	}

	service = launch(t, svcbinary.Swift, w, strings.TrimPrefix(service.base, "http://127.0.0.1:"))
	for i := range 10 {
		write(fmt.Sprint("v", i+1))
	}
	await("ten writes", shows("v10"))
	sleeper.asleep.Store(false)
	await("the page that slept", shows("v10"))
	must(t, second.Stop())
	service.stop(t)
}

// streamOf is the address of the event stream that a bulk evaluation names.
func streamOf(t *testing.T, base, key string) string {
	t.Helper()
	r, err := http.NewRequest("POST", base+"/ofrep/v1/evaluate/flags", strings.NewReader("{}"))
	must(t, err)
	r.Header.Set("X-API-Key", key)
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	var bulk struct {
		EventStreams []struct{ Endpoint struct{ RequestURI string } }
	}
	must(t, json.NewDecoder(answer.Body).Decode(&bulk))
	if len(bulk.EventStreams) != 1 {
		t.Fatalf("%s: no stream is named", answer.Status)
	}
	return bulk.EventStreams[0].Endpoint.RequestURI
}
