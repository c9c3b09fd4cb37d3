package importer

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// goff reads the flag configuration of GO Feature Flag.
var goff = system{
	name: "goff", title: "GO Feature Flag",
	recognises: func(root map[string]json.RawMessage) bool {
		for _, text := range root {
			var f struct {
				Variations  map[string]json.RawMessage `json:"variations"`
				DefaultRule map[string]json.RawMessage `json:"defaultRule"`
			}
			if decode(text, &f) == nil && len(f.Variations) > 0 && f.DefaultRule != nil {
				return true
			}
		}
		return false
	},
	flags: goffFlags,
	notes: []string{
		"Properties keep their names, and key is user.key, for which OpenFeature's targeting key stands.",
		"GO Feature Flag serves the default in the code to who has no targeting key; svc serves what the rules say.",
		"It hashes in a way of its own: shares are kept, and people are in other arms.",
		"Texts are compared there in small letters, so rules have PROP_MATCHES with (?i), to which the letters ſ and s are one, and the Kelvin sign and k.",
		"It rounds towards zero where a whole number is compared with: rules compare with the next one.",
	},
}

type goffFlag struct {
	Variations      map[string]json.RawMessage `json:"variations"`
	Targeting       []goffRule                 `json:"targeting"`
	DefaultRule     *goffRule                  `json:"defaultRule"`
	BucketingKey    string                     `json:"bucketingKey"`
	Disable         bool                       `json:"disable"`
	Metadata        map[string]any             `json:"metadata"`
	Scheduled       []any                      `json:"scheduledRollout"`
	Experimentation struct {
		Start, End *time.Time
	} `json:"experimentation"`
}

type goffRule struct {
	Query       string                 `json:"query"`
	Variation   string                 `json:"variation"`
	Percentage  map[string]json.Number `json:"percentage"`
	Progressive any                    `json:"progressiveRollout"`
	Disable     bool                   `json:"disable"`
}

func goffFlags(root map[string]json.RawMessage) (flags []*flag, err error) {
	for _, key := range sortedKeys(root) {
		f := &flag{Item: Item{Key: key, Pointer: under("", key)}}
		flags = append(flags, f)
		var def goffFlag
		if err := decode(root[key], &def); err != nil || def.DefaultRule == nil {
			f.refuse(f.Pointer, `a flag is an object such as {"variations": {"on": true, "off": false}, "defaultRule": {"variation": "off"}}`)
			continue
		}
		for _, name := range sortedKeys(def.Variations) {
			f.variants = append(f.variants, variant{name, def.Variations[name]})
		}
		f.description, _ = def.Metadata["description"].(string)
		if len(def.Scheduled) > 0 {
			f.refuse(under(f.Pointer, "scheduledRollout"), "scheduled changes are not imported: leave those out that are still to come, and plan them in svc")
		}
		if def.Disable {
			continue
		}
		g := goffRules{f, def.guard(), goffProperty(def.BucketingKey)}
		for i, r := range def.Targeting {
			at := under(f.Pointer, "targeting", fmt.Sprint(i))
			if r.Disable {
				continue
			}
			q := query{flag: f, at: under(at, "query"), text: trimQuery(r.Query)}
			when, err := q.all()
			if err != nil {
				f.refuse(err.pointer, "%s", err.message)
				continue
			}
			g.add(r, when, at)
		}
		g.add(*def.DefaultRule, always, under(f.Pointer, "defaultRule"))
	}
	return flags, nil
}

// guard is what has to hold for a flag to serve anything but the default in the code.
func (def goffFlag) guard() condition {
	guard := all()
	if def.BucketingKey != "" {
		guard.parts = append(guard.parts, present(def.BucketingKey), among("PROP_IS_NOT_ONE_OF", def.BucketingKey, ""))
	}
	at := func(operator string, t *time.Time, beyond int64) {
		if t != nil {
			guard.parts = append(guard.parts, number(operator, currentTime, json.Number(fmt.Sprint(t.UnixMilli()+beyond))))
		}
	}
	at("PROP_AFTER", def.Experimentation.Start, -1)
	at("PROP_BEFORE", def.Experimentation.End, 1)
	return guard
}

func goffProperty(name string) string {
	if name == "" || name == "key" || name == "targetingKey" {
		return targetingKey
	}
	return name
}

type goffRules struct {
	*flag
	guard condition
	by    string
}

// add adds what a rule serves, where its query holds.
func (g goffRules) add(r goffRule, when condition, at string) {
	when = all(g.guard, when)
	names, total := sortedKeys(r.Percentage), int64(0)
	if r.Progressive != nil {
		g.refuse(under(at, "progressiveRollout"), "progressive rollouts are not imported: serve percentages, and plan their steps in svc")
		return
	}
	if len(names) == 0 {
		names = []string{r.Variation}
	}
	split := rule{when: all(when, present(g.by)), by: g.by}
	for _, name := range names {
		number, weight := g.variant(name), 1.0
		if literal, isShare := r.Percentage[name]; isShare {
			weight, _ = literal.Float64()
			weight *= 1000
		}
		switch {
		case number < 0:
			g.refuse(at, "there is no variation %q", name)
			return
		case weight < 0 || weight > 100_000:
			g.refuse(at, "the percentage of %q is not between 0 and 100", name)
			return
		}
		if share := int64(math.Round(weight)); share > 0 {
			split.arms = append(split.arms, arm{number, share})
			total += share
		}
	}
	switch {
	case total == 0:
		g.refuse(at, "the percentages are 0 together")
	case len(split.arms) == 1:
		g.rules = append(g.rules, serve(when, split.arms[0].variant))
	default:
		g.approximate(at, "the shares are the same, and people are in other arms")
		g.rules = append(g.rules, split)
	}
}

// trimQuery is a query in one line, as GO Feature Flag takes several together.
func trimQuery(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimLeft(lines[i], " ")
	}
	return strings.Join(lines, "")
}

// query reads the language of GO Feature Flag's targeting, such as
//
//	plan eq "pro" and not (age lt 18)
//
// in which "and" binds no closer than "or".
type query struct {
	*flag
	text string // what is left to read
	at   string
	seen int // comparisons
}

// maxQuery is how many comparisons and parentheses a query may have.
const maxQuery = 2000

func (q *query) wrong(format string, args ...any) *logicError { return wrong(q.at, format, args...) }

// all reads the whole of a query.
func (q *query) all() (condition, *logicError) {
	if strings.HasPrefix(q.text, "{") {
		return never, q.wrong("queries in JsonLogic are not imported: write them as key eq %q", "x")
	}
	c, err := q.terms(0)
	if err == nil && q.text != "" {
		err = q.wrong("it cannot be read from %.40q on: words have one space between them, and and, or and not are in small letters", q.text)
	}
	return c, err
}

func (q *query) terms(depth int) (condition, *logicError) {
	c, err := q.term(depth)
	for err == nil {
		kind := anyOf
		if q.skip(" and ") {
			kind = allOf
		} else if !q.skip(" or ") {
			break
		}
		var next condition
		next, err = q.term(depth)
		if c.kind == kind {
			c.parts = append(c.parts, next)
		} else {
			c = condition{kind: kind, parts: []condition{c, next}}
		}
	}
	return c, err
}

func (q *query) skip(prefix string) (found bool) {
	q.text, found = strings.CutPrefix(q.text, prefix)
	return found
}

// take cuts off what an expression matches at the start.
func (q *query) take(of *regexp.Regexp) (groups []string) {
	if groups = of.FindStringSubmatch(q.text); groups != nil {
		q.text = q.text[len(groups[0]):]
	}
	return groups
}

var (
	queryOpening   = regexp.MustCompile(`^(not|NOT|) ?\( ?`)
	queryClosing   = regexp.MustCompile(`^ ?\)`)
	queryAttribute = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_:-]*(\.[A-Za-z][A-Za-z0-9_:-]*)* `)
	queryOperator  = regexp.MustCompile(`^(eq|EQ|==|ne|NE|!=|gt|GT|>|lt|LT|<|ge|GE|>=|le|LE|<=|co|CO|sw|SW|ew|EW|in|IN) `)
	queryNull      = regexp.MustCompile(`^null`)
	queryBoolean   = regexp.MustCompile(`^(true|false)`)
	queryVersion   = regexp.MustCompile(`^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)`)
	queryText      = regexp.MustCompile(`^"((?:\\.|[^"\\])*)"`)
	queryDouble    = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[Ee][+-]?[0-9]+)?`)
	queryWhole     = regexp.MustCompile(`^-?(?:0|[1-9][0-9]{0,14})`)
	queryWords     = []string{"true", "false", "null", "not", "NOT", "and", "or", "in", "IN", "eq", "EQ", "ne", "NE", "gt", "GT", "lt", "LT", "ge", "GE", "le", "LE", "co", "CO", "sw", "SW", "ew", "EW", "pr"}
)

// term reads a comparison, or what stands in parentheses.
func (q *query) term(depth int) (condition, *logicError) {
	if q.seen++; depth > maxLogic || q.seen > maxQuery {
		return never, q.wrong("the query nests deeper than %d, or has more than %d comparisons", maxLogic, maxQuery)
	}
	if opening := q.take(queryOpening); opening != nil {
		c, err := q.terms(depth + 1)
		if err == nil && q.take(queryClosing) == nil {
			err = q.wrong("a parenthesis is not closed before %.40q", q.text)
		}
		c = all(c) // no more terms are added to it
		if err == nil && opening[1] != "" {
			return q.not(c)
		}
		return c, err
	}
	attribute := q.take(queryAttribute)
	if attribute == nil {
		return never, q.wrong("there is no comparison at %.40q, such as plan eq %q", q.text, "pro")
	}
	name := strings.TrimSuffix(attribute[0], " ")
	property := goffProperty(name)
	switch {
	case strings.Count(property, ".") > 1 || slices.ContainsFunc(strings.Split(name, "."), func(part string) bool { return slices.Contains(queryWords, part) }):
		return never, q.wrong("svc has no property for the attribute %q", name)
	case name == "targetingKey":
		q.approximate(q.at, "older versions of GO Feature Flag know the targeting key as key alone")
	case strings.Contains(name, "."):
		q.approximate(q.at, "where %s is absent, GO Feature Flag compares what it compared before", name)
	}
	if q.skip("pr") {
		return q.known(name, present(property)), nil
	}
	operator := q.take(queryOperator)
	if operator == nil {
		return never, q.wrong("there is no operator at %.40q, such as eq", q.text)
	}
	c, err := q.compare(property, strings.ToLower(operator[1]))
	return q.known(name, c), err
}

// known is a condition on an attribute, some of which GO Feature Flag always has.
func (q *query) known(name string, c condition) condition {
	for i := range c.parts {
		c.parts[i] = q.known(name, c.parts[i])
	}
	if c.kind != leaf {
		return c
	}
	switch isThere := c.leaf.Operator == "IS_PRESENT"; {
	case isThere && (name == "key" || name == "anonymous"):
		return always
	case c.leaf.Operator == "IS_NOT_PRESENT" && (name == "key" || name == "anonymous"):
		return never
	}
	return c
}

func (q *query) not(c condition) (condition, *logicError) {
	turned, err := not(c)
	if err != nil {
		return never, q.wrong("%v", err)
	}
	return turned, nil
}

// differs holds where there is a property, and a condition on it does not hold.
func (q *query) differs(property string, c condition) (condition, *logicError) {
	turned, err := q.not(c)
	return all(present(property), turned), err
}

// querySymbols are operators by the words that stand for them.
var querySymbols = map[string]string{"==": "eq", "!=": "ne", ">": "gt", "<": "lt", ">=": "ge", "<=": "le"}

// compare reads the value that a property is compared with. Nothing but ne null and in
// says anything of a property that is absent.
func (q *query) compare(property, operator string) (c condition, err *logicError) {
	if word := querySymbols[operator]; word != "" {
		operator = word
	}
	made := false
	switch before := q.text; {
	case operator == "in":
		return q.list(property)
	case operator == "ne" && q.take(queryNull) != nil:
		return present(property), nil
	case operator == "eq" && q.take(queryNull) != nil:
		return compare("IS_NOT_PRESENT", property, nil), nil
	case operator == "ne":
		if c, err = q.compare(property, "eq"); err != nil {
			return c, err
		}
		return q.differs(property, c)
	default:
		if v := q.take(queryBoolean); v != nil && operator == "eq" {
			if c = among("PROP_IS_ONE_OF", property, v[1]); property == "anonymous" && v[1] == "false" {
				c = among("PROP_IS_NOT_ONE_OF", property, "true")
			}
			return c, nil
		} else if v := q.take(queryVersion); v != nil {
			c, made = queryVersions(property, operator, v[0])
		} else if v := q.take(queryText); v != nil {
			c, made = queryTexts(property, operator, v[1])
		} else if v := q.take(queryDouble); v != nil {
			c, made = queryNumbers(property, operator, json.Number(v[0]))
		} else if v := q.take(queryWhole); v != nil {
			c, made = queryWholes(property, operator, v[0])
		}
		if !made {
			return never, q.wrong("svc has no counterpart of %s with %.40q", operator, before)
		}
	}
	return c, nil
}

func queryVersions(property, operator, version string) (c condition, ok bool) {
	is := func(operator string) condition {
		return compare("PROP_SEMVER_"+operator, property, &typedOperand{"string", version})
	}
	switch operator {
	case "eq":
		return is("EQUAL"), true
	case "lt":
		return is("LESS_THAN"), true
	case "le":
		return either(is("LESS_THAN"), is("EQUAL")), true
	case "gt":
		return is("GREATER_THAN"), true
	case "ge":
		return either(is("GREATER_THAN"), is("EQUAL")), true
	}
	return c, false
}

// queryTexts compares texts ignoring case.
func queryTexts(property, operator, text string) (c condition, ok bool) {
	forms := map[string]struct{ operator, before, after string }{
		"eq": {"PROP_IS_ONE_OF", "^", "$"}, "co": {"PROP_CONTAINS_ONE_OF", "", ""},
		"sw": {"PROP_STARTS_WITH_ONE_OF", "^", ""}, "ew": {"PROP_ENDS_WITH_ONE_OF", "", "$"},
	}
	form, ok := forms[operator]
	if !ok {
		return c, false
	}
	if strings.ToLower(text) == strings.ToUpper(text) {
		return among(form.operator, property, text), true
	}
	return compare("PROP_MATCHES", property, &typedOperand{"string", "(?i)" + form.before + regexp.QuoteMeta(text) + form.after}), true
}

func queryNumbers(property, operator string, literal json.Number) (c condition, ok bool) {
	switch operator {
	case "eq":
		return all(number("PROP_GREATER_THAN_OR_EQUAL", property, literal), number("PROP_LESS_THAN_OR_EQUAL", property, literal)), true
	case "gt":
		return number("PROP_GREATER_THAN", property, literal), true
	case "ge":
		return number("PROP_GREATER_THAN_OR_EQUAL", property, literal), true
	case "lt":
		return number("PROP_LESS_THAN", property, literal), true
	case "le":
		return number("PROP_LESS_THAN_OR_EQUAL", property, literal), true
	}
	return c, false
}

// queryWholes compares with a whole number what is rounded towards zero first.
func queryWholes(property, operator, literal string) (c condition, ok bool) {
	n, _ := json.Number(literal).Int64()
	compareWith := func(operator string, n int64) condition {
		return number(operator, property, json.Number(fmt.Sprint(n)))
	}
	atLeast := func(n int64) condition {
		if n > 0 {
			return compareWith("PROP_GREATER_THAN_OR_EQUAL", n)
		}
		return compareWith("PROP_GREATER_THAN", n-1)
	}
	atMost := func(n int64) condition {
		if n < 0 {
			return compareWith("PROP_LESS_THAN_OR_EQUAL", n)
		}
		return compareWith("PROP_LESS_THAN", n+1)
	}
	switch operator {
	case "eq":
		return all(atLeast(n), atMost(n)), true
	case "gt":
		return atLeast(n + 1), true
	case "ge":
		return atLeast(n), true
	case "lt":
		return atMost(n - 1), true
	case "le":
		return atMost(n), true
	}
	return c, false
}

// list reads a list that a property is in, of which all elements are of one kind.
func (q *query) list(property string) (condition, *logicError) {
	start := q.text
	if strings.HasPrefix(start, "[") {
		for _, of := range []*regexp.Regexp{queryText, queryDouble, queryWhole} {
			q.text = start[1:]
			if texts := q.elements(of); len(texts) > 0 && q.skip("]") {
				switch of {
				case queryDouble:
					return anyNumber(property, texts), nil
				case queryWhole:
					q.approximate(q.at, "numbers that come as JSON are in no list of whole numbers of GO Feature Flag, and in svc's they are")
				}
				return among("PROP_IS_ONE_OF", property, texts...), nil
			}
		}
	}
	return never, q.wrong("there is no list of texts or of numbers at %.40q", start)
}

func anyNumber(property string, literals []string) condition {
	holds := either()
	for _, literal := range literals {
		c, _ := queryNumbers(property, "eq", json.Number(literal))
		holds.parts = append(holds.parts, c)
	}
	return holds
}

var queryComma = regexp.MustCompile(`^, *`)

// elements reads what stands in a list, up to its end.
func (q *query) elements(of *regexp.Regexp) (texts []string) {
	for element := q.take(of); element != nil; element = q.take(of) {
		texts = append(texts, element[len(element)-1])
		if q.take(queryComma) == nil {
			return texts
		}
	}
	return nil
}
