package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"svc.example/svc/shared/expression"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
)

// Schema is a JSON Schema ready to check values: one that a config's schemaKey
// names, or of a request's body.
type Schema struct {
	tree     *jsontree.Node
	compiled *jsonschema.Schema
	graph    *graph
	refused  *Issue // it asks for too much of every value
}

// schemaAddress stands for the schema's own place while it is compiled. It is
// never fetched.
const schemaAddress = "https://svc.example/schemas/-"

// CompileSchema reads a JSON Schema, draft 2020-12 unless it says otherwise.
// The issues say why it is none. Nothing outside the schema is read: a $ref
// can lead to its own parts and to the published meta-schemas only. A schema
// that compiles, and asks for too much work of every value, comes with an issue
// that says so, and refuses every value.
func CompileSchema(tree *jsontree.Node) (*Schema, []Issue) {
	if tree.Kind != jsontree.Object && tree.Kind != jsontree.Bool {
		return nil, []Issue{{Message: "a JSON Schema is an object, not " + tree.Kind.String()}}
	}
	if compileWeight(tree) > maxSchemaObjects {
		return nil, []Issue{{Message: fmt.Sprintf("a JSON Schema of more than %d objects takes too long to compile; make it smaller (an object with $ref counts as two, one with $id as three)", maxSchemaObjects)}}
	}
	if issues := uncountable(tree); len(issues) > 0 {
		return nil, issues
	}
	if collisionsIn(tree) > maxCollisions {
		return nil, []Issue{{Message: "the lists of this JSON Schema hold too many nested lists of the same shape to be compiled in time; make them fewer"}}
	}
	schema, more, issues := compileSchema(tree)
	if len(issues) > 0 {
		return nil, issues
	}
	schema.graph = newGraph(schema.compiled, more)
	if issue, refused := schema.graph.refusal(); refused {
		schema.refused = &issue
		return schema, []Issue{issue}
	}
	return schema, nil
}

// compileSchema also returns the parts that only a dynamic reference finds.
func compileSchema(tree *jsontree.Node) (*Schema, []*jsonschema.Schema, []Issue) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	expressions := &expression.Set{} // of the schema, while it is compiled
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		if expressions == nil { // a value is asked for the format regex
			return nil, new(expression.Set).Check(text)
		}
		if err := expressions.Check(text); err != nil {
			return nil, err
		}
		if _, err := expression.Compile(text); err != nil {
			return nil, err
		}
		return &pattern{text: text, instructions: expressions.Instructions(text)}, nil
	})
	if err := c.AddResource(schemaAddress, plain(tree)); err != nil {
		return nil, nil, []Issue{{Message: "not a JSON Schema"}}
	}
	compiled, err := c.Compile(schemaAddress)
	if err != nil {
		return nil, nil, compileIssues(tree, err)
	}
	more := anchored(c, tree)
	expressions = nil
	return &Schema{tree: tree, compiled: compiled}, more, nil
}

// counts are the keywords whose number is of things, and literal those that hold
// no schema.
var (
	counts   = []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
	literals = []string{"const", "enum", "default", "examples"}
)

// maxCounted is what every program reads exactly; the library takes a number
// of more than 63 bits for another.
const maxCounted = 1<<53 - 1

// uncountable finds the numbers of counts that are too large to be one.
func uncountable(tree *jsontree.Node) (issues []Issue) {
	tree.Walk(func(pointer string, n *jsontree.Node) bool {
		name := pointer[strings.LastIndexByte(pointer, '/')+1:]
		if n.Kind == jsontree.Number && slices.Contains(counts, name) {
			if f, err := strconv.ParseFloat(n.Literal(), 64); err != nil || f > maxCounted {
				issues = append(issues, Issue{Pointer: pointer, Message: fmt.Sprintf("%s is at most %d; leave it out for no bound", name, maxCounted)})
			}
		}
		return !slices.Contains(literals, name)
	})
	return issues
}

// maxSchemaObjects keeps compiling within about a second: the library's time
// grows with the square of a schema's parts.
const maxSchemaObjects = 10_000

// compileWeight counts the objects of a schema, by the time that they take to compile.
func compileWeight(schema *jsontree.Node) (total int) {
	for n := range schema.All() {
		if n.Kind == jsontree.Object {
			total++
		}
		for _, m := range n.Members {
			switch m.Name {
			case "$ref", "$dynamicRef":
				total++
			case "$id":
				total += 2
			}
		}
	}
	return total
}

// anchored are the parts that a dynamic reference can find although nothing
// else leads to them. What has the name of a keyword and is none does not
// compile, and is left out.
func anchored(c *jsonschema.Compiler, tree *jsontree.Node) (found []*jsonschema.Schema) {
	tree.Walk(func(pointer string, n *jsontree.Node) bool {
		if n.Get("$dynamicAnchor") != nil || n.Get("$recursiveAnchor") != nil {
			if s, err := c.Compile(schemaAddress + "#" + (&url.URL{Path: pointer}).EscapedPath()); err == nil {
				found = append(found, s)
			}
		}
		return true
	})
	return found
}

// pattern is a regular expression of a schema. Compiled it is kept with those of
// all schemas (package expression): a workspace may have many, and few are used.
type pattern struct {
	text         string
	instructions int
	most         *int // characters that the schema allows, nil for any number
}

// MatchString reports whether a text matches. One that has too many characters for
// the schema does not fit it anyway, so it is not held against the expression:
// the length is what is wrong with it.
func (p *pattern) MatchString(text string) bool {
	if p.tooLong(text) {
		return true
	}
	re, err := expression.Compile(p.text) // it has compiled before
	return err == nil && re.MatchString(text)
}

func (p *pattern) String() string { return p.text }

func (p *pattern) tooLong(text string) bool {
	return p.most != nil && len(text) > *p.most && utf8.RuneCountInString(text) > *p.most
}

// matching is how many steps it takes to match a text.
func matching(re jsonschema.Regexp, text string) int {
	p, ours := re.(*pattern)
	if !ours {
		return len(text)
	}
	if p.tooLong(text) {
		return 0
	}
	return p.instructions * len(text) / matchesAStep
}

// Check holds a value against the schema. The messages say what the schema
// asks for and never hold a part of the value; the pointers name its members.
func (s *Schema) Check(n *jsontree.Node) []Issue {
	return s.CheckWithin(new(Budget), n)
}

// CheckWithin is Check for one of several values of a document, which share a
// budget. A value that takes more than what is left is not checked: the one
// issue says so.
func (s *Schema) CheckWithin(budget *Budget, n *jsontree.Node) []Issue {
	if s.refused != nil {
		return []Issue{{Message: "cannot be checked: " + s.refused.Message + " (at " + cmp.Or(s.refused.Pointer, "the root") + " in the schema)"}}
	}
	if over := s.graph.measure(n, budget); over != nil {
		return []Issue{*over}
	}
	err := s.compiled.Validate(plain(n))
	if err == nil {
		return nil
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return []Issue{{Code: problem.InvalidField, Message: "does not fit the schema"}}
	}
	var count violationCount
	found := translator{s.tree, &count}.all(invalid)
	if count.full() { // which ones were found is chance
		return []Issue{{Code: problem.InvalidField, Message: fmt.Sprintf("does not fit the schema in more than %d places", maxViolations)}}
	}
	return distinct(found)
}

// nowhere is the loader of a compiler that must not read files or the network.
type nowhere struct{}

func (nowhere) Load(string) (any, error) { return nil, errors.New("outside the schema") }

// compileIssues says in our words why a schema does not compile.
func compileIssues(tree *jsontree.Node, err error) []Issue {
	var (
		invalid *jsonschema.SchemaValidationError
		details *jsonschema.ValidationError
		load    *jsonschema.LoadURLError
	)
	switch {
	case errors.As(err, &invalid) && errors.As(invalid.Err, &details):
		var issues []Issue
		for _, v := range (translator{}).all(details) {
			v.Pointer = fragment(invalid.URL) + v.Pointer
			issues = append(issues, v)
		}
		return distinct(issues)
	case errors.As(err, &load):
		return []Issue{{Pointer: reference(tree, load.URL), Message: fmt.Sprintf("%s cannot be followed: keep every definition in this file, under $defs", brief(load.URL))}}
	}
	message := strings.ReplaceAll(err.Error(), schemaAddress, "")
	return []Issue{{Pointer: reference(tree, message), Message: "not a usable JSON Schema: " + message}}
}

// fragment is the JSON Pointer at the end of a schema's location.
func fragment(location string) string {
	_, pointer, _ := strings.Cut(location, "#")
	if unescaped, err := url.PathUnescape(pointer); err == nil {
		pointer = unescaped
	}
	return strings.TrimSuffix(pointer, "/")
}

// reference finds the first $ref or $schema that a problem is about: one whose
// text, or last part, the problem's text holds. A library error names the
// target and not the place.
func reference(tree *jsontree.Node, problem string) (found string) {
	tree.Walk(func(pointer string, n *jsontree.Node) bool {
		if refers(pointer[strings.LastIndexByte(pointer, '/')+1:]) && names(problem, text(n)) && found == "" {
			found = pointer
		}
		return found == ""
	})
	return found
}

func refers(name string) bool {
	return name == "$ref" || name == "$dynamicRef" || name == "$schema" || name == "$id"
}

// names reports whether a problem is about a target: by its file, if it has one.
func names(problem, target string) bool {
	file, _, _ := strings.Cut(strings.TrimLeft(target, "./"), "#")
	if file == "" {
		file = target
	}
	return file != "" && strings.Contains(problem, file)
}

// plain turns a tree into the values that the schema library reads.
func plain(n *jsontree.Node) any {
	switch n.Kind {
	case jsontree.Object:
		members := make(map[string]any, len(n.Members))
		for _, m := range n.Members {
			members[m.Name] = plain(m.Value)
		}
		return members
	case jsontree.Array:
		items := make([]any, len(n.Items))
		for i, item := range n.Items {
			items[i] = plain(item)
		}
		return items
	case jsontree.String:
		text, _ := n.Text()
		return text
	case jsontree.Number:
		return number(n.Literal())
	case jsontree.Bool:
		boolean, _ := n.Bool()
		return boolean
	}
	return nil
}

// maxNumber is the longest number that is compared digit by digit.
const maxNumber = 300

// number keeps a number exact, but for one so long or so far out that the
// library would need a very large fraction for it (or, beyond the largest it
// can hold, would fail): that one is rounded to a 64-bit float.
func number(literal string) json.Number {
	exponent := strings.IndexAny(literal, "eE")
	if len(literal) <= maxNumber && (exponent < 0 || len(literal)-exponent <= len("e+99")) {
		return json.Number(literal)
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
