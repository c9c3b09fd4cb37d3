package brokenstore

import (
	"context"
	"math/rand/v2"
	"sync"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/control"
	"svc.example/svc/shared/repository"
)

// Stale makes gates that now and then tell of a head of before, which any of
// them has seen. Writes are safe with them, since they compare the head; reads
// are not.
type Stale struct {
	lock sync.Mutex
	seen []repository.Head
}

// behind is how many heads they are behind the times.
const behind = 6

// Authenticator makes an authenticator stale.
func (s *Stale) Authenticator(of control.Authenticator) control.Authenticator {
	return staleAuthenticator{of, s}
}

type staleAuthenticator struct {
	control.Authenticator
	stale *Stale
}

func (g staleAuthenticator) Authenticate(ctx context.Context, key access.Key, once string) (control.Entry, error) {
	entry, err := g.Authenticator.Authenticate(ctx, key, once)
	if err == nil {
		entry.Head = g.stale.tell(entry.Head)
	}
	return entry, err
}

func (s *Stale) tell(head repository.Head) repository.Head {
	s.lock.Lock()
	defer s.lock.Unlock()
	if len(s.seen) == 0 || s.seen[len(s.seen)-1].Sequence < head.Sequence {
		s.seen = append(s.seen, head)
	}
	if rand.IntN(4) == 0 {
		return s.seen[max(0, len(s.seen)-behind)]
	}
	return head
}
