package document

import (
	"errors"
	"slices"
	"strings"
	"time"

	"svc.example/svc/shared/jsontree"
)

// CurrentTime is the property that holds the time of an evaluation, in epoch
// milliseconds, whatever the context says.
const CurrentTime = "svc.current-time"

// After is the operator of a rule that begins to hold at a time.
const After = "PROP_AFTER"

// What a rule that was made for a time is, as its member "scheduled" says. To whoever
// evaluates, it is a rule on the current time like any other.
const (
	ScheduledChange = "change"  // one change of what the scope serves
	ScheduledStep   = "rollout" // a step of a rollout plan
	ScheduledHold   = "hold"    // a rollout plan is held, and what it serves meanwhile
)

// Scheduled is a rule that begins to hold at a time.
type Scheduled struct {
	Kind string // ScheduledChange, ScheduledStep or ScheduledHold; "" for any other rule
	At   time.Time
	Rule *jsontree.Node
	Over bool // it stands before targeting rules, and holds for everybody; see Schedules
}

// StoredSchedule reads a stored rule as one that was made for a time. A rule on the
// current time that does not say so is a targeting rule.
func StoredSchedule(rule *jsontree.Node) Scheduled {
	kind, _ := rule.Get("scheduled").Text()
	criteria := rule.Get("criteria").Elements()
	if !isScheduled(kind) || len(criteria) != 1 {
		return Scheduled{}
	}
	operator, _ := criteria[0].Get("operator").Text()
	property, _ := criteria[0].Get("propertyName").Text()
	text, _ := criteria[0].Get("valueToMatch").Get("value").Text()
	at, problem := Moment(text)
	if operator != After || property != CurrentTime || problem != "" {
		return Scheduled{}
	}
	if kind == ScheduledStep && len(StoredArms(rule.Get("value"))) != 2 {
		kind = ScheduledChange // what it serves is no share of anything
	}
	return Scheduled{Kind: kind, At: at, Rule: rule}
}

// Schedules are the rules of a list that were made for a time, in the order of their times.
func Schedules(rules []*jsontree.Node) (all []Scheduled) {
	over := len(Targeting(rules)) > 0
	for _, rule := range rules {
		if s := StoredSchedule(rule); s.Kind != "" {
			s.Over = over
			all = append(all, s)
		} else if !isPause(rule) {
			over = false
		}
	}
	slices.Reverse(all) // they stand the latest first
	slices.SortStableFunc(all, func(a, b Scheduled) int { return a.At.Compare(b.At) })
	return all
}

// Plan is a rollout plan: its steps, none where there is no plan, in the order of their
// times; and where it is held, nil for nowhere.
type Plan struct {
	Steps []Scheduled
	Hold  *Scheduled
}

// WithoutTimes is a document whose schedules have no times: a copy, or the tree itself where
// nothing in it is scheduled.
func WithoutTimes(tree *jsontree.Node) *jsontree.Node {
	scopes := func(tree *jsontree.Node) []*jsontree.Node {
		return append([]*jsontree.Node{tree.Get("default")}, tree.Get("environments").Elements()...)
	}
	copied := tree
	for i, holder := range scopes(tree) {
		for j, rule := range StoredRules(holder) {
			if StoredSchedule(rule).Kind == "" {
				continue
			}
			if copied == tree {
				copied = tree.Clone()
			}
			criterion := StoredRules(scopes(copied)[i])[j].Get("criteria").Elements()[0]
			criterion.Get("valueToMatch").Set("value", jsontree.NewString(""))
		}
	}
	return copied
}

// PlanOf is the plan among some schedules.
func PlanOf(schedules []Scheduled) (p Plan) {
	for _, s := range schedules {
		switch {
		case s.Kind == ScheduledStep:
			p.Steps = append(p.Steps, s)
		case s.Kind == ScheduledHold:
			p.Hold = &s
		}
	}
	return p
}

// Current is the step that holds at a time, -1 before the first one.
func (p Plan) Current(now time.Time) int {
	current := -1
	for i, s := range p.Steps {
		if p.Hold == nil && s.At.Before(now) || p.Hold != nil && jsontree.Equal(s.Rule.Get("value"), p.Hold.Rule.Get("value")) {
			current = i
		}
	}
	return current
}

func isScheduled(kind string) bool {
	return kind == ScheduledChange || kind == ScheduledStep || kind == ScheduledHold
}

// StoredPause is the first of some rules where it says that the scope is paused: it
// serves everybody one value, and the rules below it wait. It is nil for none.
func StoredPause(rules []*jsontree.Node) *jsontree.Node {
	if len(rules) > 0 && isPause(rules[0]) {
		return rules[0]
	}
	return nil
}

// What a pause added for an environment that inherited the default rules, as its
// member "inherited" says.
const (
	AddedRules        = "rules"        // to an entry whose list was empty
	AddedEntry        = "entry"        // to environments
	AddedEnvironments = "environments" // to the document, with the entry
)

// isPause reports whether a rule is marked as one of a pause.
func isPause(rule *jsontree.Node) bool {
	paused, _ := rule.Get("paused").Bool()
	return paused && unconditional(rule)
}

// Moment reads a time as RFC 3339 has it, to the millisecond, or says what is wrong
// with the text.
func Moment(text string) (at time.Time, problem string) {
	if err := at.UnmarshalText([]byte(text)); err == nil {
		return at.UTC().Truncate(time.Millisecond), ""
	} else if parsed := (*time.ParseError)(nil); errors.As(err, &parsed) && strings.Contains(parsed.Message, "out of range") {
		if _, seconds, _ := strings.Cut(text, "T"); len(seconds) > 7 && seconds[5:8] == ":60" {
			return at, "a leap second is no time that a clock here shows; take the second before or after it"
		}
		return at, "there is no such time: " + QuotedWords(text)
	}
	return at, "a time is a date, a time of day and a zone, such as 2026-12-24T18:00:00Z or 2026-12-24T19:00:00+01:00"
}

// MomentText is how a time is written.
func MomentText(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.999Z07:00") }

// ShareOf is how many percent of all get a value of what a rule serves, both Value objects.
func ShareOf(served, value *jsontree.Node) float64 {
	wanted := Meaning(value)
	if !IsRollout(served) {
		if served != nil && Meaning(served) == wanted {
			return 100
		}
		return 0
	}
	var part, total float64
	for _, arm := range weightedArms(served) {
		total += float64(arm.Weight)
		if arm.means(wanted) {
			part += float64(arm.Weight)
		}
	}
	if total == 0 {
		return 0
	}
	return part / total * 100
}

// Keeps reports whether all who get a value by what one rule serves get it by what another
// one serves too. Whom chance decides about each time anew are only counted.
func Keeps(before, after, value *jsontree.Node) bool {
	share := ShareOf(before, value)
	switch {
	case share == 0 || ShareOf(after, value) == 100:
		return true
	case share == 100 || !IsRollout(after) || HashProperty(before) == "":
		return share <= ShareOf(after, value)
	case HashProperty(before) != HashProperty(after):
		return false
	}
	kept := spans(after, value)
	return !slices.ContainsFunc(spans(before, value), func(s span) bool {
		return !slices.ContainsFunc(kept, func(k span) bool { return k.from <= s.from && s.to <= k.to })
	})
}

// HashProperty is the property by which a rollout is sticky, "" for none.
func HashProperty(served *jsontree.Node) string {
	property, _ := served.Get("value").Get("hashByPropertyName").Text()
	return property
}

// span is a part of those over whom a rollout is spread, of 0 to 1.
type span struct{ from, to float64 }

// spans are the parts that get a value by a rollout, in order, and as long as can be.
func spans(served, value *jsontree.Node) (parts []span) {
	wanted := Meaning(value)
	var sum, total float64
	arms := weightedArms(served)
	for _, arm := range arms {
		total += float64(arm.Weight)
	}
	for _, arm := range arms {
		from := sum
		if sum += float64(arm.Weight); arm.Weight == 0 || !arm.means(wanted) {
			continue
		}
		if n := len(parts); n > 0 && parts[n-1].to == from/total {
			parts[n-1].to = sum / total
		} else {
			parts = append(parts, span{from / total, sum / total})
		}
	}
	return parts
}

// weightedArms are the arms of what a rule serves by weight.
func weightedArms(served *jsontree.Node) []Arm {
	return ReadRules([]*jsontree.Node{jsontree.NewObject(jsontree.Field("value", served))})[0].Value.Weighted.Arms
}

// means reports whether an arm serves what has a meaning; see Meaning.
func (a Arm) means(wanted string) bool {
	return a.Value.Content != nil && string(a.Value.Type.Canonical())+" "+a.Value.Served().Canonical() == wanted
}
