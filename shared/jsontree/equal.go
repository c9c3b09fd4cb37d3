package jsontree

import (
	"math/big"
	"strconv"
	"strings"
)

// Equal reports whether two trees mean the same: the order of members does not
// count, and numbers compare by value, so 1.0 equals 1.
func Equal(a, b *Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case Object:
		return equalMembers(a, b)
	case Array:
		if len(a.Items) != len(b.Items) {
			return false
		}
		for i := range a.Items {
			if !Equal(a.Items[i], b.Items[i]) {
				return false
			}
		}
		return true
	case String:
		s, _ := a.Text()
		t, _ := b.Text()
		return s == t
	case Number:
		return NumberText(string(a.text)) == NumberText(string(b.text))
	}
	return string(a.text) == string(b.text)
}

func equalMembers(a, b *Node) bool {
	if len(a.Members) != len(b.Members) {
		return false
	}
	values := make(map[string]*Node, len(b.Members))
	for _, m := range b.Members {
		values[m.Name] = m.Value
	}
	for _, m := range a.Members {
		other, ok := values[m.Name]
		if !ok || !Equal(m.Value, other) {
			return false
		}
	}
	return true
}

// NumberText writes a JSON number in one spelling per value: 1.0, 1e0 and 1
// are all "1", and an integer of any length keeps its digits. A number whose
// exponent is beyond maxExponent keeps the spelling it came in.
func NumberText(literal string) string {
	if strings.ContainsAny(literal, "eE") {
		return withoutExponent(literal)
	}
	if strings.Contains(literal, ".") {
		literal = strings.TrimRight(strings.TrimRight(literal, "0"), ".")
	}
	if literal == "-0" {
		return "0"
	}
	return literal
}

// maxExponent bounds the work a hostile 1e999999999 can ask for.
const maxExponent = 400

func withoutExponent(literal string) string {
	i := strings.IndexAny(literal, "eE")
	e, err := strconv.Atoi(literal[i+1:])
	if err != nil || e > maxExponent || e < -maxExponent || i > maxExponent {
		return literal
	}
	r, ok := new(big.Rat).SetString(literal)
	if !ok {
		return literal
	}
	digits, _ := r.FloatPrec() // a decimal literal always ends
	return NumberText(r.FloatString(digits))
}
