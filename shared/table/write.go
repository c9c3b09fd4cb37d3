package table

import (
	"fmt"
	"maps"
	"slices"
)

// Write is a change of one row, on condition of what is there: one of Put, Delete, Check,
// and Set with Add and Unset.
type Write struct {
	Key
	// Put is the whole row; nil for none.
	Put Attributes
	// Set and Add change single attributes, and make the row when there is none. Add
	// begins at 0.
	Set Attributes
	Add map[string]int64
	// Unset takes attributes away.
	Unset []string
	// Delete removes the row, if there is one.
	Delete bool
	// Check changes nothing: there are conditions alone.
	Check bool
	// Tell asks for the row as it was found, should the conditions not hold.
	Tell bool
	// If are conditions, all of which have to hold.
	If []Condition
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
	IsAbsent Kind = iota + 1
	IsEqual
	AllOf
	AnyOf
	IsPresent
	IsLacking
	IsLess
)

// NoRow holds when there is no row.
func NoRow() Condition { return Condition{Kind: IsAbsent} }

// Is holds when an attribute has a value.
func Is(name string, v Value) Condition { return Condition{Kind: IsEqual, Name: name, Value: v} }

// ARow holds when there is a row.
func ARow() Condition { return Condition{Kind: IsPresent} }

// Has holds when there is an attribute, of whatever type.
func Has(name string) Condition { return Condition{Kind: IsPresent, Name: name} }

// Lacks holds when there is no such attribute, or no row.
func Lacks(name string) Condition { return Condition{Kind: IsLacking, Name: name} }

// Less holds when an attribute is of the type of a Text or Number, and less.
func Less(name string, than Value) Condition {
	return Condition{Kind: IsLess, Name: name, Value: than}
}

// All holds when all of these do.
func All(of ...Condition) Condition { return Condition{Kind: AllOf, Of: of} }

// Any holds when one of these does.
func Any(of ...Condition) Condition { return Condition{Kind: AnyOf, Of: of} }

// Holds reports whether a condition holds of a row; nil is no row.
func (c Condition) Holds(row Attributes) bool {
	switch c.Kind {
	case IsAbsent:
		return row == nil
	case IsEqual:
		return Equal(row[c.Name], c.Value)
	case IsPresent:
		return row != nil && (c.Name == "" || row[c.Name] != nil)
	case IsLacking:
		return row[c.Name] == nil
	case IsLess:
		return less(row[c.Name], c.Value)
	case AllOf:
		return !slices.ContainsFunc(c.Of, func(c Condition) bool { return !c.Holds(row) })
	case AnyOf:
		return slices.ContainsFunc(c.Of, func(c Condition) bool { return c.Holds(row) })
	}
	return false
}

func less(a, b Value) bool {
	switch a := a.(type) {
	case Text:
		b, same := b.(Text)
		return same && a < b
	case Number:
		b, same := b.(Number)
		return same && a < b
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
	case w.Check:
		return row, true
	}
	after = maps.Clone(row)
	if after == nil {
		after = Attributes{}
	}
	maps.Copy(after, w.Set)
	for name, n := range w.Add {
		after[name] = Number(row.Number(name) + n)
	}
	for _, name := range w.Unset {
		delete(after, name)
	}
	return after, true
}

// Touched is the part of a changed row that Table.Update returns.
func (w Write) Touched(after Attributes) Attributes {
	touched := maps.Clone(w.Set)
	if touched == nil {
		touched = Attributes{}
	}
	for name := range w.Add {
		touched[name] = after[name]
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
		case w.Check && len(w.If) == 0:
			return fmt.Errorf("the check of the row %q has no conditions", w.Key)
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
