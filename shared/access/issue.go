package access

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// KeyRequest says which key is to be issued.
type KeyRequest struct {
	Kind Kind
	Name string
	// Principal is whose key it is, where they are known; else the name and the address say so.
	Principal   ID
	Email       string        // of the person, for a user key
	Roles       []string      // of a principal that is new
	Environment string        // which an SDK key reads
	Topic       string        // of SNS, which a guard key takes alarms of
	Expires     time.Duration // 0 for never
}

// Check says all that is wrong with a request.
func (q KeyRequest) Check() error {
	sdk := q.Kind.Delivers()
	var problems []error
	for _, problem := range []struct {
		is  bool
		err error
	}{
		{PlainName(q.Name) == "", errors.New("a key needs a name (--name), to be told from others")},
		{sdk && q.Environment == "", errors.New("an SDK key reads one environment: name it with --environment")},
		{!sdk && q.Environment != "", errors.New("only SDK keys (public, secret) have an environment")},
		{q.Topic != "" && q.Kind != KindGuard, errors.New("only guard keys have a topic")},
		{q.Topic != "" && !isTopic(q.Topic), errors.New("a topic is the ARN of one of SNS, such as arn:aws:sns:eu-west-1:123456789012:alarms")},
		{sdk && len(q.Roles) > 0, errors.New("an SDK key edits nothing, so it has no role")},
		{!q.Kind.person() && q.Email != "", errOnlyUsers},
		{q.Expires < 0, errors.New("--expires lies in the past")},
	} {
		if problem.is {
			problems = append(problems, problem.err)
		}
	}
	return errors.Join(append(problems, CheckRoles(q.Roles))...)
}

// isTopic matches the ARN of a topic.
var isTopic = regexp.MustCompile(`^arn:aws:sns:[a-z]{2}(-[a-z]+)+-[0-9]:[0-9]{12}:[A-Za-z0-9_-]{1,256}$`).MatchString

// ErrOtherRoles: the principal exists and has other roles than those that were
// asked for. Roles are changed by name, not by the way.
var ErrOtherRoles = errors.New("has other roles")

// ErrOtherType: what was asked for is of people alone, or of service accounts alone.
var ErrOtherType = errors.New("is no")

// IssueKey issues a key for the principal that the request names, which is
// added when there is none, and returns both. The key's text can be had from
// what is returned and nowhere else; the registry keeps its digest. With
// ErrOtherRoles it returns the principal that has them.
func (r *Registry) IssueKey(ctx context.Context, q KeyRequest) (key Key, owner Principal, err error) {
	if err := q.Check(); err != nil {
		return Key{}, Principal{}, err
	}
	p := Principal{Type: PrincipalServiceAccount, Name: PlainName(q.Name), Email: q.Email, Roles: q.Roles}
	switch {
	case q.Kind.person():
		p.Type = PrincipalUser
	case q.Kind.Delivers():
		p.Name = "applications" // which edit nothing
	}
	if p.ID, err = NewID(r.random); err != nil {
		return Key{}, Principal{}, err
	}
	err = r.edit(ctx, func(s *State, again bool) error {
		if again && s.holds(key) {
			return nil
		}
		if q.Principal != "" {
			known := s.principal(q.Principal)
			if known == nil {
				return notFound("principal", q.Principal)
			}
			if q.Kind == KindOneTime && known.Disabled {
				return ErrDisabled
			}
			if owner = *known; owner.Type != p.Type {
				return fmt.Errorf("%s %w %s", owner.Name, ErrOtherType, strings.ReplaceAll(string(p.Type), "_", " "))
			}
		} else if same, err := s.meant(p); err != nil {
			return err
		} else if same == nil {
			owner = p
			if err := s.addPrincipal(p); err != nil {
				return err
			}
		} else if owner = *same; q.Kind == KindOneTime && owner.Disabled {
			return fmt.Errorf("%s: %w", owner.Words(), ErrDisabled)
		} else if len(q.Roles) > 0 && !slices.Equal(owner.EffectiveRoles(), Principal{Roles: q.Roles}.EffectiveRoles()) {
			return fmt.Errorf("%s is there already and %w (%s)", owner.Name, ErrOtherRoles, strings.Join(owner.Roles, ", "))
		}
		var err error
		key, err = r.addKey(s, owner, q)
		return err
	})
	if err != nil {
		return Key{}, owner, err
	}
	return key, owner, nil
}

// ErrSeveral: a name is that of several people.
var ErrSeveral = errors.New("is the name of several people")

// meant finds whom a request names: by the e-mail address, or the only one of a name.
func (s *State) meant(p Principal) (*Principal, error) {
	if same := s.same(p); same != nil || p.Type != PrincipalUser || p.Email != "" {
		return same, nil
	}
	var found []*Principal
	var addresses []string
	for i := range s.Principals {
		if other := &s.Principals[i]; other.Type == p.Type && other.Name == p.Name {
			found, addresses = append(found, other), append(addresses, other.Email)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s %w: name one by the e-mail address, %s", p.Name, ErrSeveral, strings.Join(addresses, " or "))
}

// ErrOver: a key has ended, so nothing can go on in its place.
var ErrOver = errors.New("this key has ended already; make a new one")

// RotateKey issues a key like another one, which ends after the overlap, unless it ends before.
func (r *Registry) RotateKey(ctx context.Context, id ID, overlap time.Duration) (key Key, owner Principal, err error) {
	err = r.edit(ctx, func(s *State, again bool) error {
		if again && s.holds(key) {
			return nil
		}
		old := s.key(id)
		if old == nil || old.Kind.SignsIn() { // nobody but the browser that signs in has those
			return notFound("key", id)
		}
		now := r.now().UTC().Truncate(time.Second)
		if old.LiveAt(now) != nil {
			return ErrOver
		}
		q := KeyRequest{Kind: old.Kind, Name: old.Name, Environment: old.Environment, Topic: old.Topic}
		if !old.ExpiresAt.IsZero() {
			q.Expires = old.ExpiresAt.Sub(old.CreatedAt)
		}
		if end := now.Add(overlap); old.ExpiresAt.IsZero() || end.Before(old.ExpiresAt) {
			old.ExpiresAt = end
		}
		owner = *s.principal(old.PrincipalID)
		var err error
		key, err = r.addKey(s, owner, q)
		return err
	})
	if err != nil {
		return Key{}, Principal{}, err
	}
	return key, owner, nil
}

// Key returns the record of one key.
func (r *Registry) Key(ctx context.Context, id ID) (KeyRecord, error) {
	s, err := r.store.Load(ctx)
	if err != nil {
		return KeyRecord{}, err
	}
	if k := s.key(id); k != nil {
		return *k, nil
	}
	return KeyRecord{}, notFound("key", id)
}

// holds reports whether a key has been added.
func (s *State) holds(key Key) bool {
	k := s.key(key.ID())
	return k != nil && key.Matches(k.Digest)
}

// addKey adds the record of a new key. Those that people sign in with are many, and of use
// for hours: a person has some places for them, and a new one takes that of one which has
// ended or, where none has, the oldest.
func (r *Registry) addKey(s *State, owner Principal, q KeyRequest) (Key, error) {
	now := r.now().UTC().Truncate(time.Second)
	var place *KeyRecord
	if q.Kind.SignsIn() {
		place = s.place(owner.ID, q.Kind, now)
	}
	key, err := NewKey(r.random, q.Kind, ID(s.Workspace.ID), owner.ID)
	if err != nil {
		return Key{}, err
	}
	if place == nil {
		s.Keys = append(s.Keys, KeyRecord{})
		place = &s.Keys[len(s.Keys)-1]
	}
	*place = RecordOf(key, PlainName(q.Name), now)
	place.Environment, place.Topic = q.Environment, q.Topic
	if q.Expires > 0 {
		place.ExpiresAt = now.Add(q.Expires)
	}
	return key, nil
}

// places is how many sessions, and how many one-time keys, a person may have.
const places = 20

// place is the record whose place a new key of a person may take; nil while there is room
// for another.
func (s *State) place(owner ID, kind Kind, now time.Time) *KeyRecord {
	var oldest *KeyRecord
	count := 0
	for i := range s.Keys {
		k := &s.Keys[i]
		if k.PrincipalID != owner || k.Kind != kind {
			continue
		}
		if k.LiveAt(now) != nil {
			return k
		}
		if count++; oldest == nil || k.CreatedAt.Before(oldest.CreatedAt) {
			oldest = k
		}
	}
	if count < places {
		return nil
	}
	return oldest
}
