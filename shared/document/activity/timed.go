package activity

import (
	"slices"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

const resumed = "resumed: the rules hold again"

// wasInherited reports whether rules are those of a pause of an environment that had
// none of its own.
func wasInherited(rules []*jsontree.Node) bool {
	return !document.StoredPause(rules).Get("inherited").Absent()
}

// pause says whether the scope was paused, or resumed.
func (s scopeDiff) pause(before, after []*jsontree.Node) {
	was, is := document.StoredPause(before), document.StoredPause(after)
	switch {
	case is == nil && was != nil:
		s.say(s.scope, "%s", resumed)
	case is == nil || was != nil && jsontree.Equal(was.Get("value"), is.Get("value")):
	case was != nil:
		s.say(s.scope, "still paused for everybody: serves %s", valueWords(is.Get("value")))
	default:
		s.say(s.scope, "paused for everybody: serves %s", valueWords(is.Get("value")))
	}
}

// scheduled says what became of what was made for a time. Settled says that a rule whose
// time had come is the fallback now, which is told with it.
func (s scopeDiff) scheduled(before, after []*jsontree.Node) (settled bool) {
	was, is := document.Schedules(before), document.Schedules(after)
	gone, came := without(was, is), without(is, was)
	fallback := document.StoredFallback(after)
	if len(gone) > 0 && fallback != nil && !jsontree.Equal(fallback.Get("value"), document.StoredFallback(before).Get("value")) {
		i := slices.IndexFunc(gone, func(g document.Scheduled) bool { return servesSame(g.Rule.Get("value"), fallback.Get("value")) })
		if settled = i >= 0; settled {
			s.say(s.scope, "what was scheduled for %s has come, and holds from now on: %s", document.MomentText(gone[i].At), s.words(fallback.Get("value")))
			gone = slices.DeleteFunc(gone, func(g document.Scheduled) bool { return !g.At.After(gone[i].At) })
		}
	}
	s.plan(was, is, gone, came, settled)
	isStep := func(c document.Scheduled) bool { return c.Kind != document.ScheduledChange }
	gone, came = slices.DeleteFunc(gone, isStep), slices.DeleteFunc(came, isStep)
	for _, c := range came {
		words := ""
		if c.Over {
			words = ", instead of all rules"
		}
		at := len(gone)
		gone = slices.DeleteFunc(gone, func(g document.Scheduled) bool { return g.At.Equal(c.At) })
		now := strings.Repeat(" now", at-len(gone))
		s.say(s.scope, "scheduled%s for %s: %s%s", now, document.MomentText(c.At), s.words(c.Rule.Get("value")), words)
	}
	for _, g := range gone {
		s.say(s.scope, "no longer scheduled for %s: %s", document.MomentText(g.At), s.words(g.Rule.Get("value")))
	}
	return settled
}

// words are what a value serves once its time has come.
func (s scopeDiff) words(value *jsontree.Node) string { return servedWords(s.kind, value, 1) }

// plan says what became of a rollout plan.
func (s scopeDiff) plan(was, is, gone, came []document.Scheduled, settled bool) {
	of := func(list []document.Scheduled, kind string) []document.Scheduled {
		return slices.DeleteFunc(slices.Clone(list), func(c document.Scheduled) bool { return c.Kind != kind })
	}
	held, holds := of(came, document.ScheduledHold), of(gone, document.ScheduledHold)
	steps, planned := of(is, document.ScheduledStep), of(was, document.ScheduledStep)
	switch {
	case len(held) > 0:
		s.say(s.scope, "rollout plan held: %s", s.words(held[0].Rule.Get("value")))
	case len(holds) > 0 && len(steps) > 0:
		s.say(s.scope, "rollout plan goes on: %s", stepWords(steps))
	case len(of(came, document.ScheduledStep)) > 0:
		s.say(s.scope, "rollout plan: %s", stepWords(steps))
	case len(planned) > 0 && len(steps) == 0 && !settled:
		s.say(s.scope, "rollout plan ended")
	}
}

// stepWords are the steps of a plan: true to 1% at 2026-12-24T18:00:00Z, 10% at ...
func stepWords(steps []document.Scheduled) string {
	var words []string
	for _, step := range steps {
		arms := document.StoredArms(step.Rule.Get("value"))
		if len(arms) == 0 {
			continue
		}
		weight, _ := readWeight(arms[0])
		part := document.PercentText(weight) + "% at " + document.MomentText(step.At)
		if len(words) == 0 {
			part = valueWords(arms[0].Get("value")) + " to " + part
		}
		words = append(words, part)
	}
	return strings.Join(words, ", ")
}

func without(all, others []document.Scheduled) []document.Scheduled {
	return slices.DeleteFunc(slices.Clone(all), func(a document.Scheduled) bool {
		return slices.ContainsFunc(others, func(o document.Scheduled) bool { return jsontree.Equal(a.Rule, o.Rule) })
	})
}

// servesSame reports whether two values serve the same; a split of which one arm has all
// the weight serves what that does.
func servesSame(scheduled, fallback *jsontree.Node) bool {
	if document.Meaning(scheduled) == document.Meaning(fallback) {
		return true
	}
	return slices.ContainsFunc(document.StoredArms(scheduled), func(arm *jsontree.Node) bool {
		weight, _ := readWeight(arm)
		return weight == document.FullWeight && document.Meaning(arm.Get("value")) == document.Meaning(fallback)
	})
}
