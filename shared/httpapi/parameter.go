package httpapi

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
)

// parameter is a query parameter with the part of JSON Schema that it uses.
type parameter struct {
	name string
	kind string // string, integer or boolean
	// emptyIsAbsent: the parameter with nothing behind it counts as left out.
	emptyIsAbsent bool
	enum          []string
	least, most   *int64
	pattern       *regexp.Regexp
	message       string // what would be right; "" for our own words
}

func (d *description) parameters(list *jsontree.Node) ([]parameter, error) {
	var query []parameter
	var problems []error
	for _, item := range items(list) {
		node := d.resolve(item)
		if node == nil {
			problems = append(problems, errors.New("a $ref to a parameter leads nowhere"))
			continue
		}
		if in, _ := node.Get("in").Text(); in != "query" {
			continue // a path's are the path's own segments
		}
		p, err := readParameter(node)
		problems = append(problems, err)
		query = append(query, p)
	}
	return query, errors.Join(problems...)
}

func readParameter(node *jsontree.Node) (parameter, error) {
	var p parameter
	p.name, _ = node.Get("name").Text()
	p.emptyIsAbsent, _ = node.Get("allowEmptyValue").Bool()
	var problems []error
	for _, m := range members(node.Get("schema")) {
		if err := p.keyword(m.Name, m.Value); err != nil {
			problems = append(problems, fmt.Errorf("the parameter %s: %s: %w", p.name, m.Name, err))
		}
	}
	return p, errors.Join(problems...)
}

var errKeyword = errors.New("a keyword that parameters are not checked for")

// keyword takes one keyword of the schema. One that is not known is refused:
// it would be described and not be so.
func (p *parameter) keyword(name string, value *jsontree.Node) (err error) {
	text, _ := value.Text()
	switch name {
	case "description", "default", "examples", "format": // control reads what has one
	case "x-error-message":
		p.message = text
	case "type":
		p.kind = text
	case "pattern":
		p.pattern, err = regexp.Compile(text)
	case "minimum":
		p.least, err = bound(value)
	case "maximum":
		p.most, err = bound(value)
	case "enum":
		for _, item := range value.Items {
			text, _ := item.Text()
			p.enum = append(p.enum, text)
		}
	default:
		err = errKeyword
	}
	return err
}

func bound(value *jsontree.Node) (*int64, error) {
	n, err := strconv.ParseInt(value.Literal(), 10, 64)
	return &n, err
}

var wholeNumber = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,17})$`)

// problem says why a value is not one of the parameter's, or "".
func (p *parameter) problem(value string) string {
	switch {
	case p.kind == "integer" && !p.holdsNumber(value),
		p.kind == "boolean" && value != "true" && value != "false",
		p.pattern != nil && !p.pattern.MatchString(value):
		if p.message == "" {
			return p.name + " is not of the form that it needs"
		}
		return p.message
	case p.enum != nil && !slices.Contains(p.enum, value):
		return p.name + " is one of " + join(p.enum)
	}
	return ""
}

func (p *parameter) holdsNumber(value string) bool {
	if !wholeNumber.MatchString(value) {
		return false
	}
	n, _ := strconv.ParseInt(value, 10, 64)
	return (p.least == nil || n >= *p.least) && (p.most == nil || n <= *p.most)
}

// query is the parameters of a request that are there and in order.
type query map[string]string

// isText reports whether a query is UTF-8 once its escapes are undone.
func isText(sent url.Values) bool {
	for name, values := range sent {
		if !utf8.ValidString(name) || slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) }) {
			return false
		}
	}
	return true
}

// readQuery reads a request's query. A write refuses parameters that it does
// not know: whoever mistypes dryRun must not write.
func (o *operation) readQuery(raw string) (query, []document.Issue) {
	if raw == "" { // none of the parameters has to be there
		return nil, nil
	}
	sent, err := url.ParseQuery(raw)
	if err != nil || !isText(sent) {
		return nil, []document.Issue{{Pointer: "?", Message: "the query string cannot be read: it is name=value, joined by &, with percent-encoding in UTF-8"}}
	}
	q := query{}
	var issues []document.Issue
	for i := range o.query {
		p := &o.query[i]
		values, present := sent[p.name]
		delete(sent, p.name)
		if !present || p.emptyIsAbsent && len(values) == 1 && values[0] == "" {
			continue
		}
		problem := p.name + " is there twice; send it once"
		if len(values) == 1 {
			problem = p.problem(values[0])
		}
		if problem != "" {
			issues = append(issues, document.Issue{Pointer: "?" + p.name, Message: problem})
			continue
		}
		q[p.name] = values[0]
	}
	if o.writes() {
		issues = append(issues, o.unknown(sent)...)
	}
	return q, issues
}

func (o *operation) unknown(rest url.Values) []document.Issue {
	var names []string
	for _, p := range o.query {
		names = append(names, p.name)
	}
	var issues []document.Issue
	for name := range rest {
		issues = append(issues, document.Issue{Pointer: "?" + brief(name), Message: "unknown query parameter; known are " + join(names)})
	}
	slices.SortStableFunc(issues, func(a, b document.Issue) int { return strings.Compare(a.Pointer, b.Pointer) })
	return issues
}

// number is a whole number, nil when it is not there.
func (q query) number(name string) *int {
	n, err := strconv.Atoi(q[name])
	if err != nil {
		return nil
	}
	return &n
}
