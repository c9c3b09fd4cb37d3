package workspace

import (
	"fmt"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// schemaIssues holds every value of a config that can be read here against
// the schema of the config; of the confidential ones, those that were written.
func schemaIssues(ws *Workspace, item *Item, budget *document.Budget, written func(pointer string) bool) []document.Issue {
	doc := item.View
	if doc.SchemaKey == "" || doc.Type != document.Config {
		return nil
	}
	s, ok := ws.Schema(doc.SchemaKey)
	if !ok {
		return nil
	}
	schema, _ := s.Compiled()
	if schema == nil {
		return nil
	}
	var issues []document.Issue
	for spot, value := range doc.Values() {
		if pointer := spot.Pointer(); !hidden(doc, spot, value) || written(pointer) {
			issues = append(issues, violations(doc.SchemaKey, schema, budget, pointer+"/value", value, hidden(doc, spot, value))...)
		}
	}
	return issues
}

// UnusableSchema says why values of a config cannot be held against the schema
// that it names: it is not there, it is no JSON, or it does not compile.
// Verify says it of the schema, or of the config that names one that is not there.
func UnusableSchema(ws *Workspace, item Item) []document.Issue {
	doc := item.View
	if doc.SchemaKey == "" || doc.Type != document.Config {
		return nil
	}
	s, ok := ws.Schema(doc.SchemaKey)
	if !ok {
		return []document.Issue{noSchema(doc.SchemaKey)}
	}
	schema, issues := s.Compiled()
	if schema != nil || len(issues) == 0 {
		return nil
	}
	return []document.Issue{{Code: problem.InvalidSchema, Pointer: "/schemaKey", Message: fmt.Sprintf(
		"the schema %q cannot be used, so no value can be checked against it (%s); repair %s", s.Key, jsontree.InWords(issues), s.Path)}}
}

func noSchema(key string) document.Issue {
	return document.Issue{Code: problem.UnknownSchema, Pointer: "/schemaKey", Message: fmt.Sprintf("there is no schema %s: it would be %s/%s.json", terminal.Quote(key), Schemas, terminal.Cut(key, maxEnvironmentName))}
}

// Problems are what keeps a schema from being used, as Verify has it. That
// compiles it.
func (s *Schema) Problems() []Problem {
	v := verifier{problems: &collector{}}
	if s.Tree != nil {
		_, issues := s.Compiled()
		v.add(Fatal, s.file(), coded(problem.InvalidSchema, issues)...)
	}
	return v.problems.all()
}

// hidden reports whether a value of a document must not be shown. Variants must not where
// some value of the document is confidential, since they may equal it.
func hidden(doc *document.Document, spot document.Spot, value document.Value) bool {
	return value.Confidential || doc.Confidential && spot.Variant >= 0
}

// readableValue is what a schema says something about; nil where it cannot be read here.
func readableValue(value document.Value) *jsontree.Node {
	if value.DecryptWith != "" || value.Type == document.ProvidedValue || document.Masked(value.Content) {
		return nil
	}
	return value.Served()
}

// maxViolations is how many violations of one value are told apart.
const maxViolations = 20

func violations(key string, schema *document.Schema, budget *document.Budget, pointer string, value document.Value, hidden bool) []document.Issue {
	content := readableValue(value)
	if content == nil {
		return nil
	}
	found := schema.CheckWithin(budget, content)
	if len(found) > 0 && hidden {
		// Names of members are content too.
		return []document.Issue{{Code: problem.SchemaViolation, Pointer: pointer, Message: fmt.Sprintf("the confidential value violates the schema %q", key)}}
	}
	var issues []document.Issue
	for i, issue := range found {
		if i == maxViolations {
			more := fmt.Sprintf("violates the schema %q in %d more places", key, len(found)-i)
			return append(issues, document.Issue{Code: problem.SchemaViolation, Pointer: pointer, Message: more})
		}
		issues = append(issues, document.Issue{Code: problem.SchemaViolation, Pointer: pointer + issue.Pointer,
			Message: fmt.Sprintf("violates the schema %q: %s", key, issue.Message)})
	}
	return issues
}
