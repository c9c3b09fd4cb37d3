package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"svc.example/svc/shared/bodies"
	"svc.example/svc/shared/document"
	"svc.example/svc/shared/fault"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/refusal"
)

// body is what an operation's body may hold.
type body struct {
	fields []string // in alphabetical order
	// schema is compiled by the first body that is read: a program that only
	// answers reads, or has just been started to answer one, does not pay.
	most   map[string]int // items of a field that is a list, where there is a limit
	schema func() (*document.Schema, error)
}

// elsewhere are the keywords that control checks, in words that know what the
// fields mean. Unknown fields of the body itself are found here.
var elsewhere = []string{"required", "additionalProperties", "oneOf", "if", "then", "else"}

func (d *description) readBody(node *jsontree.Node) *body {
	tree := d.checked(node)
	b := &body{most: map[string]int{}, schema: sync.OnceValues(func() (*document.Schema, error) {
		schema, issues := document.CompileSchema(tree)
		if len(issues) > 0 {
			return nil, fmt.Errorf("openapi.json: a body's schema: %s", jsontree.InWords(issues))
		}
		return schema, nil
	})}
	for _, m := range members(tree.Get("properties")) {
		b.fields = append(b.fields, m.Name)
		if most, err := strconv.Atoi(tree.Get("properties").Get(m.Name).Get("maxItems").Literal()); err == nil {
			b.most[m.Name] = most
		}
	}
	slices.Sort(b.fields)
	return b
}

// checked is the part of a schema that is checked here, in one piece and with
// our own words where CompileSchema looks for them.
func (d *description) checked(node *jsontree.Node) *jsontree.Node {
	tree := jsontree.NewObject()
	for _, m := range members(d.resolve(node)) {
		switch {
		case slices.Contains(elsewhere, m.Name):
		case m.Name == "x-error-message":
			tree.Set("errorMessage", m.Value)
		case m.Name == "items":
			tree.Set(m.Name, d.checked(m.Value))
		case m.Name == "properties":
			properties := jsontree.NewObject()
			for _, p := range m.Value.Members {
				properties.Set(p.Name, d.checked(p.Value))
			}
			tree.Set(m.Name, properties)
		default:
			tree.Set(m.Name, m.Value)
		}
	}
	return tree
}

// checkPart is check for a body that is a part of another: a list that is too long is
// one of its issues.
func (b *body) checkPart(tree *jsontree.Node) ([]document.Issue, error) {
	issues, err := b.check(tree)
	if long := (*fault.Fault)(nil); errors.As(err, &long) {
		if found, are := long.Details["issues"].([]document.Issue); are {
			return found, nil
		}
	}
	return issues, err
}

// check says what is wrong with the shape of a body. It refuses one that need not be
// looked at any further.
func (b *body) check(tree *jsontree.Node) ([]document.Issue, error) {
	schema, err := b.schema()
	if err != nil {
		return nil, err
	}
	var issues []document.Issue
	for _, m := range tree.Members {
		if !slices.Contains(b.fields, m.Name) {
			issues = append(issues, document.Issue{Pointer: jsontree.Pointer(brief(m.Name)), Message: "unknown field; known are " + join(b.fields)})
		}
		if most, limited := b.most[m.Name]; limited && len(m.Value.Items) > most { // looked at no further
			return nil, refusal.Malformed(document.Issue{Pointer: jsontree.Pointer(m.Name), Message: fmt.Sprintf("%s has at most %d entries, not %d", m.Name, most, len(m.Value.Items))})
		}
	}
	return append(issues, schema.Check(tree)...), nil
}

// besideDocument is how many values a body may have beside a document, and
// besideDocuments one that is larger than others.
const (
	besideDocument  = 1000
	besideDocuments = 100_000
)

// readBody reads a body as a JSON object, whatever its Content-Type says: curl -d sends
// another.
func readBody(text []byte, most int64) (*jsontree.Node, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, refusal.Malformed(document.Issue{Message: "the body is empty; send a JSON object"})
	}
	beside := besideDocument
	if most > bodies.Max {
		beside = besideDocuments
	}
	tree, err := jsontree.ParseWithin(text, document.MaxValues+beside)
	if syntax, ok := errors.AsType[*jsontree.SyntaxError](err); ok {
		issue := document.Issue{Pointer: syntax.Pointer, Message: syntax.Message}.Cut()
		return nil, fault.New(fault.BadRequest, "the body cannot be read at %d:%d: %s", syntax.Line, syntax.Column, issue.Message).
			With(map[string]any{"line": syntax.Line, "column": syntax.Column, "issues": []document.Issue{issue}})
	}
	if err != nil {
		return nil, fault.New(fault.BadRequest, "the body is not JSON").Because(err)
	}
	if tree.Kind != jsontree.Object {
		return nil, refusal.Malformed(document.Issue{Message: "the body is a JSON object, not " + tree.Kind.String()})
	}
	return tree, nil
}

// owner is who takes turns with large bodies.
func (c *call) owner() string {
	address := c.options.Proxies.Address(c.request).String()
	if c.session == nil {
		return address
	}
	return string(c.session.Principal().ID) + " " + address
}

// The fields of a body. One of another type is as good as absent: check has
// said so.

func text(tree *jsontree.Node, name string) string {
	value, _ := tree.Get(name).Text()
	return value
}

func optional[T any](value T, given bool) *T {
	if given {
		return &value
	}
	return nil
}

func boolean(tree *jsontree.Node, name string) bool {
	value, _ := tree.Get(name).Bool()
	return value
}

func texts(tree *jsontree.Node, name string) []string {
	var values []string
	for _, item := range tree.Get(name).Elements() {
		value, _ := item.Text()
		values = append(values, value)
	}
	return values
}
