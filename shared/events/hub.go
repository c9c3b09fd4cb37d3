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
	hints chan struct{}

	mu       sync.Mutex
	topics   map[string]*topic
	owners   map[string][]*stream // that have not been ended, the oldest first
	watching bool
	open     int // streams
	public   int // of these, without a secret key
	held     map[holder]int
	closed   bool
	idle     sync.WaitGroup // of the streams
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

	// Guarded by the Hub's lock.
	streams map[*stream]struct{}
	waking  bool // a goroutine wakes them,
	again   bool // and once more then

	looks atomic.Int64 // that were asked for, while somebody looks

	// Of the goroutine that looks.
	seen string
	due  time.Time // when a change that was seen is told; zero for none
}

// NewHub makes a Hub for at most so many streams. It asks for the versions of
// channels as often as said, and when Look is called, as long as there are streams.
func NewHub(most int, every time.Duration) *Hub {
	return &Hub{most: most, every: every, pace: usual, hints: make(chan struct{}, 1), topics: map[string]*topic{}, owners: map[string][]*stream{}, held: map[holder]int{}}
}

// Look says that a version may have moved. It returns at once.
func (h *Hub) Look() {
	select {
	case h.hints <- struct{}{}:
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
	t = &topic{channel: channel, seen: version, streams: map[*stream]struct{}{}}
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
	if !h.watching {
		h.watching = true
		go h.watch()
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

// watch looks at the versions of all topics until there are none.
func (h *Hub) watch() {
	next := time.NewTimer(h.every)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-h.hints:
		}
		h.mu.Lock()
		topics := slices.Collect(maps.Values(h.topics))
		h.watching = len(topics) > 0
		h.mu.Unlock()
		if len(topics) == 0 {
			return
		}
		for _, t := range topics {
			if t.looks.Add(1) == 1 {
				go h.lookAt(t)
			}
		}
		next.Reset(h.every)
	}
}

// lookAt looks at a topic as long as that is asked for, and beside others: one that
// takes long to tell its version holds nobody up.
func (h *Hub) lookAt(t *topic) {
	for {
		asked := t.looks.Load()
		if soon := h.look(t); soon > 0 {
			time.AfterFunc(soon, h.Look)
		}
		if t.looks.CompareAndSwap(asked, 0) {
			return
		}
	}
}

// look asks for a topic's version, and tells the streams of one that has moved a
// while ago. Until then it says how long to wait.
func (h *Hub) look(t *topic) (wait time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	version, err := t.channel.Version(ctx)
	now := time.Now()
	switch {
	case err != nil && fault.Of(err).Kind == fault.Unauthorized:
		h.forget(t)
		go h.each(t, (*stream).end)
		return 0
	case err == nil && version != t.seen:
		t.seen = version
		if t.due.IsZero() {
			t.due = now.Add(together)
		}
	}
	if t.due.IsZero() {
		return 0
	}
	if wait := t.due.Sub(now); wait > 0 {
		return wait
	}
	t.due = time.Time{}
	t.news.Store(&News{Version: t.seen, Since: now, again: t.seen == t.news.Load().Version})
	h.wake(t)
	return 0
}

// wake wakes the streams of a topic, once more after those who wake them already: a
// crowd that takes longer to wake than changes are apart would be woken by many at once.
func (h *Hub) wake(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.again = true; t.waking {
		return
	}
	t.waking = true
	go func() {
		for h.more(t) {
			h.each(t, (*stream).wake)
		}
	}()
}

// more reports whether there is something to wake a topic's streams for.
func (h *Hub) more(t *topic) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t.waking, t.again = t.again, false
	return t.waking
}

// forget has streams to come ask for the channel of a topic again.
func (h *Hub) forget(t *topic) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.topics, func(_ string, other *topic) bool { return other == t })
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
