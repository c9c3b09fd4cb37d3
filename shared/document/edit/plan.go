package edit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// MaxSteps is how many steps a rollout plan may have.
const MaxSteps = 20

// What can be done with a rollout plan that stands.
const (
	PlanHold   = "hold"   // at the step that holds
	PlanResume = "resume" // with the steps that are left, later by the time that it was held
	PlanBack   = "back"   // to the step before, and hold there
)

// step is one of a plan as sent.
type step struct {
	at     time.Time // zero for at once
	weight int64
}

// planned is a plan as sent.
type planned struct {
	steps       []step
	value, from *jsontree.Node // bare; from nil for the fallback's
	property    string
	do          string // one of PlanHold and its like, and nothing else
}

// readPlan reads a plan, and says all that is wrong with it whatever the document is.
func readPlan(tree *jsontree.Node, now time.Time) (p planned, issues []document.Issue) {
	const at = "/rolloutPlan"
	issue := func(pointer, format string, args ...any) {
		issues = append(issues, document.Issue{Pointer: at + pointer, Message: fmt.Sprintf(format, args...)})
	}
	if tree == nil || tree.Kind != jsontree.Object {
		issue("", `a rollout plan is {"steps": [{"at", "percent"}], "value", "from", "hashByPropertyName"}, or {"do": "hold"} of one that runs`)
		return p, issues
	}
	fields := []string{"steps", "value", "from", "hashByPropertyName", "do"}
	for _, m := range tree.Members {
		if !slices.Contains(fields, m.Name) {
			issue(jsontree.Pointer(m.Name), "unknown field %s; a plan has steps, value, from and hashByPropertyName, or do", document.QuotedWords(m.Name))
		}
	}
	if do := tree.Get("do"); do != nil {
		p.do, _ = do.Text()
		if !slices.Contains([]string{PlanHold, PlanResume, PlanBack}, p.do) {
			issue("/do", "do is hold, resume or back")
		}
		if slices.ContainsFunc(fields[:4], func(name string) bool { return tree.Get(name) != nil }) {
			issue("", "send either a plan or what to do with the one that stands (do), not both")
		}
		return p, issues
	}
	p.value, p.from = tree.Get("value"), tree.Get("from")
	if p.value == nil {
		issue("/value", "value is missing: what those get who are in")
	}
	if p.value != nil && p.from != nil && jsontree.Equal(p.value, p.from) {
		issue("/from", "from is another value than value: what those get who are not in yet")
	}
	if by := tree.Get("hashByPropertyName"); by != nil {
		if p.property, _ = by.Text(); p.property == "" {
			issue("/hashByPropertyName", "hashByPropertyName is the name of a property, such as user.key; left out, it is that of the last rollout here")
		}
	}
	steps := tree.Get("steps")
	if steps == nil || steps.Kind != jsontree.Array || len(steps.Items) == 0 || len(steps.Items) > MaxSteps {
		issue("/steps", `steps is an array of 1 to %d objects {"at", "percent"}`, MaxSteps)
		if steps == nil || len(steps.Items) > 10*MaxSteps {
			return p, issues
		}
	}
	for i, entry := range steps.Elements() {
		s, wrong := readStep(entry, at+"/steps/"+strconv.Itoa(i), i == 0, now)
		if len(wrong) == 0 && i > 0 {
			before := p.steps[i-1]
			if !s.at.After(before.at) && !before.at.IsZero() {
				words := "is at the time of the step before"
				if s.at.Before(before.at) {
					words = "is before the step before it"
				}
				wrong = append(wrong, document.Issue{Pointer: at + "/steps/" + strconv.Itoa(i) + "/at", Message: "the step " + words + "; steps are in the order of their times"})
			}
			if s.weight <= before.weight && before.weight > 0 {
				wrong = append(wrong, document.Issue{Pointer: at + "/steps/" + strconv.Itoa(i) + "/percent", Message: "the percent of a step is more than that of the one before it, so that nobody who is in goes out"})
			}
		}
		p.steps, issues = append(p.steps, s), append(issues, wrong...)
	}
	return p, issues
}

func readStep(entry *jsontree.Node, pointer string, first bool, now time.Time) (s step, issues []document.Issue) {
	if entry.Kind != jsontree.Object {
		return s, []document.Issue{{Pointer: pointer, Message: `a step is an object {"at", "percent"}, not ` + entry.Kind.String()}}
	}
	for _, m := range entry.Members {
		if m.Name != "at" && m.Name != "percent" {
			issues = append(issues, document.Issue{Pointer: pointer + jsontree.Pointer(m.Name), Message: "unknown field " + document.QuotedWords(m.Name) + "; a step has at and percent"})
		}
	}
	if at := entry.Get("at"); at != nil || !first {
		text, _ := at.Text()
		if at == nil {
			issues = append(issues, document.Issue{Pointer: pointer + "/at", Message: "at is missing; only the first step may leave it out, to begin at once"})
		} else {
			var wrong []document.Issue
			s.at, wrong = future(text, pointer+"/at", now)
			issues = append(issues, wrong...)
		}
	}
	percent := entry.Get("percent")
	problem := "percent is a number above 0, to 100"
	if percent != nil && percent.Kind == jsontree.Number {
		if s.weight, problem = parsePercent(percent.Literal()); problem == "" && s.weight == 0 {
			problem = "percent is a number above 0, to 100"
		}
	}
	if problem != "" {
		issues = append(issues, document.Issue{Pointer: pointer + "/percent", Message: problem})
	}
	return s, issues
}

// PlanIssues are what is wrong with a plan whatever the document is. That a time is past
// is among them only where something else is wrong too: by itself it is the document's
// matter, so that a request can be repeated.
func PlanIssues(plan *jsontree.Node, now time.Time) []document.Issue {
	_, issues := readPlan(plan, time.Time{})
	if len(issues) > 0 {
		_, issues = readPlan(plan, now)
	}
	return issues
}

// SetPlan has a scope serve a value to more and more contexts, by a rule for each step; or
// does what is asked with the plan that stands. A plan takes the place of another.
func SetPlan(tree *jsontree.Node, place Place, plan *jsontree.Node) (*Edited, error) {
	p, issues := readPlan(plan, time.Time{})
	s, err := openScope(tree, place.Scope)
	if err != nil {
		return nil, err
	}
	if p.do != "" {
		if err := refuse(issues...); err != nil {
			return nil, err
		}
		return s.controlPlan(place, p.do)
	}
	l := layoutOf(s.rules)
	if len(issues) == 0 && len(s.own) > 0 && p.stands(l, place) {
		return s.unchanged(), nil
	}
	_, issues = readPlan(plan, place.Now)
	property := ""
	if standing := document.PlanOf(document.Schedules(s.rules)); len(standing.Steps) > 0 {
		property = document.HashProperty(standing.Steps[0].Rule.Get("value"))
	}
	l.settle(place.Now.Add(Slack), true)
	ended := l.end()
	stored := l.fallback.Get("value")
	if stored == nil && place.Scope != document.DefaultScope { // that of the default rules holds here
		stored = document.StoredFallback(document.StoredRules(tree.Get("default"))).Get("value")
	}
	before := stored
	for _, s := range timeline(l.rules())[1:] {
		if len(p.steps) > 0 && !s.At.After(p.steps[0].at) {
			before = s.Rule.Get("value")
		}
		if property == "" {
			property = document.HashProperty(s.Rule.Get("value"))
		}
	}
	by := cmp.Or(p.property, document.HashProperty(before), property, SplitProperty(tree, place.Scope), SplitProperty(tree, document.DefaultScope))
	sticky := p.property == "" && property == "" && !document.IsRollout(stored)
	split := splitter{valueTypeOf(tree), document.SecrecyOf(stored), variantsOf(tree)}
	from, at := p.from, "/rolloutPlan/from"
	var out []document.Issue
	if before == stored { // what is scheduled before is another one's doing, of which there is a warning
		out = p.takesOut(stored, split, by)
		issues = append(issues, out...)
	}
	if from == nil && p.value != nil {
		from = otherThan(stored, p.value, split)
		switch {
		case from == nil:
			issues = append(issues, document.Issue{Pointer: at, Message: "from is missing: the environment has no one other value that it serves to everyone now"})
		case jsontree.Equal(from, p.value):
			if from = nil; len(out) == 0 {
				issues = append(issues, document.Issue{Pointer: at, Message: "from is missing: everyone is served the value already, so say what those get who are not in yet"})
			}
		}
	}
	shares := []share{{"/rolloutPlan/value", p.value, 0}, {at, from, 0}}
	if slices.ContainsFunc(issues, func(i document.Issue) bool { return i.Pointer == at }) {
		shares = shares[:1]
	}
	if _, wrong := split.arms(shares); len(wrong) > 0 {
		for _, issue := range wrong { // their pointers end in /value, as those of a rollout's entries do
			issue.Pointer = issue.Pointer[:len(issue.Pointer)-len("/value")]
			issues = append(issues, issue)
		}
	}
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	var splits []*jsontree.Node
	part := l.part(place.ReplaceTargeting)
	for _, step := range p.steps {
		shares[0].weight, shares[1].weight = step.weight, document.FullWeight-step.weight
		arms, _ := split.arms(shares)
		value := weightedOver(nil, arms, by)
		splits = append(splits, value)
		if step.at.IsZero() {
			l.fallback = unconditional(value)
			if place.ReplaceTargeting {
				l.over, l.targeting, part = nil, nil, &l.below
			}
			continue
		}
		insert(part, scheduledRule(document.ScheduledStep, step.at, value))
	}
	closed, err := s.closeTimed(l, place)
	if err != nil || !closed.Changed {
		return closed, err
	}
	closed.splits, closed.NewSplit = splits, sticky
	closed.ReplacedTargetingRuleCount = len(document.Targeting(s.own)) - min(len(document.Targeting(s.own)), len(l.targeting))
	if ended {
		closed.Ended = append(closed.Ended, "the rollout plan that stood here")
	}
	closed.Until, closed.Paused = until(timeline(closed.Rules), p.steps[0].at), len(l.pause) > 0
	closed.overTargeting = place.ReplaceTargeting && p.steps[0].at.IsZero()
	return closed, nil
}

// stands reports whether a plan stands as it is sent: it can be sent again, also when its
// first steps have come.
func (p planned) stands(l layout, place Place) bool {
	all := slices.Concat(l.over, l.below)
	part := *l.part(place.ReplaceTargeting)
	standing := document.PlanOf(document.Schedules(part))
	steps := p.steps
	if steps[0].at.IsZero() {
		if place.ReplaceTargeting && len(l.targeting) > 0 || !p.serves(l.fallback.Get("value"), steps[0]) {
			return false
		}
		steps = steps[1:]
	}
	if !slices.EqualFunc(standing.Steps, steps, func(s document.Scheduled, sent step) bool {
		return s.At.Equal(sent.at) && p.serves(s.Rule.Get("value"), sent)
	}) {
		return false
	}
	come := slices.IndexFunc(all, func(rule *jsontree.Node) bool { return !document.StoredSchedule(rule).At.After(place.Now) })
	return len(all) == len(part) && standing.Hold == nil &&
		(p.steps[0].at.After(place.Now) || come < 0 || isPlanned(all[come]))
}

// serves reports whether a value is the split of a step.
func (p planned) serves(value *jsontree.Node, s step) bool {
	same := func(arm, bare *jsontree.Node) bool {
		stored := arm.Get("value")
		name, _ := stored.Get("type").Text()
		return document.Meaning(stored) == document.Meaning(valueObject(document.ValueType(name), bare))
	}
	arms := document.StoredArms(value)
	return len(arms) == 2 && jsontree.Equal(arms[0].Get("weight"), jsontree.NewInt(s.weight)) && same(arms[0], p.value) &&
		(p.from == nil || same(arms[1], p.from)) && (p.property == "" || p.property == document.HashProperty(value))
}

// takesOut says what is wrong with the first step of a plan where some get the value
// already, who would not by this step.
func (p planned) takesOut(stored *jsontree.Node, split splitter, by string) []document.Issue {
	if p.value == nil || len(p.steps) == 0 {
		return nil
	}
	value, problem := split.value(p.value)
	if problem != "" {
		return nil
	}
	arm := func(value *jsontree.Node, weight int64) *jsontree.Node {
		return jsontree.NewObject(jsontree.Field("value", value), jsontree.Field("weight", jsontree.NewInt(weight)))
	}
	weight := p.steps[0].weight
	first := weightedOver(nil, []*jsontree.Node{arm(value, weight), arm(valueObject(document.StringValue, nil), document.FullWeight-weight)}, by)
	if document.Keeps(stored, first, value) {
		return nil
	}
	share := document.ShareOf(stored, value)
	already := fmt.Sprintf("%v%% get the value already, and some of them would go out; ", math.Round(share*1000)/1000)
	switch property := document.HashProperty(stored); {
	case share == 100:
		return []document.Issue{{Pointer: "/rolloutPlan/steps/0/percent", Message: "everybody gets the value already, and some would go out; serve another value first, or begin with 100"}}
	case float64(weight)*100/document.FullWeight < share:
		return []document.Issue{{Pointer: "/rolloutPlan/steps/0/percent", Message: already + "begin with as many, or more"}}
	case property != by:
		return []document.Issue{{Pointer: "/rolloutPlan/hashByPropertyName", Message: already + "leave hashByPropertyName out, so that the plan goes on with " + document.QuotedWords(property) + ", or begin with 100"}}
	}
	return []document.Issue{{Pointer: "/rolloutPlan/steps/0/percent", Message: already +
		"in a plan the value comes first, and here it does not stand first in the rollout; send rollout with at for each step instead, which keeps the order, or begin with 100"}}
}

// otherThan is the value that everyone gets, or that those get of a split over two who
// are not in; nil where there is none such.
func otherThan(stored, value *jsontree.Node, split splitter) *jsontree.Node {
	arms := document.StoredArms(stored)
	if !document.IsRollout(stored) {
		return stored.Get("value")
	}
	typed, _ := split.value(value)
	if len(arms) != 2 || typed == nil {
		return nil
	}
	for i, arm := range arms {
		if document.Meaning(arm.Get("value")) == document.Meaning(typed) {
			return arms[1-i].Get("value").Get("value")
		}
	}
	return nil
}

// controlPlan holds a plan, has it go on, or takes it back by a step.
func (s *openedScope) controlPlan(place Place, do string) (*Edited, error) {
	l := layoutOf(s.rules)
	part := &l.below
	if slices.ContainsFunc(l.over, isPlanned) {
		part = &l.over
	}
	plan := document.PlanOf(document.Schedules(*part))
	steps, hold := plan.Steps, plan.Hold
	if len(s.own) == 0 || len(steps) == 0 {
		return nil, refuse(document.Issue{Pointer: "/rolloutPlan/do", Message: "there is no rollout plan here to " + map[string]string{PlanHold: "hold", PlanResume: "resume", PlanBack: "take back by a step"}[do]})
	}
	now := place.Now.Truncate(time.Second)
	current := plan.Current(place.Now)
	if do == PlanHold && (hold != nil || current == len(steps)-1) || do == PlanResume && hold == nil || do == PlanBack && current < 0 {
		return s.unchanged(), nil
	}
	*part = slices.DeleteFunc(*part, func(rule *jsontree.Node) bool { return hold != nil && rule == hold.Rule })
	since := now
	switch do {
	case PlanResume:
		later := now.Sub(hold.At)
		for i := current + 1; i < len(steps); i++ {
			(*part)[slices.Index(*part, steps[i].Rule)] = scheduledRule(document.ScheduledStep, steps[i].At.Add(later), steps[i].Rule.Get("value"))
		}
		slices.SortStableFunc(*part, func(a, b *jsontree.Node) int {
			return document.StoredSchedule(b).At.Compare(document.StoredSchedule(a).At)
		})
		return s.closeTimed(l, place)
	case PlanBack:
		since = steps[max(0, current-1)].At
		current--
	}
	value := l.fallback.Get("value")
	if current >= 0 {
		value = steps[current].Rule.Get("value")
	}
	if value == nil {
		return nil, refuse(document.Issue{Pointer: "/rolloutPlan/do", Message: "nothing was served here before the plan's first step, so there is nothing to go back to"})
	}
	rule := scheduledRule(document.ScheduledHold, since, value.Clone())
	*part = slices.Insert(*part, slices.IndexFunc(*part, isPlanned), rule)
	return s.closeTimed(l, place)
}
