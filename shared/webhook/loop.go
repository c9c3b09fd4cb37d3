package webhook

import (
	"context"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/backoff"
)

// Loop tells the webhooks of one workspace in a process that goes on. While nothing happens it
// asks the table for nothing.
type Loop struct {
	*Sender
	Workspace string
	// Head is where the workspace is now. It is asked for at each look.
	Head func(ctx context.Context) (Position, error)
	// Wake has it look at once whether there is something to tell; nil for nobody.
	Wake <-chan struct{}
}

const lookEvery = 250 * time.Millisecond

// told is one webhook in a Loop.
type told struct {
	busy, again bool      // a turn goes on, and something has happened since it began
	due         time.Time // zero for not before something happens
	retry       backoff.Retry
}

type ended struct {
	id  access.ID
	due time.Time
	err error
}

// Run goes on until the context ends, and then until the attempts that were begun have ended.
func (l *Loop) Run(ctx context.Context) {
	hooks, done, seen, known := map[access.ID]*told{}, make(chan ended), Position{}, false
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	running, woken := 0, false
	for ctx.Err() == nil || running > 0 {
		stopping := ctx.Done()
		if ctx.Err() != nil {
			stopping = nil
		}
		select {
		case <-stopping:
			continue
		case e := <-done:
			running--
			l.ended(ctx, hooks[e.id], e)
		case <-l.Wake:
			woken = true
		case <-tick.C:
		}
		if ctx.Err() != nil {
			continue
		}
		if head, err := l.Head(ctx); err == nil && (woken || !known || head != seen) {
			if !known || head.Access != seen.Access {
				if hooks, err = l.known(ctx, hooks); err != nil {
					l.Logger.Error("reading webhooks", "error", err)
					continue
				}
			}
			for _, h := range hooks {
				h.again, h.due = h.busy, l.Now()
			}
			seen, known, woken = head, true, false
		}
		for id, h := range hooks {
			if h.busy || h.due.IsZero() || h.due.After(l.Now()) || !h.retry.Due(l.Now()) {
				continue
			}
			h.busy, h.due = true, time.Time{}
			running++
			go func() {
				due, err := l.Send(ctx, l.Workspace, id)
				done <- ended{id, due, err}
			}()
		}
	}
}

// known are the webhooks that there are now.
func (l *Loop) known(ctx context.Context, before map[access.ID]*told) (map[access.ID]*told, error) {
	all, err := Store{l.Table, l.Workspace}.load(ctx)
	if err != nil {
		return before, err
	}
	now := map[access.ID]*told{}
	for _, h := range all.hooks {
		if now[h.ID] = before[h.ID]; now[h.ID] == nil {
			now[h.ID] = &told{retry: backoff.Retry{Backoff: backoff.Backoff{First: time.Second, Max: time.Minute}}}
		}
	}
	return now, nil
}

// ended notes how a turn has ended; h is nil for one that was deleted meanwhile.
func (l *Loop) ended(ctx context.Context, h *told, e ended) {
	if h == nil || ctx.Err() != nil {
		return
	}
	h.busy = false
	if h.retry.Ended(l.Now(), e.err); e.err != nil {
		l.Logger.Error("telling a webhook", "webhook", string(e.id), "error", e.err)
	}
	if h.due = e.due; h.again || e.err != nil {
		h.again, h.due = false, l.Now()
	}
}
