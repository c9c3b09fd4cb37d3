package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A server is compared with a ceiling: a handler of net/http that sends the same
// answer from memory. What a share of its speed is worth is told in two ways: by the
// answers in a second, and by the processor time that each took, which says the same
// on a machine with other things to do.

// shareRow is a row of the table that tells it.
const shareRow = "%-28s %8s %10s %10s %7s %10s %10s %7s %7s\n"

func printSharesHead() {
	fmt.Printf(shareRow, "", "bytes", "ceiling/s", "svc/s", "share", "cpu each", "svc's", "share", "target")
}

// side is one of two servers that take turns.
type side struct {
	*process
	rates   []float64
	cpu     time.Duration
	answers int64
}

func (s *side) each() time.Duration { return s.cpu / time.Duration(max(1, s.answers)) }

// compare takes turns between the server and a ceiling that answers the same
// bytes.
func (b bench) compare(name, target string, p *process, requests [][]byte, status int) error {
	sample, err := once(p.host, requests[0])
	if err != nil {
		return err
	}
	ceiling, err := startCeiling(sample)
	if err != nil {
		return err
	}
	defer ceiling.stop()
	top, own := &side{process: ceiling}, &side{process: p}
	for range b.rounds * turns {
		for _, s := range []*side{top, own} {
			if err := s.turn(requests, b.connections, b.round/turns, status); err != nil {
				return fmt.Errorf("%s at %s: %w", name, s.host, err)
			}
		}
	}
	t, o := median(top.rates), median(own.rates)
	fmt.Printf(shareRow, name, fmt.Sprint(len(sample.body)), fmt.Sprintf("%.0f", t), fmt.Sprintf("%.0f", o), percent(o/t),
		brief(top.each()), brief(own.each()), percent(float64(top.each())/float64(own.each())), target)
	return nil
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }

// turn keeps the server busy for a while.
func (s *side) turn(requests [][]byte, connections int, d time.Duration, want int) error {
	before, err := s.process.worked()
	if err != nil {
		return err
	}
	rate, answers, err := throughput(s.host, requests, connections, d, want)
	if err != nil {
		return err
	}
	after, err := s.process.worked()
	s.rates, s.cpu, s.answers = append(s.rates, rate), s.cpu+after-before, s.answers+answers
	return err
}

// throughput keeps connections busy for a while and returns how many answers there
// were in a second, and in all. Each connection walks the requests from a place of
// its own.
func throughput(host string, requests [][]byte, connections int, d time.Duration, want int) (rate float64, answers int64, err error) {
	var done atomic.Bool
	var total atomic.Int64
	var group errgroup.Group
	begin := time.Now()
	for n := range connections {
		c, err := dial(host)
		if err != nil {
			return 0, 0, err
		}
		defer c.conn.Close()
		group.Go(func() error {
			for i := n * variety / connections; !done.Load(); i++ {
				if _, err := c.expect(requests[i%len(requests)], want); err != nil {
					return err
				}
				total.Add(1)
			}
			return nil
		})
	}
	time.Sleep(d)
	rate = float64(total.Load()) / time.Since(begin).Seconds()
	done.Store(true)
	err = group.Wait()
	return rate, total.Load(), err
}
