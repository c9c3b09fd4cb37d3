package main

import (
	"fmt"
	"time"
)

// growths shows what becomes of the latency as workspaces grow.
func (b bench) growths(servers map[content]*server) error {
	// History goes first, because the smallest workspace is in both: what it
	// is compared with has not been written to either.
	fmt.Printf("\nsvc api: latency with one client as history grows (%s documents)\n\n", grouped(smallest.documents))
	if err := b.growth(servers, byCommits, func(c content) int { return c.commits }, "1.3"); err != nil {
		return err
	}
	fmt.Printf("\nsvc api: latency with one client as the documents grow (%s commits)\n\n", grouped(smallest.commits))
	return b.growth(servers, byDocuments, func(c content) int { return c.documents }, "")
}

// operation is one request after the other of one kind.
type operation struct {
	name string
	// block is how many are sent to one server before the next has its turn.
	block int
	next  func(p *server) func() []byte
}

func operations() []operation {
	same := func(path string) func(*server) func() []byte {
		return func(p *server) func() []byte {
			request := p.get(path)
			return func() []byte { return request }
		}
	}
	item := "/flags/" + flagKey(often)
	return []operation{
		{"a flag", 20, same(item)},
		{"100 flags of a list", 10, same("/flags?limit=100")},
		{"20 commits of a flag", 20, same(item + "/history?limit=20")},
		{"a flag at an old commit", 20, func(p *server) func() []byte {
			i := 0
			return func() []byte { i++; return p.get(item + "/document?at=" + p.past[i%len(p.past)]) }
		}},
		{"a toggle", 4, func(p *server) func() []byte { return p.toggler(1) }},
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

// growth prints a row for each operation, with a column for each workspace and
// the ratio of the largest to the smallest.
func (b bench) growth(servers map[content]*server, of []content, size func(content) int, target string) error {
	fmt.Printf("%-28s", "")
	for _, c := range of {
		fmt.Printf(" %9s", grouped(size(c)))
	}
	fmt.Printf(" %7s %7s\n", "ratio", "target")
	for _, o := range operations() {
		latencies, err := b.latencies(servers, of, o)
		if err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
		fmt.Printf("%-28s", o.name)
		for _, d := range latencies {
			fmt.Printf(" %9s", brief(d))
		}
		fmt.Printf(" %7.2f %7s\n", float64(latencies[len(of)-1])/float64(latencies[0]), target)
	}
	return nil
}

// blocks is how often, in a round, each server has its turn. The turns are
// short, so that what else goes on in the machine hits all servers alike.
const blocks = 5

// latencies returns the median latency of an operation on each workspace.
func (b bench) latencies(servers map[content]*server, of []content, o operation) ([]time.Duration, error) {
	clients := make([]*client, len(of))
	for i, c := range of {
		var err error
		if clients[i], err = newClient(servers[c], o); err != nil {
			return nil, err
		}
		defer clients[i].conn.Close()
	}
	for range b.rounds * blocks {
		for _, c := range clients {
			if err := c.send(o.block); err != nil {
				return nil, err
			}
		}
	}
	medians := make([]time.Duration, len(of))
	for i, c := range clients {
		medians[i] = median(c.took)
	}
	return medians, nil
}

// client sends requests to one server over one connection.
type client struct {
	*connection
	next func() []byte
	took []time.Duration
}

// newClient connects, and warms up.
func newClient(p *server, o operation) (*client, error) {
	connection, err := dial(p.host)
	if err != nil {
		return nil, err
	}
	c := &client{connection: connection, next: o.next(p)}
	if err := c.send(2); err != nil {
		return nil, err
	}
	c.took = nil
	return c, nil
}

func (c *client) send(requests int) error {
	for range requests {
		took, err := c.expect(c.next(), 200)
		if err != nil {
			return err
		}
		c.took = append(c.took, took)
	}
	return nil
}
