package evaluation

import (
	"slices"

	"svc.example/svc/shared/document"
)

// Turns are when rules on the current time turn: at moments, in milliseconds
// since 1970, in order; or all the time, where a rule reads the time as a text.
type Turns struct {
	Moments  []int64
	Volatile bool
}

// TurnsOf finds out when rules turn.
func TurnsOf(rules []document.Rule) Turns {
	var m *making // most rules need none
	timed := func() *making {
		if m == nil {
			m = &making{units: NewUnits(""), unit: &Unit{}}
		}
		return m
	}
	for _, r := range rules {
		for _, criterion := range r.Criteria {
			if slotName(criterion.PropertyName) == CurrentTime {
				timed().rule(document.Rule{Criteria: []document.Criterion{criterion}})
			}
		}
		if w := r.Value.Weighted; w != nil && slotName(w.HashByProperty) == CurrentTime {
			timed().rule(document.Rule{Value: r.Value})
		}
	}
	if m == nil {
		return Turns{}
	}
	c := NewCompiler()
	c.Add(m.unit)
	return c.Snapshot().Turns()
}

// Turns are when the rules of a snapshot turn.
func (s *Snapshot) Turns() Turns { return Turns{s.thresholds, s.volatile} }

// And are the turns of both.
func (t Turns) And(other Turns) Turns {
	moments := slices.Concat(t.Moments, other.Moments)
	slices.Sort(moments)
	return Turns{slices.Compact(moments), t.Volatile || other.Volatile}
}

// Turned is how many of the moments are at or before now.
func (t Turns) Turned(now int64) int {
	i, found := slices.BinarySearch(t.Moments, now)
	if found {
		i++
	}
	return i
}

// Around returns the last moment at or before now, and the first one after it;
// 0 where there is none.
func (t Turns) Around(now int64) (last, next int64) {
	i := t.Turned(now)
	if i > 0 {
		last = t.Moments[i-1]
	}
	if i < len(t.Moments) {
		next = t.Moments[i]
	}
	return last, next
}

// SegmentOf is the segment that a criterion asks for.
func SegmentOf(c document.Criterion) (key string, ok bool) {
	if c.Operator != InSegment && c.Operator != NotInSegment {
		return "", false
	}
	return text(c.ValueToMatch)
}

// FlagOf is the flag that a criterion asks for: a prerequisite.
func FlagOf(c document.Criterion) (key string, ok bool) {
	return c.PropertyName, c.Operator == FlagIsOneOf || c.Operator == FlagIsNotOneOf
}

// FlagsOf are the flags that rules ask for.
func FlagsOf(rules []document.Rule) []string { return askedFor(rules, FlagOf) }

// SegmentsOf are the segments that rules ask for.
func SegmentsOf(rules []document.Rule) []string { return askedFor(rules, SegmentOf) }

func askedFor(rules []document.Rule, of func(document.Criterion) (string, bool)) (keys []string) {
	for _, rule := range rules {
		for _, criterion := range rule.Criteria {
			if key, ok := of(criterion); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
