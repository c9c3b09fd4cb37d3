package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/refusal"
	"svc.example/svc/shared/workspace"
)

// Keys are keys, those that were made last first, and whom a write can name as its guard: the
// service accounts that alerts have a key of, which everybody is told.
type Keys struct {
	Keys   []KeyRow `json:"keys"`
	Guards []string `json:"guards"`
}

// KeyRow is a key without its secret.
type KeyRow struct {
	ID          access.ID   `json:"id"`
	Kind        access.Kind `json:"kind"`
	Name        string      `json:"name"`
	Principal   access.ID   `json:"principalId"`
	Owner       string      `json:"ownerName"`
	Environment *string     `json:"environment"`     // null but for SDK keys
	Topic       string      `json:"topic,omitempty"` // of a guard key that takes alarms
	CreatedAt   time.Time   `json:"createdAt"`
	ExpiresAt   *time.Time  `json:"expiresAt"`
	RevokedAt   *time.Time  `json:"revokedAt"`
	LastUsedOn  *string     `json:"lastUsedOn"` // a day in UTC
}

// NewKey is a key that was just made. Its text is told this once.
type NewKey struct {
	Key string `json:"key"`
	KeyRow
}

// Keys lists the keys that are of use, and those that were: an administrator sees all,
// everybody else those of their own.
func (s *Settings) Keys(ctx context.Context) (*Keys, error) {
	records, err := s.Registry.Keys(ctx)
	if err != nil {
		return nil, failed(err)
	}
	principals, err := s.Registry.Principals(ctx)
	if err != nil {
		return nil, failed(err)
	}
	used, err := s.Registry.LastUses(ctx)
	if err != nil {
		return nil, failed(err)
	}
	list := &Keys{[]KeyRow{}, []string{}}
	for _, p := range principals {
		if !p.Disabled && slices.ContainsFunc(records, func(r access.KeyRecord) bool {
			return r.Kind == access.KindGuard && r.PrincipalID == p.ID && r.LiveAt(s.Now()) == nil
		}) {
			list.Guards = append(list.Guards, p.Name)
		}
	}
	for _, r := range slices.Backward(records) {
		if r.Kind.SignsIn() || !s.administers() && r.PrincipalID != s.by.ID {
			continue
		}
		row := rowOf(r)
		if i := slices.IndexFunc(principals, func(p access.Principal) bool { return p.ID == r.PrincipalID }); i >= 0 {
			row.Owner = principals[i].Name
		}
		if day := used[r.ID]; day != "" {
			row.LastUsedOn = &day
		}
		list.Keys = append(list.Keys, row)
	}
	return list, nil
}

func rowOf(r access.KeyRecord) KeyRow {
	row := KeyRow{ID: r.ID, Kind: r.Kind, Name: r.Name, Principal: r.PrincipalID, Topic: r.Topic, CreatedAt: r.CreatedAt}
	if r.Environment != "" {
		row.Environment = &r.Environment
	}
	if !r.ExpiresAt.IsZero() {
		row.ExpiresAt = &r.ExpiresAt
	}
	if !r.RevokedAt.IsZero() {
		row.RevokedAt = &r.RevokedAt
	}
	return row
}

// CreateKey makes a key: of one's own, or for applications and service accounts.
func (s *Settings) CreateKey(ctx context.Context, q access.KeyRequest) (*NewKey, error) {
	switch q.Kind {
	case access.KindUser:
		if q.Principal != "" && q.Principal != s.by.ID {
			return nil, fault.New(fault.Forbidden, "a user key is made by whom it is of, once signed in").With(map[string]any{"code": refusal.CodePermission})
		}
		q.Principal = s.by.ID
	case access.KindServiceAccount, access.KindGuard:
		if q.Principal == "" {
			return nil, fault.New(fault.BadRequest, "principalId is missing: add a service account first, and name it")
		}
		fallthrough
	default:
		if err := s.administer("making keys of applications and service accounts"); err != nil {
			return nil, err
		}
	}
	if err := wrong(q.Check()); err != nil {
		return nil, err
	}
	if q.Environment != "" {
		if err := s.knownEnvironment(ctx, q.Environment); err != nil {
			return nil, err
		}
	}
	key, owner, err := s.Registry.IssueKey(ctx, q)
	if err != nil {
		return nil, failed(err)
	}
	return s.made(ctx, key, owner.Name)
}

func (s *Settings) knownEnvironment(ctx context.Context, name string) error {
	ws, err := s.read(ctx)
	if err != nil {
		return err
	}
	return wrong(ws.CheckEnvironment(name))
}

func (s *Settings) read(ctx context.Context) (*workspace.Workspace, error) {
	w, err := s.Workspace(ctx)
	if err != nil {
		return nil, failed(err)
	}
	ws, err := w.Read(ctx)
	return ws, failed(err)
}

// made shows a key that was just made.
func (s *Settings) made(ctx context.Context, key access.Key, owner string) (*NewKey, error) {
	record, err := s.Registry.Key(ctx, key.ID())
	if err != nil {
		return nil, failed(err)
	}
	row := rowOf(record)
	row.Owner = owner
	return &NewKey{key.Reveal(), row}, nil
}

// mine is the record of a key that the caller may end.
func (s *Settings) mine(ctx context.Context, id access.ID) (access.KeyRecord, error) {
	record, err := s.Registry.Key(ctx, id)
	if err == nil && record.Kind.SignsIn() { // sessions are ended, and are no keys here
		return record, failed(fmt.Errorf("there is no key with the id %s: %w", id, access.ErrNotFound))
	}
	if err == nil && record.PrincipalID != s.by.ID && !s.administers() {
		return record, s.administer("ending the keys of others")
	}
	return record, failed(err)
}

// RevokeKey revokes a key.
func (s *Settings) RevokeKey(ctx context.Context, id access.ID) (*KeyRow, error) {
	if _, err := s.mine(ctx, id); err != nil {
		return nil, err
	}
	record, err := s.Registry.RevokeKey(ctx, id, s.Now().UTC().Truncate(time.Second))
	if err != nil {
		return nil, failed(err)
	}
	row := rowOf(record)
	return &row, nil
}

// RotateKey makes a key in the place of another, which goes on for a while.
func (s *Settings) RotateKey(ctx context.Context, id access.ID, overlap time.Duration) (*NewKey, error) {
	record, err := s.mine(ctx, id)
	if err != nil {
		return nil, err
	}
	if record.Kind == access.KindUser && record.PrincipalID != s.by.ID {
		return nil, fault.New(fault.Forbidden, "a user key is made by whom it is of, once signed in").With(map[string]any{"code": refusal.CodePermission})
	}
	key, owner, err := s.Registry.RotateKey(ctx, id, overlap)
	if err != nil {
		return nil, failed(err)
	}
	return s.made(ctx, key, owner.Name)
}
