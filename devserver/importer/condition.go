package importer

import (
	"encoding/json"
	"errors"
	"fmt"
)

// criterion is one of a rule, as it is stored.
type criterion struct {
	Operator string        `json:"operator"`
	Property string        `json:"propertyName,omitempty"`
	Operand  *typedOperand `json:"valueToMatch,omitempty"`
}

type typedOperand struct {
	Type  string `json:"type"`
	Value any    `json:"value"`
}

func (o *typedOperand) number() (literal json.Number, ok bool) {
	if o != nil {
		literal, ok = o.Value.(json.Number)
	}
	return literal, ok
}

// condition is a criterion, or what all or any of its parts say. Rules have nothing but
// lists of criteria that all hold: see alternatives.
type condition struct {
	kind  conditionKind
	leaf  criterion
	parts []condition
}

type conditionKind int

const (
	leaf conditionKind = iota
	allOf
	anyOf
)

func all(parts ...condition) condition    { return condition{kind: allOf, parts: parts} }
func either(parts ...condition) condition { return condition{kind: anyOf, parts: parts} }

var (
	always = all()
	never  = either()
)

func (c condition) isAlways() bool { return c.kind == allOf && len(c.parts) == 0 }

func constant(holds bool) condition {
	if holds {
		return always
	}
	return never
}

// compare is a criterion on a property.
func compare(operator, property string, operand *typedOperand) condition {
	return condition{leaf: criterion{operator, property, operand}}
}

// among is a criterion on a property and a list of texts; of an empty list none is.
func among(operator, property string, texts ...string) condition {
	if len(texts) == 0 {
		return constant(negative[operator])
	}
	return compare(operator, property, &typedOperand{"string_list", texts})
}

// number is a criterion on a property and a number.
func number(operator, property string, literal json.Number) condition {
	kind := "double"
	if _, err := literal.Int64(); err == nil {
		kind = "int"
	}
	return compare(operator, property, &typedOperand{kind, literal})
}

func present(property string) condition { return compare("IS_PRESENT", property, nil) }

// complements are the operators that hold where another one does not. Those of the second
// list hold for no property that is absent, nor do what they complement.
var (
	complements = pairs("PROP_IS_ONE_OF", "PROP_IS_NOT_ONE_OF", "PROP_STARTS_WITH_ONE_OF", "PROP_DOES_NOT_START_WITH_ONE_OF",
		"PROP_ENDS_WITH_ONE_OF", "PROP_DOES_NOT_END_WITH_ONE_OF", "PROP_CONTAINS_ONE_OF", "PROP_DOES_NOT_CONTAIN_ONE_OF",
		"IS_PRESENT", "IS_NOT_PRESENT", "IN_SEG", "NOT_IN_SEG")
	ofPresent = pairs("PROP_GREATER_THAN", "PROP_LESS_THAN_OR_EQUAL", "PROP_LESS_THAN", "PROP_GREATER_THAN_OR_EQUAL", "PROP_MATCHES", "PROP_DOES_NOT_MATCH")
	opposites = map[string][]string{
		"PROP_SEMVER_EQUAL":        {"PROP_SEMVER_LESS_THAN", "PROP_SEMVER_GREATER_THAN"},
		"PROP_SEMVER_LESS_THAN":    {"PROP_SEMVER_EQUAL", "PROP_SEMVER_GREATER_THAN"},
		"PROP_SEMVER_GREATER_THAN": {"PROP_SEMVER_EQUAL", "PROP_SEMVER_LESS_THAN"},
	}
	negative = map[string]bool{"PROP_IS_NOT_ONE_OF": true, "PROP_DOES_NOT_START_WITH_ONE_OF": true,
		"PROP_DOES_NOT_END_WITH_ONE_OF": true, "PROP_DOES_NOT_CONTAIN_ONE_OF": true}
)

func pairs(names ...string) map[string]string {
	both := map[string]string{}
	for i := 0; i < len(names); i += 2 {
		both[names[i]], both[names[i+1]] = names[i+1], names[i]
	}
	return both
}

// not holds where c does not.
func not(c condition) (condition, error) {
	if c.kind != leaf {
		turned := condition{kind: allOf + anyOf - c.kind}
		for _, part := range c.parts {
			n, err := not(part)
			if err != nil {
				return n, err
			}
			turned.parts = append(turned.parts, n)
		}
		return turned, nil
	}
	with := func(operator string) condition { return compare(operator, c.leaf.Property, c.leaf.Operand) }
	if other := complements[c.leaf.Operator]; other != "" {
		return with(other), nil
	}
	absent := compare("IS_NOT_PRESENT", c.leaf.Property, nil)
	if other := ofPresent[c.leaf.Operator]; other != "" {
		return either(absent, with(other)), nil
	}
	if others := opposites[c.leaf.Operator]; others != nil {
		return either(absent, with(others[0]), with(others[1])), nil
	}
	if literal, isNumber := c.leaf.Operand.number(); isNumber && c.leaf.Property == currentTime {
		switch at, _ := literal.Int64(); c.leaf.Operator {
		case "PROP_AFTER":
			return number("PROP_BEFORE", currentTime, json.Number(fmt.Sprint(at+1))), nil
		case "PROP_BEFORE":
			return number("PROP_AFTER", currentTime, json.Number(fmt.Sprint(at-1))), nil
		}
	}
	return c, fmt.Errorf("nothing in svc holds where %s does not", c.leaf.Operator)
}

const currentTime = "svc.current-time"

// Bounds on the rules that one rule may become, and on the criteria in them together.
const (
	maxAlternatives = 500
	maxCriteria     = 20_000
)

var errTooMany = errors.New("its conditions take more than 500 rules of svc, or 20000 criteria: simplify them, or put parts into segments")

// alternatives are lists of criteria, one of which has to hold as a whole. An empty list
// always does.
func (c condition) alternatives() (lists [][]criterion, err error) {
	switch c.kind {
	case leaf:
		return [][]criterion{{c.leaf}}, nil
	case anyOf:
		for _, part := range c.parts {
			of, err := part.alternatives()
			if err != nil {
				return nil, err
			}
			if lists = append(lists, of...); len(lists) > maxAlternatives {
				return nil, errTooMany
			}
		}
		return lists, nil
	}
	lists = [][]criterion{nil}
	for _, part := range c.parts {
		of, err := part.alternatives()
		if err != nil {
			return nil, err
		}
		if len(lists)*len(of) > maxAlternatives {
			return nil, errTooMany
		}
		var longer [][]criterion
		size := 0
		for _, have := range lists {
			for _, more := range of {
				if size += len(have) + len(more); size > maxCriteria {
					return nil, errTooMany
				}
				longer = append(longer, append(have[:len(have):len(have)], more...))
			}
		}
		lists = longer
	}
	return lists, nil
}
