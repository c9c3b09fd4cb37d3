package events_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"svc.example/svc/shared/events"
)

// stuck is a channel that tells its version once, and then only when it is let go.
type stuck struct {
	*channel
	asked atomic.Int64
	let   chan struct{}
}

func (s *stuck) Version(ctx context.Context) (string, error) {
	if s.asked.Add(1) > 1 {
		select {
		case <-s.let:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	return s.channel.Version(ctx)
}

// TestASlowChannelHoldsUpNoOther, and is asked once at a time.
func TestASlowChannelHoldsUpNoOther(t *testing.T) {
	slow := &stuck{channel: newChannel("v1"), let: make(chan struct{})}
	s, quick := serve(t, 2, events.Stream{Channel: slow}), newChannel("v1")
	s.choose = func(r *http.Request, asked *events.Stream) {
		if r.Header.Get("Quick") != "" {
			asked.Name, asked.Channel = "quick", quick
		}
	}
	waiting, served := s.open(t), s.open(t, "Quick", "yes")
	for slow.asked.Load() < 2 {
		s.hub.Look()
	}
	quick.set("v2")
	served.want("v2")
	quick.set("v3")
	served.want("v3")
	if asked := slow.asked.Load(); asked != 2 {
		t.Errorf("the slow channel was asked %d times at once", asked-1)
	}
	slow.set("v2")
	close(slow.let)
	waiting.want("v2")
}
