package workspace

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"svc.example/svc/shared/document"
	"svc.example/svc/shared/jsontree"
	"svc.example/svc/shared/problem"
	"svc.example/svc/shared/terminal"
)

// names are the members that an object of one kind has. Others are kept and
// mean nothing, which is how a misspelt one goes unnoticed.
type names []string

// The names, by where they stand.
var (
	documentNames = names{
		"$schema", "id", "key", "type", "valueType", "name", "description", "access", "tags", "readyForCleanup",
		"sendToClientSdk", "schemaKey", "default", "environments", "variants",
	}
	scopeNames       = names{"rules"}
	entryNames       = names{"id", "rules"}
	ruleNames        = names{"criteria", "value"}
	criterionNames   = names{"operator", "propertyName", "valueToMatch"}
	valueNames       = names{"type", "value", "confidential", "decryptWith"}
	weightedNames    = names{"weightedValues", "hashByPropertyName"}
	armNames         = names{"value", "weight"}
	providedNames    = names{"source", "lookup"}
	variantNames     = names{"name", "description", "value"}
	fileNames        = names{"environments", secretReferences}
	environmentNames = names{"name", "environmentType", "protected", "archived"}
)

// secretMarks mark a value as a secret, and nothing else.
var secretMarks = names{"confidential", "decryptWith"}

// speller finds members that look like a known one and are none, and marks of a
// secret that mark nothing.
type speller struct{ issues []document.Issue }

func (s *speller) object(n *jsontree.Node, pointer string, known names) {
	for _, m := range n.Members {
		if slices.Contains(known, m.Name) {
			continue
		}
		if slices.Contains(secretMarks, m.Name) {
			s.issues = append(s.issues, document.Issue{Code: problem.IdleSecretMark, Pointer: pointer + jsontree.Pointer(m.Name),
				Message: fmt.Sprintf("%q protects nothing here; write it into the value, beside its type", m.Name)})
			continue
		}
		if meant := known.closest(m.Name); meant != "" {
			s.issues = append(s.issues, document.Issue{Code: problem.MisspeltName, Pointer: pointer + jsontree.Pointer(m.Name),
				Message: fmt.Sprintf("%s means nothing here; did you mean %s?", terminal.Quote(m.Name), meant)})
		}
	}
}

func (s *speller) list(n *jsontree.Node, pointer string, one func(*jsontree.Node, string)) {
	if n == nil {
		return
	}
	for i, item := range n.Items {
		one(item, pointer+"/"+strconv.Itoa(i))
	}
}

// misspelt finds them in a document. What a value holds is the author's own.
func misspelt(tree *jsontree.Node) []document.Issue {
	var s speller
	s.object(tree, "", documentNames)
	if scope := tree.Get("default"); scope != nil {
		s.object(scope, "/default", scopeNames)
		s.list(scope.Get("rules"), "/default/rules", s.rule)
	}
	s.list(tree.Get("environments"), "/environments", func(n *jsontree.Node, pointer string) {
		s.object(n, pointer, entryNames)
		s.list(n.Get("rules"), pointer+"/rules", s.rule)
	})
	s.list(tree.Get("variants"), "/variants", func(n *jsontree.Node, pointer string) {
		s.object(n, pointer, variantNames)
		s.value(n.Get("value"), pointer+"/value")
	})
	return s.issues
}

func (s *speller) rule(n *jsontree.Node, pointer string) {
	s.object(n, pointer, ruleNames)
	s.list(n.Get("criteria"), pointer+"/criteria", func(n *jsontree.Node, pointer string) {
		s.object(n, pointer, criterionNames)
		s.value(n.Get("valueToMatch"), pointer+"/valueToMatch")
	})
	s.value(n.Get("value"), pointer+"/value")
}

func (s *speller) value(n *jsontree.Node, pointer string) {
	if n == nil {
		return
	}
	s.object(n, pointer, valueNames)
	content, kind := n.Get("value"), n.Get("type")
	if content == nil || kind == nil {
		return
	}
	pointer += "/value"
	switch text, _ := kind.Text(); document.ValueType(text) {
	case document.WeightedValue:
		s.object(without(content, secretMarks), pointer, weightedNames) // what Decode calls an error
		s.list(content.Get("weightedValues"), pointer+"/weightedValues", func(n *jsontree.Node, pointer string) {
			s.object(without(n, secretMarks), pointer, armNames)
			s.value(n.Get("value"), pointer+"/value")
		})
	case document.ProvidedValue:
		s.object(content, pointer, providedNames)
	}
}

// without is an object but for some members.
func without(n *jsontree.Node, some names) *jsontree.Node {
	rest := *n
	rest.Members = slices.DeleteFunc(slices.Clone(n.Members), func(m jsontree.Member) bool { return slices.Contains(some, m.Name) })
	return &rest
}

// misspeltDeclaration finds them in the workspace file.
func misspeltDeclaration(tree *jsontree.Node) []document.Issue {
	var s speller
	s.object(tree, "", fileNames)
	s.list(tree.Get("environments"), "/environments", func(n *jsontree.Node, pointer string) {
		s.object(n, pointer, environmentNames)
	})
	return s.issues
}

// DidYouMean ends a message about a name that is none of those known, by the one
// that it was probably meant to be: a misspelling, or what only one begins with.
// It is "" where there is none.
func DidYouMean(name string, known []string) string {
	meant := names(known).closest(name)
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
func (known names) closest(name string) string {
	best, least := "", 3
	for _, k := range known {
		most := 2
		if len(k) <= 4 {
			most = 1
		}
		d := 0
		if !strings.EqualFold(k, name) {
			d = editDistance(k, name)
		}
		if d <= most && d < least {
			best, least = k, d
		}
	}
	return best
}

// editDistance is how many letters were left out, added, replaced or swapped with
// their neighbour; 3 for more than two.
func editDistance(a, b string) int {
	const many = 3
	if len(a)-len(b) >= many || len(b)-len(a) >= many {
		return many
	}
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return min(row[len(b)], many)
}
