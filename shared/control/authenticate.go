package control

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/change"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
)

// Caller is the holder of a key that was accepted, with what the same read told
// of the workspace.
type Caller struct {
	key   access.Key   // as the request carries it; or
	token access.Token // that stands for one
	once  string       // what ledgers call the Idempotency-Key, which they do not tell; "" for none
	entry Entry
}

var (
	errDisabled       = errors.New("the principal is disabled")
	errOtherPrincipal = errors.New("the ledger answered with another principal than the key's")
)

// Authenticate asks the ledger, once, whose key this is, and what has landed under
// an Idempotency-Key, "" for none. Every reason to refuse the key is a fault of the
// kind Unauthorized in the same words.
func (p *Service) Authenticate(ctx context.Context, key access.Key, idempotencyKey string) (Caller, error) {
	once := ""
	if idempotencyKey != "" {
		once = change.Digest([]byte(key.Principal()), []byte(idempotencyKey))
	}
	return p.authenticate(ctx, key, once)
}

func (p *Service) authenticate(ctx context.Context, key access.Key, once string) (Caller, error) {
	entry, err := p.settings.Authenticator.Authenticate(ctx, key, once)
	entry, err = accept(entry, err, entry.Key.Admits(key, p.settings.Now()), key.Principal(), key.Workspace())
	return Caller{key: key, once: once, entry: entry}, err
}

// AuthenticateToken is Authenticate for a token that stands for a key.
func (p *Service) AuthenticateToken(ctx context.Context, token access.Token) (Caller, error) {
	entry, err := p.settings.Directory.Find(ctx, token.ID())
	entry, err = accept(entry, err, entry.Key.AdmitsToken(token, p.settings.Now()), entry.Key.PrincipalID, entry.Key.WorkspaceID)
	return Caller{token: token, entry: entry}, err
}

// FindsKeys reports whether KeyOfToken can be asked.
func (p *Service) FindsKeys() bool { return p.settings.Keys != nil }

// KeyOfToken is the record of the key that a token stands for, if it is one of the
// caller's workspace.
func (p *Service) KeyOfToken(ctx context.Context, c Caller, token access.Token) (access.KeyRecord, error) {
	workspace := c.entry.Key.WorkspaceID
	entry, err := p.settings.Keys.FindKey(ctx, workspace, token.ID())
	entry, err = accept(entry, err, entry.Key.AdmitsToken(token, p.settings.Now()), entry.Key.PrincipalID, workspace)
	return entry.Key, err
}

// Recheck reports whether a key that was accepted some time ago still would be.
func (p *Service) Recheck(ctx context.Context, id access.ID) error {
	entry, err := p.settings.Directory.Find(ctx, id)
	_, err = accept(entry, err, entry.Key.LiveAt(p.settings.Now()), entry.Key.PrincipalID, entry.Key.WorkspaceID)
	return err
}

// accept is what was found of a key, or why the key is not accepted.
func accept(entry Entry, err, refused error, principal, workspace access.ID) (Entry, error) {
	if err != nil && !errors.Is(err, access.ErrNotFound) {
		return Entry{}, repository.Fault(err)
	}
	if err == nil {
		err = refused
	}
	switch {
	case err != nil:
	case entry.Principal.ID != principal || entry.Workspace.ID != string(workspace):
		err = errOtherPrincipal
	case entry.Principal.Disabled:
		err = errDisabled
	}
	if err != nil {
		return Entry{}, fault.New(fault.Unauthorized,
			"the key is not accepted: it is unknown, revoked or expired, or its owner is disabled").Because(err)
	}
	return entry, nil
}

// Use is what a session is opened for.
type Use int

// The uses of a session: Read and Write are for keys of the REST API, Write
// also reads, Undo takes back for a guard key, and Deliver is for SDK keys.
const (
	Read Use = iota
	Write
	Undo
	Deliver
	follow // what an environment serves, without a key
)

// Open opens a session for one request of a caller. Its faults are of the kinds
// Unauthorized for a key that is not for this use, Unavailable while the
// workspace is being set up, and BillingInactive for a session that writes when
// the subscription has lapsed: that is asked nowhere else.
func (p *Service) Open(c Caller, use Use) (*Session, error) {
	if err := c.check(use); err != nil {
		return nil, err
	}
	if p.settings.Used != nil {
		p.settings.Used(c.entry.Key, p.settings.Now())
	}
	return &Session{service: p, caller: c, use: use}, nil
}

func (c Caller) check(use Use) error {
	kind := c.entry.Key.Kind
	switch {
	case use == Deliver && !kind.Delivers(), (use == Read || use == Write) && !kind.Manages(), use == Undo && kind != access.KindGuard:
		return fault.New(fault.Unauthorized, "a %s key is not for this", kind)
	case c.entry.Workspace.Provisioning:
		return fault.New(fault.Unavailable, "the workspace is being set up; try again in a moment")
	case (use == Write || use == Undo) && c.entry.Workspace.BillingInactive:
		return fault.New(fault.BillingInactive, "the organization's subscription is not active, so nothing can be changed; reading still works")
	}
	return nil
}

// again authenticates the session's key once more, for another try of the same
// request.
func (s *Session) again(ctx context.Context) (*Session, error) {
	var c Caller
	var err error
	switch {
	case s.use == follow:
		c, err = s.service.current(ctx, s.caller.entry.Key.Environment)
	case s.caller.key.Kind() == "":
		c, err = s.service.AuthenticateToken(ctx, s.caller.token)
	default:
		c, err = s.service.authenticate(ctx, s.caller.key, s.caller.once)
	}
	if err == nil {
		err = c.check(s.use)
	}
	if err != nil {
		return nil, err
	}
	return &Session{service: s.service, caller: c, use: s.use}, nil
}

// current is a caller without a key, for what an environment serves.
func (p *Service) current(ctx context.Context, environment string) (Caller, error) {
	entry, err := p.settings.Directory.Current(ctx)
	entry.Key.Environment = environment
	return Caller{entry: entry}, repository.Fault(err)
}
