package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// directoryServer measures svc serve.
func (b bench) directoryServer() error {
	fmt.Printf("svc serve: polls a second with %d connections, and as a share of the ceiling\n\n", b.connections)
	printSharesHead()
	for _, n := range []int{100, 1000, 10_000} {
		if err := b.polls(n); err != nil {
			return err
		}
	}
	fmt.Printf("\n%-28s %12s %12s %14s   %s\n", "", "first answer", "resident", "edit to served", "targets")
	for _, n := range []int{100, 1000, 10000} {
		if err := b.startUp(n); err != nil {
			return err
		}
	}
	return nil
}

// withDirectory runs svc serve on a directory of n flags.
func (b bench) withDirectory(n int, measure func(p *process, dir string) error) error {
	dir, err := os.MkdirTemp("", "svc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeFlags(dir, n); err != nil {
		return err
	}
	p, err := start(launch{path: b.svc, args: []string{"serve", "--datadir", dir, "--port", "PORT"}, probe: "/healthz", quiet: true})
	if err != nil {
		return err
	}
	defer p.stop()
	return measure(p, dir)
}

func (b bench) polls(n int) error {
	return b.withDirectory(n, func(p *process, _ string) error {
		target := map[int]string{100: "75 %", 1000: "70 %", 10_000: "60 %"}[n]
		native := polls(p.host)
		if err := b.compare(fmt.Sprintf("poll, %d flags", n), target, p, native, 200); err != nil {
			return err
		}
		if err := b.compare(fmt.Sprintf("OFREP bulk, %d flags", n), "", p, bulks(p.host), 200); err != nil {
			return err
		}
		first, err := once(p.host, native[0])
		if err != nil {
			return err
		}
		return b.compare(fmt.Sprintf("304, %d flags", n), "100 %", p, [][]byte{with(native[0], "If-None-Match: "+first.header["Etag"])}, 304)
	})
}

func median[T cmp.Ordered](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

func (b bench) startUp(n int) error {
	return b.withDirectory(n, func(p *process, dir string) error {
		if _, _, err := throughput(p.host, polls(p.host)[:16], 2, 200*time.Millisecond, 200); err != nil {
			return err
		}
		rss, err := p.resident()
		if err != nil {
			return err
		}
		edit, err := editToServed(p, dir)
		if err != nil {
			return err
		}
		targets := map[int]string{1000: "40 MB, 300 ms", 10_000: "300 ms, 120 MB, 150 ms"}[n]
		fmt.Printf("%-28s %12v %9.1f MB %14v   %s\n", fmt.Sprintf("%d flags", n), p.ready.Round(100*time.Microsecond), float64(rss)/(1<<20), edit.Round(time.Millisecond), targets)
		return nil
	})
}

// editToServed changes one file and polls until the change is served, as a client
// does that has what was served before: what it asks meanwhile costs next to nothing.
func editToServed(p *process, dir string) (time.Duration, error) {
	path := filepath.Join(dir, "feature-flags", "team0.feature-0.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	request := polls(p.host)[0]
	before, err := once(p.host, request)
	if err != nil {
		return 0, err
	}
	request = with(request, "If-None-Match: "+before.header["Etag"])
	if err := os.WriteFile(path, bytes.ReplaceAll(text, []byte("by "), []byte("now by ")), 0o666); err != nil {
		return 0, err
	}
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		now, err := once(p.host, request)
		if err != nil || now.status != 304 {
			return time.Since(begin), err
		}
		if time.Since(begin) > 30*time.Second {
			return 0, fmt.Errorf("an edit is not served after 30 s")
		}
	}
}
