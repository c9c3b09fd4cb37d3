package settings

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
)

// Principals are people and service accounts, in the order in which they were added.
type Principals struct {
	Principals []PrincipalRow `json:"principals"`
	Roles      []RoleRow      `json:"roles"`
}

// PrincipalRow is one of them.
type PrincipalRow struct {
	ID       access.ID            `json:"id"`
	Type     access.PrincipalType `json:"type"`
	Name     string               `json:"name"`
	Email    string               `json:"email,omitempty"`
	Roles    []string             `json:"roles"`
	Claimed  []string             `json:"claimedRoles"`
	Disabled bool                 `json:"disabled"`
	Identity *access.Identity     `json:"identity"` // null: nobody signs in as them at the issuer
	Sessions int                  `json:"sessions"`
	Keys     int                  `json:"keys"` // that are live
	// LastUsedOn is the day on which a key or a session of theirs was last used, in UTC.
	LastUsedOn *string `json:"lastUsedOn"`
}

// RoleRow is a role that there is, and what it allows.
type RoleRow struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// RoleRows are roles with what each allows.
func RoleRows(roles []string) []RoleRow {
	rows := make([]RoleRow, len(roles))
	for i, role := range roles {
		rows[i] = RoleRow{role, access.Meaning(role)}
	}
	return rows
}

// Principals lists them.
func (s *Settings) Principals(ctx context.Context) (*Principals, error) {
	if err := s.administer("seeing people and service accounts"); err != nil {
		return nil, err
	}
	all, err := s.Registry.Principals(ctx)
	if err != nil {
		return nil, failed(err)
	}
	keys, err := s.Registry.Keys(ctx)
	if err != nil {
		return nil, failed(err)
	}
	used, err := s.Registry.LastUses(ctx)
	if err != nil {
		return nil, failed(err)
	}
	list := &Principals{[]PrincipalRow{}, RoleRows(access.Roles())}
	for _, p := range all {
		list.Principals = append(list.Principals, s.row(p, keys, used))
	}
	return list, nil
}

func (s *Settings) row(p access.Principal, keys []access.KeyRecord, used map[access.ID]string) PrincipalRow {
	row := PrincipalRow{ID: p.ID, Type: p.Type, Name: p.Name, Email: p.Email, Roles: plain(p.Roles), Claimed: plain(p.Claimed), Disabled: p.Disabled}
	if p.Identity != (access.Identity{}) {
		row.Identity = &p.Identity
	}
	last := used[p.ID] // of their sessions
	for _, k := range keys {
		if k.PrincipalID != p.ID {
			continue
		}
		last = max(last, used[k.ID])
		switch live := k.LiveAt(s.Now()) == nil; {
		case live && k.Kind == access.KindSession:
			row.Sessions++
		case live && !k.Kind.SignsIn():
			row.Keys++
		}
	}
	if last != "" {
		row.LastUsedOn = &last
	}
	return row
}

// plain is a list that is [] and not null.
func plain(list []string) []string { return append([]string{}, list...) }

// NewPrincipal is somebody to be added.
type NewPrincipal struct {
	Type  access.PrincipalType
	Name  string
	Email string
	Roles []string
}

// AddPrincipal adds a person or a service account.
func (s *Settings) AddPrincipal(ctx context.Context, n NewPrincipal) (*PrincipalRow, error) {
	if err := s.administer("adding people and service accounts"); err != nil {
		return nil, err
	}
	id, err := access.NewID(rand.Reader)
	if err != nil {
		return nil, err
	}
	p := access.Principal{Type: n.Type, ID: id, Name: access.PlainName(n.Name), Email: access.PlainName(n.Email), Roles: plain(n.Roles)}
	if err := wrong(p.Check()); err != nil {
		return nil, err
	}
	found, created, err := s.Registry.EnsurePrincipal(ctx, p)
	if err != nil {
		return nil, failed(err)
	}
	if !created {
		return nil, fault.New(fault.Conflict, "%s is there already", found.Words())
	}
	row := s.row(found, nil, nil)
	return &row, nil
}

// PrincipalChange is what is to be different about a principal; nil stays as it is.
type PrincipalChange struct {
	Name     *string
	Email    *string
	Roles    *[]string
	Disabled *bool
	Identity *access.Identity // the zero Identity is nobody
}

// ChangePrincipal changes one. Somebody who is disabled is signed out.
func (s *Settings) ChangePrincipal(ctx context.Context, id access.ID, c PrincipalChange) (*PrincipalRow, error) {
	if err := s.administer("changing people and service accounts"); err != nil {
		return nil, err
	}
	if id == s.by.ID && (c.Disabled != nil && *c.Disabled || c.Roles != nil && !access.Administers(slices.Concat(*c.Roles, s.by.Claimed))) {
		return nil, fault.New(fault.Conflict, "nobody takes the role admin from themselves, or disables themselves: ask another administrator")
	}
	if id == s.by.ID && c.Roles != nil && access.BypassesReview(*c.Roles) && !access.BypassesReview(s.by.Roles) {
		return nil, fault.New(fault.Conflict, "nobody gives %s to themselves: ask another administrator", access.ReviewBypass)
	}
	if c.Roles != nil {
		if err := wrong(access.CheckRoles(*c.Roles)); err != nil {
			return nil, err
		}
	}
	if i := c.Identity; i != nil && (i.Issuer == "") != (i.Subject == "") {
		return nil, fault.New(fault.BadRequest, "an identity is an issuer and a subject; null for nobody")
	}
	if c.Name != nil && access.PlainName(*c.Name) == "" {
		return nil, fault.New(fault.BadRequest, "name is empty; it stands in the commits of whoever has it")
	}
	var steps []func() error
	if c.Name != nil || c.Email != nil {
		steps = append(steps, func() error { return s.Registry.Rename(ctx, id, c.Name, c.Email) })
	}
	if c.Roles != nil {
		steps = append(steps, func() error { return s.Registry.SetRoles(ctx, id, *c.Roles) })
	}
	if c.Identity != nil {
		steps = append(steps, func() error { return s.Registry.SetIdentity(ctx, id, *c.Identity) })
	}
	if c.Disabled != nil {
		steps = append(steps, func() error { return s.Registry.SetDisabled(ctx, id, *c.Disabled) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, failed(err)
		}
	}
	list, err := s.Principals(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Principals, func(p PrincipalRow) bool { return p.ID == id })
	if i < 0 {
		return nil, failed(fmt.Errorf("there is no such principal: %w", access.ErrNotFound))
	}
	return &list.Principals[i], nil
}

// OneTime is a key that signs a person in, once.
type OneTime struct {
	Key       string    `json:"oneTimeKey"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// SignInKey makes a one-time key for a person.
func (s *Settings) SignInKey(ctx context.Context, id access.ID) (*OneTime, error) {
	if err := s.administer("making an address that signs somebody in"); err != nil {
		return nil, err
	}
	key, _, err := s.Registry.IssueKey(ctx, access.KeyRequest{Kind: access.KindOneTime, Name: "one-time address", Principal: id, Expires: access.OneTimeFor})
	if err != nil {
		return nil, failed(err)
	}
	return &OneTime{key.Reveal(), s.Now().UTC().Truncate(time.Second).Add(access.OneTimeFor)}, nil
}

// EndSessions signs a person out everywhere; anybody may do so with their own.
func (s *Settings) EndSessions(ctx context.Context, id access.ID) error {
	if id != s.by.ID {
		if err := s.administer("signing others out"); err != nil {
			return err
		}
	}
	return failed(s.Registry.EndSessions(ctx, id))
}
