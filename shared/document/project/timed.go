package project

import (
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// TimedScope is what a scope has beside its rules: they stand among these, and are read
// for people here.
type TimedScope struct {
	Paused      bool              `json:"paused,omitempty"`
	Scheduled   []ScheduledChange `json:"scheduled,omitempty"` // in the order of their times
	RolloutPlan *RolloutPlan      `json:"rolloutPlan,omitempty"`
}

// ScheduledChange is what a scope serves from a time on.
type ScheduledChange struct {
	At    string         `json:"at"`
	Value *jsontree.Node `json:"value"` // as rules have it
	// ReplacesTargeting: everybody gets it, and not only whom no targeting rule matches.
	ReplacesTargeting bool `json:"replacesTargeting,omitempty"`
	// Come: its time is over.
	Come bool `json:"come,omitempty"`
}

// RolloutPlan is a value that a scope serves to more and more contexts.
type RolloutPlan struct {
	Value             *jsontree.Node `json:"value"` // as rules have it, as From
	From              *jsontree.Node `json:"from"`
	Property          string         `json:"hashByPropertyName"`
	Steps             []PlanStep     `json:"steps"`
	ReplacesTargeting bool           `json:"replacesTargeting,omitempty"`
	// Before is how many percent get the value before the first step, Percent how many get
	// it now, and Step the step that holds, from 0; nil before the first one.
	Before  float64 `json:"before"`
	Percent float64 `json:"percent"`
	Step    *int    `json:"step,omitempty"`
	// Next is what comes next, nil for nothing: also of a plan that is held.
	Next *PlanStep `json:"next,omitempty"`
	Held *PlanHold `json:"held,omitempty"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	At      string  `json:"at"`
	Percent float64 `json:"percent"`
}

// PlanHold says since when a plan is held.
type PlanHold struct {
	Since string `json:"since"`
}

// turns reports whether what is told of a scope changes with the time.
func (t TimedScope) turns() bool { return len(t.Scheduled) > 0 || t.RolloutPlan != nil }

// timedScope reads the rules of a scope at a time.
func timedScope(rules []*jsontree.Node, now time.Time) TimedScope {
	t := TimedScope{Paused: document.StoredPause(rules) != nil}
	schedules := document.Schedules(rules)
	for _, s := range schedules {
		if s.Kind == document.ScheduledChange {
			t.Scheduled = append(t.Scheduled, ScheduledChange{document.MomentText(s.At), s.Rule.Get("value"), s.Over, s.At.Before(now)})
		}
	}
	if plan := document.PlanOf(schedules); len(plan.Steps) > 0 {
		t.RolloutPlan = rolloutPlan(plan, document.StoredFallback(rules).Get("value"), now)
	}
	return t
}

func rolloutPlan(plan document.Plan, fallback *jsontree.Node, now time.Time) *RolloutPlan {
	split := plan.Steps[0].Rule.Get("value")
	arms := document.StoredArms(split)
	p := &RolloutPlan{Value: arms[0].Get("value"), From: arms[1].Get("value"), ReplacesTargeting: plan.Steps[0].Over}
	p.Property, _ = split.Get("value").Get("hashByPropertyName").Text()
	p.Before = document.ShareOf(fallback, p.Value)
	for _, s := range plan.Steps {
		p.Steps = append(p.Steps, PlanStep{document.MomentText(s.At), document.ShareOf(s.Rule.Get("value"), p.Value)})
	}
	current := plan.Current(now)
	p.Percent = p.Before
	if current >= 0 {
		p.Step, p.Percent = &current, p.Steps[current].Percent
	}
	switch next := current + 1; {
	case plan.Hold != nil:
		p.Held, p.Percent = &PlanHold{document.MomentText(plan.Hold.At)}, document.ShareOf(plan.Hold.Rule.Get("value"), p.Value)
	case next < len(p.Steps):
		p.Next = &p.Steps[next]
	}
	return p
}
