package relay

import (
	"context"
	"net/http"
	"strings"
	"time"
)

const (
	// A relay that may be behind another waits for so many answers of the service: the
	// first may have been on its way when the client asked.
	enoughLooks = 2
	lookPause   = 250 * time.Millisecond // between those that clients have it ask for
	behindTime  = 1500 * time.Millisecond
	behindPause = 10 * time.Millisecond
)

// catchUp waits for what a client has heard of, if this relay does not have it. The
// client's event stream may be that of another relay, which asked the service a moment
// before this one does, and nothing would bring the client back soon. A relay that
// follows an event stream itself is no such moment behind.
func (e *environment) catchUp(r *http.Request) {
	s := e.state.Load()
	if s == nil || e.streaming.Load() {
		return
	}
	heard := strings.Trim(strings.TrimPrefix(r.URL.Query().Get("flagConfigEtag"), "W/"), `"`)
	if heard == "" || s.table.VersionAt(time.Now().UnixMilli()) == heard {
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), behindTime)
	defer cancel()
	pause := time.NewTicker(behindPause)
	defer pause.Stop()
	for first := e.looks.Load(); e.looks.Load() < first+enoughLooks && !e.failing.Load(); {
		e.lookSoon()
		select {
		case <-ctx.Done():
			return
		case <-pause.C:
		}
		if e.state.Load().table.VersionAt(time.Now().UnixMilli()) == heard {
			return
		}
	}
}

// lookSoon has the service asked now, but not too often.
func (e *environment) lookSoon() {
	now := time.Since(e.opened)
	last := e.lookedFor.Load()
	if last != 0 && now-time.Duration(last) < lookPause || !e.lookedFor.CompareAndSwap(last, int64(now)) {
		return
	}
	select {
	case e.hurry <- struct{}{}:
	default:
	}
}
