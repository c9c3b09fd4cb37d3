package change

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"svc.example/svc/shared/evaluation"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/impact"
	"svc.example/svc/shared/repository"
	"svc.example/svc/shared/telemetry"
)

// impactTime is how long the saved contexts of a dry run are looked at, so that its
// answer comes within 2 s.
const impactTime = 1800 * time.Millisecond

// impactsAtOnce bounds what is compiled for dry runs at a time.
const impactsAtOnce = 2

// Impact is what a write does to the saved contexts of the environments that it
// reaches.
type Impact map[string]*impact.Environment

// impact tells what a plan would do.
func (s *Service) impact(ctx context.Context, state *State, p *plan) (Impact, error) {
	if len(p.final) == 0 {
		return Impact{}, nil
	}
	stored, texts := p.compared()
	before, err := p.head.Effective(ctx)
	if err != nil {
		return nil, err
	}
	after := impact.With(before, texts)
	if len(stored) > 0 {
		before = impact.With(before, stored)
	}
	leave, err := s.large.Take(ctx, string(state.Principal.ID), max(before.Largest(), after.Largest()))
	if err != nil {
		return nil, err
	}
	defer leave()
	select {
	case s.impacts <- struct{}{}:
		defer func() { <-s.impacts }()
	case <-ctx.Done():
		return nil, repository.Fault(ctx.Err())
	}
	within, stop := context.WithTimeout(ctx, s.ImpactTime)
	defer stop()
	all := Impact{}
	change, err := impact.Compare(within, before, after, slices.Collect(maps.Keys(texts))...)
	if err != nil { // whatever it reaches, nothing has been looked at there
		for _, environment := range after.Active() {
			all[environment] = nothingSeen()
		}
		return all, repository.Fault(ctx.Err())
	}
	for _, environment := range change.Environments {
		if all[environment], err = s.impactIn(within, state.Workspace.ID, change, environment); err != nil {
			return nil, err
		}
	}
	return all, repository.Fault(ctx.Err())
}

func nothingSeen() *impact.Environment { return (&impact.Count{}).Result(false) }

// impactIn counts until the context is done.
func (s *Service) impactIn(ctx context.Context, workspace string, change *impact.Change, environment string) (*impact.Environment, error) {
	count, err := change.In(ctx, environment, s.settings.Now().UnixMilli(), s.settings.MaxCompiled)
	if errors.Is(err, impact.ErrTooLarge) {
		return nil, fault.New(fault.Unavailable,
			"what the write reaches takes more than the %d MB of memory that are there for it; the service's operator has to give this function more, or leave impact out", s.settings.MaxCompiled>>20).Because(err)
	}
	if err != nil {
		return nothingSeen(), nil // there was no time for more
	}
	saved := s.settings.Contexts
	if saved == nil {
		return nothingSeen(), nil
	}
	var buffer impact.Context
	err = saved.Walk(ctx, workspace, telemetry.Walk{Environment: environment}, func(c telemetry.Saved) bool {
		if ctx.Err() != nil {
			return false
		}
		describe(&buffer, &c)
		count.Add(&buffer)
		return true
	})
	if err != nil && ctx.Err() == nil {
		return nil, telemetry.Fault(err)
	}
	return count.Result(ctx.Err() == nil), nil
}

// describe makes a saved context one that can be evaluated.
func describe(c *impact.Context, saved *telemetry.Saved) {
	c.Type, c.Key, c.Name = saved.Type, saved.Key, nil
	c.Properties = c.Properties[:0]
	for i := range saved.Properties {
		p := &saved.Properties[i]
		c.Properties = append(c.Properties, impact.Property{Context: saved.Type, Name: p.Name, Value: valueOf(p)})
	}
	if name := saved.Text("name"); name != "" {
		c.Name = &name
	}
}

func valueOf(p *telemetry.Property) evaluation.Property {
	switch p.Kind {
	case telemetry.String:
		return evaluation.Text(p.Text)
	case telemetry.Int, telemetry.Double:
		return evaluation.NumberLiteral(p.Text)
	case telemetry.Bool:
		return evaluation.Property{Kind: evaluation.BoolProperty, Text: p.Text}
	case telemetry.StringList:
		return evaluation.List(p.List)
	}
	return evaluation.Property{} // null
}
