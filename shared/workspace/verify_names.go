package workspace

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// shape is the members that an object of one kind has, and the shapes of those that hold
// objects or lists of them. Others are kept and mean nothing, which is how a misspelt one
// goes unnoticed.
type shape map[string]shape

// The shapes. What a value holds is the author's own, but for that of two types.
var (
	valueShape     = shape{"type": nil, "value": nil, "confidential": nil, "decryptWith": nil}
	criterionShape = shape{"operator": nil, "propertyName": nil, "valueToMatch": valueShape}
	ruleShape      = shape{"criteria": criterionShape, "value": valueShape, "paused": nil, "inherited": nil, "scheduled": nil}
	documentShape  = shape{
		"$schema": nil, "id": nil, "key": nil, "type": nil, "valueType": nil, "name": nil, "description": nil, "owner": nil, "access": nil,
		"tags": nil, "readyForCleanup": nil, "sendToClientSdk": nil, "schemaKey": nil,
		"default":      {"rules": ruleShape},
		"environments": {"id": nil, "rules": ruleShape},
		"variants":     {"name": nil, "description": nil, "value": valueShape},
	}
	fileShape = shape{
		"environments":   {"name": nil, "environmentType": nil, "protected": nil, "archived": nil, "position": nil},
		secretReferences: nil,
		reviewMember:     nil,
		prerequisites:    nil,
	}
	// Secrets' marks in the first are what Decode calls an error.
	contentShapes = map[document.ValueType]shape{
		document.WeightedValue: {"hashByPropertyName": nil, "confidential": nil, "decryptWith": nil,
			"weightedValues": {"value": valueShape, "weight": nil, "confidential": nil, "decryptWith": nil}},
		document.ProvidedValue: {"source": nil, "lookup": nil},
	}
)

// secretMarks mark a value as a secret, and nothing else.
var secretMarks = []string{"confidential", "decryptWith"}

// misspelt finds members of an object, or of those in a list, that look like a known one and
// are none, and marks of a secret that mark nothing.
func misspelt(n *jsontree.Node, pointer string, of shape) (issues []document.Issue) {
	if n == nil {
		return nil
	}
	for i, item := range n.Items {
		issues = append(issues, misspelt(item, pointer+"/"+strconv.Itoa(i), of)...)
	}
	for _, m := range n.Members {
		held, known := of[m.Name]
		if _, isValue := of["type"]; isValue && m.Name == "value" {
			kind, _ := n.Get("type").Text()
			held = contentShapes[document.ValueType(kind)]
		}
		switch {
		case known:
			if held != nil {
				issues = append(issues, misspelt(m.Value, pointer+jsontree.Pointer(m.Name), held)...)
			}
		case slices.Contains(secretMarks, m.Name):
			issues = append(issues, document.Issue{Code: problem.IdleSecretMark, Pointer: pointer + jsontree.Pointer(m.Name),
				Message: fmt.Sprintf("%q protects nothing here; write it into the value, beside its type", m.Name)})
		default:
			if meant := closest(m.Name, maps.Keys(of)); meant != "" {
				issues = append(issues, document.Issue{Code: problem.MisspeltName, Pointer: pointer + jsontree.Pointer(m.Name),
					Message: fmt.Sprintf("%s means nothing here; did you mean %s?", terminal.Quote(m.Name), meant)})
			}
		}
	}
	return issues
}

// DidYouMean ends a message about a name that is none of those known, by the one
// that it was probably meant to be: a misspelling, or what only one begins with.
// It is "" where there is none.
func DidYouMean(name string, known []string) string {
	meant := closest(name, slices.Values(known))
	begun := slices.DeleteFunc(slices.Clone(known), func(k string) bool { return len(name) < 3 || !strings.HasPrefix(k, name) })
	if meant == "" && len(begun) == 1 {
		meant = begun[0]
	}
	if meant == "" {
		return ""
	}
	return "; did you mean " + meant + "?"
}

// closest returns the known name that a name was probably meant to be, or "".
func closest(name string, known iter.Seq[string]) string {
	best, least := "", 3
	for k := range known {
		most := 2
		if len(k) <= 4 {
			most = 1
		}
		d := 0
		if !strings.EqualFold(k, name) {
			d = editDistance(k, name, most)
		}
		if d <= most && (d < least || d == least && k < best) {
			best, least = k, d
		}
	}
	return best
}

// editDistance is how many letters were left out, added, replaced or swapped with
// their neighbour; more than most for any number above that.
func editDistance(a, b string, most int) int {
	for a != "" && b != "" && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	longer := max(len(a), len(b))
	if a == "" || b == "" || most == 0 {
		return longer
	}
	least := min(editDistance(a[1:], b, most-1), editDistance(a, b[1:], most-1), editDistance(a[1:], b[1:], most-1))
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, editDistance(a[2:], b[2:], most-1))
	}
	return 1 + least
}
