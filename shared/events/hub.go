package events

import (
	"context"
	"io"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"svc.example/svc/shared/fault"
)

// Channel is what streams follow.
type Channel interface {
	// Version is the present one. Its error is a fault; one of the kind
	// Unauthorized ends the streams of the channel.
	Version(ctx context.Context) (string, error)
	// Event is what is sent of a version: one line of data, and its version, as
	// there may be a newer one.
	Event(ctx context.Context, news News) (version string, data io.Reader, err error)
}

// News is a version that streams are told of.
type News struct {
	Version string
	Since   time.Time // when it was seen to be the present one
	again   bool      // it is the one before: what came between was taken back
}

const (
	together = 100 * time.Millisecond // changes within it are one event
	lookTime = 10 * time.Second       // that a channel may take to tell its version

	// wakeAtOnce streams are woken every wakePause, so that the requests which
	// follow do not all come at once: 12,800 a second.
	wakeAtOnce = 128
	wakePause  = 10 * time.Millisecond
)

// Hub has the streams of a process. It may be used concurrently.
type Hub struct {
	most  int
	every time.Duration
	pace  pace

	mu     sync.Mutex
	topics map[string]*topic
	owners map[string][]*stream // that have not been ended, the oldest first
	open   int                  // streams
	public int                  // of these, without a secret key
	held   map[holder]int
	closed bool
	idle   sync.WaitGroup // of the streams
}

// pace is what streams do without news.
type pace struct {
	comment time.Duration // after which a silent stream is sent a comment
	check   time.Duration // after which its client is asked about
}

var usual = pace{comment: 15 * time.Second, check: time.Minute}

// topic is a channel with its streams.
type topic struct {
	channel Channel
	news    atomic.Pointer[News]
	hints   chan struct{} // says that the version may have moved

	// Guarded by the Hub's lock.
	streams  map[*stream]struct{}
	watching bool // a goroutine does

	// Of that goroutine.
	seen string
	due  time.Time // when a change that was seen is told; zero for none
}

// NewHub makes a Hub for at most so many streams. It asks for the versions of
// channels as often as said, and when Look is called, as long as there are streams.
func NewHub(most int, every time.Duration) *Hub {
	return &Hub{most: most, every: every, pace: usual, topics: map[string]*topic{}, owners: map[string][]*stream{}, held: map[holder]int{}}
}

// Look says that a version may have moved. It returns at once.
func (h *Hub) Look() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		t.hint()
	}
}

func (t *topic) hint() {
	select {
	case t.hints <- struct{}{}:
	default:
	}
}

// Open is how many streams there are.
func (h *Hub) Open() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// Close ends all streams and takes no more. It waits for them, but not for long.
func (h *Hub) Close() {
	h.mu.Lock()
	h.closed = true
	for _, t := range h.topics {
		for s := range t.streams {
			s.end()
		}
	}
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() { h.idle.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(farewell):
	}
}

const fullFor = 10 * time.Second // that a client waits which found no room

// holder is whose streams are counted together: those of an address, apart for secret
// keys, or those of a public key.
type holder struct {
	address netip.Addr
	key     string
	secret  bool
}

// holders are those that a stream counts for.
func (s Stream) holders() (address, key holder) {
	return holder{address: s.Address, secret: s.Secret}, holder{key: s.Key}
}

// reserve takes the place of a stream.
func (h *Hub) reserve(asked Stream) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fault.New(fault.Unavailable, "the server is stopping")
	}
	address, key := asked.holders()
	const share = "%s has %d event streams, which is all that it may have of those of this server (--max-streams)"
	if n := h.held[address]; address.address.IsValid() && n >= max(1, h.most/4) {
		return fault.New(fault.RateLimited, share, "this address", n).After(fullFor)
	}
	if n := h.held[key]; key.key != "" && n >= max(1, h.most/2) {
		return fault.New(fault.RateLimited, share, "this key", n).After(fullFor)
	}
	if h.open >= h.most || !asked.Secret && h.public >= h.most-h.most/8 {
		return fault.New(fault.Unavailable, "there are %d event streams, which is the most that this server has (--max-streams)", h.open).After(fullFor)
	}
	h.count(asked, 1)
	h.idle.Add(1)
	return nil
}

func (h *Hub) release(asked Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(asked, -1)
	h.idle.Done()
}

func (h *Hub) count(asked Stream, n int) {
	h.open += n
	if !asked.Secret {
		h.public += n
	}
	address, key := asked.holders()
	for _, of := range []holder{address, key} {
		if h.held[of] += n; h.held[of] == 0 {
			delete(h.held, of)
		}
	}
}

// follow finds the topic of a channel, with its present version.
func (h *Hub) follow(ctx context.Context, name string, channel Channel) (*topic, error) {
	h.mu.Lock()
	t := h.topics[name]
	h.mu.Unlock()
	if t != nil {
		return t, nil
	}
	version, err := channel.Version(ctx)
	if err != nil {
		return nil, err
	}
	t = &topic{channel: channel, seen: version, streams: map[*stream]struct{}{}, hints: make(chan struct{}, 1)}
	t.news.Store(&News{Version: version, Since: time.Now()})
	return t, nil
}

// add has a stream follow a topic, or the one that another stream has made of the
// same name meanwhile.
func (h *Hub) add(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if there := h.topics[s.asked.Name]; there != nil {
		s.topic = there
	} else {
		h.topics[s.asked.Name] = s.topic
	}
	if !s.topic.watching {
		s.topic.watching = true
		go h.watch(s.topic)
	}
	s.topic.streams[s] = struct{}{}
	if h.closed {
		s.end()
	}
	if s.asked.Owner == "" {
		return
	}
	own := append(h.owners[s.asked.Owner], s)
	if len(own) > perOwner {
		own[0].end()
		own = own[1:]
	}
	h.owners[s.asked.Owner] = own
}

// perOwner is how many streams a browser has: two connections are left for polls.
const perOwner = 4

func (h *Hub) remove(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(s.topic.streams, s)
	own := slices.DeleteFunc(h.owners[s.asked.Owner], func(other *stream) bool { return other == s })
	if h.owners[s.asked.Owner] = own; len(own) == 0 {
		delete(h.owners, s.asked.Owner)
	}
	if len(s.topic.streams) == 0 && h.topics[s.asked.Name] == s.topic {
		delete(h.topics, s.asked.Name)
	}
}

// watch looks at the version of a topic until it has no streams. Topics are watched one
// beside the other: one that takes long to tell its version holds nobody up.
func (h *Hub) watch(t *topic) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.hints:
		}
		h.mu.Lock()
		followed := len(t.streams) > 0
		t.watching = followed
		h.mu.Unlock()
		if !followed {
			return
		}
		h.look(t)
	}
}

// look asks for a topic's version, and tells the streams of one that has moved a while
// ago. A crowd that takes longer to wake than changes are apart hears of the last one.
func (h *Hub) look(t *topic) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	version, err := t.channel.Version(ctx)
	now := time.Now()
	switch {
	case err != nil && fault.Of(err).Kind == fault.Unauthorized:
		h.mu.Lock() // streams to come ask for the channel again
		maps.DeleteFunc(h.topics, func(_ string, other *topic) bool { return other == t })
		h.mu.Unlock()
		h.each(t, (*stream).end)
		return
	case err == nil && version != t.seen:
		if t.seen = version; t.due.IsZero() {
			t.due = now.Add(together)
		}
	}
	switch wait := t.due.Sub(now); {
	case t.due.IsZero():
	case wait > 0:
		time.AfterFunc(wait, t.hint)
	default:
		t.due = time.Time{}
		t.news.Store(&News{Version: t.seen, Since: now, again: t.seen == t.news.Load().Version})
		h.each(t, (*stream).wake)
	}
}

// each does something with all streams of a topic, with some at a time.
func (h *Hub) each(t *topic, do func(*stream)) {
	h.mu.Lock()
	streams := slices.Collect(maps.Keys(t.streams))
	h.mu.Unlock()
	for i, s := range streams {
		if i > 0 && i%wakeAtOnce == 0 {
			time.Sleep(wakePause)
		}
		do(s)
	}
}
