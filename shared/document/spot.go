package document

import (
	"iter"
	"strconv"
)

// Spot says where in a document something stands. Each number is an index,
// and -1 where it does not apply.
type Spot struct {
	Environment int // -1 in the default rules
	Rule        int
	Criterion   int
	Arm         int
	Variant     int
}

// Pointer is the spot as a JSON Pointer: to a value, or to a criterion.
func (s Spot) Pointer() string {
	if s.Variant >= 0 {
		return at("/variants", s.Variant) + "/value"
	}
	pointer := "/default"
	if s.Environment >= 0 {
		pointer = at("/environments", s.Environment)
	}
	pointer = at(pointer+"/rules", s.Rule)
	switch {
	case s.Criterion >= 0:
		return at(pointer+"/criteria", s.Criterion)
	case s.Arm >= 0:
		return pointer + "/value/value/weightedValues/" + strconv.Itoa(s.Arm) + "/value"
	}
	return pointer + "/value"
}

// Rules visits the default rules and then every environment's own.
func (d *Document) Rules() iter.Seq2[Spot, Rule] {
	return func(yield func(Spot, Rule) bool) {
		for e := -1; e < len(d.Environments); e++ {
			rules := d.Default
			if e >= 0 {
				rules = d.Environments[e].Rules
			}
			for i, rule := range rules {
				if !yield(Spot{e, i, -1, -1, -1}, rule) {
					return
				}
			}
		}
	}
}

// Served visits every value that a rule can serve: plain ones and arms.
func (d *Document) Served() iter.Seq2[Spot, Value] {
	return func(yield func(Spot, Value) bool) {
		for spot, rule := range d.Rules() {
			if rule.Value.Weighted == nil {
				if !yield(spot, rule.Value) {
					return
				}
				continue
			}
			for i, arm := range rule.Value.Weighted.Arms {
				spot.Arm = i
				if !yield(spot, arm.Value) {
					return
				}
			}
		}
	}
}

// Values visits what Served does, and then the values of the variants.
func (d *Document) Values() iter.Seq2[Spot, Value] {
	return func(yield func(Spot, Value) bool) {
		for spot, value := range d.Served() {
			if !yield(spot, value) {
				return
			}
		}
		for i, variant := range d.Variants {
			if !yield(Spot{-1, -1, -1, -1, i}, variant.Value) {
				return
			}
		}
	}
}

// Criteria visits the criteria of every rule.
func (d *Document) Criteria() iter.Seq2[Spot, Criterion] {
	return func(yield func(Spot, Criterion) bool) {
		for spot, rule := range d.Rules() {
			for i, criterion := range rule.Criteria {
				spot.Criterion = i
				if !yield(spot, criterion) {
					return
				}
			}
		}
	}
}
