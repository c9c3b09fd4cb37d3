package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// writers is how many clients toggle at once, each its own flag.
const writers = 8

// turns is into how many turns a round is cut. What else uses the disk hits
// all ways alike when the turns are short.
const turns = 4

// way is one way of making commits.
type way struct {
	name   string
	target string
	// one makes one commit; nil for a way that makes several at once.
	one func() error
	// many makes commits for a while and returns how many a second.
	many func(time.Duration) (float64, error)

	took  []time.Duration
	rates []float64
}

// commits compares toggles with git commits of the same change. Both are
// flushed to the same disk before they count.
func (b bench) commits(servers map[content]*server) error {
	p := servers[smallest]
	tree, err := p.clone()
	if err != nil {
		return err
	}
	before, err := p.count()
	if err != nil {
		return err
	}
	c, err := dial(p.host)
	if err != nil {
		return err
	}
	defer c.conn.Close()
	one, crowd := p.togglers(0, 1), p.togglers(1, writers)
	ways := []*way{
		{name: "git commit", one: tree.commit},
		{name: "svc api, 1 client", target: "5", one: func() error { return one.toggle(c, 0) }},
		{name: fmt.Sprintf("svc api, %d clients", writers), many: func(d time.Duration) (float64, error) {
			return crowd.crowd(p.host, d)
		}},
	}
	if err := b.compareWays(ways); err != nil {
		return err
	}
	if err := p.checkCount(before + sum(one.landed) + sum(crowd.landed)); err != nil {
		return err
	}
	fmt.Printf("\nsvc api: flushed commits, and how often one fits into a git commit (%s; core.fsync=all)\n\n", p)
	printWays(ways)
	if refused := sum(crowd.refused); refused > 0 {
		fmt.Printf("\nOf the %d clients' toggles %d landed, and %d times one was told 503 and sent again.\n", writers, sum(crowd.landed), refused)
	}
	return nil
}

// compareWays lets the ways take turns: very short ones for how long a commit
// takes, and then longer ones for how many there are in a second.
func (b bench) compareWays(ways []*way) error {
	for range b.rounds * turns {
		for _, w := range ways {
			if err := w.measureEach(4); err != nil {
				return err
			}
		}
	}
	for range b.rounds * turns {
		for _, w := range ways {
			if err := w.measureMany(b.round / turns); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *way) measureEach(times int) error {
	for range times {
		if w.one == nil {
			break
		}
		begin := time.Now()
		if err := w.one(); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.took = append(w.took, time.Since(begin))
	}
	return nil
}

func (w *way) measureMany(d time.Duration) error {
	many := w.many
	if many == nil {
		many = func(d time.Duration) (float64, error) {
			begin, count := time.Now(), 0
			for ; time.Since(begin) < d; count++ {
				if err := w.one(); err != nil {
					return 0, err
				}
			}
			return float64(count) / time.Since(begin).Seconds(), nil
		}
	}
	rate, err := many(d)
	if err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	w.rates = append(w.rates, rate)
	return nil
}

// printWays prints the ways; the first is the one to compare with.
func printWays(ways []*way) {
	fmt.Printf("%-28s %10s %7s %10s %7s %7s\n", "", "each", "factor", "a second", "factor", "target")
	git, gits := float64(median(ways[0].took)), median(ways[0].rates)
	for _, w := range ways {
		each, factor := "", ""
		if w.one != nil {
			took := median(w.took)
			each, factor = brief(took), fmt.Sprintf("%.1f", git/float64(took))
		}
		rate := median(w.rates)
		fmt.Printf("%-28s %10s %7s %10.0f %7.1f %7s\n", w.name, each, factor, rate, rate/gits, w.target)
	}
}

// toggler switches a flag on and off in turns.
func (p *server) toggler(flag int) func() []byte {
	path := "/v1/flags/" + flagKey(flag) + "/environments/development"
	on := request("PATCH", p.host, path, p.key, `{"enabled": true}`)
	off := request("PATCH", p.host, path, p.key, `{"enabled": false}`)
	enabled := false
	return func() []byte {
		if enabled = !enabled; enabled {
			return on
		}
		return off
	}
}

// togglers switch flags on and off, each its own.
type togglers struct {
	next            []func() []byte
	landed, refused []int
}

func (p *server) togglers(first, n int) *togglers {
	t := &togglers{landed: make([]int, n), refused: make([]int, n)}
	for i := range n {
		t.next = append(t.next, p.toggler(10+first+i))
	}
	return t
}

// toggle switches the nth flag. A toggle that is refused because others write
// is sent again, as a client has to.
func (t *togglers) toggle(c *connection, n int) error {
	request := t.next[n]()
	for {
		a, err := c.do(request, false)
		switch {
		case err != nil:
			return err
		case a.status == http.StatusOK:
			t.landed[n]++
			return nil
		case a.status != http.StatusServiceUnavailable:
			return fmt.Errorf("a toggle: status %d", a.status)
		}
		t.refused[n]++
	}
}

// crowd lets all toggle at once for a while and returns how many toggles a
// second landed.
func (t *togglers) crowd(host string, d time.Duration) (float64, error) {
	var group errgroup.Group
	var landed atomic.Int64
	begin := time.Now()
	for n := range t.next {
		c, err := dial(host)
		if err != nil {
			return 0, err
		}
		defer c.conn.Close()
		group.Go(func() error {
			for time.Since(begin) < d {
				if err := t.toggle(c, n); err != nil {
					return err
				}
				if time.Since(begin) < d {
					landed.Add(1)
				}
			}
			return nil
		})
	}
	err := group.Wait()
	return float64(landed.Load()) / d.Seconds(), err
}

func sum(counts []int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}

// count is the number of commits that git finds.
func (p *server) count() (int, error) {
	out, err := git(filepath.Join(p.data, "repository.git"), "rev-list", "--count", "main").Output()
	if err != nil {
		return 0, fmt.Errorf("git rev-list: %w", err)
	}
	return strconv.Atoi(string(bytes.TrimSpace(out)))
}

// checkCount sees to it that what was counted were commits.
func (p *server) checkCount(want int) error {
	got, err := p.count()
	if err == nil && got != want {
		err = fmt.Errorf("the repository has %d commits after the toggles, want %d", got, want)
	}
	return err
}

// workTree is a normal clone of a workspace.
type workTree struct {
	dir   string
	texts [2]string // of one flag, off and on
	turns int
}

// clone makes a work tree in which the flag has rules for development.
func (p *server) clone() (*workTree, error) {
	toggle := p.toggler(often)
	for range 2 { // on, and off again
		if a, err := once(p.host, toggle()); err != nil || a.status != 200 {
			return nil, errors.Join(err, fmt.Errorf("a toggle: status %d", a.status))
		}
	}
	t := &workTree{dir: p.data + ".clone"}
	if out, err := git("", "clone", "--quiet", filepath.Join(p.data, "repository.git"), t.dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("git clone: %w\n%s", err, out)
	}
	off, err := os.ReadFile(t.path())
	if err != nil {
		return nil, err
	}
	on, err := enable(string(off))
	t.texts = [2]string{string(off), on}
	return t, err
}

func (t *workTree) path() string { return filepath.Join(t.dir, filepath.FromSlash(flagPath(often))) }

// enable makes the change to a flag's text that the toggle makes.
func enable(off string) (string, error) {
	head, entry, found := strings.Cut(off, `"environments": [`)
	entry, tail, ended := strings.Cut(entry, `"variants"`)
	const value = `"value": false`
	at := strings.LastIndex(entry, value)
	if !found || !ended || at < 0 {
		return "", fmt.Errorf("the flag has no rule for development that serves false:\n%s", off)
	}
	return head + `"environments": [` + entry[:at] + `"value": true` + entry[at+len(value):] + `"variants"` + tail, nil
}

// commit makes the change of a toggle with git. The description changes too:
// git does not write and flush a second time what it has already, and outside
// of a benchmark a workspace seldom becomes again what it was.
func (t *workTree) commit() error {
	t.turns++
	text := strings.Replace(t.texts[t.turns%2], "revision ", fmt.Sprintf("revision %d.", t.turns), 1)
	if err := os.WriteFile(t.path(), []byte(text), 0o666); err != nil {
		return err
	}
	out, err := git(t.dir, "-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync",
		"-c", "user.name=bench", "-c", "user.email=bench@example.com",
		"commit", "--quiet", "--all", "--message", "development: enabled set").CombinedOutput()
	if err != nil {
		return fmt.Errorf("git commit: %w\n%s", err, out)
	}
	return nil
}
