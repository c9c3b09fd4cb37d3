package document

import (
	"slices"
	"time"
)

// Outcome is what a scope serves, in short: Else to everyone whom none of so many rules
// before it matches, nil for nothing. Everyone says that all get the same, from whichever
// rule.
type Outcome struct {
	Targeting int
	Else      *Value
	Everyone  bool
	// Due are what is served in the place of Else once its time has come: the first one whose
	// has.
	Due []Due
}

// Due is what is served from a time on, to everyone whom none of so many rules before it
// matches.
type Due struct {
	From      time.Time
	Targeting int
	Else      Value
}

// OutcomeIn is what is served in an environment, or by the default rules, which go on
// where no rule of the environment's own matches.
func (d *Document) OutcomeIn(scope string) Outcome {
	own, _ := d.Own(scope)
	rules := slices.Concat(own, d.Default)
	same, canonical, targeting := true, "", 0
	var due []Due
	for i, rule := range rules {
		value, whole := rule.Value.whole()
		if whole = whole && value.Content != nil; !whole {
			same, value = false, rule.Value
		} else if text := value.Served().Canonical(); i > 0 && text != canonical {
			same = false
		} else {
			canonical = text
		}
		if len(rule.Criteria) > 0 && !rule.CatchAll() {
			if rule.Schedule == "" {
				targeting++
			} else {
				due = append(due, Due{rule.From, targeting, value})
			}
			continue
		}
		if same {
			targeting = 0
		}
		return Outcome{targeting, &value, same, due}
	}
	return Outcome{Targeting: targeting, Due: due}
}

// AlwaysFalse reports whether everyone whom it reaches is served false, of a bool.
func (v Value) AlwaysFalse() bool {
	value, whole := v.whole()
	on, isBool := value.Bool()
	return whole && isBool && !on && !value.Confidential
}

// whole is the value that a rule serves to everyone it reaches. A split of which one
// value has all the weight is no split.
func (v Value) whole() (value Value, whole bool) {
	if v.Weighted == nil {
		return v, true
	}
	for _, arm := range v.Weighted.Arms {
		switch {
		case arm.Weight == 0 || arm.Value.Content == nil:
		case !whole:
			value, whole = arm.Value, true
		case arm.Value.Served().Canonical() != value.Served().Canonical(), arm.Value.Confidential != value.Confidential:
			return Value{}, false
		}
	}
	return value, whole
}
