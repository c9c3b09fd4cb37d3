package settings

import (
	"context"
	"errors"
	"slices"

	"svc.example/svc/shared/access"
	"svc.example/svc/shared/audit"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/provision"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/workspace"
)

// Environments are those of a workspace, archived ones too, in the order in which they are listed.
type Environments struct {
	Environments []EnvironmentRow `json:"environments"`
}

// EnvironmentRow is one environment.
type EnvironmentRow struct {
	Name      string `json:"name"`
	Type      string `json:"type"`
	Protected bool   `json:"protected"`
	Archived  bool   `json:"archived"`
	// Review is what its changes need; null for nothing.
	Review *workspace.Review `json:"review"`
}

// Environments lists them.
func (s *Settings) Environments(ctx context.Context) (*Environments, error) {
	ws, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	list := &Environments{[]EnvironmentRow{}}
	reviews := ws.Reviews()
	for _, e := range ws.Environments {
		row := EnvironmentRow{e.Name, e.Type, e.Protected, e.Archived, nil}
		if review, reviewed := reviews[e.Name]; reviewed {
			review.Roles = plain(review.Roles)
			row.Review = &review
		}
		list.Environments = append(list.Environments, row)
	}
	return list, nil
}

// EditEnvironment adds or changes one. Where everything is so already nothing is committed.
func (s *Settings) EditEnvironment(ctx context.Context, e provision.EnvironmentEdit) (*Environments, error) {
	if err := s.administer("changing environments"); err != nil {
		return nil, err
	}
	w, err := s.Workspace(ctx)
	if err != nil {
		return nil, failed(err)
	}
	if e.Reviewed && e.Review != nil && len(e.Review.Roles) > 0 {
		if err := wrong(access.CheckRoles(e.Review.Roles)); err != nil {
			return nil, err
		}
	}
	if access.BypassesReview(s.by.EffectiveRoles()) {
		w.Bypassed = func(ctx context.Context, environments []string) error { return s.Registry.Bypassed(ctx, environments) }
	}
	_, err = w.EditEnvironment(ctx, e, repository.Signature{Name: s.by.Name, Email: s.by.CommitEmail(), When: s.Now()})
	var refused *provision.Refused
	var unreviewed *repository.Unreviewed
	switch {
	case errors.As(err, &unreviewed):
		return nil, fault.New(fault.Forbidden, "%v: ask an administrator who has the role review_bypass", err).
			With(map[string]any{"code": "REVIEW_REQUIRED", "environments": unreviewed.Environments})
	case errors.As(err, &refused):
		return nil, fault.New(fault.Unprocessable, "%v", err)
	case err != nil && !errors.Is(err, provision.ErrUnchanged):
		return nil, failed(err)
	}
	return s.Environments(ctx)
}

// Trail is what was done, newest first.
type Trail struct {
	Events []EventRow `json:"events"`
}

// EventRow is an event of the audit trail, and that in words.
type EventRow struct {
	audit.Event
	Words string `json:"words"`
}

// ListAudit lists the newest so many events.
func (s *Settings) ListAudit(ctx context.Context, newest int) (*Trail, error) {
	if err := s.administer("reading the audit trail"); err != nil {
		return nil, err
	}
	events, err := s.Audit(ctx, newest)
	if err != nil {
		return nil, failed(err)
	}
	trail := &Trail{[]EventRow{}}
	for _, e := range slices.Backward(events) {
		trail.Events = append(trail.Events, EventRow{e, e.Words()})
	}
	return trail, nil
}
