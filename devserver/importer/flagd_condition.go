package importer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// timestamp is flagd's clock, in seconds.
const timestamp = "$flagd.timestamp"

// condition is what a node says as a condition.
func (l *jsonLogic) condition(node any, at string, depth int) (condition, *logicError) {
	switch v := node.(type) {
	case nil:
		return never, nil
	case bool:
		return constant(v), nil
	case string:
		return constant(v != ""), nil
	case json.Number:
		f, _ := v.Float64()
		return constant(f != 0), nil
	}
	if property, ok := variable(node); ok {
		l.approximate(at, "whether %s is truthy: the texts 0 and false, an object and a list count as their opposites", property)
		return all(present(property), among("PROP_IS_NOT_ONE_OF", property, "false", "0", "")), nil
	}
	operator, args, err := l.operation(node, at, &depth)
	if err != nil {
		return never, err
	}
	at = under(at, operator)
	switch operator {
	case "and", "or":
		c := condition{kind: allOf}
		if operator == "or" {
			c.kind = anyOf
		}
		for i, arg := range args {
			part, err := l.condition(arg, element(at, i), depth)
			if err != nil {
				return never, err
			}
			c.parts = append(c.parts, part)
		}
		return c, nil
	case "!", "!!":
		if len(args) != 1 {
			break
		}
		c, err := l.condition(args[0], element(at, 0), depth)
		if err == nil && operator == "!" {
			return l.not(c, at)
		}
		return c, err
	case "if", "?:":
		return l.conditional(args, at, depth)
	}
	if compile := comparisons[operator]; compile != nil {
		if c, ok := compile(l, operator, at, args); ok {
			return c, nil
		}
		return never, wrong(at, "svc compares a property with a constant, and this is something else")
	}
	return never, wrong(at, "svc has no counterpart of %q", operator)
}

func (l *jsonLogic) not(c condition, at string) (condition, *logicError) {
	turned, err := not(c)
	if err != nil {
		return never, wrong(at, "%v", err)
	}
	return turned, nil
}

// conditional is an if that stands for a condition.
func (l *jsonLogic) conditional(args []any, at string, depth int) (condition, *logicError) {
	holds, before := either(), all()
	for i := 0; i < len(args); i += 2 {
		when := always
		value, err := l.condition(args[min(i+1, len(args)-1)], element(at, min(i+1, len(args)-1)), depth)
		if err == nil && i+1 < len(args) {
			when, err = l.condition(args[i], element(at, i), depth)
		}
		if err != nil {
			return never, err
		}
		holds.parts = append(holds.parts, all(before, when, value))
		turned, err := l.not(when, at)
		if err != nil {
			return never, err
		}
		before = all(before, turned)
	}
	return holds, nil
}

// comparison compiles a comparison of a property and a constant; not ok for others.
type comparison func(l *jsonLogic, operator, at string, args []any) (c condition, ok bool)

var comparisons = map[string]comparison{
	"==": equality, "===": equality, "!=": equality, "!==": equality,
	"<": ordering, "<=": ordering, ">": ordering, ">=": ordering,
	"in": membership, "starts_with": affix, "ends_with": affix, "sem_ver": semanticVersion,
}

func literalText(node any) (text string, ok bool) {
	switch v := node.(type) {
	case string:
		return v, true
	case bool, json.Number:
		return fmt.Sprint(v), true
	}
	return "", false
}

func equality(l *jsonLogic, operator, at string, args []any) (c condition, ok bool) {
	if len(args) != 2 {
		return c, false
	}
	property, isProperty := variable(args[0])
	literal := args[1]
	if !isProperty {
		property, isProperty = variable(args[1])
		literal = args[0]
	}
	if !isProperty {
		return c, false
	}
	if literal == nil {
		c = compare("IS_NOT_PRESENT", property, nil)
	} else if text, isText := literalText(literal); isText {
		c = among("PROP_IS_ONE_OF", property, text)
		if text == "0" || text == "false" || text == "" {
			l.approximate(at, "where %s is absent, some of flagd's providers take it for %q and some do not; svc does not", property, text)
		}
	} else {
		return c, false
	}
	if operator[0] == '!' {
		c, _ = not(c)
	}
	return c, true
}

var orders = map[string]struct {
	operator, mirrored string
	holds              func(a, b float64) bool
}{
	"<":  {"PROP_LESS_THAN", ">", func(a, b float64) bool { return a < b }},
	"<=": {"PROP_LESS_THAN_OR_EQUAL", ">=", func(a, b float64) bool { return a <= b }},
	">":  {"PROP_GREATER_THAN", "<", func(a, b float64) bool { return a > b }},
	">=": {"PROP_GREATER_THAN_OR_EQUAL", "<=", func(a, b float64) bool { return a >= b }},
}

// ordering is a comparison of numbers, in which a property that is absent counts as 0.
func ordering(l *jsonLogic, operator, at string, args []any) (c condition, ok bool) {
	if len(args) == 3 { // between
		first, ok1 := ordering(l, operator, at, args[:2])
		second, ok2 := ordering(l, operator, at, args[1:])
		return all(first, second), ok1 && ok2
	}
	if len(args) != 2 {
		return c, false
	}
	property, isProperty := named(args[0])
	literal, isNumber := args[1].(json.Number)
	if !isProperty {
		property, isProperty = named(args[1])
		literal, isNumber = args[0].(json.Number)
		operator = orders[operator].mirrored
	}
	limit, err := literal.Float64()
	switch {
	case !isProperty || !isNumber || err != nil:
		return c, false
	case property == timestamp:
		return clock(operator, limit)
	case strings.HasPrefix(property, "$"):
		return c, false
	}
	return numberOrAbsent(operator, property, literal), true
}

// numberOrAbsent compares as JavaScript does: what is absent counts as 0.
func numberOrAbsent(operator, property string, literal json.Number) condition {
	c := number(orders[operator].operator, property, literal)
	if limit, _ := literal.Float64(); orders[operator].holds(0, limit) {
		return either(compare("IS_NOT_PRESENT", property, nil), c)
	}
	return c
}

// clock is a comparison of the time, which flagd has in whole seconds.
func clock(operator string, seconds float64) (c condition, ok bool) {
	if seconds != float64(int64(seconds)) || seconds < 0 || seconds > 1e11 {
		return c, false
	}
	from := int64(seconds) * 1000 // the first millisecond of that second
	if operator == ">" || operator == "<=" {
		from += 1000
	}
	literal := json.Number(fmt.Sprint(from))
	if operator[0] == '<' {
		return number("PROP_BEFORE", currentTime, literal), true
	}
	return number("PROP_AFTER", currentTime, json.Number(fmt.Sprint(from-1))), true
}

// membership is a property in a list, or a text in a property.
func membership(l *jsonLogic, _, at string, args []any) (c condition, ok bool) {
	if len(args) != 2 {
		return c, false
	}
	if property, isProperty := variable(args[0]); isProperty {
		list, isList := args[1].([]any)
		texts := []string{}
		for _, v := range list {
			text, isText := literalText(v)
			isList = isList && isText
			texts = append(texts, text)
		}
		return among("PROP_IS_ONE_OF", property, texts...), isList
	}
	property, isProperty := variable(args[1])
	text, isText := args[0].(string)
	if isProperty && isText {
		l.approximate(at, "where %s is a list, flagd looks for an element that is %q, and svc for one that contains it", property, text)
	}
	return among("PROP_CONTAINS_ONE_OF", property, text), isProperty && isText
}

func affix(_ *jsonLogic, operator, _ string, args []any) (c condition, ok bool) {
	if len(args) != 2 {
		return c, false
	}
	property, isProperty := variable(args[0])
	text, isText := args[1].(string)
	to := map[string]string{"starts_with": "PROP_STARTS_WITH_ONE_OF", "ends_with": "PROP_ENDS_WITH_ONE_OF"}[operator]
	return among(to, property, text), isProperty && isText
}

// semanticVersion compares versions, of which svc takes those that are written in full.
func semanticVersion(l *jsonLogic, _, at string, args []any) (c condition, ok bool) {
	if len(args) != 3 {
		return c, false
	}
	property, isProperty := variable(args[0])
	operator, _ := args[1].(string)
	version, isText := args[2].(string)
	parts := fullVersion.FindStringSubmatch(version)
	if !isProperty || !isText || parts == nil {
		return c, false
	}
	is := func(operator string) condition {
		return compare("PROP_SEMVER_"+operator, property, &typedOperand{"string", parts[1]})
	}
	switch operator {
	case "=":
		c = is("EQUAL")
	case "!=":
		c = either(is("LESS_THAN"), is("GREATER_THAN"))
	case "<":
		c = is("LESS_THAN")
	case "<=":
		c = either(is("LESS_THAN"), is("EQUAL"))
	case ">":
		c = is("GREATER_THAN")
	case ">=":
		c = either(is("GREATER_THAN"), is("EQUAL"))
	case "^":
		c = compare("PROP_MATCHES", property, &typedOperand{"string", `^[vV]?` + parts[2] + `([.+-]|$)`})
	case "~":
		c = compare("PROP_MATCHES", property, &typedOperand{"string", `^[vV]?` + parts[2] + `\.` + parts[3] + `([.+-]|$)`})
	default:
		return c, false
	}
	l.approximate(at, "flagd takes short versions of %s and such with a v, 1.2 and v1.2.3; svc takes 1.2.3 alone", property)
	return c, true
}

var fullVersion = regexp.MustCompile(`^[vV]?(([0-9]+)\.([0-9]+)\.[0-9]+(?:[-+].*)?)$`)
