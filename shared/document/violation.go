package document

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// translator turns the schema library's errors into issues. A schema's own
// errorMessage, next to the keyword that failed, comes before our words.
type translator struct {
	schema *jsontree.Node  // nil for the meta-schemas
	found  *violationCount // nil counts nothing
}

// maxViolations is how many violations of one value are reported one by one.
const maxViolations = 1000

type violationCount int

// full reports whether there are too many to be told apart.
func (c *violationCount) full() bool { return c != nil && *c > maxViolations }

func (c *violationCount) add() {
	if c != nil {
		*c++
	}
}

// all flattens an error into the violations at its leaves.
func (t translator) all(err *jsonschema.ValidationError) []Issue {
	if t.found.full() {
		return nil
	}
	switch k := err.ErrorKind.(type) {
	case *kind.Required:
		return t.missing(err, k.Missing, "")
	case *kind.DependentRequired:
		return t.missing(err, k.Missing, k.Prop)
	case *kind.Dependency:
		return t.missing(err, k.Missing, k.Prop)
	case *kind.AdditionalProperties:
		var found []Issue
		for _, name := range k.Properties {
			if t.found.full() {
				break
			}
			found = append(found, t.one(err, []string{name}, "the schema does not allow this member here"))
		}
		return found
	case *kind.PropertyNames:
		message := "the schema does not allow a member of this name"
		if found := t.causes(err); len(found) > 0 {
			message += ": " + found[0].Message
		}
		return []Issue{t.one(err, []string{k.Property}, message)}
	case *kind.AnyOf:
		return t.alternatives(err, "anyOf")
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return []Issue{t.one(err, nil, "fits several of the forms of which it must fit one (oneOf)")}
		}
		return t.alternatives(err, "oneOf")
	case *kind.Group, *kind.AllOf, *kind.Schema, *kind.Reference, nil:
		return t.causes(err)
	case *kind.FalseSchema:
		return []Issue{t.one(err, nil, "the schema allows nothing here")}
	}
	return []Issue{t.one(err, nil, words(err.ErrorKind))}
}

func (t translator) causes(err *jsonschema.ValidationError) []Issue {
	var found []Issue
	for _, cause := range err.Causes {
		found = append(found, t.all(cause)...)
	}
	return found
}

// alternatives reports the one form that was meant, when only one has the
// right JSON type; all the others would only be noise.
func (t translator) alternatives(err *jsonschema.ValidationError, keyword string) []Issue {
	meant := slices.DeleteFunc(slices.Clone(err.Causes), func(cause *jsonschema.ValidationError) bool {
		return otherType(cause, len(err.InstanceLocation))
	})
	if len(meant) == 1 {
		return t.all(meant[0])
	}
	return []Issue{t.one(err, nil, fmt.Sprintf("fits none of the %d forms that the schema allows (%s)", len(err.Causes), keyword))}
}

// otherType reports whether a form fails on the JSON type of the value itself.
func otherType(err *jsonschema.ValidationError, depth int) bool {
	if _, ok := err.ErrorKind.(*kind.Type); ok {
		return len(err.InstanceLocation) == depth
	}
	switch err.ErrorKind.(type) {
	case *kind.Group, *kind.AllOf, *kind.Reference:
		return slices.ContainsFunc(err.Causes, func(cause *jsonschema.ValidationError) bool { return otherType(cause, depth) })
	}
	return false
}

// one is a violation at the error's place, or at a member of it.
func (t translator) one(err *jsonschema.ValidationError, member []string, message string) Issue {
	t.found.add()
	if own := t.own(err, ""); own != "" {
		message = own
	}
	return Issue{Code: problem.InvalidField, Pointer: pointer(err, member...), Message: message}.Cut()
}

func (t translator) missing(err *jsonschema.ValidationError, names []string, because string) []Issue {
	var found []Issue
	for _, name := range names {
		if t.found.add(); t.found.full() {
			break
		}
		message := brief(name) + " is missing"
		if because != "" {
			message += ", which " + brief(because) + " needs beside it"
		}
		if hint := t.own(err, "/properties"+jsontree.Pointer(name)); hint != "" {
			message += ": " + strings.TrimPrefix(hint, name+" is ")
		}
		found = append(found, Issue{Code: problem.MissingField, Pointer: pointer(err, name), Message: message}.Cut())
	}
	return found
}

// own is the errorMessage of the schema that failed, or of a part of it.
func (t translator) own(err *jsonschema.ValidationError, part string) string {
	if t.schema == nil || !strings.HasPrefix(err.SchemaURL, schemaAddress+"#") {
		return ""
	}
	text, _ := t.schema.At(fragment(err.SchemaURL) + part).Get("errorMessage").Text()
	return terminal.Cut(text, 1000)
}

func pointer(err *jsonschema.ValidationError, member ...string) string {
	return jsontree.Pointer(err.InstanceLocation...) + jsontree.Pointer(member...)
}

// words says what a keyword asks for. It never repeats the value.
func words(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "expected " + article(k.Want) + ", not " + article([]string{k.Got})
	case *kind.Enum:
		return "expected one of " + listed(k.Want)
	case *kind.Const:
		return "expected " + listed([]any{k.Want})
	case *kind.Pattern:
		return "expected a string that matches " + brief(k.Want)
	case *kind.Format:
		if k.Want == "regex" {
			why := "it does not compile"
			if e, ok := k.Err.(*syntax.Error); ok {
				why = string(e.Code) // without the expression
			}
			return "expected a regular expression (RE2): " + why
		}
		return "expected a string in the format " + k.Want
	case *kind.Not:
		return "the schema does not allow this (not)"
	case *kind.UniqueItems:
		return fmt.Sprintf("expected items that all differ, but items %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.RefCycle:
		return "the schema refers to itself without an end"
	case *kind.MinLength:
		return fmt.Sprintf("expected at least %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("expected at most %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("expected at least %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("expected at most %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("expected at least %s, got %d", count(k.Want, "member"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("expected at most %s, got %d", count(k.Want, "member"), k.Got)
	case *kind.Contains:
		return "expected an item that fits the schema's contains"
	case *kind.MinContains:
		return fmt.Sprintf("expected at least %s that fit the schema's contains", count(k.Want, "item"))
	case *kind.MaxContains:
		return fmt.Sprintf("expected at most %s that fit the schema's contains", count(k.Want, "item"))
	case *kind.Minimum:
		return "expected a number of at least " + decimal(k.Want)
	case *kind.Maximum:
		return "expected a number of at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "expected a number above " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "expected a number below " + decimal(k.Want)
	case *kind.MultipleOf:
		return "expected a multiple of " + decimal(k.Want)
	}
	return "does not fit the schema (" + strings.Join(k.KeywordPath(), " ") + ")"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func decimal(r *big.Rat) string {
	if digits, exact := r.FloatPrec(); exact && digits < 20 {
		return brief(r.FloatString(digits))
	}
	return r.FloatString(20)
}

// article names JSON types as a person would.
func article(types []string) string {
	names := make([]string, len(types))
	for i, name := range types {
		names[i] = name
		switch name {
		case "object", "array", "integer":
			names[i] = "an " + name
		case "string", "number", "boolean":
			names[i] = "a " + name
		}
	}
	return strings.Join(names, " or ")
}

const maxListed = 10

func listed(values []any) string {
	var texts []string
	for i, v := range values {
		if i == maxListed {
			texts = append(texts, "…")
			break
		}
		text, _ := json.Marshal(v)
		texts = append(texts, brief(string(text)))
	}
	return strings.Join(texts, ", ")
}

// brief cuts a text that may be as long as its author liked.
func brief(text string) string { return terminal.Cut(text, 80) }
