package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// KeyRequest says which key is to be issued.
type KeyRequest struct {
	Kind        Kind
	Name        string
	Email       string        // of the person, for a user key
	Roles       []string      // of a principal that is new
	Environment string        // which an SDK key reads
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
		{sdk && len(q.Roles) > 0, errors.New("an SDK key edits nothing, so it has no role")},
		{q.Kind != KindUser && q.Email != "", errOnlyUsers},
		{q.Expires < 0, errors.New("--expires lies in the past")},
	} {
		if problem.is {
			problems = append(problems, problem.err)
		}
	}
	return errors.Join(append(problems, CheckRoles(q.Roles))...)
}

// ErrOtherRoles: the principal exists and has other roles than those that were
// asked for. Roles are changed by name, not by the way.
var ErrOtherRoles = errors.New("has other roles")

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
	case q.Kind == KindUser:
		p.Type = PrincipalUser
	case q.Kind.Delivers():
		p.Name = "applications" // which edit nothing
	}
	if p.ID, err = NewID(r.random); err != nil {
		return Key{}, Principal{}, err
	}
	err = r.edit(ctx, func(s *State, again bool) error {
		if again && s.key(key.ID()) != nil {
			return nil
		}
		if same := s.same(p); same == nil {
			owner = p
			if err := s.addPrincipal(p); err != nil {
				return err
			}
		} else if owner = *same; len(q.Roles) > 0 && !slices.Equal(owner.EffectiveRoles(), Principal{Roles: q.Roles}.EffectiveRoles()) {
			return fmt.Errorf("%s is there already and %w (%s)", owner.Name, ErrOtherRoles, strings.Join(owner.Roles, ", "))
		}
		var err error
		if key, err = NewKey(r.random, q.Kind, ID(s.Workspace.ID), owner.ID); err != nil {
			return err
		}
		record := RecordOf(key, PlainName(q.Name), r.now().UTC().Truncate(time.Second))
		record.Environment = q.Environment
		if q.Expires > 0 {
			record.ExpiresAt = record.CreatedAt.Add(q.Expires)
		}
		s.Keys = append(s.Keys, record)
		return nil
	})
	if err != nil {
		return Key{}, owner, err
	}
	return key, owner, nil
}
