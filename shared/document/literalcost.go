package document

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"svc.example/svc/shared/jsontree"
)

const literalBytes = 64 // of a text, for which it counts as one part more

// addLiteral counts the parts of what a value is compared with.
func (g *graph) addLiteral(s *jsonschema.Schema, v any) {
	g.literals[s]++
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			g.addLiteral(s, item)
		}
	case map[string]any:
		for _, item := range v {
			g.addLiteral(s, item)
		}
	case string:
		g.literals[s] += len(v) / literalBytes
	case json.Number:
		g.literals[s] += numberParts(string(v)) - 1
		g.numbers[s]++
	}
}

const digitsAPart = 50 // of a number, which the library writes out as a fraction

// numberParts is how many parts a number counts for: two small ones are compared
// in a step, for which both are read.
func numberParts(literal string) int {
	digits, exponent, _ := strings.Cut(strings.ToLower(string(number(literal))), "e")
	n, _ := strconv.Atoi(exponent)
	return literalsAStep/2 + (len(digits)+max(n, -n))/digitsAPart
}

func ratParts(r *big.Rat) int {
	const bitsADigit = 3
	return literalsAStep/2 + (r.Num().BitLen()+r.Denom().BitLen())/bitsADigit/digitsAPart
}

// number is how many parts the largest number counts for that a value holds.
func (m *meter) number(n *jsontree.Node) int {
	if n.Kind == jsontree.Number {
		return numberParts(n.Literal())
	}
	most, known := m.parts[n]
	if known || len(n.Items)+len(n.Members) == 0 {
		return most
	}
	for _, member := range n.Members {
		most = max(most, m.number(member.Value))
	}
	for _, item := range n.Items {
		most = max(most, m.number(item))
	}
	m.parts[n] = most
	return most
}
