package table

import (
	"fmt"
	"maps"
	"slices"
)

// Write is a change of one row, on condition of what is there; without a change it is a
// check.
type Write struct {
	Key
	// Put is the whole row; nil for none.
	Put Attributes
	// Set, SetIfMissing, Add and Remove change single attributes, and make the row when
	// there is none. Add begins at 0.
	Set          Attributes
	SetIfMissing Attributes
	Add          map[string]int64
	Remove       []string
	// Delete removes the row, if there is one.
	Delete bool
	// If are conditions, all of which have to hold.
	If []Condition
	// Tell asks what is there when a condition does not hold.
	Tell bool
}

// IsCheck reports whether a write changes nothing.
func (w Write) IsCheck() bool { return w.Put == nil && !w.Delete && !w.updates() }

func (w Write) updates() bool {
	return len(w.Set) > 0 || len(w.SetIfMissing) > 0 || len(w.Add) > 0 || len(w.Remove) > 0
}

// Condition is what has to hold of a row, or of there being none. The functions below
// make conditions.
type Condition struct {
	Kind  Kind
	Name  string
	Value Value
	Of    []Condition // of All and Any
}

// Kind is what a condition asks.
type Kind int

// The kinds of conditions.
const (
	IsMissing Kind = iota + 1 // the row has no such attribute; without a name, there is no row
	IsThere                   // the row has such an attribute; without a name, there is a row
	IsEqual
	IsLess
	IsAtMost
	AllOf
	AnyOf
)

// NoRow holds when there is no row.
func NoRow() Condition { return Condition{Kind: IsMissing} }

// HasRow holds when there is a row.
func HasRow() Condition { return Condition{Kind: IsThere} }

// Missing holds when the row lacks an attribute, or there is no row.
func Missing(name string) Condition { return Condition{Kind: IsMissing, Name: name} }

// Has holds when the row has an attribute.
func Has(name string) Condition { return Condition{Kind: IsThere, Name: name} }

// Is holds when an attribute has a value.
func Is(name string, v Value) Condition { return Condition{Kind: IsEqual, Name: name, Value: v} }

// Less holds when an attribute is less than a value of its type.
func Less(name string, v Value) Condition { return Condition{Kind: IsLess, Name: name, Value: v} }

// AtMost holds when an attribute is at most a value of its type.
func AtMost(name string, v Value) Condition { return Condition{Kind: IsAtMost, Name: name, Value: v} }

// All holds when all of these do.
func All(of ...Condition) Condition { return Condition{Kind: AllOf, Of: of} }

// Any holds when one of these does.
func Any(of ...Condition) Condition { return Condition{Kind: AnyOf, Of: of} }

// Holds reports whether a condition holds of a row; nil is no row.
func (c Condition) Holds(row Attributes) bool {
	value, there := row[c.Name]
	if c.Name == "" {
		there = row != nil
	}
	order, ordered := compare(value, c.Value)
	switch c.Kind {
	case IsMissing:
		return !there
	case IsThere:
		return there
	case IsEqual:
		return there && Equal(value, c.Value)
	case IsLess:
		return there && ordered && order < 0
	case IsAtMost:
		return there && ordered && order <= 0
	case AllOf:
		return !slices.ContainsFunc(c.Of, func(c Condition) bool { return !c.Holds(row) })
	case AnyOf:
		return slices.ContainsFunc(c.Of, func(c Condition) bool { return c.Holds(row) })
	}
	return false
}

// Apply is what a write makes of a row; nil is no row. It reports whether its conditions
// hold: if not, the row stays. It is how engines without such writes of their own make
// them, within a transaction.
func (w Write) Apply(row Attributes) (after Attributes, holds bool) {
	if !All(w.If...).Holds(row) {
		return row, false
	}
	switch {
	case w.Put != nil:
		return w.Put, true
	case w.Delete:
		return nil, true
	case !w.updates():
		return row, true
	}
	after = maps.Clone(row)
	if after == nil {
		after = Attributes{}
	}
	maps.Copy(after, w.Set)
	for name, value := range w.SetIfMissing {
		if _, there := row[name]; !there {
			after[name] = value
		}
	}
	for name, n := range w.Add {
		after[name] = Number(row.Number(name) + n)
	}
	for _, name := range w.Remove {
		delete(after, name)
	}
	return after, true
}

// Touched is the part of a changed row that Table.Update returns.
func (w Write) Touched(after Attributes) Attributes {
	touched := Attributes{}
	for _, names := range [][]string{slices.Collect(maps.Keys(w.Set)), slices.Collect(maps.Keys(w.SetIfMissing)), slices.Collect(maps.Keys(w.Add))} {
		for _, name := range names {
			touched[name] = after[name]
		}
	}
	return touched
}

// CheckWrites refuses writes that no engine takes: too many, two of one row, a key or a
// name that is empty, a row that is too large. It is a mistake of the program.
func CheckWrites(writes []Write, most int) error {
	if len(writes) > most {
		return fmt.Errorf("%d writes are more than %d", len(writes), most)
	}
	seen := map[Key]bool{}
	for _, w := range writes {
		switch size := (Row{w.Key, w.Put}).Size(); {
		case w.Partition == "" || w.Sort == "":
			return fmt.Errorf("the key %q has an empty part", w.Key)
		case seen[w.Key]:
			return fmt.Errorf("two writes are of the row %q", w.Key)
		case size > MaxRow:
			return fmt.Errorf("the row %q has %d bytes, more than %d", w.Key, size, MaxRow)
		}
		seen[w.Key] = true
	}
	return nil
}
