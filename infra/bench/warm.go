package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"svc.example/svc/devserver/embedded"
	"svc.example/svc/shared/ratelimit"
)

// warmReads tells what a read costs that finds everything as it left it, less
// the network. It is the one measurement of the code that bench itself was
// built from, and not of the svc binary: allocations cannot be seen from
// outside.
func (b bench) warmReads(servers map[content]*server) error {
	p := servers[smallest]
	p.stop() // only one process can serve a data directory
	service, err := embedded.Open(context.Background(), p.data, embedded.Options{
		Limit: ratelimit.Rate{PerSecond: 1e9, Burst: 1e9}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer service.Close()
	fmt.Printf("\nsvc api: a warm read in the process, without the network (%s)\n\n", p)
	fmt.Printf("%-28s %9s %12s %10s\n", "", "each", "allocations", "bytes")
	for _, path := range []string{"/whoami", "/flags/" + flagKey(often), "/flags?limit=100", "/flags/" + flagKey(often) + "/history?limit=20"} {
		if err := b.warmRead(service.Handler(), p, path); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) warmRead(handler http.Handler, p *server, path string) error {
	r, err := http.NewRequest(http.MethodGet, "http://"+p.host+"/v1"+path, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+p.key)
	const times = 500
	var took []time.Duration
	var before, after runtime.MemStats
	for round := range b.rounds + 1 { // the first warms up
		runtime.ReadMemStats(&before)
		begin := time.Now()
		for range times {
			w := unread{header: http.Header{}}
			if handler.ServeHTTP(&w, r); w.status != http.StatusOK {
				return fmt.Errorf("%s: status %d", path, w.status)
			}
		}
		if round > 0 {
			took = append(took, time.Since(begin)/times)
		}
		runtime.ReadMemStats(&after)
	}
	fmt.Printf("%-28s %9s %12d %10d\n", path, brief(median(took)), (after.Mallocs-before.Mallocs)/times, (after.TotalAlloc-before.TotalAlloc)/times)
	return nil
}

// unread is an answer that nobody reads.
type unread struct {
	header http.Header
	status int
}

func (u *unread) Header() http.Header         { return u.header }
func (u *unread) Write(b []byte) (int, error) { return len(b), nil }
func (u *unread) WriteHeader(status int)      { u.status = status }
