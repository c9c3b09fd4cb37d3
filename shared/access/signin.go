package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// SessionFor is how long somebody stays signed in.
	SessionFor = 8 * time.Hour
	// OneTimeFor is how long an address that signs a person in can be used.
	OneTimeFor = 10 * time.Minute
)

// Why somebody is not signed in.
var (
	ErrDisabled   = errors.New("the principal is disabled")
	ErrNotInvited = errors.New("nobody has let this person in")
	ErrLinked     = errors.New("somebody else signs in as that already")
	// ErrTaken: people are told apart by their e-mail addresses, where they have one.
	ErrTaken = errors.New("somebody else has that name or e-mail address")
)

// SignIn makes a session for the person of a one-time key, which it spends. What the browser
// had before, if anything, ends. The reason to refuse a key is ErrNotFound, one of
// KeyRecord.Admits, or ErrDisabled.
func (r *Registry) SignIn(ctx context.Context, oneTime, before Key) (session Key, owner Principal, err error) {
	return r.startSession(ctx, "one-time address", nil, before, func(s *State) (*Principal, error) {
		record := s.key(oneTime.ID())
		if record == nil || oneTime.Kind() != KindOneTime {
			return nil, ErrNotFound
		}
		now := r.now()
		if err := record.Admits(oneTime, now); err != nil {
			return nil, err
		}
		record.RevokedAt = now.UTC().Truncate(time.Second)
		return s.principal(record.PrincipalID), nil
	})
}

// Arrival is a person whom an issuer has told of.
type Arrival struct {
	Identity
	Name, Email string
	// Claimed are the roles that the issuer's claims give.
	Claimed []string
	// Welcome: they are added if nobody is known by their identity.
	Welcome bool
	// Refresh asks the issuer for their claims again; "" if nothing does.
	Refresh string
	// Before is the session that the browser has, if any: it ends.
	Before Key
}

// Arrive makes a session for a person of an issuer. Whom it does not know and may not add is
// ErrNotInvited.
func (r *Registry) Arrive(ctx context.Context, a Arrival) (session Key, owner Principal, err error) {
	id, err := NewID(r.random)
	if err != nil {
		return Key{}, Principal{}, err
	}
	return r.startSession(ctx, a.Issuer, &a.Refresh, a.Before, func(s *State) (*Principal, error) {
		p := s.identified(a.Identity)
		if p == nil {
			if !a.Welcome {
				return nil, ErrNotInvited
			}
			if err := s.addPrincipal(Principal{Type: PrincipalUser, ID: id, Name: PlainName(a.Name), Email: a.Email, Identity: a.Identity}); err != nil {
				return nil, err
			}
			p = &s.Principals[len(s.Principals)-1]
		}
		return p, p.claim(a.Claimed)
	})
}

// startSession makes a session for whom find finds, in the place of another one. The audit
// trail tells that they did it.
func (r *Registry) startSession(ctx context.Context, by string, refresh *string, before Key, find func(s *State) (*Principal, error)) (session Key, owner Principal, err error) {
	of := r.By("")
	err = of.edit(ctx, func(s *State, again bool) error {
		if again && s.holds(session) {
			return nil
		}
		p, err := find(s)
		switch {
		case err != nil:
			return err
		case p == nil:
			return ErrNotFound
		case p.Disabled:
			return ErrDisabled
		}
		owner, of.by = *p, p.Words()
		s.endSession(before, r.now())
		if session, err = r.addKey(s, owner, KeyRequest{Kind: KindSession, Name: by, Expires: SessionFor}); err != nil || refresh == nil {
			return err
		}
		return s.key(session.ID()).refreshed(session, *refresh, r.now())
	})
	if err != nil {
		return Key{}, Principal{}, err
	}
	return session, owner, nil
}

// Words name a principal for people: a name is nobody's alone.
func (p Principal) Words() string { return fmt.Sprintf("%s (%s)", p.Name, p.ID) }

// TakeRefresh reports whether it is the caller's turn to have the claims of a session's person
// read anew: of those who have seen the same record one gets it.
func (r *Registry) TakeRefresh(ctx context.Context, seen KeyRecord) (mine bool, err error) {
	at := r.now().UTC().Truncate(time.Second)
	err = r.edit(ctx, func(s *State, again bool) error {
		record := s.key(seen.ID)
		if record == nil || record.Digest != seen.Digest {
			mine = false
			return nil
		}
		mine = record.RefreshedAt.Equal(seen.RefreshedAt) || mine && again && record.RefreshedAt.Equal(at)
		if mine {
			record.RefreshedAt = at
		}
		return nil
	})
	return mine && err == nil, err
}

// Refreshed notes what the issuer of a session's person says of them now.
func (r *Registry) Refreshed(ctx context.Context, session Key, claimed []string, refresh string) error {
	return r.edit(ctx, func(s *State, _ bool) error {
		if !s.holds(session) {
			return ErrNotFound
		}
		record := s.key(session.ID())
		if err := record.refreshed(session, refresh, r.now()); err != nil {
			return err
		}
		return s.principal(record.PrincipalID).claim(claimed)
	})
}

// refreshed notes when claims were read, and what asks for them the next time.
func (k *KeyRecord) refreshed(session Key, refresh string, now time.Time) (err error) {
	k.RefreshedAt = now.UTC().Truncate(time.Second)
	k.Refresh, err = session.Seal(refresh)
	return err
}

// claim gives a principal the roles of an issuer's claims in the place of those it has of them.
func (p *Principal) claim(roles []string) error {
	if !slices.Equal(p.Claimed, roles) {
		p.Claimed = slices.Clone(roles)
	}
	return CheckRoles(roles)
}

// SetIdentity says whom a person signs in as; the zero Identity is nobody.
func (r *Registry) SetIdentity(ctx context.Context, id ID, identity Identity) error {
	return r.editPrincipal(ctx, id, func(s *State, p *Principal) error { return r.identify(s, p, identity) })
}

// Link says that a person signs in as whom an issuer has told of, and takes their name and
// e-mail address: whoever was added as a placeholder is known by their own name from then on.
// An address that somebody else has stays theirs.
func (r *Registry) Link(ctx context.Context, id ID, a Arrival) error {
	return r.editPrincipal(ctx, id, func(s *State, p *Principal) error {
		if err := r.identify(s, p, a.Identity); err != nil {
			return err
		}
		named := *p
		named.Name, named.Email = cmp.Or(PlainName(a.Name), p.Name), cmp.Or(PlainName(a.Email), p.Email)
		if s.sameAs(named) != nil {
			named.Email = p.Email
		}
		if s.sameAs(named) == nil {
			*p = named
		}
		return nil
	})
}

// identify has a person sign in as an identity.
func (r *Registry) identify(s *State, p *Principal, identity Identity) error {
	if p.Type != PrincipalUser {
		return fmt.Errorf("%s %w user, and only users sign in", p.Name, ErrOtherType)
	}
	if other := s.identified(identity); other != nil && other != p {
		return fmt.Errorf("%w: %s", ErrLinked, other.Words())
	}
	if p.Identity == identity {
		return nil
	}
	p.Identity, p.Claimed = identity, nil
	for i := range s.Keys { // sessions of who they were
		if k := &s.Keys[i]; k.PrincipalID == p.ID && k.Refresh != "" && k.RevokedAt.IsZero() {
			k.RevokedAt = r.now().UTC().Truncate(time.Second)
		}
	}
	return nil
}

// identified finds the person of an identity.
func (s *State) identified(identity Identity) *Principal {
	if identity == (Identity{}) {
		return nil
	}
	if i := slices.IndexFunc(s.Principals, func(p Principal) bool { return p.Identity == identity }); i >= 0 {
		return &s.Principals[i]
	}
	return nil
}

// EndSession ends one session, as its person does; one that is over stays so.
func (r *Registry) EndSession(ctx context.Context, session Key) error {
	of := r.By("")
	return of.edit(ctx, func(s *State, _ bool) error {
		if p := s.principal(session.Principal()); p != nil {
			of.by = p.Words()
		}
		s.endSession(session, r.now())
		return nil
	})
}

func (s *State) endSession(session Key, now time.Time) {
	if k := s.key(session.ID()); k != nil && k.Kind == KindSession && k.Admits(session, now) == nil {
		k.RevokedAt = now.UTC().Truncate(time.Second)
	}
}

// EndSessions revokes the sessions and one-time keys of a principal.
func (r *Registry) EndSessions(ctx context.Context, id ID) error {
	return r.edit(ctx, func(s *State, _ bool) error {
		r.endSessions(s, id)
		return nil
	})
}

func (r *Registry) endSessions(s *State, id ID) {
	for i := range s.Keys {
		if k := &s.Keys[i]; k.PrincipalID == id && k.Kind.SignsIn() && k.RevokedAt.IsZero() {
			k.RevokedAt = r.now().UTC().Truncate(time.Second)
		}
	}
}
