package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// The workspaces that are measured.
var (
	smallest = content{100, 100}
	middling = content{1000, 100}
	contents = []content{smallest, middling, {10_000, 100}, {100, 100_000}}
)

// controlPlane measures svc api.
func (b bench) controlPlane() error {
	work, err := os.MkdirTemp("", "svc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	servers := map[content]*server{}
	defer func() {
		for _, p := range servers {
			p.stop()
		}
	}()
	if err := writeHistories(work); err != nil {
		return err
	}
	fmt.Printf("svc api: to the first answer, with its history imported by the first start, and from the cache\n\n")
	fmt.Printf("%-34s %9s %9s %9s %9s %9s %7s\n", "", "first", "cpu", "next", "cpu", "resident", "target")
	for _, c := range contents {
		servers[c] = &server{content: c, data: strings.TrimSuffix(c.repository(work), ".git") + ".data"}
		if err := b.startServer(servers[c], c.repository(work)); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	for _, measure := range []func(map[content]*server) error{b.reads, b.commits} {
		if err := measure(servers); err != nil {
			return err
		}
	}
	return nil
}

// server is a control plane under measurement.
type server struct {
	*process
	content
	data string
	key  string
}

// writeHistories makes the repositories, as many at a time as there are
// processors: nothing is measured yet.
func writeHistories(work string) error {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for _, c := range slices.Backward(contents) { // what takes longest goes first
		group.Go(func() error { return c.writeHistory(c.repository(work)) })
	}
	return group.Wait()
}

func (c content) repository(work string) string {
	return filepath.Join(work, fmt.Sprintf("%d-%d.git", c.documents, c.commits))
}

// startServer starts a server for the first time, and then some more times, of
// which the last stays.
func (b bench) startServer(p *server, source string) (err error) {
	first, firstCPU, err := p.begin(b.svc, "/healthz", "--import", source)
	if err != nil {
		return err
	}
	if err := p.issueKey(b.svc); err != nil {
		return err
	}
	var next, nextCPU []time.Duration
	for range b.rounds {
		p.stop()
		took, cpu, err := p.begin(b.svc, "/v1/flags/"+flagKey(often))
		if err != nil {
			return err
		}
		next, nextCPU = append(next, took), append(nextCPU, cpu)
	}
	rss, err := p.resident()
	if err != nil {
		return err
	}
	target := ""
	if p.commits >= 100_000 {
		target = "2 s"
	}
	fmt.Printf("%-34s %9s %9s %9s %9s %6.1f MB %7s\n", p, brief(first), brief(firstCPU),
		brief(median(next)), brief(median(nextCPU)), float64(rss)/(1<<20), target)
	return nil
}

// stop ends the server, if there is one.
func (p *server) stop() {
	if p.process != nil {
		p.process.stop()
	}
}

// begin starts the server and returns how long it took to its first answer,
// and how long it worked for that.
func (p *server) begin(svc, probe string, more ...string) (took, cpu time.Duration, err error) {
	args := []string{"api", "--data", p.data, "--port", "PORT", "--max-streams", fmt.Sprint(maxStreams), "--rate-limit", "1000000", "--rate-burst", "1000000",
		"--poll-limit", "1000000", "--poll-burst", "1000000"}
	if p.process, err = start(launch{path: svc, args: append(args, more...), probe: probe, key: p.key}); err != nil {
		return 0, 0, err
	}
	cpu, err = p.worked()
	return p.ready, cpu, err
}

// issueKey makes the key that is asked with.
func (p *server) issueKey(svc string) (err error) {
	p.key, err = p.newKey(svc, "user", "--email", "bench@example.com", "--role", "protected_engineer")
	return err
}

// applicationKey makes a key of development that applications have.
func (p *server) applicationKey(svc, kind string) (string, error) {
	return p.newKey(svc, kind, "--environment", "development")
}

func (p *server) newKey(svc, kind string, more ...string) (string, error) {
	args := []string{"key", "create", "--data", p.data, "--kind", kind, "--name", "bench"}
	out, err := exec.Command(svc, append(args, more...)...).Output()
	if err != nil {
		return "", fmt.Errorf("svc key create: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// get is a request for a path below /v1.
func (p *server) get(path string) []byte { return get(p.host, "/v1"+path, p.key) }

// brief writes a duration with three digits.
func brief(d time.Duration) string {
	step := time.Nanosecond
	for 1000*step <= d {
		step *= 10
	}
	return d.Round(step).String()
}

// reads compares reads with a ceiling.
func (b bench) reads(servers map[content]*server) error {
	p := servers[middling]
	fmt.Printf("\nsvc api: reads a second with %d connections, and as a share of the ceiling (%s)\n\n", b.connections, p)
	printSharesHead()
	details := make([][]byte, p.documents)
	for i := range details {
		details[i] = p.get("/flags/" + flagKey(i))
	}
	page := p.get("/flags?limit=100")
	b.round /= 2 // of two minutes in all, reads get half of one
	for _, m := range []struct {
		name, target string
		requests     [][]byte
	}{
		{"a flag", "60 %", details},
		{"100 flags of a list", "60 %", [][]byte{page}},
		{"the same, gzip", "60 %", [][]byte{with(page, "Accept-Encoding: gzip")}},
		{"the history of a flag", "", [][]byte{p.get("/flags/" + flagKey(often) + "/history")}},
	} {
		if err := b.compare(m.name, m.target, p.process, m.requests, 200); err != nil {
			return err
		}
	}
	return nil
}
