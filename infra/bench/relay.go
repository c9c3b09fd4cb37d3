package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// startRelay starts a relay of a control plane.
func (b bench) startRelay(p *server, work string) (*process, error) {
	key, err := p.applicationKey(b.svc, "secret")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(work, "relay.key")
	if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
		return nil, err
	}
	return start(launch{
		path: b.svc, probe: "/readyz", quiet: true,
		args: []string{"serve", "--url", "http://" + p.host, "--key-file", file, "--port", "PORT", "--max-streams", fmt.Sprint(maxStreams)},
	})
}

const (
	// steady is how many polls a second 100,000 browsers send that ask every 30 s.
	steady      = 3333
	steadyFor   = 5 * time.Second
	steadyFresh = 100 // one poll in so many is of a page that has nothing yet
	pollers     = 16
)

// steadyPolls tells what a relay works for so many polls a second, most of which bring
// nothing new.
func (b bench) steadyPolls(p *process, key string) error {
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("1:"+key))
	known := make([][]byte, variety)
	fresh := make([][]byte, variety)
	for i := range known {
		token := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"user":{"key":"user-%d","plan":"pro"}}`, i))
		fresh[i] = with(get(p.host, "/api/v2/configs/eval-with-context/"+token, ""), basic)
		a, err := once(p.host, fresh[i])
		if err != nil || a.status != 200 {
			return fmt.Errorf("a poll: status %d, %v", a.status, err)
		}
		known[i] = with(fresh[i], "If-None-Match: "+a.header["Etag"])
	}
	before, err := p.worked()
	if err != nil {
		return err
	}
	var all errgroup.Group
	begin := time.Now()
	for n := range pollers {
		all.Go(func() error { return pollSteadily(p.host, known, fresh, n) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	took := time.Since(begin)
	after, err := p.worked()
	if err != nil {
		return err
	}
	sent := float64(pollers * int(steadyFor.Seconds()*steady/pollers))
	fmt.Printf("a relay at %.0f polls a second, of which 99 %% bring nothing new: %.2f of a core (target 0.25)\n", sent/took.Seconds(), (after-before).Seconds()/took.Seconds())
	return nil
}

// pollSteadily sends one poller's share of the polls, each at its time.
func pollSteadily(host string, known, fresh [][]byte, n int) error {
	c, err := dial(host)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	begin, every := time.Now().Add(time.Duration(n)*time.Second/steady), pollers*time.Second/steady
	for i := range int(steadyFor.Seconds() * steady / pollers) {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * every)))
		request, want := known[(i*pollers+n)%len(known)], 304
		if (i*pollers+n)%steadyFresh == 0 {
			request, want = fresh[i%len(fresh)], 200
		}
		if _, err := c.expect(request, want); err != nil {
			return err
		}
	}
	return nil
}
