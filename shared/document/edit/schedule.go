package edit

import (
	"fmt"
	"slices"
	"time"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// What is to come stands in a document as rules on the current time, so that whoever
// evaluates it changes over by their own clock: directly before the fallback, or before
// the targeting rules where it is to replace them too; the latest first. The first one
// whose time has come is what is served.

// Slack is how far apart clocks may be. What comes within it counts as come where the
// fallback is written: what is served from now on is served to those as well whose
// clocks are behind.
const Slack = time.Minute

// FoldedAfter is how long a rule's time must be over until it is folded. The clock that
// says so may be wrong by as much, and so may those of all who evaluate: nobody is served
// anything else by it.
const FoldedAfter = 24 * time.Hour

// layout is a rule list in its parts, in their order.
type layout struct {
	pause     []*jsontree.Node // one, or none
	over      []*jsontree.Node // what is scheduled for everybody
	targeting []*jsontree.Node
	below     []*jsontree.Node // what is scheduled for whom no targeting rule matches
	fallback  *jsontree.Node   // nil for none
}

func layoutOf(rules []*jsontree.Node) layout {
	var l layout
	if l.fallback = document.StoredFallback(rules); l.fallback != nil {
		rules = rules[:len(rules)-1]
	}
	if pause := document.StoredPause(rules); pause != nil {
		l.pause, rules = rules[:1:1], rules[1:]
	}
	scheduled := func(rule *jsontree.Node) bool { return document.StoredSchedule(rule).Kind != "" }
	from := slices.IndexFunc(rules, func(rule *jsontree.Node) bool { return !scheduled(rule) })
	if from < 0 {
		l.below = slices.Clone(rules)
		return l
	}
	to := len(rules)
	for scheduled(rules[to-1]) {
		to--
	}
	l.over, l.targeting, l.below = slices.Clone(rules[:from]), rules[from:to], slices.Clone(rules[to:])
	return l
}

func (l layout) rules() []*jsontree.Node {
	rules := slices.Concat(l.pause, l.over, l.targeting, l.below)
	if l.fallback != nil {
		rules = append(rules, l.fallback)
	}
	return rules
}

// settle has what came before a time be the fallback, and takes away what nothing can
// reach any more. A plan that is held is left alone, unless it is to end.
func (l *layout) settle(before time.Time, ends bool) (settled bool) {
	for _, part := range []*[]*jsontree.Node{&l.over, &l.below} {
		for i, rule := range *part {
			s := document.StoredSchedule(rule)
			if s.Kind == document.ScheduledHold && !ends {
				return settled
			}
			if s.At.After(before) {
				continue
			}
			left := (*part)[:i:i]
			if s.Kind == document.ScheduledHold { // which alone kept what is below it from being reached
				for _, below := range (*part)[i+1:] {
					if document.StoredSchedule(below).At.After(before) {
						left = append(left, below)
					}
				}
			}
			*part, l.fallback = left, unconditional(whole(rule.Get("value")))
			if part == &l.over {
				l.targeting, l.below = nil, nil
			}
			return true
		}
	}
	return settled
}

// whole is a value without the split of which one arm has all the weight.
func whole(value *jsontree.Node) *jsontree.Node {
	for _, arm := range document.StoredArms(value) {
		if weight := arm.Get("weight"); jsontree.Equal(weight, jsontree.NewInt(document.FullWeight)) {
			return arm.Get("value").Clone()
		}
	}
	return value.Clone()
}

// end takes a plan away, with where it is held.
func (l *layout) end() (ended bool) {
	for _, part := range []*[]*jsontree.Node{&l.over, &l.below} {
		n := len(*part)
		*part = slices.DeleteFunc(*part, isPlanned)
		ended = ended || len(*part) < n
	}
	return ended
}

func isPlanned(rule *jsontree.Node) bool {
	kind := document.StoredSchedule(rule).Kind
	return kind == document.ScheduledStep || kind == document.ScheduledHold
}

// part is where what is scheduled stands: for everybody, or below the targeting rules.
func (l *layout) part(replaceTargeting bool) *[]*jsontree.Node {
	if replaceTargeting && len(l.targeting) > 0 {
		return &l.over
	}
	return &l.below
}

// insert puts a rule into its place among what is scheduled.
func insert(part *[]*jsontree.Node, rule *jsontree.Node) {
	s := document.StoredSchedule(rule)
	at := slices.IndexFunc(*part, func(other *jsontree.Node) bool {
		o := document.StoredSchedule(other)
		return !o.At.After(s.At) || o.Kind == document.ScheduledHold
	})
	if at < 0 {
		at = len(*part)
	}
	*part = slices.Insert(*part, at, rule)
}

// scheduledRule is a rule that serves a value from a time on.
func scheduledRule(kind string, at time.Time, value *jsontree.Node) *jsontree.Node {
	criterion := jsontree.NewObject(
		jsontree.Field("operator", jsontree.NewString(document.After)),
		jsontree.Field("propertyName", jsontree.NewString(document.CurrentTime)),
		jsontree.Field("valueToMatch", valueObject(document.StringValue, jsontree.NewString(document.MomentText(at)))))
	return jsontree.NewObject(
		jsontree.Field("criteria", jsontree.NewArray(criterion)),
		jsontree.Field("value", value),
		jsontree.Field("scheduled", jsontree.NewString(kind)))
}

// future reads a time that is to come. Nothing is past before the zero time.
func future(text, pointer string, now time.Time) (time.Time, []document.Issue) {
	at, problem := document.Moment(text)
	if problem == "" && !now.IsZero() && !at.After(now) {
		problem = fmt.Sprintf("%s is past (it is %s by the server's clock); leave the time out to change it now", document.MomentText(at), document.MomentText(now.Truncate(time.Second)))
	}
	if problem != "" {
		return at, []document.Issue{{Pointer: pointer, Message: problem}}
	}
	return at, nil
}

// schedule makes a value of the stored one that is served before, and has it served from
// the place's time on.
func (l *layout) schedule(place Place, makes func(stored *jsontree.Node) (*jsontree.Node, error)) (newSplit *jsontree.Node, err error) {
	at, issues := future(*place.At, "/at", time.Time{})
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	part := l.part(place.ReplaceTargeting)
	stored := l.fallback.Get("value")
	if i := slices.IndexFunc(*part, func(rule *jsontree.Node) bool { return !document.StoredSchedule(rule).At.After(at) }); i >= 0 {
		stored = (*part)[i].Get("value")
	}
	value, err := makes(stored)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(*part, func(rule *jsontree.Node) bool {
		s := document.StoredSchedule(rule)
		return s.Kind == document.ScheduledChange && s.At.Equal(at)
	})
	if i >= 0 && document.Meaning((*part)[i].Get("value")) == document.Meaning(value) {
		return nil, nil // also when its time is over: a request can be repeated
	}
	_, issues = future(*place.At, "/at", place.Now)
	if err := refuse(issues...); err != nil {
		return nil, err
	}
	if document.IsRollout(value) && !document.IsRollout(stored) {
		newSplit = value
	}
	if rule := scheduledRule(document.ScheduledChange, at, value); i >= 0 {
		(*part)[i] = rule
	} else {
		insert(part, rule)
	}
	return newSplit, nil
}

// Unschedule takes away what was scheduled for a time, in a place with that.
func Unschedule(tree *jsontree.Node, place Place) (*Edited, error) {
	at, problem := document.Moment(*place.At)
	if problem != "" {
		return nil, refuse(document.Issue{Pointer: "/unschedule", Message: problem})
	}
	s, err := openScope(tree, place.Scope)
	if err != nil {
		return nil, err
	}
	if len(s.own) == 0 {
		return s.unchanged(), nil
	}
	l := layoutOf(s.rules)
	for _, part := range []*[]*jsontree.Node{&l.over, &l.below} {
		*part = slices.DeleteFunc(*part, func(rule *jsontree.Node) bool {
			s := document.StoredSchedule(rule)
			return s.Kind == document.ScheduledChange && s.At.Equal(at)
		})
	}
	return s.closeTimed(l, place)
}

// Fold has those rules be the fallback whose time has been over for long, and takes away
// what they leave without effect. Nobody is served anything else.
func Fold(tree *jsontree.Node, place Place) (*Edited, error) {
	s, err := openScope(tree, place.Scope)
	if err != nil {
		return nil, err
	}
	if len(s.own) == 0 {
		return s.unchanged(), nil
	}
	l := layoutOf(s.rules)
	l.settle(place.Now.Add(-FoldedAfter), false)
	return s.close(l.rules(), false)
}

// closeTimed is close of what changes what is scheduled, if it does: what is over for
// long is folded with it.
func (s *openedScope) closeTimed(l layout, place Place) (*Edited, error) {
	if !slices.EqualFunc(l.rules(), s.own, jsontree.Equal) && !place.Now.IsZero() {
		l.settle(place.Now.Add(-FoldedAfter), false)
	}
	e, err := s.close(l.rules(), false)
	if err == nil {
		e.timed = true
	}
	return e, err
}

// due says of what is still scheduled when it comes.
func (l *layout) due(now time.Time) (due []string) {
	for _, rule := range slices.Backward(slices.Concat(l.over, l.below)) {
		if s := document.StoredSchedule(rule); s.Kind == document.ScheduledChange && s.At.After(now) {
			due = append(due, document.MomentText(s.At))
		}
	}
	return due
}
