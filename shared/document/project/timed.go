package project

import (
	"slices"
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
	targeting := document.Targeting(rules)
	var steps []document.Scheduled
	var hold *document.Scheduled
	for i, rule := range slices.Backward(rules) {
		s := document.StoredSchedule(rule)
		over := len(targeting) > 0 && i < slices.Index(rules, targeting[0])
		split := len(document.StoredArms(rule.Get("value"))) == 2
		switch {
		case s.Kind == document.ScheduledChange, s.Kind == document.ScheduledStep && !split:
			t.Scheduled = append(t.Scheduled, ScheduledChange{document.MomentText(s.At), rule.Get("value"), over, s.At.Before(now)})
		case s.Kind == document.ScheduledStep:
			steps = append(steps, s)
			t.RolloutPlan = &RolloutPlan{ReplacesTargeting: over}
		case s.Kind == document.ScheduledHold:
			hold = &s
		}
	}
	slices.SortStableFunc(t.Scheduled, func(a, b ScheduledChange) int {
		x, _ := document.Moment(a.At)
		y, _ := document.Moment(b.At)
		return x.Compare(y)
	})
	if t.RolloutPlan != nil {
		t.RolloutPlan.read(steps, hold, document.StoredFallback(rules).Get("value"), now)
	}
	return t
}

func (p *RolloutPlan) read(steps []document.Scheduled, hold *document.Scheduled, fallback *jsontree.Node, now time.Time) {
	split := steps[0].Rule.Get("value")
	arms := document.StoredArms(split)
	p.Value, p.From = arms[0].Get("value"), arms[1].Get("value")
	p.Property, _ = split.Get("value").Get("hashByPropertyName").Text()
	p.Before = p.share(fallback)
	p.Percent = p.Before
	if hold != nil {
		p.Held = &PlanHold{document.MomentText(hold.At)}
		p.Percent = p.share(hold.Rule.Get("value"))
	}
	for i, s := range steps {
		step := PlanStep{document.MomentText(s.At), p.share(s.Rule.Get("value"))}
		p.Steps = append(p.Steps, step)
		switch holds := hold == nil && s.At.Before(now) || hold != nil && jsontree.Equal(s.Rule.Get("value"), hold.Rule.Get("value")); {
		case holds:
			p.Step, p.Percent, p.Next = &i, step.Percent, nil
		case hold == nil && p.Next == nil && !s.At.Before(now):
			p.Next = &step
		}
	}
}

// share is how many percent of all get the plan's value of what a rule serves.
func (p *RolloutPlan) share(value *jsontree.Node) float64 {
	wanted := document.Meaning(p.Value)
	if !document.IsRollout(value) {
		if value != nil && document.Meaning(value) == wanted {
			return 100
		}
		return 0
	}
	var part, total float64
	for _, arm := range document.ReadRules([]*jsontree.Node{jsontree.NewObject(jsontree.Field("value", value))})[0].Value.Weighted.Arms {
		total += float64(arm.Weight)
		if arm.Value.Content != nil && string(arm.Value.Type.Canonical())+" "+arm.Value.Served().Canonical() == wanted {
			part += float64(arm.Weight)
		}
	}
	if total == 0 {
		return 0
	}
	return part / total * 100
}
