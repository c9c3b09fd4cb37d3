package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"svc.example/svc/shared/jsontree"
)

// Schema is a JSON Schema ready to check values: the stored document's own, or
// one that a config's schemaKey names.
type Schema struct {
	tree     *jsontree.Node
	compiled *jsonschema.Schema
}

// schemaAddress stands for the schema's own place while it is compiled. It is
// never fetched.
const schemaAddress = "https://svc.example/schemas/-"

// CompileSchema reads a JSON Schema, draft 2020-12 unless it says otherwise.
// The issues say why it is none. Nothing outside the schema is read: a $ref
// can lead to its own parts and to the published meta-schemas only.
func CompileSchema(tree *jsontree.Node) (*Schema, []Issue) {
	if tree.Kind != jsontree.Object && tree.Kind != jsontree.Bool {
		return nil, []Issue{{Message: "a JSON Schema is an object, not " + tree.Kind.String()}}
	}
	if countObjects(tree) > maxSchemaObjects {
		return nil, []Issue{{Message: fmt.Sprintf("a JSON Schema of more than %d objects takes too long to compile; make it smaller", maxSchemaObjects)}}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(schemaAddress, plain(tree)); err != nil {
		return nil, []Issue{{Message: "not a JSON Schema"}}
	}
	compiled, err := c.Compile(schemaAddress)
	if err != nil {
		return nil, compileIssues(tree, err)
	}
	return &Schema{tree, compiled}, nil
}

// maxSchemaObjects keeps compiling within about a second: the library's time
// grows with the square of a schema's parts.
const maxSchemaObjects = 10_000

func countObjects(n *jsontree.Node) int {
	total := 0
	if n.Kind == jsontree.Object {
		total++
	}
	for _, m := range n.Members {
		total += countObjects(m.Value)
	}
	for _, item := range n.Items {
		total += countObjects(item)
	}
	return total
}

// Check holds a value against the schema. The messages say what the schema
// asks for and never hold a part of the value; the pointers name its members.
func (s *Schema) Check(n *jsontree.Node) []Issue {
	var issues []Issue
	for _, v := range s.violations(n) {
		issues = append(issues, v.Issue)
	}
	return distinct(issues)
}

func (s *Schema) violations(n *jsontree.Node) []violation {
	err := s.compiled.Validate(plain(n))
	if err == nil {
		return nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return []violation{{Issue: Issue{Message: "does not fit the schema"}}}
	}
	return translator{s.tree}.all(invalid)
}

// nowhere is the loader of a compiler that must not read files or the network.
type nowhere struct{}

var errElsewhere = errors.New("outside the schema")

func (nowhere) Load(string) (any, error) { return nil, errElsewhere }

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
			issues = append(issues, v.Issue)
		}
		return distinct(issues)
	case errors.As(err, &load):
		return []Issue{{Pointer: reference(tree, load.URL), Message: fmt.Sprintf("%s can not be followed: keep every definition in this file, under $defs", brief(load.URL))}}
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
func reference(tree *jsontree.Node, problem string) string {
	found := ""
	var walk func(n *jsontree.Node, pointer string) bool
	walk = func(n *jsontree.Node, pointer string) bool {
		for _, m := range n.Members {
			here := pointer + jsontree.Pointer(m.Name)
			if refers(m.Name) && names(problem, text(m.Value)) {
				found = here
				return true
			}
			if walk(m.Value, here) {
				return true
			}
		}
		for i, item := range n.Items {
			if walk(item, at(pointer, i)) {
				return true
			}
		}
		return false
	}
	walk(tree, "")
	return found
}

func refers(name string) bool {
	return name == "$ref" || name == "$dynamicRef" || name == "$schema" || name == "$id"
}

// names says whether a problem is about a target: by its file, if it has one.
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
		truth, _ := n.Truth()
		return truth
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
	if len(literal) <= maxNumber && (exponent < 0 || len(literal)-exponent <= len("e+999")) {
		return json.Number(literal)
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		f = math.Copysign(math.MaxFloat64, f)
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
