package apitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"svc.example/svc/shared/testing/apiload"
	"svc.example/svc/shared/testing/faultproxy"
	"svc.example/svc/shared/testing/instance"
	"svc.example/svc/shared/testing/must"
)

// fleet is several instances at one address, each a process of its own with
// proxies of its own before both stores.
type fleet struct {
	*testing.T
	members []*member
	client  *http.Client
	server  *httptest.Server
	refused atomic.Int64 // answers of 503

	lock  sync.Mutex
	kills map[string]int // by what the instance was doing
	fixed bool           // nobody is killed any more
}

// member is one instance and its proxies.
type member struct {
	fleet  *fleet
	site   instance.Site
	stores []*faultproxy.Proxy // the table's and the bucket's
	plans  []faultproxy.Plan

	lock    sync.Mutex
	random  *rand.Rand
	process *process // nil while another one is started
	steps   int      // until it is killed: requests of its own, begun and ended, see step
}

// start starts a fleet. An instance lives for so many steps at most.
func start(t *testing.T, h *service, seed uint64, rates faultproxy.Rates, longest int) *fleet {
	t.Helper()
	f := &fleet{T: t, client: apiload.NewHTTPClient(t), kills: map[string]int{}}
	for i := range instances {
		m := &member{fleet: f, random: apiload.Random(seed, 1000+i), site: h.Site}
		m.site.DynamoDB = m.proxy(h.DynamoDB, seed+uint64(i), rates, longest)
		m.site.S3 = m.proxy(h.S3, seed+uint64(instances+i), rates, longest)
		m.live(longest)
		t.Cleanup(m.end)
		f.members = append(f.members, m)
	}
	f.server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.server.Close)
	return f
}

// proxy puts a proxy before a store.
func (m *member) proxy(store string, seed uint64, rates faultproxy.Rates, longest int) (address string) {
	step := func(when string) func(*http.Request) {
		return func(r *http.Request) { m.step(when+" "+faultproxy.Operation(r), longest) }
	}
	plan := faultproxy.Plan{Seed: seed, Rates: rates, Slow: 20 * time.Millisecond, Before: step("before"), After: step("after")}
	p := must.Get(faultproxy.Start(store, plan))(m.fleet)
	m.plans = append(m.plans, plan)
	m.fleet.Cleanup(func() { _ = p.Close() })
	m.stores = append(m.stores, p)
	return p.URL()
}

// live starts a process and draws how long it lives. The caller holds the lock,
// or nobody else knows the member yet.
func (m *member) live(longest int) {
	p, err := spawn(m.site)
	if err != nil {
		m.fleet.Error(err)
		return
	}
	m.process, m.steps = p, 1+m.random.IntN(longest)
}

// step is called before and after each request of the process to a store. It
// kills it when its time has come, and starts another. Of batched reads one in eight
// counts: a writer that waits for its turn does nothing else, and would hardly ever
// live to have it.
func (m *member) step(what string, longest int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if strings.HasSuffix(what, "BatchGetItem") && m.random.IntN(8) > 0 {
		return
	}
	if m.steps--; m.process == nil || m.steps > 0 || !m.fleet.mayKill(what) {
		return
	}
	m.die()
	go func() { // its requests are cut off meanwhile
		m.lock.Lock()
		defer m.lock.Unlock()
		m.live(longest)
	}()
}

func (m *member) die() {
	if log := m.process.kill(); strings.Contains(log, "RACE") || strings.Contains(log, "panic") {
		m.fleet.Errorf("an instance says:\n%s", log)
	}
	m.process = nil
}

func (m *member) end() {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.process != nil {
		m.die()
	}
}

func (f *fleet) mayKill(what string) bool {
	f.lock.Lock()
	defer f.lock.Unlock()
	if !f.fixed {
		f.kills[what]++
	}
	return !f.fixed
}

// mend ends all faults and kills.
func (f *fleet) mend() {
	f.lock.Lock()
	f.fixed = true
	f.lock.Unlock()
	for _, m := range f.members {
		for _, p := range m.stores {
			p.Set(faultproxy.Plan{})
		}
	}
}

// outage is a time in which all of some requests to one store go wrong.
type outage struct {
	store int
	kind  faultproxy.Kind
	only  string // the operation; "" for all
}

// suffer lets an outage last until some requests were answered with 503, or the
// load has ended.
func (f *fleet) suffer(o outage, ended <-chan struct{}) {
	for _, m := range f.members {
		m.stores[o.store].Set(o.plan(m.plans[o.store]))
	}
	enough := f.refused.Load() + writers/2
	for f.refused.Load() < enough {
		select {
		case <-ended:
			return
		case <-time.After(time.Millisecond):
		}
	}
	for _, m := range f.members {
		m.stores[o.store].Set(m.plans[o.store])
	}
}

func (o outage) plan(usual faultproxy.Plan) faultproxy.Plan {
	usual.Rates = faultproxy.Rates{o.kind: 1}
	if o.only != "" {
		usual.Only = func(r *http.Request) bool { return faultproxy.Operation(r) == o.only }
	}
	return usual
}

// counts are what all proxies have injected.
func (f *fleet) counts() faultproxy.Counts {
	total := faultproxy.Counts{Injected: map[faultproxy.Kind]int{}}
	for _, m := range f.members {
		for _, p := range m.stores {
			c := p.Counts()
			total.Requests += c.Requests
			for kind, n := range c.Injected {
				total.Injected[kind] += n
			}
		}
	}
	return total
}

func (m *member) address() string {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.process == nil {
		return ""
	}
	return m.process.address
}

// serve passes a request on to any instance that is there, as the gateway does.
// One whose instance is killed gets no answer.
func (f *fleet) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for r.Context().Err() == nil {
		address := f.members[rand.IntN(len(f.members))].address()
		if address == "" {
			time.Sleep(time.Millisecond) // it is being started
			continue
		}
		out := r.Clone(r.Context())
		out.RequestURI, out.URL.Scheme, out.URL.Host = "", "http", address
		out.Body = io.NopCloser(bytes.NewReader(body))
		answer, err := f.client.Transport.RoundTrip(out)
		var failed *net.OpError
		if errors.As(err, &failed) && failed.Op == "dial" {
			continue
		}
		if err != nil {
			break
		}
		f.answer(w, answer)
		return
	}
	panic(http.ErrAbortHandler)
}

func (f *fleet) answer(w http.ResponseWriter, answer *http.Response) {
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if answer.StatusCode == http.StatusServiceUnavailable {
		f.refused.Add(1)
		if answer.Header.Get("Retry-After") == "" {
			f.Errorf("503 without Retry-After: %s", body)
		}
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = w.Write(body)
}

// asInstance names the variable that makes of the test's binary an instance of
// the service: it holds its instance.Site.
const asInstance = "SVC_APITEST_INSTANCE"

func TestMain(m *testing.M) {
	if text := os.Getenv(asInstance); text != "" {
		fmt.Fprintln(os.Stderr, beInstance(text))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// invocation is the time that a request has, as a function's has.
const invocation = 8 * time.Second

// beInstance serves until the process is killed, or its parent is gone.
func beInstance(text string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	var s instance.Site
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return err
	}
	handler, err := s.New(context.Background(), nil, slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), invocation)
		defer cancel()
		handler.ServeHTTP(w, r.WithContext(ctx))
	}))
}

// process is an instance that is a process of its own.
type process struct {
	cmd     *exec.Cmd
	address string
	log     *strings.Builder // to be read when it has ended
}

// spawn starts one.
func spawn(s instance.Site) (*process, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(os.Args[0]), log: &strings.Builder{}}
	p.cmd.Env = append(os.Environ(), asInstance+"="+string(text), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = p.log
	if _, err := p.cmd.StdinPipe(); err != nil { // open as long as this process lives
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.kill()
		return nil, fmt.Errorf("an instance did not start: %w\n%s", err, p.log)
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// kill ends a process in the middle of whatever it does, and waits until it is
// gone. What it has written to its log is a mistake.
func (p *process) kill() (log string) {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return p.log.String()
}
