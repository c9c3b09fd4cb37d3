package edit

import (
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// timeline is what some rules serve one after the other to whom no targeting rule matches:
// the fallback first, which is of no kind and at no time. What never gets its turn is left
// out.
func timeline(rules []*jsontree.Node) (line []document.Scheduled) {
	for _, rule := range rules {
		s := document.StoredSchedule(rule)
		if s.Kind == "" || len(line) > 0 && !s.At.Before(line[len(line)-1].At) {
			continue // what stands above it has come by then
		}
		line = append(line, s)
	}
	line = append(line, document.Scheduled{Rule: document.StoredFallback(rules)})
	slices.Reverse(line)
	return line
}

// lastStep is where the last step of a plan is on a timeline, -1 for none.
func lastStep(line []document.Scheduled) int {
	for i, s := range slices.Backward(line) {
		if s.Kind == document.ScheduledStep {
			return i
		}
	}
	return -1
}

// until says what takes the place of what is served from a time on, if a plan is beside a
// scheduled change: the one that of the other, or "".
func until(line []document.Scheduled, at time.Time) string {
	last := lastStep(line)
	for i, s := range line {
		switch {
		case s.At.Before(at) || s.Kind != document.ScheduledChange:
		case s.At.Equal(at) && i < last && line[i+1].Kind == document.ScheduledStep:
			return "the rollout plan's step for " + document.MomentText(line[i+1].At)
		case s.At.After(at) && i < last:
			next := slices.IndexFunc(line[i:], func(s document.Scheduled) bool { return s.Kind == document.ScheduledStep })
			return "what is scheduled for " + document.MomentText(s.At) + ", and again from the step for " + document.MomentText(line[i+next].At) + " on"
		case s.At.After(at):
			return "what is scheduled for " + document.MomentText(s.At)
		}
	}
	return ""
}

// maxOutgoing is of how many times it is said that some go out.
const maxOutgoing = 3

// Outgoing says when some of those go out who get the value of the rollout plan that
// stands in the scope, if the edit had to do with that: by what is scheduled beside it, or
// since the plan takes the place of a targeting rule. It is "" for never.
func (e *Edited) Outgoing(now time.Time) string {
	line := timeline(e.Rules)
	last := lastStep(line)
	begun := e.overTargeting
	if !e.timed || last < 0 && !begun {
		return ""
	}
	first := line[0]
	if !begun {
		first = line[slices.IndexFunc(line, func(s document.Scheduled) bool { return s.Kind == document.ScheduledStep })]
	}
	serves := first.Rule.Get("value")
	value := document.StoredArms(serves)[0].Get("value")
	var out []string
	over := slices.ContainsFunc(document.Schedules(e.Rules), func(s document.Scheduled) bool { return s.Over && s.Rule == first.Rule })
	if begun || over && first.At.After(now) {
		if slices.ContainsFunc(document.Targeting(e.Previously), func(rule *jsontree.Node) bool { return !document.Keeps(rule.Get("value"), serves, value) }) {
			out = append(out, "by the plan's first step, which takes the place of a targeting rule")
		}
	}
	for i := 1; i <= last; i++ {
		if s := line[i]; s.At.After(now) && !document.Keeps(line[i-1].Rule.Get("value"), s.Rule.Get("value"), value) {
			by := "by what is scheduled for "
			if s.Kind == document.ScheduledStep {
				by = "by the plan's step for "
			}
			if out = append(out, by+document.MomentText(s.At)); len(out) > maxOutgoing {
				out[maxOutgoing] = "later again"
				break
			}
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "some of those go out who get the value of the rollout plan: " + strings.Join(out, ", ")
}
