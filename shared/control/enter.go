package control

import (
	"context"
	"errors"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/repository/object"
)

// Enter lets a request with a management key in.
func (p *Service) Enter(ctx context.Context, keyText string) (*Session, error) {
	key, err := parseKey(keyText, access.Kind.Manages, managementKeys)
	if err != nil {
		return nil, err
	}
	entry, err := p.admit(ctx, key, p.settings.Admitted)
	if err != nil {
		return nil, err
	}
	p.used(entry)
	return &Session{service: p, shown: key, entry: entry, room: p.room(entry.Workspace.ID)}, nil
}

// used tells that a key was let in.
func (p *Service) used(e Entry) {
	if p.settings.Used != nil {
		p.settings.Used(e.Key, p.settings.Now())
	}
}

// again lets the session's key in once more, for another try of the same
// request.
func (s *Session) again(ctx context.Context) (*Session, error) {
	entry, err := s.service.admit(ctx, s.shown, nil)
	if err != nil {
		return nil, err
	}
	return &Session{service: s.service, shown: s.shown, entry: entry, room: s.room}, nil
}

const (
	managementKeys = "the control plane takes a user key (svc_uk_...) or a service-account key (svc_sa_...)"
	deliveryKeys   = "delivery takes a public or secret SDK key (svc_pk_... or svc_sk_...)"
)

// parseKey refuses offline what cannot be a key of the right kind.
func parseKey(text string, fits func(access.Kind) bool, wanted string) (access.Key, error) {
	key, err := access.ParseKey(text)
	if err != nil {
		return access.Key{}, fault.New(fault.Unauthorized, "%v; %s", err, wanted).Because(err)
	}
	if !fits(key.Kind()) {
		return access.Key{}, fault.New(fault.Unauthorized, "this is a %s key; %s", key.Kind(), wanted)
	}
	return key, nil
}

func (p *Service) admit(ctx context.Context, key access.Key, admitted func(context.Context, access.KeyRecord) error) (Entry, error) {
	entry, err := p.identify(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	if admitted != nil {
		if err := admitted(ctx, entry.Key); err != nil {
			return Entry{}, err
		}
	}
	if entry.Workspace.Provisioning {
		return Entry{}, fault.New(fault.Unavailable, "the workspace is being set up; try again in a moment")
	}
	return entry, nil
}

var (
	errDisabled       = errors.New("the principal is disabled")
	errOtherPrincipal = errors.New("the gate found another principal than the key's")
)

// identify answers every reason to refuse a key in the same words.
func (p *Service) identify(ctx context.Context, key access.Key) (Entry, error) {
	entry, err := p.settings.Gate.Enter(ctx, key)
	if err != nil && !errors.Is(err, ErrNoEntry) {
		return Entry{}, storageFault(err)
	}
	if err == nil {
		err = entry.Key.Admits(key, p.settings.Now())
	}
	switch {
	case err != nil:
	case entry.Principal.ID != key.Principal() || entry.Workspace.ID != string(key.Workspace()):
		err = errOtherPrincipal
	case entry.Principal.Disabled:
		err = errDisabled
	}
	if err != nil {
		return Entry{}, fault.New(fault.Unauthorized,
			"the key is not accepted: it is unknown, revoked or expired, or whom it stands for is disabled").Because(err)
	}
	return entry, nil
}

// storageFault makes a fault of what a port returned, and leaves one alone.
func storageFault(err error) error {
	var known *fault.Fault
	var unavailable *repository.Unavailable
	var lost *object.Lost
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.As(err, &unavailable) && errors.Is(err, repository.ErrUnknownOutcome):
		return fault.New(fault.Unavailable, "%s; whether the change was made is not known: read the item before repeating the request", unavailable.Message).Because(err)
	case errors.As(err, &unavailable):
		return fault.New(fault.Unavailable, "%s", unavailable.Message).Because(err)
	case errors.As(err, &lost):
		return fault.New(fault.Unavailable, "the workspace cannot be read, because %s; its operator has to put it back, and git fsck tells what else is wrong", lost.Why()).Because(err)
	case errors.Is(err, repository.ErrNewer):
		return fault.New(fault.Unavailable, "the workspace was stored by a newer version of svc than the one that answers; its operator has to update this one").Because(err)
	case errors.Is(err, repository.ErrUnknownOutcome):
		return fault.New(fault.Unavailable, "the storage did not say whether the change was made; read the item before repeating the request").Because(err)
	case errors.Is(err, repository.ErrMoved), errors.Is(err, repository.ErrUnknownCommit):
		return fault.New(fault.Unavailable, "the history was replaced meanwhile; the request can be repeated").Because(err)
	case errors.Is(err, repository.ErrBusy), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return fault.New(fault.Unavailable, "the storage did not answer in time; the request can be repeated").Because(err)
	}
	return fault.Of(err)
}
