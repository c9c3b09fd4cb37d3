package control

import (
	"context"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/repository"
)

// Pause replaces the wait between two tries of a write.
func (p *Service) Pause(pause func(ctx context.Context, try int) error) { p.changes.Pause = pause }

// NoTime leaves dry runs no time for saved contexts.
func (p *Service) NoTime() { p.changes.ImpactTime = 0 }

// Held is how many bytes are remembered of workspaces.
func (p *Service) Held() int64 { return p.served.Held() + p.feed.Held() }

// Cursor makes a cursor as the session's workspace does.
func (s *Session) Cursor(list, position string) string { return s.cursors().To(list, position) }

// SessionOf opens a session that writes for the text of a key.
func (p *Service) SessionOf(ctx context.Context, text string) (*Session, error) {
	return p.OpenFor(ctx, text, Write)
}

// OpenFor opens a session for the text of a key, as HTTP does.
func (p *Service) OpenFor(ctx context.Context, text string, use Use) (*Session, error) {
	key, err := access.ParseKey(text)
	if err != nil {
		return nil, err
	}
	caller, err := p.Authenticate(ctx, key, "")
	if err != nil {
		return nil, err
	}
	return p.Open(caller, use)
}

// DeliveryOf opens a delivery for the text of a key.
func (p *Service) DeliveryOf(ctx context.Context, text string) (*Delivery, error) {
	s, err := p.OpenFor(ctx, text, Deliver)
	if err != nil {
		return nil, err
	}
	return &Delivery{s}, nil
}

// Head is the version of the workspace that the session reads.
func (s *Session) Head() repository.Head { return s.caller.entry.Head }
