package evaluation

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"svc.example/svc/shared/jsontree"
)

// PropertyKind is what a context property holds.
type PropertyKind byte

// The kinds of property. The zero kind is a property that does not exist, or
// that is null, which is the same thing to every rule.
const (
	Absent PropertyKind = iota
	TextProperty
	NumberProperty
	BoolProperty
	ListProperty
	// OtherProperty is an object: present, but equal to nothing.
	OtherProperty
)

// Property is the value of one context property.
type Property struct {
	Kind PropertyKind
	// Text is a scalar in the one spelling that rules compare: a number as
	// jsontree.NumberText writes it, a bool as true or false.
	Text string
	// List holds the texts of an array's scalar elements.
	List []string

	number  number // set by a frame where rules compare the property as one
	numeric bool
}

// Text makes a property of a string.
func Text(s string) Property { return Property{Kind: TextProperty, Text: s} }

// NumberLiteral makes a property of a JSON number as written.
func NumberLiteral(literal string) Property {
	if len(literal) > maxNumber {
		return Property{Kind: OtherProperty}
	}
	return Property{Kind: NumberProperty, Text: jsontree.NumberText(literal)}
}

// Bool makes a property of a boolean.
func Bool(b bool) Property { return Property{Kind: BoolProperty, Text: strconv.FormatBool(b)} }

// List makes a property of a context's array, given the texts of its scalars.
func List(texts []string) Property {
	if len(texts) > MaxItems {
		return Property{Kind: OtherProperty}
	}
	return Property{Kind: ListProperty, List: texts}
}

// FromNode makes a property of a JSON value in a context.
func FromNode(n *jsontree.Node) Property {
	if p := operandOf(n); p.Kind != ListProperty || len(p.List) <= MaxItems {
		return p
	}
	return Property{Kind: OtherProperty}
}

// operandOf is what a rule compares with. Its lists may be of any length: who
// writes rules does not choose the context.
func operandOf(n *jsontree.Node) Property {
	if n == nil {
		return Property{}
	}
	switch n.Kind {
	case jsontree.Array:
		texts := make([]string, 0, len(n.Items))
		for _, item := range n.Items {
			if p := operandOf(item); p.scalar() {
				texts = append(texts, p.Text)
			}
		}
		return Property{Kind: ListProperty, List: texts}
	case jsontree.Object:
		return Property{Kind: OtherProperty}
	case jsontree.Null:
		return Property{}
	case jsontree.Number:
		return NumberLiteral(n.Literal())
	case jsontree.Bool:
		boolean, _ := n.Bool()
		return Bool(boolean)
	}
	text, _ := n.Text()
	return Text(text)
}

func (p *Property) scalar() bool {
	return p.Kind == TextProperty || p.Kind == NumberProperty || p.Kind == BoolProperty
}

// any reports whether the text, or any element of an array, passes.
func (p *Property) any(pass func(string) bool) bool {
	if p.scalar() {
		return pass(p.Text)
	}
	return slices.ContainsFunc(p.List, pass)
}

// number is a numeric value. It compares as a 64-bit integer or as a float, and
// digit by digit where two numbers come to the same float.
type number struct {
	whole   int64
	float   float64
	isWhole bool
	text    string // as jsontree.NumberText has it
}

func parseNumber(text string) (number, bool) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return number{i, float64(i), true, text}, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return number{float: f, text: text}, err == nil
}

func (a *number) compare(b *number) int {
	switch {
	case a.isWhole && b.isWhole:
		return cmp.Compare(a.whole, b.whole)
	case a.float != b.float:
		return cmp.Compare(a.float, b.float)
	case a.text == b.text || strings.ContainsAny(a.text, "eE") || strings.ContainsAny(b.text, "eE"):
		return 0 // what has an exponent still is so far out that its digits are no use
	}
	x, fine := new(big.Rat).SetString(a.text)
	y, too := new(big.Rat).SetString(b.text)
	if !fine || !too {
		return 0
	}
	return x.Cmp(y)
}

// moment reads a point in time, as epoch milliseconds or RFC 3339, into
// milliseconds with their fraction.
func moment(p *Property) (float64, bool) {
	switch p.Kind {
	case NumberProperty:
		n, ok := parseNumber(p.Text)
		return n.float, ok
	case TextProperty:
		if len(p.Text) > maxTime {
			return 0, false
		}
		t, err := time.Parse(time.RFC3339, strings.ToUpper(p.Text))
		if err != nil {
			return 0, false
		}
		return float64(t.Unix())*1000 + float64(t.Nanosecond())/1e6, true
	}
	return 0, false
}

// slotName is the name of a property in the form that contexts and rules
// agree on: context, dot, property; the unnamed context is empty.
func slotName(propertyName string) string {
	if OlderCurrentTime(propertyName) {
		return CurrentTime
	}
	if !strings.Contains(propertyName, ".") {
		return "." + propertyName
	}
	return propertyName
}
