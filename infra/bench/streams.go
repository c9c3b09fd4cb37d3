package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
)

// crowd is how many streams are open at once, and times how often a change is
// timed.
const (
	crowd = 10_000
	times = 50

	maxStreams = 5 * crowd // of which one address has a quarter
)

// eventStreams measures how soon browsers hear of a change, and what it takes
// that very many of them listen.
func (b bench) eventStreams() error {
	fmt.Printf("event streams: from a change to its event, %d times\n\n", times)
	fmt.Printf("%-34s %9s %9s\n", "", "median", "worst")
	if err := b.withDirectory(100, func(p *process, dir string) error {
		path := filepath.Join(dir, "feature-flags", "team0.feature-0.json")
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return toEvents("svc serve: from a save", p.host, "", func(i int) error {
			return os.WriteFile(path, bytes.ReplaceAll(text, []byte("by plan"), fmt.Appendf(nil, "by plan %d", i)), 0o666)
		})
	}); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "svc-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := smallest.writeHistory(smallest.repository(work)); err != nil {
		return err
	}
	p := &server{content: smallest, data: filepath.Join(work, "data")}
	if _, _, err := p.begin(b.svc, "/healthz", "--import", smallest.repository(work)); err != nil {
		return err
	}
	defer p.stop()
	if err := p.issueKey(b.svc); err != nil {
		return err
	}
	key, err := p.applicationKey(b.svc, "public")
	if err != nil {
		return err
	}
	write := func(i int) error {
		body := fmt.Sprintf(`{"enabled":%v}`, i%2 == 0)
		a, err := once(p.host, request("PATCH", p.host, "/v1/flags/"+flagKey(often)+"/environments/development", p.key, body))
		if err == nil && a.status != 200 {
			err = fmt.Errorf("a write: status %d: %s", a.status, a.body)
		}
		return err
	}
	if err := toEvents("svc api: from a write's request", p.host, key, write); err != nil {
		return err
	}
	relay, err := b.startRelay(p, work)
	if err != nil {
		return err
	}
	defer relay.stop()
	if err := toEvents("a relay of it: the same", relay.host, key, write); err != nil {
		return err
	}
	if err := withCrowd(relay, key, write); err != nil {
		return err
	}
	return b.steadyPolls(relay, key)
}

// toEvents times changes until a stream tells of them.
func toEvents(name, host, key string, change func(i int) error) error {
	s, err := listen(host, key)
	if err != nil {
		return err
	}
	defer s.conn.Close()
	var took []time.Duration
	for i := range times {
		time.Sleep(150 * time.Millisecond) // changes within 100 ms are one event
		begin := time.Now()
		if err := change(i); err != nil {
			return err
		}
		if err := s.event(); err != nil {
			return fmt.Errorf("%s, change %d: %w", name, i+1, err)
		}
		took = append(took, time.Since(begin))
	}
	fmt.Printf("%-34s %9s %9s\n", name, brief(median(took)), brief(slices.Max(took)))
	return nil
}

// withCrowd tells what so many idle streams take, how soon all of them hear of one
// change, and how long polls take meanwhile.
func withCrowd(p *process, key string, change func(i int) error) error {
	before, err := p.resident()
	if err != nil {
		return err
	}
	streams := make([]*stream, crowd)
	for i := range streams {
		if streams[i], err = listen(p.host, key); err != nil {
			return fmt.Errorf("stream %d: %w", i+1, err)
		}
		defer streams[i].conn.Close()
	}
	idle, err := p.resident()
	if err != nil {
		return err
	}
	took := make([]time.Duration, crowd)
	var hear, poll errgroup.Group
	begin := time.Now()
	for i, s := range streams {
		hear.Go(func() error {
			if err := s.event(); err != nil {
				return fmt.Errorf("stream %d: %w", i+1, err)
			}
			took[i] = time.Since(begin)
			return nil
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	slowest := time.Duration(0)
	poll.Go(func() error {
		request := with(get(p.host, "/api/v2/configs/eval-with-context/e30", ""), "Authorization: Basic "+base64.StdEncoding.EncodeToString([]byte("1:"+key)))
		for ctx.Err() == nil {
			asked := time.Now()
			if a, err := once(p.host, request); err != nil || a.status != 200 {
				return fmt.Errorf("a poll: status %d, %v", a.status, err)
			}
			slowest = max(slowest, time.Since(asked))
			time.Sleep(5 * time.Millisecond)
		}
		return nil
	})
	if err := change(times); err != nil {
		return err
	}
	err = hear.Wait()
	cancel()
	if err := errors.Join(err, poll.Wait()); err != nil {
		return err
	}
	fmt.Printf("\na relay with %s idle streams: %.1f MB resident (%.1f without; target 120); one change reached all in %s (2 s), and no poll took longer than %s meanwhile (50 ms)\n",
		grouped(crowd), float64(idle)/(1<<20), float64(before)/(1<<20), brief(slices.Max(took)), brief(slowest))
	fmt.Printf("had it been killed, at most %d of them would have come back within the same 100 ms, where %d would be the mean\n", busiest(streams), crowd/40)
	return nil
}

// busiest is how many clients come back in the busiest tenth of a second, if the streams
// of all of them end at once.
func busiest(streams []*stream) int {
	tenths := map[int]int{}
	for _, s := range streams {
		tenths[s.retry/100]++
	}
	return slices.Max(slices.Collect(maps.Values(tenths)))
}

// stream is an open event stream.
type stream struct {
	conn  net.Conn
	in    *bufio.Reader
	retry int // after so many milliseconds its client comes back
}

// listen opens the stream that the answer to a poll names.
func listen(host, key string) (*stream, error) {
	bulk := request("POST", host, "/ofrep/v1/evaluate/flags", "", `{"context":{"targetingKey":"u"}}`)
	if key != "" {
		bulk = bytes.Replace(bulk, []byte("\r\n"), []byte("\r\nX-API-Key: "+key+"\r\n"), 1)
	}
	a, err := once(host, bulk)
	if err != nil {
		return nil, err
	}
	var answer struct {
		EventStreams []struct {
			Endpoint struct{ RequestURI string }
		}
	}
	if err := json.Unmarshal(a.body, &answer); err != nil || len(answer.EventStreams) == 0 {
		return nil, fmt.Errorf("no event stream is named: status %d, %.200s", a.status, a.body)
	}
	c, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	s := &stream{conn: c, in: bufio.NewReaderSize(c, 512)}
	if _, err := c.Write(get(host, answer.EventStreams[0].Endpoint.RequestURI, "")); err != nil {
		return nil, err
	}
	return s, s.until("retry:")
}

// event waits for the next one.
func (s *stream) event() error { return s.until("data:") }

func (s *stream) until(field string) error {
	if err := s.conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	for {
		line, err := s.in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return err
		}
		if bytes.HasPrefix(line, []byte("retry: ")) {
			s.retry, _ = strconv.Atoi(string(bytes.TrimSpace(line[len("retry: "):])))
		}
		if bytes.HasPrefix(line, []byte(field)) {
			return nil
		}
		if bytes.HasPrefix(line, []byte("HTTP/1.1 ")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("the stream: %s", line)
		}
	}
}
