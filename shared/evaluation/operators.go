package evaluation

import (
	"fmt"
	"math"
	"math/bits"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
)

// never is the test of a criterion that cannot hold.
func never(*Frame) bool { return false }

// A build compiles a criterion by itself. The problem is set when the operand is
// of no use to the operator: the test is then what the operator says of any other
// context.
type build func(operand *document.Value) (binder, problem)

// binder makes a test over the slot of the criterion's property. It holds no part
// of the document that it is from.
type binder func(c *compiler, slot int) test

// useless is the test of a criterion whose operand is of no use.
func useless(*compiler, int) test { return never }

// problem says what is wrong with an operand; "" for nothing.
type problem string

// operator is what an operator reads of its property, and how it is compiled.
type operator struct {
	reads reading
	build build
	// excludes is an operator that never holds together with this one, of the same
	// property and operand; "" for none.
	excludes string
}

// reading is what an operator reads of a property: a compiler prepares the slot for it.
type reading int

const (
	presences reading = iota // whether it is there
	scalars                  // the text of any scalar: that of the current time turns all the time
	texted                   // a string, which the current time is not
	numbers                  // a number, which the frame has parsed
	times                    // a time
)

// operators are all operators but those of segments and of other flags, which read no
// property.
var operators = map[string]operator{
	"PROP_IS_ONE_OF":                  {scalars, oneOf(false), "PROP_IS_NOT_ONE_OF"},
	"PROP_IS_NOT_ONE_OF":              {scalars, oneOf(true), "PROP_IS_ONE_OF"},
	"PROP_STARTS_WITH_ONE_OF":         {scalars, textual(strings.HasPrefix, 0, false), "PROP_DOES_NOT_START_WITH_ONE_OF"},
	"PROP_DOES_NOT_START_WITH_ONE_OF": {scalars, textual(strings.HasPrefix, 0, true), "PROP_STARTS_WITH_ONE_OF"},
	"PROP_ENDS_WITH_ONE_OF":           {scalars, textual(strings.HasSuffix, 0, false), "PROP_DOES_NOT_END_WITH_ONE_OF"},
	"PROP_DOES_NOT_END_WITH_ONE_OF":   {scalars, textual(strings.HasSuffix, 0, true), "PROP_ENDS_WITH_ONE_OF"},
	"PROP_CONTAINS_ONE_OF":            {scalars, textual(strings.Contains, containsByte, false), "PROP_DOES_NOT_CONTAIN_ONE_OF"},
	"PROP_DOES_NOT_CONTAIN_ONE_OF":    {scalars, textual(strings.Contains, containsByte, true), "PROP_CONTAINS_ONE_OF"},
	Matches:                           {texted, matches(true), DoesNotMatch},
	DoesNotMatch:                      {texted, matches(false), Matches},
	"HIERARCHICAL_MATCH":              {scalars, hierarchical, ""},
	"IN_INT_RANGE":                    {numbers, inRange, ""},
	"PROP_GREATER_THAN":               {numbers, compares(func(c int) bool { return c > 0 }), "PROP_LESS_THAN_OR_EQUAL"},
	"PROP_GREATER_THAN_OR_EQUAL":      {numbers, compares(func(c int) bool { return c >= 0 }), "PROP_LESS_THAN"},
	"PROP_LESS_THAN":                  {numbers, compares(func(c int) bool { return c < 0 }), "PROP_GREATER_THAN_OR_EQUAL"},
	"PROP_LESS_THAN_OR_EQUAL":         {numbers, compares(func(c int) bool { return c <= 0 }), "PROP_GREATER_THAN"},
	"PROP_BEFORE":                     {times, dated(func(p, o float64) bool { return p < o }), ""},
	"PROP_AFTER":                      {times, dated(func(p, o float64) bool { return p > o }), "PROP_BEFORE"},
	"PROP_SEMVER_LESS_THAN":           {texted, versions(func(c int) bool { return c < 0 }), ""},
	"PROP_SEMVER_EQUAL":               {texted, versions(func(c int) bool { return c == 0 }), "PROP_SEMVER_LESS_THAN"},
	"PROP_SEMVER_GREATER_THAN":        {texted, versions(func(c int) bool { return c > 0 }), "PROP_SEMVER_LESS_THAN"},
	"IS_PRESENT":                      {presences, presence(true), "IS_NOT_PRESENT"},
	"IS_NOT_PRESENT":                  {presences, presence(false), "IS_PRESENT"},
}

// The operators whose operand is a regular expression.
const (
	Matches      = "PROP_MATCHES"
	DoesNotMatch = "PROP_DOES_NOT_MATCH"
)

// The operators that refer to a segment by its key.
const (
	InSegment    = "IN_SEG"
	NotInSegment = "NOT_IN_SEG"
)

// The operators that ask what another flag serves to the same context: their
// PropertyName is its key. Where it serves nothing, or what must not be told, neither
// of them holds.
const (
	FlagIsOneOf    = "FLAG_IS_ONE_OF"
	FlagIsNotOneOf = "FLAG_IS_NOT_ONE_OF"
)

// texts are the operand's alternatives: the elements of a list, or the one
// scalar.
func texts(operand *document.Value) ([]string, problem) {
	if operand == nil || operand.Content == nil {
		return nil, "valueToMatch is missing: expected a string_list"
	}
	p := operandOf(operand.Content)
	if p.scalar() {
		return []string{p.Text}, ""
	}
	if p.Kind != ListProperty {
		return nil, "valueToMatch must be a string_list"
	}
	if len(p.List) == 0 {
		return nil, "the list is empty"
	}
	return p.List, ""
}

// oneOf finds a text among others. Negation turns the answer for an absent property
// too, as decided for every negative string operator.
func oneOf(negated bool) build {
	return func(operand *document.Value) (binder, problem) {
		list, bad := texts(operand)
		price, bytes := itemTest, textBytes
		pass := func(text string) bool { return slices.Contains(list, text) }
		if len(list) > 16 { // up to there looking at every text beats a map
			price, bytes = searchStep*bits.Len(uint(len(list))), wordBytes
			among := make(map[string]bool, len(list))
			for _, text := range list {
				among[text] = true
			}
			pass = func(text string) bool { return among[text] }
		}
		return func(c *compiler, slot int) test {
			c.out.slots[slot].price.item += int64(price)
			c.holdTexts(list, bytes)
			return func(f *Frame) bool { return f.properties[slot].any(pass) != negated }
		}, bad
	}
}

// textual compares with each part of a list. What a byte costs is for a
// relation that looks at every one.
func textual(relation func(text, part string) bool, byteCosts int64, negated bool) build {
	return func(operand *document.Value) (binder, problem) {
		list, bad := texts(operand)
		pass := func(text string) bool {
			return slices.ContainsFunc(list, func(part string) bool { return relation(text, part) })
		}
		return func(c *compiler, slot int) test {
			price, operands := &c.out.slots[slot].price, int64(len(list))
			price.item += operands * itemOperand
			price.textByte += operands * byteCosts
			price.itemByte += operands * byteCosts
			c.holdTexts(list, textBytes)
			return func(f *Frame) bool { return f.properties[slot].any(pass) != negated }
		}, bad
	}
}

func text(operand *document.Value) (string, bool) {
	if operand == nil {
		return "", false
	}
	return operand.Content.Text()
}

func matches(wanted bool) build {
	return func(operand *document.Value) (binder, problem) {
		written, ok := text(operand)
		if !ok {
			return useless, "valueToMatch must be a string holding a regular expression"
		}
		var alone expression.Set
		if err := alone.Check(written); err != nil {
			return useless, "the regular expression (RE2) does not compile, or is too large"
		}
		size := int64(alone.Instructions(written))
		return func(c *compiler, slot int) test {
			re := c.pattern(written, size)
			if re == nil {
				return never
			}
			c.out.slots[slot].price.matchedByte += size * matchByte
			return func(f *Frame) bool {
				p := &f.properties[slot]
				return p.Kind == TextProperty && (len(p.Text) <= MaxMatched && re.MatchString(p.Text)) == wanted
			}
		}, tooLong(size)
	}
}

// pattern is a regular expression of so many instructions that its document may
// have, compiled once in a workspace. Beyond what a workspace may have there is
// none: it was refused before, unless it comes from a source that is not verified.
func (c *compiler) pattern(text string, size int64) *regexp.Regexp {
	if known, ok := c.patterns[text]; ok {
		return known
	}
	if c.compiled+size > expression.MaxTogether {
		return nil
	}
	re, err := expression.Compile(text)
	if err != nil {
		return nil
	}
	c.out.held += expression.Bytes(text, int(size))
	c.patterns[text] = re
	c.compiled += size
	return re
}

// tooLong says what is wrong with an expression of so many instructions.
func tooLong(instructions int64) problem {
	most := budget / (matchByte * instructions)
	if most >= MaxMatched {
		return ""
	}
	return problem(fmt.Sprintf("the regular expression is large (%d instructions): a property of more than %d bytes would take too long to match, and counts as an object does",
		instructions, max(most, freeText)))
}

func hierarchical(operand *document.Value) (binder, problem) {
	prefix, ok := text(operand)
	if !ok {
		return useless, "valueToMatch must be a string: the prefix to match"
	}
	return func(c *compiler, slot int) test {
		c.out.slots[slot].price.item += itemOperand
		c.holdText(prefix)
		return func(f *Frame) bool {
			return f.properties[slot].any(func(text string) bool { return strings.HasPrefix(text, prefix) })
		}
	}, ""
}

func presence(wanted bool) build {
	return func(*document.Value) (binder, problem) {
		return func(_ *compiler, slot int) test {
			return func(f *Frame) bool { return (f.properties[slot].Kind != Absent) == wanted }
		}, ""
	}
}

// numeric reads a number out of an operand; an int or double may be stored as
// a string.
func numeric(operand *document.Value) (number, bool) {
	if operand == nil {
		return number{}, false
	}
	return nodeNumber(operand.Served())
}

func nodeNumber(n *jsontree.Node) (number, bool) {
	if n == nil || n.Kind != jsontree.Number {
		return number{}, false
	}
	return parseNumber(jsontree.NumberText(n.Literal()))
}

func compares(pass func(int) bool) build {
	return func(operand *document.Value) (binder, problem) {
		limit, ok := numeric(operand)
		if !ok {
			return useless, "valueToMatch must be an int or a double"
		}
		return func(c *compiler, slot int) test {
			c.turnsAt(slot, limit.float)
			c.hold(limitBytes)
			c.holdText(limit.text)
			return func(f *Frame) bool {
				p := &f.properties[slot]
				return p.numeric && pass(p.number.compare(&limit))
			}
		}, ""
	}
}

func inRange(operand *document.Value) (binder, problem) {
	start, end, ok := bounds(operand)
	if !ok {
		return useless, `valueToMatch must be {"start": number, "end": number}: start <= x < end`
	}
	var bad problem
	if start.compare(&end) >= 0 {
		bad = "the range is empty: start must be below end"
	}
	return func(c *compiler, slot int) test {
		c.turnsAt(slot, start.float)
		c.turnsAt(slot, end.float)
		c.hold(2 * limitBytes)
		c.holdText(start.text + end.text)
		return func(f *Frame) bool {
			p := &f.properties[slot]
			return p.numeric && p.number.compare(&start) >= 0 && p.number.compare(&end) < 0
		}
	}, bad
}

// bounds reads a range; a bound left out is open.
func bounds(operand *document.Value) (start, end number, ok bool) {
	start, end = number{float: math.Inf(-1)}, number{float: math.Inf(1)}
	if operand == nil || operand.Content == nil || operand.Content.Kind != jsontree.Object {
		return start, end, false
	}
	ok = true
	for name, into := range map[string]*number{"start": &start, "end": &end} {
		if n := operand.Content.Get(name); n != nil && n.Kind != jsontree.Null {
			bound, isNumber := nodeNumber(document.Value{Type: document.IntValue, Content: n}.Served())
			*into, ok = bound, ok && isNumber
		}
	}
	return start, end, ok
}

func dated(pass func(property, operand float64) bool) build {
	return func(operand *document.Value) (binder, problem) {
		var p Property
		if operand != nil {
			p = operandOf(operand.Served())
		}
		limit, ok := moment(&p)
		if !ok {
			return useless, "valueToMatch must be a time: epoch milliseconds or RFC 3339, like 2006-01-02T15:04:05Z"
		}
		return func(c *compiler, slot int) test {
			c.turnsAt(slot, limit)
			return func(f *Frame) bool {
				at, ok := moment(&f.properties[slot])
				return ok && pass(at, limit)
			}
		}, ""
	}
}

// version is a version by SemVer 2.0.0 as package semver takes it, with a v. That
// package also takes short ones, such as v1.2.
func version(text string) (v string, ok bool) {
	if len(text) > 256 {
		return "", false
	}
	v = "v" + text
	return v, semver.Canonical(v)+semver.Build(v) == v
}

func versions(pass func(int) bool) build {
	return func(operand *document.Value) (binder, problem) {
		written, _ := text(operand)
		limit, ok := version(written)
		if !ok {
			return useless, "valueToMatch must be a version by SemVer 2.0.0, like 1.4.0 or 2.0.0-rc.1"
		}
		return func(c *compiler, slot int) test {
			c.holdText(limit)
			return func(f *Frame) bool {
				p := &f.properties[slot]
				if p.Kind != TextProperty {
					return false
				}
				v, ok := version(p.Text)
				return ok && pass(semver.Compare(v, limit))
			}
		}, ""
	}
}
